"""Where a recorder lost the messages of one trial that it should have kept.

The sequence numbers show for every message that was sent whether it is in the bag. The places
where the missing messages were lost follow from counts, topic by topic, as far as counts exist:

| place | known from |
|---|---|
| `unheard` | they were sent before the first message of their writer that reached the bag |
| `disk` | rosbag2 handed them to its storage (its metadata), and they are not in the file |
| `cache` | rosbag2's own count of what its cache dropped |
| `before` | the rest: they never reached rosbag2's callback |
| `unplaced` | the rest where rosbag2 gave no count, since it did not end in order |

Messages lost `before` were lost by the middleware, or the executor came too late for a queue that
was full; no count separates the two. The recorder's RMW may have reported lost messages
(`transport`), for all topics together: the middleware lost these, and for the others either cause
remains possible."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rmwbench.codes import FAILED, FOREIGN

ROLE = "recorder"
PLACES = ("unheard", "before", "cache", "disk", "unplaced")
NUMBERED = ("sent", "kept", "beside", "only_beside", "only_kept", "twice", "unheard")
"""The counts that sequence numbers alone give."""
Columns = Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class RecordingFates:
    """Counts of the messages of one topic, or of all topics. `beside`: messages that a reader of
    ours took; `only_beside`: messages that it took and that are not in the bag; `only_kept`:
    messages in the bag that no reader of ours took; `twice`: messages that are in the bag more than
    once. The places add up to the messages that were sent and not kept; a place is None where it
    was not counted."""

    topic: str
    sent: int
    kept: int
    beside: int
    only_beside: int
    only_kept: int
    twice: int
    unheard: int
    before: int | None
    cache: int | None
    disk: int | None
    unplaced: int
    contradiction: str = ""

    @property
    def lost(self) -> int:
        """How many messages the recorder lost after it had received the first one of their
        writer."""
        return self.sent - self.kept - self.unheard


@dataclass(frozen=True, kw_only=True)
class TrialRecording:
    """The recorder of one trial. `transport`: how many messages of all topics its RMW reported as
    lost, warm-up included, or None where this rosbag2 does not count them; `cpu_ns`: of the steady
    state. A value that was not read is None."""

    topics: tuple[RecordingFates, ...]
    transport: int | None
    bag_bytes: int | None
    stop_ns: float | None
    cpu_ns: float | None
    peak_rss_bytes: float | None

    @property
    def all(self) -> RecordingFates:
        return total(self.topics)


def total(parts: Sequence[RecordingFates]) -> RecordingFates:
    """The sum over all topics, or all trials; a place that one part does not know is not known."""
    sums: dict[str, Any] = {}
    for name in dict.fromkeys((*NUMBERED, *PLACES)):
        values = [getattr(part, name) for part in parts]
        sums[name] = None if None in values else sum(values)
    return RecordingFates(
        topic="",
        contradiction=next((p.contradiction for p in parts if p.contradiction), ""),
        **sums,
    )


def measure_recording(
    endpoints: Iterable[Mapping[str, Any]],
    topics: Sequence[str],
    sent: Columns,
    received: Columns,
    in_bag: Columns,
    counters: Iterable[Mapping[str, Any]],
) -> TrialRecording | None:
    """The recorder's fates from the bundle's tables of one trial: `sent` (endpoint, seq, flags, and
    `called`, False for a message without a publish call), `received` (writer, seq, flags), `in_bag`
    (endpoint, seq), `counters`. None where no recorder's bag was read."""
    rows = [row for row in counters if row["role"] == ROLE]
    values = {(row["counter"], row["endpoint"], row["at"]): row["value"] for row in rows}
    if ("bag.size", None, "end") not in values:
        return None
    by_topic: dict[str, list[int]] = {topic: [] for topic in topics}
    for row in endpoints:
        if row["kind"] == "publisher" and row["topic"] in by_topic:
            by_topic[row["topic"]].append(row["endpoint"])
    of_topic = {
        topic: _of_topic(topic, writers, sent, received, in_bag)
        for topic, writers in by_topic.items()
    }
    placed = tuple(_placed(of_topic[topic], by_topic[topic], values) for topic in by_topic)
    begin, end = (values.get(("cpu", None, at)) for at in ("steady_begin", "steady_end"))
    transport, bag_bytes, stop_ns, peak_rss_bytes = (
        values.get((name, None, "end"))
        for name in ("rosbag2.lost_in_transport", "bag.size", "rosbag2.stop", "peak_rss")
    )
    return TrialRecording(
        topics=placed,
        transport=_count(transport),
        bag_bytes=_count(bag_bytes),
        stop_ns=stop_ns,
        cpu_ns=None if begin is None or end is None else end - begin,
        peak_rss_bytes=peak_rss_bytes,
    )


def _count(value: float | None) -> int | None:
    return None if value is None else int(value)


def _of_topic(
    topic: str, writers: Sequence[int], sent: Columns, received: Columns, in_bag: Columns
) -> RecordingFates:
    """The counts that sequence numbers alone give."""
    counts: Counter[str] = Counter()
    for writer in writers:
        tried = (sent["endpoint"] == writer) & sent["called"] & ((sent["flags"] & FAILED) == 0)
        published = np.unique(sent["seq"][tried])
        of_writer = (received["writer"] == writer) & ((received["flags"] & FOREIGN) == 0)
        beside = np.isin(published, received["seq"][of_writer])
        numbers = in_bag["seq"][in_bag["endpoint"] == writer]
        in_bag_too = np.isin(published, numbers)
        first = published[in_bag_too].min() if in_bag_too.any() else None
        counts["sent"] += len(published)
        counts["kept"] += int(in_bag_too.sum())
        counts["beside"] += int(beside.sum())
        counts["only_beside"] += int((beside & ~in_bag_too).sum())
        counts["only_kept"] += int((in_bag_too & ~beside).sum())
        counts["twice"] += len(numbers) - len(np.unique(numbers))
        counts["unheard"] += 0 if first is None else int((published < first).sum())
    return RecordingFates(
        topic=topic,
        before=None,
        cache=None,
        disk=None,
        unplaced=0,
        contradiction="",
        **{name: counts[name] for name in NUMBERED},
    )


def _placed(
    fates: RecordingFates,
    writers: Sequence[int],
    values: Mapping[tuple[str, int | None, str], float],
) -> RecordingFates:
    """The fates with the places that rosbag2 counted for the topic."""

    def of(counter: str) -> int | None:
        counts = [values.get((counter, writer, "end")) for writer in writers]
        read = [count for count in counts if count is not None]
        return int(sum(read)) if read else None

    handed, in_bag, cache = (
        of("rosbag2.handed_to_storage"),
        of("bag.messages"),
        of("rosbag2.lost_in_cache"),
    )
    if handed is None or in_bag is None or cache is None:
        return replace(fates, unplaced=fates.lost)
    disk = handed - in_bag
    before = fates.lost - cache - disk
    if disk < 0 or before < 0:
        text = (
            f"topic {fates.topic}: {fates.lost} lost, but {cache} in the cache and {disk} on "
            "the disk by its account"
        )
        return replace(fates, unplaced=fates.lost, contradiction=text)
    return replace(fates, before=before, cache=cache, disk=disk)
