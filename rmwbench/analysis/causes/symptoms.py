"""Symptoms: known faults of middlewares as they are configured, each decided from the settings
granted to an arm and from its counts and measurements, never from a sentence.

A setting alone is no symptom: a segment is too small where messages were lost or repaired because
of its size. The known remedies are in suites/remedies.yaml."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

MS = 1e6
REPAIRED_NS = 10 * MS
"""A message that takes this long from publish call to reader was repaired. DDS has two delays of
5 ms each, before a heartbeat is answered and before the answer is answered (Fast DDS, both as
installed)."""
DROPPED = 0.01
"""Dropped datagrams matter where sockets drop more of them than this per message that was due."""
SMALL_BYTES, LARGE_BYTES = 65_536, 524_288
"""Up to the first size wake-ups are the cost of a message, from the second size on its copies."""
SELDOM_HZ = 100.0
"""Up to this rate a processor goes to sleep between two messages."""


class Symptom(StrEnum):
    """The symptoms in the order of a report: the first ones cost messages or seconds."""

    SEGMENT_TOO_SMALL = "segment_too_small"
    RECEIVE_BUFFER_FULL = "receive_buffer_full"
    LATE_REPAIR = "late_repair"
    BURST_OVER_DEPTH = "burst_over_depth"
    QUEUE_HOLDS_PUBLISHER = "queue_holds_publisher"
    COPIES_THOUGH_IT_LENDS = "copies_though_it_lends"
    THREAD_OF_THE_WAIT_SET = "thread_of_the_wait_set"
    SLEEPING_PROCESSOR = "sleeping_processor"

    @property
    def is_harm(self) -> bool:
        """Whether the symptom loses messages, or delays them by more than any middleware needs;
        other symptoms only cost time or memory."""
        return self not in (
            Symptom.COPIES_THOUGH_IT_LENDS,
            Symptom.THREAD_OF_THE_WAIT_SET,
            Symptom.SLEEPING_PROCESSOR,
        )


@dataclass(frozen=True, kw_only=True)
class Conduct:
    """The facts about an arm that decide its symptoms, in its largest topic; None where a fact is
    not known.

    `segment_bytes`: the size of the shared memory through which it sends; `heartbeat_ns`: the
    configured period in which its writers ask which messages are missing. `missing`, `wanted`:
    messages; `dropped`: datagrams for which sockets had no room. `way_ns`: the median from the
    publish call's return until the message is taken. `frames_lost`: share of the frames that the
    links lost. `stall_ns`: the longest silence; `period_ns`: the time between two messages, or two
    bursts of `burst` messages; `depth` of keep last. `held_ns`: the median publish call, where
    calls wait for room. `slower_when_rare`: whether the arm is decided to take longer at this rate
    than at a higher rate."""

    one_host: bool = True
    payload_bytes: int | None = None
    segment_bytes: float | None = None
    heartbeat_ns: float | None = None
    missing: int = 0
    wanted: int = 0
    dropped: int = 0
    response_ns: float | None = None
    way_ns: float | None = None
    frames_lost: float | None = None
    stall_ns: float | None = None
    period_ns: float | None = None
    burst: int = 1
    depth: int | None = None
    reliable: bool = False
    held_ns: float | None = None
    lends: bool = False
    lent: bool = False
    calls_back: bool = False
    waits_in_a_set: bool = False
    slower_when_rare: bool = False

    @property
    def is_harmed(self) -> bool:
        """Whether messages are missing, or took as long as a repair takes."""
        return bool(self.missing) or (self.way_ns or 0.0) >= REPAIRED_NS


@dataclass(frozen=True)
class SeenSymptom:
    """A symptom and its measurements: name of a field of `Conduct` -> its value."""

    symptom: Symptom
    amounts: Mapping[str, float] = field(default_factory=dict)


def symptoms(conduct: Conduct) -> tuple[SeenSymptom, ...]:
    """The symptoms of an arm, in the order of `Symptom`."""
    return tuple(
        SeenSymptom(symptom, {name: getattr(conduct, name) for name in names})
        for symptom, (is_seen, names) in _RULES.items()
        if is_seen(conduct)
    )


def _segment(c: Conduct) -> bool:
    if c.segment_bytes is None or not c.payload_bytes or not c.one_host:
        return False
    return c.segment_bytes < c.payload_bytes and c.is_harmed


def _receive_buffer(c: Conduct) -> bool:
    return c.dropped > DROPPED * c.wanted and c.is_harmed


def _late_repair(c: Conduct) -> bool:
    if not (c.reliable and c.frames_lost and c.heartbeat_ns and c.stall_ns):
        return False
    return c.stall_ns >= max(c.heartbeat_ns / 2, 2 * (c.period_ns or 0.0))


def _burst(c: Conduct) -> bool:
    return c.depth is not None and c.depth < c.burst and c.missing > 0


def _held(c: Conduct) -> bool:
    return c.held_ns is not None and c.period_ns is not None and c.held_ns >= c.period_ns / 2


def _copies(c: Conduct) -> bool:
    large = (c.payload_bytes or 0) >= LARGE_BYTES
    return large and c.one_host and c.lends and not c.lent


def _wait_set(c: Conduct) -> bool:
    small = c.payload_bytes is not None and c.payload_bytes <= SMALL_BYTES
    return small and c.one_host and c.waits_in_a_set and c.calls_back and not c.is_harmed


def _sleeping(c: Conduct) -> bool:
    return c.slower_when_rare and (c.period_ns or 0.0) >= 1e9 / SELDOM_HZ


_RULES: Mapping[Symptom, tuple[Callable[[Conduct], bool], tuple[str, ...]]] = {
    Symptom.SEGMENT_TOO_SMALL: (_segment, ("segment_bytes", "payload_bytes")),
    Symptom.RECEIVE_BUFFER_FULL: (_receive_buffer, ("dropped", "payload_bytes")),
    Symptom.LATE_REPAIR: (_late_repair, ("heartbeat_ns", "stall_ns", "frames_lost")),
    Symptom.BURST_OVER_DEPTH: (_burst, ("depth", "burst")),
    Symptom.QUEUE_HOLDS_PUBLISHER: (_held, ("held_ns", "period_ns")),
    Symptom.COPIES_THOUGH_IT_LENDS: (_copies, ("payload_bytes",)),
    Symptom.THREAD_OF_THE_WAIT_SET: (_wait_set, ("payload_bytes", "response_ns")),
    Symptom.SLEEPING_PROCESSOR: (_sleeping, ("period_ns", "response_ns")),
}
