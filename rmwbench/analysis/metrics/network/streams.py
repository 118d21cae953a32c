"""The messages of one writer to one reader, over all lives of both nodes, with the hosts at either
end.

Outages, restarts and late discovery are measured on streams: a node that comes back has new
endpoints, but its peers see one stream with a gap.

Was it discovery or delivery? The messages that a reader misses are split by their place in its
life: before its first message, between its first and its last, and after. Without this split a loss
figure calls a middleware lossy that was only slow to find its peer. The split exists for nodes that
join within the window: a trial does not wait for them, while all other nodes have matched and
exchanged a message before the window begins. Messages that were still under way when the trial
ended are in no part."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rmwbench.analysis.metrics.discovery import times
from rmwbench.analysis.metrics.glossary import MetricScope, names_of
from rmwbench.analysis.metrics.latency import ALL_THE_TIME, pace_of, paired
from rmwbench.analysis.records.calls import match_replies
from rmwbench.analysis.records.columns import Columns, EndpointRow, Row, SteadyWindow
from rmwbench.analysis.records.joining import ReaderLife
from rmwbench.analysis.records.ledger import ABSENT, Arrivals, arrange, is_sound, late_messages
from rmwbench.analysis.stats.estimate import Measures


@dataclass(frozen=True)
class End:
    """One end of a stream: its node, the node's host, and the endpoint's life in the workers' clock
    (from −inf or to inf where it was there before or after the trial)."""

    endpoint: int
    node: str
    host: str
    begin_ns: float
    end_ns: float

    @property
    def late(self) -> bool:
        return self.begin_ns > -np.inf


@dataclass(frozen=True)
class StreamPair:
    """The messages of one writer for one reader, during one life of each: arrays of shape (n,) in
    the order of sequence numbers. They are messages of the steady state that were due while both
    endpoints were there and that pass the reader's content filter. `taken_ns` is ABSENT for a
    message that did not arrive sound and in time.

    `sent`: whether the publish call was made and returned no error. `late`: whether the message had
    not come when the trial stopped waiting, and is not lost, by the rules of the ledger.
    `again_ns`: when further sound copies came, shape (k,). `servers`: the nodes of the service,
    where the writer is a client."""

    topic: str
    writer: End
    reader: End
    due_ns: np.ndarray
    call_ns: np.ndarray
    taken_ns: np.ndarray
    sent: np.ndarray
    late: np.ndarray
    again_ns: np.ndarray
    servers: tuple[str, ...] = ()

    @property
    def arrived(self) -> np.ndarray:
        arrived: np.ndarray = self.taken_ns != ABSENT
        return arrived

    @property
    def lost(self) -> np.ndarray:
        """Whether each message was sent, did not arrive and was not late."""
        lost: np.ndarray = self.sent & ~self.arrived & ~self.late
        return lost

    @property
    def is_of_a_client(self) -> bool:
        """Whether the messages are requests: such a pair is a client with itself."""
        return self.writer.endpoint == self.reader.endpoint

    @property
    def name(self) -> tuple[str, str, str]:
        """The stream to which the pair belongs: topic, writer's node, reader's node."""
        return self.topic, self.writer.node, self.reader.node

    @property
    def hosts(self) -> tuple[str, str]:
        return self.writer.host, self.reader.host


def pairs_of(
    columns: Columns,
    rows: Sequence[Row],
    endpoints: Sequence[EndpointRow],
    window: SteadyWindow,
    lives: Mapping[int, ReaderLife] = ALL_THE_TIME,
) -> list[StreamPair]:
    """All pairs of a trial; `rows` are the bundle's `endpoints`, `lives` from `joining.lives`. A
    service's client is a pair with itself, whose hosts are the client's and the service's. Raises
    as `latency.measure`."""
    ends = {row["endpoint"]: _end(row, window) for row in rows}
    services = [row for row in rows if row["kind"] == "service"]
    heard = match_replies(columns, endpoints)
    seq, taken, flags = (heard.received(c) for c in ("seq", "taken_ns", "flags"))
    pairs = []
    for pair in paired(columns, endpoints, window, _filters(lives)):
        writer, reader = ends[pair.writer.endpoint], ends[pair.reader.endpoint]
        servers: tuple[str, ...] = ()
        if pair.writer.kind == "client":
            own_services = [row for row in services if row["topic"] == pair.writer.topic]
            reader = replace(reader, host=own_services[-1]["host"] if own_services else writer.host)
            servers = tuple(row["node"] for row in own_services)
        due = pair.writer.intended_ns
        due_for_both = pair.places.steady & (due >= max(writer.begin_ns, reader.begin_ns))
        due_for_both &= due < min(writer.end_ns, reader.end_ns)
        arrivals = Arrivals(seq[pair.rows], taken[pair.rows], flags[pair.rows])
        waiting = np.zeros(len(due_for_both), bool)
        if (due_for_both & (pair.first < 0)).any():
            reliable = pair.writer.reliable and pair.reader.reliable
            life = lives.get(pair.reader.endpoint)
            places = replace(pair.places, steady=due_for_both)
            arrangement = arrange(places, arrivals)
            pace = pace_of(arrangement, pair.taken_ns, due, life, window, reliable=reliable)
            waiting = late_messages(places, arrangement, pace)
        pairs.append(
            StreamPair(
                topic=pair.writer.topic,
                writer=writer,
                reader=reader,
                due_ns=due[due_for_both],
                call_ns=pair.writer.call_ns[due_for_both],
                taken_ns=pair.taken_ns[due_for_both],
                sent=pair.places.accepted[due_for_both],
                late=waiting[due_for_both],
                again_ns=_again(arrivals, pair.first),
                servers=servers,
            )
        )
    return pairs


def _filters(lives: Mapping[int, ReaderLife]) -> dict[int, ReaderLife]:
    """The lives with their content filters alone. In the ledger a late reader does not miss
    messages that were due before its match; here they count as the cost of its discovery."""
    return {
        number: ReaderLife(percent=life.percent)
        for number, life in lives.items()
        if life.percent < 100
    }


def _end(row: Row, window: SteadyWindow) -> End:
    joins, leaves = row.get("joins_ns"), row.get("leaves_ns")
    return End(
        row["endpoint"],
        row["node"],
        row["host"],
        -np.inf if joins is None else window.begin_ns + joins,
        np.inf if leaves is None else window.begin_ns + leaves,
    )


def _again(arrivals: Arrivals, first: np.ndarray) -> np.ndarray:
    further = is_sound(arrivals.flags)
    further[first[first >= 0]] = False
    again_ns: np.ndarray = arrivals.taken_ns[further]
    return again_ns


DISCOVERY, UNMATCHED, DELIVERY, TAIL = (
    "lost_in_discovery",
    "lost_unmatched",
    "lost_in_delivery",
    "lost_in_tail",
)
AFTER_FIRST = "lost_after_first"
WAITED = (
    "no node joined within the window: the trial waited until all had matched and had a message"
)
NO_MATCH_SEEN = "the late nodes have no reader, and only readers report when they matched"


def joiner_losses(pairs: Sequence[StreamPair], events: Iterable[Mapping[str, Any]]) -> Measures:
    """Name -> (messages lost in that part, messages sent for the late readers). `lost_after_first`
    counts both from each reader's first delivered message on."""
    late_pairs = [pair for pair in pairs if pair.writer.late or pair.reader.late]
    if not late_pairs:
        return dict.fromkeys(names_of(MetricScope.JOINERS), WAITED)
    matched = times(events, "matched")
    counts = {name: [0, 0] for name in names_of(MetricScope.JOINERS)}
    for pair in late_pairs:
        arrivals = np.flatnonzero(pair.sent & pair.arrived)
        n, total = len(pair.sent), int(np.count_nonzero(pair.sent))
        first, last = (int(arrivals[0]), int(arrivals[-1])) if len(arrivals) else (n, n)
        before, middle, after = (
            int(np.count_nonzero(part)) for part in np.split(pair.lost, (first, last + 1))
        )
        for name, lost in ((DISCOVERY, before), (DELIVERY, middle), (TAIL, after)):
            counts[name][0] += lost
            counts[name][1] += total
        counts[AFTER_FIRST][0] += middle + after
        counts[AFTER_FIRST][1] += int(np.count_nonzero(pair.sent[first:]))
        if _reports_match(pair):
            unmatched = pair.lost & (pair.due_ns < matched.get(pair.reader.endpoint, np.inf))
            counts[UNMATCHED][0] += int(np.count_nonzero(unmatched[:first]))
            counts[UNMATCHED][1] += total
    measures: Measures = {name: (lost, total) for name, (lost, total) in counts.items()}
    if any(map(_reports_match, late_pairs)):
        return measures
    return measures | {UNMATCHED: NO_MATCH_SEEN}


def _reports_match(pair: StreamPair) -> bool:
    """Whether the pair's reader reports when it matched; late clients report no match time."""
    return pair.reader.late and not pair.is_of_a_client
