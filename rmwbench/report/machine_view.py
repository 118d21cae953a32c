"""The parts that the view of every campaign has: how its machine affects the numbers, the facts of
the machine, and which conclusions hold here; and the view of `rmwbench calibrate`: the failed
truths in a table, the machine's noise and the instrument's own costs, and last the answer in one
sentence."""

from collections.abc import Iterator, Mapping, Sequence

from rmwbench.report.view import (
    Block,
    Facts,
    Items,
    On,
    Section,
    Table,
    TableCell,
    TableColumn,
    TableRow,
    Text,
    Tone,
    View,
)
from rmwbench.results.machine.calibration_document import calibration_line, exit_code, own_text
from rmwbench.results.machine.machine_model import AA, CalibrationDocument, CallCost, Machine
from rmwbench.results.model import Estimate, GlossaryEntry
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


ANSWERS: tuple[Tone, ...] = ("good", "bad", "open")
"""The sentence for each exit code."""
TRUTHS = tuple(
    TableColumn(head) for head in ("truth", "arm", "outcome", "what", "expected", "found")
)


def calibration_view(answer: CalibrationDocument) -> View:
    odd = _odd(answer)
    tests: list[Block] = [*_pairs(answer.aa)]
    tests += [
        Text(f"not tested: {missing.what}: {missing.why}", "muted") for missing in answer.not_tested
    ]
    if odd:
        tests.insert(0, Table(TRUTHS, odd))
    return View(
        title="Calibration",
        sections=[Section("", tests), Section("", [*_noise(answer.aa), *_costs(answer)])],
        answer=[
            Text(
                f"took {fmt.duration(answer.wall_s)}; stored as {answer.stored}",
                "muted",
            ),
            Text(calibration_sentence(answer), ANSWERS[exit_code(answer)]),
        ],
    )


def calibration_sentence(answer: CalibrationDocument) -> str:
    truths, aa = answer.truths, answer.aa
    failed = f" ({truths.failed} failed, {truths.unknown} could not tell)" if _odd(answer) else ""
    unknown = f" ({aa.unknown} could not tell)" if aa.unknown else ""
    return (
        f"recovered {truths.recovered} of {truths.total} injected truths{failed}; "
        f"A/A declared different in {aa.different} of {aa.total}{unknown}"
    )


def _odd(answer: CalibrationDocument) -> list[TableRow]:
    rows = []
    for truth in answer.truths.list_ or ():
        if truth.outcome == "recovered":
            continue
        tone: Tone = "bad" if truth.outcome == "failed" else "open"
        checks = [check for check in truth.checks if check.outcome != "recovered"]
        lines = [(check.what, check.expected, check.found) for check in checks]
        for line in lines or [(truth.reason or "", "", "")]:
            arm = f"{truth.workload}: {truth.arm}"
            rows.append(TableRow([truth.truth, arm, truth.outcome, *map(str, line)], tone=tone))
    return rows


def _pairs(aa: AA) -> Iterator[Text]:
    for pair in aa.pairs or ():
        name = f"A/A {pair.middleware} {pair.workload}"
        if pair.outcome != "no difference":
            yield Text(f"{name}: {pair.outcome}, {pair.reason}")
        if pair.unconfirmed:
            yield Text(f"{name}: different at first, not again ({pair.unconfirmed})")


def _noise(aa: AA) -> Iterator[Text]:
    floor = aa.floor or {}
    if (whole := floor.get("all")) is not None:
        sizes = ", ".join(
            f"{name} {_percent(value)}"
            for name, value in floor.items()
            if name != "all" and value is not None
        )
        yield Text(
            f"A/A noise at {aa.floor_blocks} blocks: {_percent(whole)} ({sizes}): a smaller "
            "difference is told with a warning"
        )
    for size in ("small", "large"):
        texts = [
            f"{pair.middleware} {_percent(of.value)} [{_percent(of.low)} to {_percent(of.high)}]"
            for pair in aa.pairs or ()
            if pair.workload == size and (of := pair.floor)
        ]
        if texts:
            yield Text(f"each arm's own, {size}: {', '.join(texts)}", "muted")


def _costs(answer: CalibrationDocument) -> Iterator[Text]:
    truths, own = answer.truths, answer.own_cost
    void = fmt.counted(truths.void_trials or 0, "trial")
    yield Text(f"{truths.checks} checks, {void} void by the machine")
    if text := own_text(own):
        yield Text(text)
    for at_size in own.sizes or ():
        of_message = (
            (at_size.response_latency, "of its latency"),
            (at_size.cpu_per_message, "of its processor time"),
        )
        parts = [
            f"{fmt.metric(cost).full} {name}"
            for cost, name in of_message
            if cost is not None and cost.value is not None
        ]
        if parts:
            size = fmt.quantity(at_size.payload_bytes, "bytes")
            yield Text(f"the instrument's own part in a message of {size}: {', '.join(parts)}")
    costs = [
        f"{title} {fmt.metric(_metric(cost)).full}"
        for cost, title in ((own.clock_read, "a reading of the clock"), (own.record, "a record"))
        if cost is not None and cost.value is not None
    ]
    if costs:
        yield Text(", ".join(costs))


def _metric(cost: CallCost) -> Estimate:
    return Estimate(unit=cost.unit, value=cost.value, low=cost.low, high=cost.high)


def _percent(fraction: float) -> str:
    return f"{fmt.significant(100 * fraction)} %"
