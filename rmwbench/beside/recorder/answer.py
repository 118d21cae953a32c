"""The answer on rosbag2's recorder: for each case and each arm, the messages that it kept, and the
places at which it lost the others, for all done trials together.

There is no interval: the question is whether messages were lost at a place at all. An arm loses
messages at a place if all trials agree, and there are at least five; fewer decide nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.metrics.comparisons import json_column
from rmwbench.analysis.metrics.recording import (
    PLACES,
    RecordingFates,
    TrialRecording,
    measure_recording,
    total,
)
from rmwbench.analysis.records.ledger import ABSENT
from rmwbench.bundle import Bundle
from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.bundle.evidence import SmallTables
from rmwbench.results.answer.progress import few_trials, why_none
from rmwbench.results.judged_campaign import JudgedCampaign
from rmwbench.results.show_model import (
    RecordedTopic,
    Recordings,
    RecordingsArm,
    RecordingsRow,
    SuiteAnswer,
)
from rmwbench.words import numbers as fmt

Word = Literal["kept all", "loses", "no data", "not supported"]
KEPT_ALL: Word = "kept all"
LOSES: Word = "loses"
NO_DATA: Word = "no data"
NOT_SUPPORTED: Word = "not supported"
NAMES = {
    "unheard": "unheard",
    "before": "before rosbag2",
    "cache": "cache",
    "disk": "disk",
    "unplaced": "place unknown",
}
TEXT = (
    "Messages of all done trials, warm-up included: sent = kept + the five places. Unheard: sent "
    "before the first message of that publisher in the bag, while discovery was under way. Before "
    "rosbag2: it never reached the recorder's callback, since the middleware lost it or the executor "
    "came too late for a full queue; no count separates the two. RMW reported: the number of lost "
    "messages that the recorder's own RMW reported by its message-lost events; “–” if this rosbag2 "
    "does not count them. Cache: dropped by rosbag2's cache. Disk: handed to the storage and not in "
    "the file. Place unknown: rosbag2 did not end in order and gave no account. Our reader: taken by "
    "our own reader with the same quality of service."
)


@dataclass(frozen=True)
class RecorderAnswer:
    """`places`: the places at which every trial lost messages."""

    answer: Word
    reason: str = ""
    places: tuple[str, ...] = ()


def judge(trials: Sequence[RecordingFates], missed: Sequence[TrialLine] = ()) -> RecorderAnswer:
    """Judge by the fates of each trial's messages, all topics together; `missed`: the finished
    trials that are not done."""
    if not trials:
        reasons = ("no trial with a bag is done", why_none(missed))
        return RecorderAnswer(NO_DATA, ": ".join(filter(None, reasons)))
    if not all(fates.sent for fates in trials):
        return RecorderAnswer(NO_DATA, "in a trial nothing was published")
    contradiction = next((fates.contradiction for fates in trials if fates.contradiction), "")
    lossy = sum(fates.lost > 0 for fates in trials)
    places = tuple(name for name in PLACES[1:] if all(getattr(fates, name) for fates in trials))
    if lossy not in (0, len(trials)):
        lossy_trials = f"{lossy} of {fmt.counted(len(trials), 'trial')}"
        reason = f"trials disagree: {lossy_trials} lost messages and the others none"
        return RecorderAnswer(NO_DATA, _joined(reason, contradiction))
    answer = LOSES if lossy else KEPT_ALL
    lossy_places = f" ({', '.join(NAMES[name] for name in places)})" if places else ""
    if reason_of_few := few_trials(f"{answer}{lossy_places}", len(trials)):
        return RecorderAnswer(NO_DATA, _joined(reason_of_few, contradiction))
    other_places = [
        f"{NAMES[name]} in {count} of {len(trials)} trials"
        for name in PLACES[1:]
        if 0 < (count := sum(bool(getattr(fates, name)) for fates in trials)) < len(trials)
    ]
    return RecorderAnswer(answer, _joined(", ".join(other_places), contradiction), places)


def _joined(*texts: str) -> str:
    return "; ".join(filter(None, texts))


def of_trial(
    bundle: Bundle, trial: int, topics: Sequence[str], small: SmallTables
) -> TrialRecording | None:
    """Return the recorded messages of a trial by its tables, None if no bag was read."""
    sent = bundle.columns("sent", trial, ["endpoint", "seq", "flags", "call_ns"])
    received = bundle.columns("received", trial, ["writer", "seq", "flags"])
    in_bag = bundle.columns("recorded", trial, ["endpoint", "seq"])
    columns = {**sent, "called": sent["call_ns"] != ABSENT}
    return measure_recording(
        small.endpoints[trial], topics, columns, received, in_bag, small.counters[trial]
    )


def of_campaign(bundle: Bundle, campaign: JudgedCampaign) -> dict[str, Any]:
    return {"recordings": recordings(bundle, campaign.measured, campaign.small)}


def recordings(
    bundle: Bundle, measured: Mapping[int, Sequence[MeasuredTrial]], small: SmallTables
) -> Recordings | None:
    """Return the answer on recorders, None if no cell has one."""
    undone = [line for line in bundle.trials() if line.status in ("failed", "void")]
    cases: dict[str, Mapping[str, Any]] = {}
    arms: dict[str, list[RecordingsArm]] = {}
    for cell in bundle.rows("cells"):
        definition = json_column(cell["definition"])
        recorder = definition.get("recorder")
        if not recorder or cell["cell"] not in measured:
            continue
        comparison = definition["comparison"]
        cases.setdefault(comparison, {"title": definition["workload"]["title"], **recorder})
        trials = [
            recording
            for trial in measured[cell["cell"]]
            if (recording := of_trial(bundle, trial.trial, recorder["topics"], small))
        ]
        if reason := bundle.unsupported.get(cell["cell"]):
            answer = RecorderAnswer(NOT_SUPPORTED, reason)
        else:
            missed = [line for line in undone if line.cell == cell["cell"]]
            answer = judge([recording.all for recording in trials], missed)
        arms.setdefault(comparison, []).append(_arm(cell, answer, trials, definition["timeline"]))
    rows = tuple(
        RecordingsRow(
            workload=name,
            title=case["title"],
            place=case["place"],
            cache_mib=case["cache_mib"],
            host=case["host"],
            topics=tuple(case["topics"]),
            arms=tuple(arms[name]),
        )
        for name, case in cases.items()
    )
    return Recordings(text=TEXT, rows=rows) if rows else None


def _arm(
    cell: Mapping[str, Any],
    answer: RecorderAnswer,
    trials: Sequence[TrialRecording],
    timeline: Mapping[str, float],
) -> RecordingsArm:
    """Return an arm with the counts of all trials together, and the mean of each cost, None if a
    trial lacks it."""
    steady_s = timeline["steady_s"]
    span_s = steady_s + timeline["warmup_s"]
    transport = [r.transport for r in trials if r.transport is not None]
    return RecordingsArm(
        arm=cell["arm"],
        middleware=cell["middleware"],
        version=cell["version"],
        cell=cell["cell"],
        answer=answer.answer,
        reason=answer.reason,
        places=answer.places,
        trials=len(trials),
        **(_counts(total([recording.all for recording in trials])) if trials else {}),
        transport=sum(transport) if trials and len(transport) == len(trials) else None,
        bag_bytes=_mean([recording.bag_bytes for recording in trials]),
        written_bytes_per_s=_mean([recording.bag_bytes for recording in trials], span_s),
        stop_s=_mean([recording.stop_ns for recording in trials], 1e9),
        cpu_cores=_mean([recording.cpu_ns for recording in trials], 1e9 * steady_s),
        peak_rss_bytes=_mean([recording.peak_rss_bytes for recording in trials]),
        topics=tuple(
            RecordedTopic(topic=str(parts[0].topic), **_counts(total(parts)))
            for parts in zip(*(recording.topics for recording in trials), strict=True)
        ),
    )


def _counts(fates: RecordingFates) -> dict[str, int | None]:
    return {
        name: value
        for name, value in asdict(fates).items()
        if name not in ("topic", "contradiction")
    }


def _mean(values: Sequence[float | None], divisor: float = 1.0) -> float | None:
    """Return the mean over a divisor, None if a value is absent or there are none."""
    numbers = [value for value in values if value is not None]
    return (
        sum(numbers) / len(numbers) / divisor if numbers and len(numbers) == len(values) else None
    )


def notes(answer: SuiteAnswer) -> list[str]:
    """Return `ARM in CASE: ANSWER: REASON` for each arm with a reason."""
    rows = () if answer.recordings is None else answer.recordings.rows
    return [
        f"{arm.arm} in {row.workload}: {arm.answer}: {arm.reason}"
        for row in rows
        for arm in row.arms
        if arm.reason
    ]
