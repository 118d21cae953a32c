"""Why the slowest messages of a trial were slow: a cause for each where evidence gives one, the
rest `unexplained`.

The stamps of a message say in which phase its time went (waiting to be sent, being written, in
flight); witnesses of the same time say why: a canary that woke late as well, scheduler events,
counters of drops and retransmissions, the neighbours of the message. A cause is named only where
its evidence covers at least half of the excess over the trial's median.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rmwbench.analysis.metrics.latency import ALL_THE_TIME, paired
from rmwbench.analysis.metrics.network.outage import Outage
from rmwbench.analysis.records.columns import Columns, EndpointRow, Row, SteadyWindow
from rmwbench.analysis.records.frames import NOT_LOST, Frames
from rmwbench.analysis.records.joining import ReaderLife
from rmwbench.analysis.records.ledger import ABSENT

WORST_FRACTION, LEAST, MOST = 0.01, 10, 1_000
TIMES_MEDIAN = 2.0
"""A message belongs to the tail if it is among the worst 1 % (at least 10, at most 1000) and took
twice the median."""
ENOUGH = 200_000
"""How many messages are enough to know a typical phase."""
COVERS = 0.5
STEAL_FRACTION = 0.05
"""The limit of steal that voids a trial, applied to a bin of the time series."""

UNEXPLAINED = "unexplained"
CAUSES: Mapping[str, str] = {
    "link away": "a link between its hosts was away meanwhile",
    "frame lost": "a link lost a frame with data of its publisher's host during its flight, and it "
    "had to be repeated",
    "steal": "the hypervisor took the processor: a canary beside the trial woke late at the same "
    "time, and steal grew",
    "machine busy": "the machine had no processor free: a canary beside the trial woke late at the "
    "same time",
    "publisher not scheduled": "the publisher's thread wanted to run and got no processor",
    "receiver not scheduled": "a thread of the receiver wanted to run and got no processor",
    "publish blocked": "a publish call kept its caller: this message's own, or an earlier one that "
    "was still under way",
    "publisher late": "the publisher began after the intended time; no publish call and no "
    "scheduling says why",
    "payload writing": "writing the payload took this long",
    "behind an earlier message": "it waited for an earlier message of its writer that was slow "
    "itself",
    "retransmission": "a later message of its reliable stream was there long before it: it had "
    "been lost and was repeated, or the network had reordered them",
    "overtaken": "a later message of its stream, which repeats nothing, was there long before it",
    "socket buffer full": "the receive buffer of a UDP socket overflowed during its flight",
    "IP reassembly": "fragments of a datagram got lost during its flight",
    "TCP retransmission": "TCP repeated a segment during its flight",
    "taking": "the reader was notified in time and took it late",
    UNEXPLAINED: "no evidence covers half of the excess",
}


@dataclass(frozen=True)
class PairMessages:
    """Messages of one writer as one reader got them, by place: int64 arrays of shape (n,) in ns,
    `ABSENT` where there is no stamp. `steady`: which messages count."""

    intended_ns: np.ndarray
    begun_ns: np.ndarray
    call_ns: np.ndarray
    """The time of the call by `since_call_ns`, so that `writing` includes ours into a loan."""
    return_ns: np.ndarray
    notified_ns: np.ndarray
    taken_ns: np.ndarray
    steady: np.ndarray
    reliable: bool = True
    """Whether the middleware repeats lost messages."""
    consumed_ns: np.ndarray | None = None
    """When its consumer had read it; None where this is not asked for."""

    def announced_ns(self, places: int | slice) -> np.ndarray:
        """When the reader knew of these messages, after which the network did not delay them:
        `ABSENT` where they did not arrive, the time of taking where there is no notification."""
        notified, taken = self.notified_ns[places], self.taken_ns[places]
        known = (notified != ABSENT) & (taken != ABSENT)
        return np.where(known, np.minimum(notified, taken), taken)


@dataclass(frozen=True)
class Bins:
    """The sampler's time series: bin k lasts from `edges_ns`[k] to `edges_ns`[k + 1]. The growth in
    each bin: `steal` as a fraction of all processor time, the other counters as counts; None where
    there was no counter. Shapes (k + 1,) and (k,)."""

    edges_ns: np.ndarray
    steal: np.ndarray | None = None
    counts: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Cause (`socket buffer full`, `IP reassembly`, `TCP retransmission`) → events."""


