"""The tables of features of ROS 2: the bring-up of lifecycle nodes, the ROS variables that are
obeyed, and the messages that a recorder kept."""

from collections.abc import Iterator, Mapping, Sequence

from rmwbench.beside.bring_up.answer import HEADINGS
from rmwbench.beside.recorder import answer as recordings
from rmwbench.beside.ros_variables import answer as ros_variables
from rmwbench.report.view import Block, Items, Section, Table, TableCell, TableColumn, Text, Tone
from rmwbench.results.model import Estimate
from rmwbench.results.show_model import (
    BringUpArm,
    BringUpRow,
    RecordingsArm,
    RecordingsRow,
    RosVariablesArm,
    SuiteAnswer,
)
from rmwbench.words import numbers as fmt

TONES: dict[str, Tone] = {
    ros_variables.OBEYED: "good",
    ros_variables.NOT_OBEYED: "bad",
    ros_variables.NO_DATA: "odd",
    recordings.KEPT_ALL: "good",
    recordings.LOSES: "bad",
}
MARKS = {
    ros_variables.OBEYED: "✓",
    ros_variables.NOT_OBEYED: "✗",
    ros_variables.NO_DATA: "·",
    ros_variables.NOT_SUPPORTED: "–",
    ros_variables.IS_CONTROL: "=",
    recordings.KEPT_ALL: "✓",
    recordings.LOSES: "✗",
}
RECORDED = (
    "arm",
    "answer",
    "sent",
    "kept",
    *recordings.NAMES.values(),
    "RMW reported",
    "our reader",
    "MB/s",
    "cores",
    "memory",
    "stop",
)


def sections(doc: SuiteAnswer) -> Iterator[Section]:
    """Yield the tables of the features that the campaign has."""
    yield from brought_up(doc)
    yield from variables(doc)
    yield from recorded(doc)


def brought_up(doc: SuiteAnswer) -> Iterator[Section]:
    if doc.bring_up is None:
        return
    metrics = {w.workload: {a.arm: a.metrics for a in w.arms} for w in doc.workloads}
    blocks: list[Block] = [_brought_up(row, metrics[row.workload]) for row in doc.bring_up.rows]
    blocks.append(Text(doc.bring_up.text, "muted"))
    yield Section("Bring-up", blocks, anchor="bring-up", look="panel")


def _brought_up(row: BringUpRow, metrics: Mapping[str, Mapping[str, Estimate]]) -> Section:
    nodes = fmt.counted(row.nodes, "lifecycle node")
    window = "" if row.window_s is None else f", window {row.window_s:g} s"
    about = f"{nodes}, service time-out {row.service_timeout_s:g} s{window}."
    times = next((arm.up for arm in row.arms if arm.up), ())
    completion = _texts(
        ["", "complete", *HEADINGS, "stopped"],
        [_completion(arm, metrics[arm.arm]) for arm in row.arms],
    )
    up = _texts(
        ["nodes up after", *(f"{step.after_s:g} s" for step in times)],
        [
            [arm.arm, *(fmt.quantity(step.nodes, None) for step in arm.up)]
            for arm in row.arms
            if arm.up
        ],
    )
    return Section(row.title, [Text(about, "muted"), completion, up])


