"""The effect of each factor on each arm: a table of arms by levels, a sentence for each arm, and a
picture with a line for each arm."""

from collections.abc import Iterator, Sequence

from rmwbench.analysis.verdicts.ladders import BETWEEN_WORKLOADS
from rmwbench.report.chart import style
from rmwbench.report.view import (
    Block,
    Facts,
    On,
    Picture,
    Section,
    Table,
    TableCell,
    TableColumn,
    TableRow,
    Text,
)
from rmwbench.results.answer import level_sentences
from rmwbench.results.answer.facts import title_of
from rmwbench.results.answer.headline import headline
from rmwbench.results.show_model import Levels, SuiteAnswer
from rmwbench.words import numbers as fmt

MOST = 12
"""How many sentences of a factor, and rows of its table, a terminal shows."""


def groups(doc: SuiteAnswer) -> list[list[Levels]]:
    """Return the ladders that share a table: arms of one workload at the same levels."""
    ladders: dict[tuple[str, str, tuple[str, ...]], list[Levels]] = {}
    for ladder in doc.levels:
        key = (ladder.factor, ladder.workload, tuple(map(str, ladder.levels)))
        ladders.setdefault(key, []).append(ladder)
    return list(ladders.values())


def answered(doc: SuiteAnswer) -> frozenset[str]:
    """Return the comparisons in which one arm was measured alone, so that the effect of the factor
    is the whole answer."""
    names = compared(doc)
    return frozenset(
        workload.workload
        for workload in doc.workloads
        if workload.workload in names and headline(workload).is_alone
    )


def compared(doc: SuiteAnswer) -> frozenset[str]:
    """Return the comparisons that are levels of a factor."""
    return frozenset(name for ladder in doc.levels for name in ladder.comparisons)


def facts(doc: SuiteAnswer) -> Iterator[tuple[str, TableCell | str]]:
    """Yield a sentence per arm and factor, for a terminal's answer."""
    for ladders in groups(doc):
        sentences = _sentences(ladders)
        for place, (title, text) in enumerate(sentences[:MOST]):
            yield heading(ladders) if not place else "", f"{title}: {text}"
        if len(sentences) > MOST:
            yield "", f"and {len(sentences) - MOST} more on the page."


def _sentences(ladders: Sequence[Levels]) -> list[tuple[str, str]]:
    """Return the title and the sentence of each ladder that has a sentence."""
    pairs = ((level_sentences.title(x), level_sentences.sentence(x)) for x in ladders)
    return [(title, text) for title, text in pairs if text]


def heading(ladders: Sequence[Levels]) -> str:
    """Return `state along rate_hz`, `one_slow against both_quick`."""
    first = ladders[0]
    if first.factor == BETWEEN_WORKLOADS:
        return f"{first.levels[1]} against {first.levels[0]}"
    return f"{first.workload} along {first.factor}"


def sections(doc: SuiteAnswer, draw: bool) -> Iterator[Section]:
    for number, ladders in enumerate(groups(doc)):
        blocks: list[Block] = [_table(doc, ladders)]
        if draw and (picture := _picture(doc, ladders)) is not None:
            blocks.insert(0, picture)
        blocks.append(Facts(_sentences(ladders), on=On.DOCUMENT))
        blocks.append(Text(_meaning(ladders), "muted", on=On.DOCUMENT))
        yield Section(heading(ladders), blocks, anchor=f"along-{number}", look="panel")


def _table(doc: SuiteAnswer, ladders: Sequence[Levels]) -> Table:
    looks = _looks(doc)
    columns = [TableColumn("arm")]
    columns += [
        TableColumn(name, right=True, detail="below") for name in level_sentences.names(ladders[0])
    ]
    rows = []
    for ladder in filter(_has_row, ladders):
        arm = TableCell(level_sentences.title(ladder), swatch=looks.get(ladder.arm))
        rows.append(TableRow([arm, *_cells(ladder)]))
    return Table(columns, rows, look="results topics", most=MOST)


def _has_row(ladder: Levels) -> bool:
    """Whether there is a value or a loss at a level. A reader or topic that is not judged by itself
    may have neither, and then has no row; an arm always has one."""
    values = ladder.values.get(ladder.primary_metric)
    if values is None or ladder.topic is None:
        return values is not None
    measured = any(fmt.metric(value).state != "absent" for value in values)
    return measured or any(fates.short() for fates in ladder.fates)


def _cells(ladder: Levels) -> Iterator[TableCell]:
    """Yield a cell for each level: the primary metric, and below it its interval and the share of
    messages that did not arrive."""
    for entry, fates in zip(ladder.values[ladder.primary_metric], ladder.fates, strict=True):
        shown = fmt.metric(entry)
        yield TableCell(
            "never" if shown.state == "never" else shown.text,
            "bad" if shown.state == "never" else "",
            ", ".join(filter(None, (shown.interval, fates.short()))),
            shown.basis,
        )


def _meaning(ladders: Sequence[Levels]) -> str:
    metric = title_of(ladders[0].primary_metric)
    return (
        f"The {metric} at each level, with what was lost, never sent or late. Each level is "
        "compared with the one before it and with the first, within blocks; all these comparisons "
        "of the report share one error of 5 %, and intervals in the sentences are those at which "
        "they were judged."
    )


def _picture(doc: SuiteAnswer, ladders: Sequence[Levels]) -> Picture | None:
    from rmwbench.report.chart.charts import along
    from rmwbench.report.chart.frame import of_zero
    from rmwbench.report.chart.workload_charts import card

    title = title_of(ladders[0].primary_metric)
    shown = [*filter(_has_row, ladders)]
    spec = along(shown, _looks(doc), title) if shown else None
    first = ladders[0].comparisons[0]
    workload = next((w for w in doc.workloads if w.workload == first), None)
    if spec is None or workload is None:
        return None
    return Picture(
        "along",
        f"{title[0].upper()}{title[1:]}: {heading(ladders)}",
        "Dot: the value at a level. Vertical line: its interval. A triangle: at least this. A cross "
        "at the top edge: messages that never arrived reach it. Lines that are not parallel are "
        f"arms that the factor treats differently.{of_zero(spec)}",
        spec,
        wide=True,
        card=card(doc, workload),
        of=heading(ladders),
        on=On.DOCUMENT,
    )


def _looks(doc: SuiteAnswer) -> dict[str, style.LineStyle]:
    return style.looks(arm for workload in doc.workloads for arm in workload.arms)
