"""The parts that the view of every campaign has: how its machine affects the numbers, the facts of
the machine, and which conclusions hold here."""

from collections.abc import Iterator, Mapping, Sequence

from rmwbench.report.view import Block, Facts, Items, On, Section, TableCell, Text, Tone
from rmwbench.results.machine.calibration_document import calibration_line
from rmwbench.results.machine.machine_model import Machine
from rmwbench.results.model import GlossaryEntry
from rmwbench.words import numbers as fmt

TextGroups = Sequence[tuple[str, Sequence[str]]]
"""Heading -> its texts; the heading is empty for texts of the whole campaign."""


def warnings(machine: Machine) -> Iterator[Block]:
    """Red warnings in all renderers; for the others a terminal shows only their number."""
    for text in machine.red_warnings:
        yield Text(text, "alarm")
    rest = machine.other_warnings
    if not rest:
        return
    yield Text(
        f"{fmt.counted(len(rest), 'warning')} about this machine: see `rmwbench doctor` "
        "or the report",
        "warning",
        on=On.TERMINAL,
    )
    if len(rest) > 1:
        folded = f"{len(rest)} warnings about this machine; read them before you trust a number"
        yield Items(rest, "warning", folded=folded, on=On.PAGE)
    else:
        yield Text(rest[0], "warning", on=On.PAGE)
    yield from (Text(text, "warning", on=On.MARKDOWN) for text in rest)


def calibrated(machine: Machine) -> Iterator[Block]:
    if text := calibration_line(machine):
        yield Text(text, "muted")


def conclusions(conclude: TextGroups, caution: TextGroups, *, on: On = On.EVERYWHERE) -> Section:
    """The conclusions, side by side on a page."""
    kinds: tuple[tuple[str, TextGroups, str, Tone, str], ...] = (
        ("What you may conclude", conclude, "✓", "good", "panel conclude"),
        ("What you may not", caution, "✗", "open", "panel caution"),
    )
    panels = [
        Section(title, [*_groups(groups, mark, tone)], look=look)
        for title, groups, mark, tone, look in kinds
        if groups
    ]
    return Section("", panels, anchor="conclusions", look="pair", on=on)


def _groups(groups: TextGroups, mark: str, tone: Tone) -> Iterator[Block]:
    for where, texts in groups:
        items: list[Block] = [Items(texts, tone, mark)]
        yield from [Section(where, items)] if where else items


def section(machine: Machine, campaign: Mapping[str, object]) -> Section:
    """The facts of the machine, and those of the campaign by name, without empty ones."""
    facts = [(fact.name, TableCell(fact.value, detail=fact.note or "")) for fact in machine.facts]
    campaign_facts = [(name, str(value)) for name, value in campaign.items() if value is not None]
    blocks: list[Block] = [Text(machine.summary, on=On.PAGE), Facts(facts, "grid")]
    blocks.append(Section("The campaign", [Facts(campaign_facts, "grid")], on=On.PAGE))
    return Section(
        "The machine", blocks, anchor="machine", nav="machine", look="panel", on=On.DOCUMENT
    )


def method(points: Sequence[Text], glossary: Mapping[str, GlossaryEntry], *more: Block) -> Section:
    """How the campaign measured, in short, and the glossary; on a page only."""
    words = [(entry.title, entry.text) for entry in glossary.values()]
    blocks = [
        Items(points),
        *more,
        Section("Glossary", [Facts(words, "terms")], folded=True),
    ]
    return Section(
        "The method, in short", blocks, anchor="method", nav="method", look="panel", on=On.PAGE
    )
