"""Outcomes as tables: the outcome of each condition, with each arm and with all of them together;
and which pairs of middlewares hear each other, where arms are pairs."""

from collections.abc import Iterator
from typing import Any

from rmwbench.analysis.verdicts.limit_outcomes import (
    MEETS,
    MISSES,
    NONE,
    NOT_SUPPORTED,
    ONLY,
    OPEN,
    UNKNOWN,
)
from rmwbench.report.view import Block, On, Section, Table, TableCell, TableColumn, Text, Tone
from rmwbench.results.shown import ArmInCondition, LevelsOutcome, SuiteAnswer, WorkloadAnswer
from rmwbench.results.workload.interop import OUTCOMES
from rmwbench.results.workload.outcomes import in_unit_of_limit
from rmwbench.words import numbers as fmt

TONES: dict[str, Tone] = {
    MEETS: "good",
    MISSES: "open",
    ONLY: "open",
    NONE: "bad",
    OPEN: "odd",
    UNKNOWN: "odd",
}
MARKS = {
    MEETS: "✓",
    MISSES: "!",
    ONLY: "!",
    NONE: "✗",
    OPEN: "?",
    UNKNOWN: "·",
    NOT_SUPPORTED: "–",
}
_MOST_NAMED = 3
"""Where a condition may have more outcomes than these, they are not named: that would say
nothing."""
_PAIRS: dict[str, Tone] = {
    "delivers": "good",
    "degraded": "open",
    "no delivery": "bad",
    "no match": "bad",
    "failed": "bad",
}
_PAIR_MARKS = {
    "delivers": "✓",
    "degraded": "!",
    "no delivery": "✗",
    "no match": "✗",
    "failed": "✗",
    "no data": "·",
    "not supported": "–",
    "not run": "·",
}
_HEAT_OF_RATIO = (1.25, 2.0, 4.0, 10.0)
"""The multiples of the best pair's median at which a cell takes the next shade."""


def conditions(doc: SuiteAnswer) -> Iterator[Section]:
    """The table of conditions: a row for each, named by the factors that differ. Empty without
    limits."""
    judged = doc.outcomes
    if judged is None:
        return
    listed = judged.conditions
    places = {workload.workload: place for place, workload in enumerate(doc.workloads)}
    names = dict.fromkeys(name for one in listed for name in one.levels)
    levels = {name: [_level(one.levels.get(name)) for one in listed] for name in names}
    workloads = [doc.workloads[places[one.workload]].name for one in listed]
    axes = {"workload": workloads} if len(set(workloads)) > 1 or not levels else {}
    axes |= {name: texts for name, texts in levels.items() if len(set(texts)) > 1}
    same = ", ".join(f"{name}={texts[0]}" for name, texts in levels.items() if name not in axes)
    everywhere = f" Everywhere: {same}." if same else ""
    arms = list(dict.fromkeys(arm.arm for one in listed for arm in one.arms))
    columns = [
        *(TableColumn(axis) for axis in axes),
        *(TableColumn(arm, detail="below", key="arm") for arm in arms),
        TableColumn("all together", detail="below", key="whole"),
    ]
    rows: list[list[TableCell | str]] = []
    for number, one in enumerate(listed):
        cells = {arm.arm: _arm(doc, arm, places[one.workload]) for arm in one.arms}
        labels = [axis[number] for axis in axes.values()]
        rows.append([*labels, *(cells.get(arm, TableCell("")) for arm in arms), _whole(one)])
    yield Section(
        "What becomes of each condition",
        [
            Text(f"{judged.summary}{everywhere}", on=On.DOCUMENT),
            Text(everywhere.strip(), "muted", on=On.TERMINAL if everywhere else On(0)),
            Table(columns, rows, look="matrix outcomes"),
            Text(
                f"{judged.text} The number is of the metric that decided, or leaves it open.",
                "muted",
            ),
        ],
        anchor="outcomes",
        nav="outcomes",
        look="panel",
    )


