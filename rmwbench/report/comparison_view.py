"""The view of `rmwbench compare`: the differences besides the results, a table per cell whose
intervals a page draws on one axis, the cells that are not comparable, and whether B is worse than
A.

On a page an interval is boxes placed by per cent, so that the same markup fits a phone, a wide
screen, a dark page and paper.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

from rmwbench.analysis.verdicts.statements import StatementVerdict
from rmwbench.report.view import (
    Block,
    Facts,
    Items,
    On,
    RatioInterval,
    Section,
    Table,
    TableCell,
    TableColumn,
    Text,
    Tone,
    Verbatim,
    View,
)
from rmwbench.results.compare.compare_model import (
    Compared,
    ComparedSide,
    Difference,
    MetricRow,
    TopicLikeness,
)
from rmwbench.results.model import Ratio
from rmwbench.words import numbers as fmt

TONES: Mapping[StatementVerdict, Tone] = {
    "worse": "bad",
    "better": "good",
    "equivalent": "good",
    "undecided": "open",
    "no data": "odd",
}
MOST = 12
"""How many differences of a kind, and how many lines of each, a terminal shows."""
FEW_CELLS = 3
"""A terminal shows all cells up to this number; of more cells those in which something changed."""
ANSWERS = {
    "worse": "B is worse than A in something.",
    "better": "B is better than A in something and worse in nothing.",
    "equivalent": "B is equivalent to A.",
    "undecided": "Not decided: nothing is shown to be worse, and not everything to be equivalent "
    "or better.",
}
_TICKS = (0.05, 0.1, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
_LEAST, _MOST = log(1.3), log(200.0)
_NEAREST_TICKS = 9.0  # per cent of the axis: closer labels would touch on a phone


def view(compared: Compared) -> View:
    sides = (("A", compared.a), ("B", compared.b))
    sections = [
        Section(
            "What differs besides the results",
            [block for topic in compared.environment for block in _environment(topic)],
            anchor="environment",
            nav="environment",
            look="panel",
        ),
        Section("B ÷ A", [*_cells(compared)], anchor="rows", nav="rows", look="panel"),
    ]
    if compared.not_comparable:
        lines = [f"{item.cell}: {item.reason}" for item in compared.not_comparable]
        sections.append(
            Section("Not comparable", [Items(lines)], anchor="not-comparable", look="panel")
        )
    return View(
        title="Is B worse than A?",
        about=[Facts([(name, side_text(side)) for name, side in sides])],
        answer=[*_answer(compared)],
        sections=sections,
        tool_version=compared.b.tool_version or "",
    )


def side_text(side: ComparedSide) -> str:
    chosen = ", ".join(f"{key} {' or '.join(names)}" for key, names in side.selection.items())
    parts = [side.directory, chosen, side.created_utc, fmt.counted(side.trials.done, "trial")]
    if not side.finished:
        parts.append("not finished")
    parts += [side.machine or "machine not described"]
    parts += [f"rmwbench {side.tool_version or 'of unknown version'}"]
    return " · ".join(str(part) for part in parts if part)


def _answer(compared: Compared) -> Iterator[Block]:
    yield from (Text(text, "warning") for text in compared.cautions)
    if lines := unchanged(compared):
        yield Items(lines, "muted", on=On.TERMINAL)
    if rows := changed(compared):
        yield Items([Text(change_text(row), TONES[row.verdict], row.verdict) for row in rows])
    count = counts(compared)
    yield Text(f"{answer(compared)}{f' {count}.' if count else ''}", TONES[compared.verdict])
    yield Text(_rules(compared), "muted", on=On.DOCUMENT)


def _rules(compared: Compared) -> str:
    rules, paired = compared.rules, compared.paired
    margin, alpha = (fmt.percent(value, fmt.AS_WRITTEN) for value in (rules.margin, rules.alpha))
    how = (
        "Both sides share blocks and are compared within them."
        if paired
        else "Trials of one campaign against trials of another."
    )
    beyond = "the A/A noise" if rules.aa_floor else "1"
    far = (
        ""
        if paired
        else ", as far as trials can tell: what changed between the campaigns is not in it"
    )
    return (
        f"{how} Worse: the interval lies beyond {beyond} and the ratio beyond the margin of "
        f"{margin}. Any false claim in this table has a probability of at most {alpha} for worse "
        f"and better together, and the same for equivalent{far}."
    )


def answer(compared: Compared) -> str:
    if not compared.rows:
        return "Nothing could be compared."
    number = Counter(row.verdict for row in compared.rows)
    if compared.verdict == "undecided" and not (number["undecided"] or number["no data"]):
        return "Not decided: A has cells that B lacks, or that are other workloads in B."
    if compared.verdict == "worse":
        worse = (
            f"B is worse than A in {number['worse']} of "
            f"{fmt.counted(len(compared.rows), 'comparison')}"
        )
        return f"{worse}, and better in {number['better'] or 'none'}."
    return ANSWERS[compared.verdict]


def counts(compared: Compared) -> str:
    """`2 worse, 5 equivalent`."""
    number = Counter(row.verdict for row in compared.rows)
    return ", ".join(f"{number[verdict]} {verdict}" for verdict in TONES if number[verdict])


def changed(compared: Compared) -> list[MetricRow]:
    """The rows that are decided to differ, worse rows first."""
    differing = (row for row in compared.rows if row.verdict in ("worse", "better"))
    return sorted(differing, key=lambda row: row.verdict != "worse")


def unchanged(compared: Compared) -> list[str]:
    """A line per metric of the rows that are not decided to differ: `pss: 5 equivalent, 2 undecided
    (0.9× to 1.2×)`."""
    sentences = []
    by_metric: dict[str, list[MetricRow]] = {}
    for row in compared.rows:
        if row.verdict not in ("worse", "better"):
            by_metric.setdefault(row.title, []).append(row)
    for title, rows in by_metric.items():
        number = Counter(row.verdict for row in rows)
        kinds = ", ".join(f"{n} {verdict}" for verdict, n in number.items())
        ratios = sorted(
            row.ratio.value for row in rows if row.ratio is not None and row.ratio.value is not None
        )
        span = (
            f" ({fmt.significant(ratios[0])}× to {fmt.significant(ratios[-1])}×)"
            if len(ratios) > 1
            else ""
        )
        sentences.append(f"{title}: {kinds}{span}")
    return sentences


def change_text(row: MetricRow) -> str:
    ratio, interval = effect(row)
    return f"{row.cell}: {row.title} {row.reason if ratio == '–' else f'{ratio} {interval}'}"


def effect(row: MetricRow) -> tuple[str, str]:
    """(`1.20×`, `[1.10–1.31]`), for a fraction (`+1.2 points`, `[0.8 … 1.6]`); `–` without one."""
    if (change := row.difference) is not None:
        low, high = _points(100 * change.low), _points(100 * change.high)
        return f"{_points(100 * change.value)} points", f"[{low} … {high}]"
    shown = fmt.ratio(row.ratio)
    return (shown.text, shown.interval) if shown.state == "measured" else ("–", "")


def _points(percent: float) -> str:
    return f"{'+' if percent > 0 else ''}{fmt.percent(percent / 100).removesuffix(' %')}"


def _environment(topic: TopicLikeness) -> Iterator[Block]:
    word, tone = _ANSWERED[topic.answer]
    yield Text(word, tone, lead=f"{topic.question[0].upper()}{topic.question[1:]}")
    plain = [difference for difference in topic.differences if not difference.lines]
    if plain:
        yield Table(["", "A", "B"], [*map(_sides, plain)], most=MOST)
    for difference in topic.differences:
        if difference.lines:
            blocks: list[Block] = [Verbatim("\n".join(difference.lines), on=On.DOCUMENT)]
            yield Section(difference.name, blocks, folded=True)
            more = len(difference.lines) - MOST
            cut = [f"… {more} more lines (--json has them)"] if more > 0 else []
            yield Text(f"{difference.name}:", on=On.TERMINAL)
            yield Verbatim("\n".join([*difference.lines[:MOST], *cut]), on=On.TERMINAL)


_ANSWERED: Mapping[str, tuple[str, Tone]] = {
    "same": ("yes", "good"),
    "different": ("no", "open"),
    "unknown": ("not described", "odd"),
}


def _sides(difference: Difference) -> list[TableCell]:
    cells = f" ({', '.join(difference.cells)})" if difference.cells else ""
    return [TableCell(f"{difference.name}{cells}"), _side(difference.a), _side(difference.b)]


def _side(text: str | None) -> TableCell:
    if text is None:
        return TableCell("absent", "muted")
    return TableCell(text) if len(text) <= 100 else TableCell(text[:97] + "…", why=text)


def _cells(compared: Compared) -> Iterator[Block]:
    """A table for each cell; a terminal shows the cells in which something changed, or all where
    there are few."""
    cells = by_cell(compared.rows)
    axis = axis_of(compared)
    waits = any(row.needed for row in compared.rows)
    hidden = 0
    for cell, rows in cells:
        arms = "" if rows[0].arm_a == rows[0].arm_b else f" against {rows[0].arm_b}"
        differs = any(row.verdict in ("worse", "better") for row in rows)
        on = On.EVERYWHERE if differs or len(cells) <= FEW_CELLS else On.DOCUMENT
        hidden += on is On.DOCUMENT
        reasons = [
            f"{row.title}: {row.reason}"
            for row in rows
            if row.verdict in ("undecided", "no data") and not row.needed
        ]
        blocks: list[Block] = [Text(flag, "warning") for flag in rows[0].flags]
        blocks.append(_table(rows, axis, waits))
        blocks += [Text(reason, "muted") for reason in reasons]
        yield Section(f"{cell}{arms}", blocks, on=on)
    if hidden:
        text = (
            f"{fmt.counted(hidden, 'cell')} without a change not shown (--json and --out have them)"
        )
        yield Text(text, "muted", on=On.TERMINAL)
    if waits:
        unit = "blocks" if compared.paired else "trials of each arm in each campaign"
        yield Text(
            f"would take: {unit} that would decide it, were the ratio and its spread as they look "
            "now",
            "muted",
        )
    margin = fmt.percent(compared.rules.margin, fmt.AS_WRITTEN)
    yield Text(
        "A point is the ratio, a line its interval at the level at which the row was judged; "
        f"shaded: within the margin of {margin}. Right of 1: B has more of it.",
        "muted",
        on=On.PAGE,
    )


def _table(rows: Sequence[MetricRow], axis: "RatioAxis", waits: bool) -> Table:
    columns = [
        TableColumn("metric"),
        TableColumn("B ÷ A, on a log axis", on=On.PAGE, key="forest", ticks=axis.ticks),
        *(TableColumn(head, right=True) for head in ("A", "B", "B ÷ A", "interval")),
        TableColumn("verdict"),
    ]
    if waits:
        columns.append(TableColumn("would take", right=True))
    return Table(columns, [_row(row, axis, waits) for row in rows], look="results")


def _row(row: MetricRow, axis: "RatioAxis", waits: bool) -> list[TableCell | str]:
    ratio, interval = effect(row)
    tone = TONES[row.verdict]
    none = "a difference of fractions, not a ratio" if row.unit == "fraction" else "no ratio"
    interval_mark = mark(row.ratio, axis)
    better = "more is better" if row.larger_is_better else ""
    cells: list[TableCell | str] = [
        TableCell(row.title, detail=better),
        TableCell("" if interval_mark else none, tone, interval=interval_mark, why=row.verdict),
        fmt.metric(row.a).text,
        fmt.metric(row.b).text,
        ratio,
        interval,
        TableCell(row.verdict, tone, badge=True, why=row.reason),
    ]
    return [*cells, str(row.needed or "")] if waits else cells


def by_cell(rows: Sequence[MetricRow]) -> list[tuple[str, list[MetricRow]]]:
    of_cell: dict[tuple[int, int], list[MetricRow]] = {}
    for row in rows:
        of_cell.setdefault((row.cell_a, row.cell_b), []).append(row)
    return [(rows[0].cell, rows) for rows in of_cell.values()]


@dataclass(frozen=True)
class RatioAxis:
    """A log axis of ratios from exp(-`half`) to exp(`half`); places are per cent from the left."""

    half: float
    margin: float

    def place(self, ratio: float) -> float:
        return round(100 * (min(max(log(ratio) / self.half, -1), 1) + 1) / 2, 3)

    @property
    def band(self) -> tuple[float, float]:
        """(left, width) of the margin."""
        left = self.place(1 / (1 + self.margin))
        return left, round(self.place(1 + self.margin) - left, 3)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """(place, text), from 1 outwards, without ticks that would touch another."""
        ticks: list[tuple[float, str]] = []
        for value in sorted(_TICKS, key=lambda tick: abs(log(tick))):
            at = self.place(value)
            apart = all(abs(at - other) >= _NEAREST_TICKS for other, _ in ticks)
            if apart and abs(log(value)) < self.half:
                ticks.append((at, f"{value:g}"))
        return sorted(ticks)


def axis_of(compared: Compared) -> RatioAxis:
    """A range symmetric around 1, wide enough for every estimate and for intervals up to twice as
    far."""
    estimates, ends = [_LEAST], []
    for ratio in (row.ratio for row in compared.rows if row.ratio is not None):
        if (value := fmt.finite(ratio.value)) and value > 0:
            estimates.append(abs(log(value)))
            ends += [
                abs(log(v)) for end in (ratio.low, ratio.high) if (v := fmt.finite(end)) and v > 0
            ]
    half = min(
        max(max(estimates) * 1.15, min(max(ends, default=0.0) * 1.05, 2 * max(estimates))), _MOST
    )
    return RatioAxis(half, compared.rules.margin)


def mark(ratio: Ratio | None, axis: RatioAxis) -> RatioInterval | None:
    value = None if ratio is None else fmt.finite(ratio.value)
    if ratio is None or not value or value <= 0:
        return None
    low, high = fmt.finite(ratio.low), fmt.finite(ratio.high)
    low, high = low or 0.0, float("inf") if high is None else high
    edge = exp(axis.half)
    return RatioInterval(
        at=axis.place(value),
        low=axis.place(max(low, 1 / edge)),
        high=axis.place(min(high, edge)),
        beyond=(low < 1 / edge, high > edge),
        band=axis.band,
    )