@dataclass(frozen=True)
class Witnesses:
    """The evidence beside the records. `canary_late`, `publisher_waits`, `receiver_waits`:
    stretches [begin, end) in ns, shape (m, 2), sorted; empty where nothing was late, None where it
    was not watched, which the answer says."""

    canary_late: np.ndarray | None = None
    publisher_waits: np.ndarray | None = None
    receiver_waits: np.ndarray | None = None
    bins: Bins | None = None
    """The samples of the reader's host."""
    away: np.ndarray | None = None
    """Stretches in which a link between the two hosts was away; None where they have none."""
    lost_ns: np.ndarray | None = None
    """When the network lost frames with data on their way from the writer's host to the reader's:
    sorted, (m,)."""
    machine: Bins | None = None
    """The samples of the processors, for steal."""
    sender: Bins | None = None
    """The samples of the writer's host, which repeats messages."""

    @property
    def unwatched(self) -> list[str]:
        names = {
            "canary_late": "late wake-ups of a canary",
            "receiver_waits": "scheduler events",
            "bins": "drops, retransmissions and steal over time",
        }
        return [text for name, text in names.items() if getattr(self, name) is None]


@dataclass(frozen=True)
class Slow:
    """One slow message: its place in the writer's sequence, its latency, the length of its phases,
    and the cause."""

    place: int
    latency_ns: int
    phases_ns: Mapping[str, int]
    cause: str


@dataclass(frozen=True)
class Tail:
    """`messages`: the slowest first. `of`: how many messages arrived. `unwatched`: the evidence
    that was not recorded."""

    median_ns: float
    of: int
    messages: Sequence[Slow]
    unwatched: Sequence[str]

    @property
    def causes(self) -> list[tuple[str, int]]:
        """Cause and number of messages, the most frequent first, `unexplained` last."""
        counts = Counter(slow.cause for slow in self.messages)
        return sorted(counts.items(), key=lambda item: (item[0] == UNEXPLAINED, -item[1], item[0]))


def pairs(
    columns: Columns,
    endpoints: Sequence[EndpointRow],
    window: SteadyWindow | None,
    lives: Mapping[int, ReaderLife] = ALL_THE_TIME,
) -> Iterator[tuple[int, int, int, PairMessages]]:
    """(writer, reader, sequence number of place 0, their messages) of a trial; `lives` as
    `latency.measure`: the history of a late reader is no tail. ValueError as there."""
    for pair in paired(columns, endpoints, window, lives):
        begun_ns, return_ns = (
            pair.writer.placed(columns.sent(name)) for name in ("begun_ns", "return_ns")
        )
        notified_ns, consumed_ns = (
            pair.placed(columns.received(name)) for name in ("notified_ns", "consumed_ns")
        )
        messages = PairMessages(
            pair.writer.intended_ns,
            begun_ns=begun_ns,
            call_ns=pair.writer.call_ns,
            return_ns=return_ns,
            notified_ns=notified_ns,
            taken_ns=pair.taken_ns,
            steady=pair.places.steady,
            reliable=pair.writer.reliable and pair.reader.reliable,
            consumed_ns=consumed_ns,
        )
        yield pair.writer.endpoint, pair.reader.endpoint, pair.writer.places.first_seq, messages


def explain(pair: PairMessages, witnesses: Witnesses = Witnesses()) -> Tail | None:
    """The tail of one pair with a cause for each of its messages; None where fewer than twenty
    messages arrived, too few for a median."""
    arrived = pair.steady & (pair.taken_ns != ABSENT) & (pair.call_ns != ABSENT)
    messages_arrived = int(np.count_nonzero(arrived))
    if messages_arrived < 2 * LEAST:
        return None
    latencies_ns = pair.taken_ns - pair.intended_ns
    latency = latencies_ns[arrived]
    median = float(np.median(latency))
    worst = min(max(LEAST, math.ceil(messages_arrived * WORST_FRACTION)), MOST)
    slow = _largest(latency, worst, above=TIMES_MEDIAN * median)
    typical = _Typical.of(pair, arrived)
    causes: dict[int, str] = {}
    # in order of sending, because a message may have waited behind an earlier message
    for place in np.flatnonzero(arrived)[slow].tolist():
        causes[place] = _cause(pair, place, median, typical, witnesses, causes)
    messages = [
        Slow(place, int(latencies_ns[place]), _phases(pair, place), cause)
        for place, cause in causes.items()
    ]
    messages.sort(key=lambda slow: -slow.latency_ns)
    return Tail(median, messages_arrived, messages, witnesses.unwatched)


