"""What rosbag2's recorder kept beside the readers of a workload, and where it lost the rest: for
each case and each arm, of all done trials together.

No interval: the places are counts, and what is asked is whether there are any. Whether an arm loses
messages at a place is said from five trials on, where all of them agree; fewer decide nothing, here
as everywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.metrics.comparisons import json_column
from rmwbench.analysis.metrics.recording import PLACES, Recorded, RecordingFates, recorded, total
from rmwbench.analysis.records.ledger import ABSENT
from rmwbench.bundle import Bundle
from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.bundle.evidence import SmallTables
from rmwbench.results.few_trials import undecided, why_none
from rmwbench.results.judged_campaign import JudgedCampaign
from rmwbench.results.shown import (
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
    "unplaced": "not told",
}
TEXT = (
    "Messages of all done trials, warm-up included: sent = kept + the five places. Unheard: sent "
    "before the first message of that publisher in the bag, while discovery was under way. Before "
    "rosbag2: it never reached the recorder's callback; the middleware lost it, or the executor "
    "came too late for a full queue, and nobody counts these two apart. RMW told: how many the "
    "recorder's own RMW said were lost on the way, by its message-lost events; “–” where this "
    "rosbag2 does not count them. Cache: dropped by rosbag2's cache. Disk: handed to the storage "
    "and not in the file. Not told: rosbag2 did not end in order and gave no account. Beside: "
    "taken by a reader of ours of the same quality of service."
)


@dataclass(frozen=True)
class RecorderAnswer:
    """`places` are those at which every trial lost messages."""

    answer: Word
    reason: str = ""
    places: tuple[str, ...] = ()


def judge(trials: Sequence[RecordingFates], missed: Sequence[TrialLine] = ()) -> RecorderAnswer:
    """The answer from the fates of each trial's messages, all topics together; `missed` are the
    finished trials that are not done."""
    if not trials:
        return RecorderAnswer(
            NO_DATA, ": ".join(filter(None, ("no trial with a bag is done", why_none(missed))))
        )
    contradiction = next((fates.contradiction for fates in trials if fates.contradiction), "")
    lossy = sum(fates.lost > 0 for fates in trials)
    places = tuple(name for name in PLACES[1:] if all(getattr(fates, name) for fates in trials))
    if lossy not in (0, len(trials)):
        disagreement = (
            f"{lossy} of {fmt.counted(len(trials), 'trial')} lost messages and the others none"
        )
        return RecorderAnswer(NO_DATA, _and(f"trials disagree: {disagreement}", contradiction))
    answer = LOSES if lossy else KEPT_ALL
    lossy_places = f" ({', '.join(NAMES[name] for name in places)})" if places else ""
    if few := undecided(f"{answer}{lossy_places}", len(trials)):
        return RecorderAnswer(NO_DATA, _and(few, contradiction))
    elsewhere = [
        f"{NAMES[name]} in {some} of {len(trials)} trials"
        for name in PLACES[1:]
        if 0 < (some := sum(bool(getattr(fates, name)) for fates in trials)) < len(trials)
    ]
    return RecorderAnswer(answer, _and(", ".join(elsewhere), contradiction), places)


def _and(*texts: str) -> str:
    return "; ".join(filter(None, texts))


def of_trial(
    bundle: Bundle, trial: int, topics: Sequence[str], small: SmallTables
) -> Recorded | None:
    """The recorded messages of a trial, from its tables; None where no bag was read."""
    sent = bundle.columns("sent", trial, ["endpoint", "seq", "flags", "call_ns"])
    received = bundle.columns("received", trial, ["writer", "seq", "flags"])
    in_bag = bundle.columns("recorded", trial, ["endpoint", "seq"])
    columns = {**sent, "called": sent["call_ns"] != ABSENT}
    return recorded(
        small.endpoints[trial], topics, columns, received, in_bag, small.counters[trial]
    )


def of_campaign(bundle: Bundle, campaign: JudgedCampaign) -> dict[str, Any]:
    """The field of the answer."""
    return {"recordings": recordings(bundle, campaign.measured, campaign.small)}


def recordings(
    bundle: Bundle, measured: Mapping[int, Sequence[MeasuredTrial]], small: SmallTables
) -> Recordings | None:
    """The answer on recorders; None where no cell has one."""
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
        lines = measured.get(cell["cell"], ())
        trials = [
            recording
            for t in lines
            if (recording := of_trial(bundle, t.trial, recorder["topics"], small))
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
    trials: Sequence[Recorded],
    timeline: Mapping[str, float],
) -> RecordingsArm:
    """Counts of all trials together; of costs their mean, None where a trial has none."""
    steady_s = timeline["steady_s"]
    span_s = steady_s + timeline["warmup_s"]
    transport = [recording.transport for recording in trials]
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
        transport=sum(cast("list[int]", transport)) if trials and None not in transport else None,
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
    read = [value for value in values if value is not None]
    return sum(read) / len(read) / divisor if read and len(read) == len(values) else None


def notes(doc: SuiteAnswer) -> list[str]:
    """`ARM in CASE: REASON` of each arm with a reason."""
    rows = () if doc.recordings is None else doc.recordings.rows
    return [
        f"{arm.arm} in {row.workload}: {arm.answer}: {arm.reason}"
        for row in rows
        for arm in row.arms
        if arm.reason
    ]