def _texts(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    return Table([TableColumn(head) for head in heads], rows, look="matrix")


def _completion(arm: BringUpArm, metrics: Mapping[str, Estimate]) -> list[str]:
    complete = f"{arm.complete} of {arm.trials}" if arm.trials else "no data"
    values = (fmt.metric(metrics.get(name)) for name in HEADINGS.values())
    texts = ["never" if value.state == "never" else value.full for value in values]
    return [arm.arm, complete, *texts, _stops(arm)]


def _stops(arm: BringUpArm) -> str:
    """Return `service not available 12, configure timed out 3 (of 100)`."""
    if arm.not_supported:
        return f"not supported: {arm.not_supported}"
    if not arm.trials:
        return "no trial is done"
    reasons = ", ".join(f"{stop.text} {stop.nodes}" for stop in arm.stopped)
    return f"{reasons} (of {arm.nodes_of_all_trials})" if reasons else "none"


def variables(doc: SuiteAnswer) -> Iterator[Section]:
    """Yield the table that says for each case and each arm whether the variables were obeyed, and
    how many messages were heard."""
    answer = doc.ros_variables
    if answer is None:
        return
    arms = list(dict.fromkeys(arm.arm for row in answer.rows for arm in row.arms))
    columns = [
        TableColumn("case", detail="beside"),
        TableColumn("by the documentation"),
        *(TableColumn(arm, detail="below", key="arm") for arm in arms),
    ]
    workloads: dict[str, list[list[TableCell]]] = {}
    for row in answer.rows:
        answers = {arm.arm: _obeyed(arm) for arm in row.arms}
        assigned = f"writer {_assigned(row.writer)}, reader {_assigned(row.reader)}"
        cells = [
            TableCell(row.case, detail=row.text, why=assigned),
            TableCell(row.expected, link=row.source),
            *(answers.get(arm, TableCell("")) for arm in arms),
        ]
        workloads.setdefault(row.title, []).append(cells)
    blocks: list[Block] = [Text(answer.summary)]
    for title, rows in workloads.items():
        blocks.append(Section(title, [Table(columns, rows, look="matrix outcomes cases")]))
    blocks.append(
        Text(f"{answer.text} Beside each answer: messages heard of those published.", "muted")
    )
    if notes := ros_variables.notes(answer):
        blocks.append(Items(notes, "odd", "!"))
    title = "ROS variables, obeyed or not"
    yield Section(title, blocks, anchor="ros-variables", look="panel")


def _assigned(variables: Mapping[str, str]) -> str:
    """Return `ROS_DOMAIN_ID=41`, with a space between several; `none` without any."""
    return " ".join(f"{name}={value}" for name, value in variables.items()) or "none"


def _obeyed(arm: RosVariablesArm) -> TableCell:
    as_loans = ", as loans" if arm.lent else ""
    heard = f"{arm.heard} of {arm.wanted}{as_loans}" if arm.trials else ""
    why = "; ".join(filter(None, (arm.text, arm.reason)))
    tone = TONES.get(arm.answer, "muted")
    return TableCell(f"{MARKS[arm.answer]} {arm.answer}", tone, heard, why)


def recorded(doc: SuiteAnswer) -> Iterator[Section]:
    """Yield a table for each case of a recorder: the messages that each arm kept, and the places
    where the others were lost."""
    if doc.recordings is None:
        return
    columns = [TableColumn(head, right=n > 1) for n, head in enumerate(RECORDED)]
    blocks: list[Block] = []
    for row in doc.recordings.rows:
        table = Table(columns, [_recorded(arm) for arm in row.arms], look="results recordings")
        blocks.append(Section(_recorder(row), [table]))
    blocks.append(Text(doc.recordings.text, "muted"))
    if notes := recordings.notes(doc):
        blocks.append(Items(notes, "odd", "!"))
    title = "What the recorder kept, and where it lost the rest"
    yield Section(title, blocks, anchor="recordings", look="panel")


def _recorder(row: RecordingsRow) -> str:
    cache = f"cache of {row.cache_mib} MiB" if row.cache_mib else "no cache"
    place = {"tmpfs": "in memory", "disk": "on disk"}[row.place]
    return f"{row.title}: bag {place}, {cache}"


def _recorded(arm: RecordingsArm) -> list[TableCell | str]:
    answer = f"{MARKS[arm.answer]} {arm.answer}"
    tone = TONES.get(arm.answer, "muted")
    if not arm.trials or arm.sent is None:
        empty = [""] * (len(RECORDED) - 2)
        return [arm.arm, TableCell(answer, tone, why=arm.reason), *empty]
    if arm.places:
        answer += f": {', '.join(recordings.NAMES[name] for name in arm.places)}"
    lost = (arm.unheard, arm.before, arm.cache, arm.disk, arm.unplaced)
    return [
        arm.arm,
        TableCell(answer, tone, why=arm.reason),
        str(arm.sent),
        *(_share(count, arm.sent) for count in (arm.kept, *lost)),
        "–" if arm.transport is None else str(arm.transport),
        _share(arm.beside, arm.sent),
        _number(arm.written_bytes_per_s, 1e-6, ""),
        _number(arm.cpu_cores, 1.0, ""),
        _number(arm.peak_rss_bytes, 1e-6, " MB"),
        _number(arm.stop_s, 1.0, " s"),
    ]


def _share(count: int | None, sent: int) -> str:
    """Return `12 (3.1 %)`; `–` for a place that nobody counted."""
    if count is None:
        return "–"
    return f"{count} ({fmt.percent(count / sent, 3)})" if count and sent else str(count)


def _number(value: float | None, factor: float, unit: str) -> str:
    return "–" if value is None else f"{fmt.significant(value * factor)}{unit}"