def _largest(values: np.ndarray, most: int, above: float) -> np.ndarray:
    """The places of the values larger than `above`, in order; at most the `most` largest values, of
    equal values the first. Only the result is sorted, since of ten million messages a thousand are
    needed."""
    places = np.flatnonzero(values > above)
    if len(places) > most:
        candidates = values[places]
        least = np.partition(candidates, len(places) - most)[len(places) - most]
        places = places[candidates >= least]
        places = np.sort(places[np.argsort(-values[places], kind="stable")[:most]])
    return places


@dataclass(frozen=True)
class _Typical:
    """Medians of the phases in ns: only time beyond them is out of the ordinary."""

    late: float
    writing: float
    publish_call: float
    taking: float

    @classmethod
    def of(cls, pair: PairMessages, arrived: np.ndarray) -> "_Typical":
        # Of ten million messages every 51st is enough. The step is odd, because patterns among
        # messages mostly repeat with an even number.
        sample = slice(None, None, max(1, len(arrived) // ENOUGH) | 1)

        def median(end: np.ndarray, begin: np.ndarray) -> float:
            end, begin = end[sample], begin[sample]
            stamped = arrived[sample] & (end != ABSENT) & (begin != ABSENT)
            return float(np.median((end - begin)[stamped])) if stamped.any() else 0.0

        return cls(
            median(pair.begun_ns, pair.intended_ns),
            median(pair.call_ns, pair.begun_ns),
            median(pair.return_ns, pair.call_ns),
            median(pair.taken_ns, pair.notified_ns),
        )


def _phases(pair: PairMessages, place: int) -> dict[str, int]:
    """The lengths of the phases in ns: `late` (intended to begun), `writing` (to the publish call),
    `flight` (to taken)."""
    columns = (pair.intended_ns, pair.begun_ns, pair.call_ns, pair.taken_ns)
    intended, begun, call, taken = (int(column[place]) for column in columns)
    begun = call if begun == ABSENT else begun
    return {"late": begun - intended, "writing": call - begun, "flight": taken - call}


def _cause(
    pair: PairMessages,
    place: int,
    median: float,
    typical: _Typical,
    witnesses: Witnesses,
    earlier: Mapping[int, str],
) -> str:
    phases = _phases(pair, place)
    intended, taken = int(pair.intended_ns[place]), int(pair.taken_ns[place])
    needed = COVERS * (taken - intended - median)
    if _overlap(witnesses.away, intended, int(pair.announced_ns(place))) >= needed:
        return "link away"
    if _overlap(witnesses.canary_late, intended, taken) >= needed:
        stolen = _steal(witnesses.machine, intended, taken)
        return "steal" if stolen >= STEAL_FRACTION else "machine busy"
    call = int(pair.call_ns[place])
    if phases["late"] - typical.late >= needed:
        # First, because a publisher that loses its processor within a publish call is not blocked
        # by the middleware.
        if _overlap(witnesses.publisher_waits, intended, intended + phases["late"]) >= needed:
            return "publisher not scheduled"
        before = int(pair.return_ns[place - 1]) if place else ABSENT
        if before != ABSENT and before - intended >= needed:
            if before - max(int(pair.call_ns[place - 1]), intended) >= needed:
                return "publish blocked"
            return earlier.get(place - 1, "behind an earlier message")
        return "publisher late"
    if phases["writing"] - typical.writing >= needed:
        begun = call - phases["writing"]
        if _overlap(witnesses.publisher_waits, begun, call) >= needed:
            return "publisher not scheduled"
        return "payload writing"
    return _in_flight(pair, place, needed, typical, witnesses, earlier)


def _in_flight(
    pair: PairMessages,
    place: int,
    needed: float,
    typical: _Typical,
    witnesses: Witnesses,
    earlier: Mapping[int, str],
) -> str:
    call, taken = int(pair.call_ns[place]), int(pair.taken_ns[place])
    returned, notified = int(pair.return_ns[place]), int(pair.notified_ns[place])
    if _overlap(witnesses.receiver_waits, call, taken) >= needed:
        return "receiver not scheduled"
    before = int(pair.taken_ns[place - 1]) if place else ABSENT
    behind = before != ABSENT and before - call >= needed and before <= taken
    if behind and place - 1 in earlier:
        return earlier[place - 1]
    announced = max(int(pair.announced_ns(place)), call)
    late = announced - call >= needed
    repeated = late and _grew(witnesses.sender, "TCP retransmission", call, announced)
    if _first_lost(witnesses.lost_ns, call, announced) >= needed and (pair.reliable or repeated):
        return "frame lost"
    following = pair.announced_ns(slice(place + 1, place + 65))
    overtaken = announced - int(following[following != ABSENT].min(initial=announced))
    if overtaken and overtaken >= needed:
        return "retransmission" if pair.reliable else "overtaken"
    if behind:
        return "behind an earlier message"
    for cause in ("socket buffer full", "IP reassembly"):
        if late and _grew(witnesses.bins, cause, call, announced):
            return cause
    if repeated:
        return "TCP retransmission"
    if returned != ABSENT and min(returned, taken) - call - typical.publish_call >= needed:
        waited = _overlap(witnesses.publisher_waits, call, min(returned, taken))
        return "publisher not scheduled" if waited >= needed else "publish blocked"
    if notified != ABSENT and taken - notified - typical.taking >= needed:
        return "taking"
    return UNEXPLAINED


def _overlap(stretches: np.ndarray | None, begin_ns: int, end_ns: int) -> int:
    """How much of [begin, end) the stretches cover, in ns, at most all: stretches of several
    threads may overlap."""
    if stretches is None or not len(stretches):
        return 0
    last = int(np.searchsorted(stretches[:, 0], end_ns))
    covered = np.minimum(stretches[:last, 1], end_ns) - np.maximum(stretches[:last, 0], begin_ns)
    return min(int(covered[covered > 0].sum()), end_ns - begin_ns)


def _first_lost(lost_ns: np.ndarray | None, call_ns: int, end_ns: int) -> int:
    """The time from the first loss in [call, end) until the end, ns; 0 without a loss."""
    if lost_ns is None:
        return 0
    place = int(np.searchsorted(lost_ns, call_ns))
    return max(end_ns - int(lost_ns[place]), 0) if place < len(lost_ns) else 0


def _touched(bins: Bins, begin_ns: int, end_ns: int) -> slice:
    first = int(np.searchsorted(bins.edges_ns, begin_ns, side="right")) - 1
    return slice(max(first, 0), int(np.searchsorted(bins.edges_ns, end_ns)))


def _steal(bins: Bins | None, begin_ns: int, end_ns: int) -> float:
    if bins is None or bins.steal is None:
        return 0.0
    return float(bins.steal[_touched(bins, begin_ns, end_ns)].max(initial=0.0))


def _grew(bins: Bins | None, cause: str, begin_ns: int, end_ns: int) -> bool:
    if bins is None or cause not in bins.counts:
        return False
    return bool(bins.counts[cause][_touched(bins, begin_ns, end_ns)].any())


_COUNTS = {
    "udp.rcvbuf_errors": "socket buffer full",
    "ip.reasm_fails": "IP reassembly",
    "tcp.retransmitted_segments": "TCP retransmission",
}
_MACHINE, _PROCESSOR = "machine", "processor."


def trial_witnesses(
    events: Iterable[Row],
    samples: Iterable[Row],
    schedule: Iterable[Row],
    *,
    publisher: str,
    receiver: str,
    hosts: tuple[str, str],
) -> Witnesses:
    """The witnesses of one trial, from its rows of `events`, `samples` and `schedule`
    (docs/formats/bundle.md); None, and not empty, for evidence that was not recorded.
    `publisher`, `receiver`: names of the two processes, on these `hosts`."""
    waits, rows = _waits(schedule), list(samples)
    machine = _bins(row for row in rows if row["process"] == _MACHINE)
    sender, bins = (_of_host(rows, host, machine) for host in hosts)
    return Witnesses(
        _canary(events),
        waits.get(publisher),
        waits.get(receiver),
        bins,
        sender=sender,
        machine=machine,
    )


def with_network(
    witnesses: Witnesses,
    frames: Frames | None,
    interruptions: Sequence[Outage],
    *,
    writer: str,
    reader: str,
) -> Witnesses:
    """The witnesses with the outages and losses of the network between the hosts `writer` and
    `reader`; unchanged where both are the same host."""
    if frames is None or writer == reader:
        return witnesses
    away = [
        (int(o.down_ns), int(min(o.up_ns, _EVER)))
        for o in interruptions
        if o.kind == "network" and o.who in (writer, reader)
    ]
    # On its way up a multicast frame has no destination yet.
    towards_reader = frames.receiver.among(reader) | (frames.receiver.codes < 0)
    lost = ~frames.verdict.among(*NOT_LOST) & frames.kind.among("data")
    lost_ns = np.sort(frames.in_ns[frames.sender.among(writer) & towards_reader & lost])
    return replace(witnesses, away=_stretches(away), lost_ns=lost_ns)


_EVER = 2**62
"""The end of a link's outage that had no end, ns."""


def _canary(events: Iterable[Row]) -> np.ndarray | None:
    """The spans [due, woken) of late wake-ups; None without a canary."""
    watched, late = False, []
    for row in events:
        watched |= row["event"] == "canary"
        if row["event"] == "canary_late":
            late.append((row["time_ns"], row["time_ns"] + row["value"]))
    return _stretches(late) if watched else None


def _waits(schedule: Iterable[Row]) -> dict[str, np.ndarray]:
    """Process → the spans in which one of its threads was ready and did not run: from `woken` or
    `out_runnable` to `in`."""
    since: dict[tuple[str, int], int] = {}
    waits_of: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in sorted(schedule, key=lambda row: row["time_ns"]):
        thread, time_ns = (row["process"], row["thread"]), row["time_ns"]
        waits_of[row["process"]]  # it was watched, whether it waited or not
        if row["event"] in ("woken", "out_runnable"):
            since.setdefault(thread, time_ns)
        elif (begun := since.pop(thread, None)) is not None and row["event"] == "in":
            waits_of[row["process"]].append((begun, time_ns))
    return {process: _stretches(waits) for process, waits in waits_of.items()}


def _of_host(samples: Sequence[Row], host: str, machine: Bins | None) -> Bins | None:
    """The time series of a host's kernel. With several hosts each has a sampler with times of its
    own; the series of a single sampler has the machine's name."""
    own = [row for row in samples if row["process"] == host and row["counter"] in _COUNTS]
    return _bins(own) if own else machine


def _bins(samples: Iterable[Row]) -> Bins | None:
    """How much each counter grew from sample to sample; None without a time series."""
    series: dict[str, dict[int, float]] = defaultdict(dict)
    for row in samples:
        series[row["counter"]][row["time_ns"]] = row["value"]
    times = sorted(set().union(*series.values())) if series else []
    if len(times) < 2:
        return None

    def grown(counter: str) -> np.ndarray | None:
        values = series.get(counter, {})
        return np.diff([values[t] for t in times]) if len(values) == len(times) else None

    parts = {
        name: change
        for name in series
        if name.startswith(_PROCESSOR) and (change := grown(name)) is not None
    }
    steal = parts.get(_PROCESSOR + "steal")
    if steal is not None:
        total = np.sum(list(parts.values()), axis=0)
        steal = np.divide(steal, total, out=np.zeros(len(total)), where=total > 0)
    counts = {
        cause: change for name, cause in _COUNTS.items() if (change := grown(name)) is not None
    }
    return Bins(np.array(times, np.int64), steal, counts)


def _stretches(spans: list[tuple[int, int]]) -> np.ndarray:
    return np.array(sorted(spans), np.int64).reshape(-1, 2)
