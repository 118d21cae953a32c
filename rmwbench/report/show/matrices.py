"""Outcomes as tables: the outcome of each condition, with each arm and with all arms together; and
which pairs of middlewares hear each other, where arms are pairs."""

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
from rmwbench.results.answer.facts import title_of
from rmwbench.results.show_model import ArmInCondition, LevelsOutcome, SuiteAnswer, WorkloadAnswer
from rmwbench.results.workload.interop import OUTCOMES
from rmwbench.results.workload.outcomes import in_unit_of_limit
from rmwbench.words import numbers as fmt
from rmwbench.words.level_names import level_text

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
"""The most possible outcomes of a condition that are named."""
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
    all_conditions = judged.conditions
    workload_index = {workload.workload: n for n, workload in enumerate(doc.workloads)}
    names = dict.fromkeys(name for condition in all_conditions for name in condition.levels)
    levels = {
        name: [_level(condition.levels.get(name)) for condition in all_conditions] for name in names
    }
    workloads = [
        doc.workloads[workload_index[condition.workload]].name for condition in all_conditions
    ]
    axes = {"workload": workloads} if len(set(workloads)) > 1 or not levels else {}
    axes |= {name: texts for name, texts in levels.items() if len(set(texts)) > 1}
    common = ", ".join(f"{name}={texts[0]}" for name, texts in levels.items() if name not in axes)
    everywhere = f" Everywhere: {common}." if common else ""
    arms = list(dict.fromkeys(arm.arm for condition in all_conditions for arm in condition.arms))
    columns = [
        *(TableColumn(axis) for axis in axes),
        *(TableColumn(arm, detail="below", key="arm") for arm in arms),
        TableColumn("all together", detail="below", key="whole"),
    ]
    rows: list[list[TableCell | str]] = []
    for number, condition in enumerate(all_conditions):
        index = workload_index[condition.workload]
        cells = {arm.arm: _arm(doc, arm, index) for arm in condition.arms}
        labels = [axis[number] for axis in axes.values()]
        by_arm = (cells.get(arm, TableCell("")) for arm in arms)
        rows.append([*labels, *by_arm, _overall_cell(condition)])
    yield Section(
        "What becomes of each condition",
        [
            Text(f"{judged.summary}{everywhere}", on=On.DOCUMENT),
            *([Text(everywhere.strip(), "muted", on=On.TERMINAL)] if everywhere else ()),
            Table(columns, rows, look="matrix outcomes"),
            Text(
                f"{judged.text} The number is the metric that decided the outcome or left it open.",
                "muted",
            ),
        ],
        anchor="outcomes",
        nav="outcomes",
        look="panel",
    )


def _overall_cell(condition: LevelsOutcome) -> TableCell:
    """The outcome of a condition, with the arms that meet it or the outcomes that it may have."""
    words = f"{ONLY} {condition.only}" if condition.only else condition.outcome
    good = [arm.arm for arm in condition.arms if arm.outcome == MEETS]
    if condition.outcome == MISSES and good:
        more = f"met with {', '.join(good)}"
    else:
        more = " or ".join(condition.may) if len(condition.may) <= _MOST_NAMED else ""
    return TableCell(f"{MARKS[condition.outcome]} {words}", TONES.get(condition.outcome, ""), more)


def _arm(doc: SuiteAnswer, arm: ArmInCondition, workload_index: int) -> TableCell:
    """The outcome of an arm, with the value that decided, or why none did; its cell links to the
    arm."""
    workload = doc.workloads[workload_index]
    arm_index = [measured.arm for measured in workload.arms].index(arm.arm)
    metrics = workload.arms[arm_index].metrics
    if arm.topic:
        (topic,) = [t for t in workload.topics if t.topic == arm.topic]
        metrics = topic.arms[arm_index].metrics
    value = arm.brief if arm.outcome in (OPEN, UNKNOWN) else ""
    if arm.metric and arm.outcome != NONE:
        shown = fmt.metric(in_unit_of_limit(metrics.get(arm.metric)))
        # The interval shows what an open outcome may be; for other outcomes the value is enough.
        value = shown.full if arm.outcome == OPEN else shown.text
    if arm.topic and value:
        value = f"{arm.topic} {value}"
    text, tone = f"{MARKS[arm.outcome]} {arm.outcome}", TONES.get(arm.outcome, "muted")
    link = f"#arm-{workload_index}-{arm_index}"
    return TableCell(text, tone, value, arm.reason, link)


def _level(value: Any) -> str:
    return "–" if value is None else level_text(value)


def pairs(workload: WorkloadAnswer) -> Iterator[Block]:
    """The table of pairs, with talkers as rows and listeners as columns: a mark, and the median
    where messages arrived, for each topic or reader that is judged by itself. The heat of a cell is
    that of its slowest topic or reader against the fastest pair's."""
    if workload.matrix is None:
        return
    judged = [topic for topic in workload.topics if topic.judged]
    parts = [{arm.arm: arm for arm in part.arms} for part in judged or (workload,)]
    cell_of_pair = {(cell.talker, cell.listener): cell for cell in workload.matrix.cells}
    primary = workload.primary_metric
    medians: dict[tuple[str, str], float] = {}
    for pair, cell in cell_of_pair.items():
        if cell.outcome in ("delivers", "degraded"):
            values = [fmt.finite(part[cell.arm].value(primary)) for part in parts]
            if any(values):
                medians[pair] = max(filter(None, values))
    best = min(medians.values(), default=0.0)

    def table_cell(talker: str, listener: str) -> TableCell:
        cell, median = cell_of_pair.get((talker, listener)), medians.get((talker, listener))
        if cell is None:
            return TableCell("")
        texts = [fmt.metric(part[cell.arm].metrics.get(primary)).text for part in parts]
        words = cell.outcome if median is None else " / ".join(texts)
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
        [talker, *(table_cell(talker, listener) for listener in listeners)]
        for talker in workload.matrix.talkers
    ]
    outcomes = {cell.outcome for cell in cell_of_pair.values()}
    meanings = " ".join(f"{name}: {text}." for name, text in OUTCOMES.items() if name in outcomes)
    about = f"The {title_of(primary)} where messages arrived"
    yield Table(columns, rows, title="Who talks to whom", look="matrix")
    yield Text(
        f"{about}; from green to red, up to ten times the fastest pair. {meanings}",
        "muted",
        on=On.PAGE,
    )
    yield Text(f"{about}.", "muted", on=On.TERMINAL)