def _whole(one: LevelsOutcome) -> TableCell:
    """The outcome of a condition, with the arms that meet it or the outcomes that it may have."""
    words = f"{ONLY} {one.only}" if one.only else one.outcome
    good = [arm.arm for arm in one.arms if arm.outcome == MEETS]
    if one.outcome == MISSES and good:
        more = f"met with {', '.join(good)}"
    else:
        more = " or ".join(one.may) if len(one.may) <= _MOST_NAMED else ""
    return TableCell(f"{MARKS[one.outcome]} {words}", TONES.get(one.outcome, ""), more)


def _arm(doc: SuiteAnswer, one: ArmInCondition, at: int) -> TableCell:
    """The outcome of an arm, with the value that decided, or why none did; its cell links to the
    arm."""
    workload = doc.workloads[at]
    place = next(n for n, arm in enumerate(workload.arms) if arm.arm == one.arm)
    known = workload.arms[place].metrics
    if one.topic:
        (topic,) = [t for t in workload.topics if t.topic == one.topic]
        known = topic.arms[place].metrics
    value = one.brief if one.outcome in (OPEN, UNKNOWN) else ""
    if one.metric and one.outcome != NONE:
        shown = fmt.metric(in_unit_of_limit(known.get(one.metric)))
        # What an open one may be is in its interval; of the others the value is enough.
        value = shown.full if one.outcome == OPEN else shown.text
    if one.topic and value:
        value = f"{one.topic} {value}"
    text, tone = f"{MARKS[one.outcome]} {one.outcome}", TONES.get(one.outcome, "muted")
    return TableCell(text, tone, value, one.reason, f"#arm-{at}-{place}")


def _level(value: Any) -> str:
    return "–" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def pairs(workload: WorkloadAnswer) -> Iterator[Block]:
    """The table of pairs, with talkers as rows and listeners as columns: a mark, and the median
    where messages arrived, for each topic or reader that is judged by itself. The heat of a cell is
    that of its slowest topic or reader against the fastest pair's."""
    if workload.matrix is None:
        return
    judged = [topic for topic in workload.topics if topic.judged]
    parts = [{arm.arm: arm for arm in part.arms} for part in judged or (workload,)]
    at = {(cell.talker, cell.listener): cell for cell in workload.matrix.cells}
    primary = workload.primary_metric
    medians = {
        place: max(known)
        for place, cell in at.items()
        if cell.outcome in ("delivers", "degraded")
        and (known := [*filter(None, (fmt.finite(of[cell.arm].value(primary)) for of in parts))])
    }
    best = min(medians.values(), default=0.0)

    def pair(talker: str, listener: str) -> TableCell:
        cell, median = at.get((talker, listener)), medians.get((talker, listener))
        if cell is None:
            return TableCell("")
        values = [fmt.metric(of[cell.arm].metrics.get(primary)).text for of in parts]
        words = cell.outcome if median is None else " / ".join(values)
        heat = sum(median / best >= edge for edge in _HEAT_OF_RATIO) if median and best else 0
        return TableCell(
            f"{_PAIR_MARKS[cell.outcome]} {words}",
            _PAIRS.get(cell.outcome, "muted"),
            why=f"{cell.arm}: {cell.reason or OUTCOMES[cell.outcome]}",
            heat=heat or None,
        )

    listeners = workload.matrix.listeners
    columns = [TableColumn("talker ↓  listener →")]
    columns += [TableColumn(listener, right=True) for listener in listeners]
    rows: list[list[TableCell | str]] = [
        [talker, *(pair(talker, listener) for listener in listeners)]
        for talker in workload.matrix.talkers
    ]
    outcomes = {cell.outcome for cell in at.values()}
    meanings = " ".join(f"{name}: {text}." for name, text in OUTCOMES.items() if name in outcomes)
    about = "The median of the primary metric where messages arrived"
    yield Table(columns, rows, title="Who talks to whom", look="matrix")
    yield Text(
        f"{about}; from green to red, up to ten times the fastest pair. {meanings}",
        "muted",
        on=On.PAGE,
    )
    yield Text(f"{about}.", "muted", on=On.TERMINAL)
