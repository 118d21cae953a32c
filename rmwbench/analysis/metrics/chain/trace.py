"""The paths of messages through relays and services, and a source's messages along one path: the
message of each relay that follows, and its times.

A path is a list of links, each from a writer to a reader. From a reader it goes on to every
publisher of the reader's node that relays it, or, from a service, back to the client that asked.
Where chains fork, every last subscription ends a path of its own, so a message counts once per
path. Where chains join (two inputs of one node, two relays on one topic), each input begins a path
of its own, since a relayed message names its cause.

Every record of a relayed message names the message that caused it, so a path is followed by an
index: from a relay's message to the place of its cause, and from there to the source's message.
Where a message became several (a relay that got a copy twice), the copy that arrived first is
followed. A link is a stream with a ledger of its own (`records/ledger.py`), so a message that the
link had not delivered yet when the trial stopped waiting is late here too.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rmwbench.analysis.metrics.comparisons import arrival_of, relays
from rmwbench.analysis.metrics.latency import expected_by, pace_of, writer_places
from rmwbench.analysis.records import ledger
from rmwbench.analysis.records.columns import Columns, Row, SteadyWindow
from rmwbench.analysis.records.joining import ReaderLife
from rmwbench.analysis.records.ledger import (
    ABSENT,
    Arrivals,
    WriterPlaces,
    begins,
    grouped,
    place_order,
    reply_order,
    since_call_ns,
)

MOST_PATHS = 1_000
"""Each diamond in a row doubles the paths; nobody reads more paths than this."""


class ChainLink(NamedTuple):
    """A writer's messages on their way to one reader; both are numbers of endpoints."""

    writer: int
    reader: int


Path = tuple[ChainLink, ...]


def paths(rows: Sequence[Row], *, least: int = 2) -> list[Path]:
    """All paths with at least this number of links; `rows` are the bundle's `endpoints`. Raises
    ValueError beyond MOST_PATHS."""
    graph = _Graph(rows)
    complete: list[Path] = []
    for start in graph.starts:
        for path in graph.walk((), start):
            if len(path) >= least:
                complete.append(path)
            if len(complete) > MOST_PATHS:
                raise ValueError(
                    f"there are more than {MOST_PATHS} ways from a source to a last subscription"
                )
    return complete


class _Graph:
    def __init__(self, rows: Sequence[Row]):
        self._subscriptions: dict[str, list[int]] = defaultdict(list)
        self._services: dict[str, list[int]] = defaultdict(list)
        self._relays: dict[int, list[int]] = defaultdict(list)
        self._topics = {row["endpoint"]: row["topic"] for row in rows}
        self._kinds = {row["endpoint"]: row["kind"] for row in rows}
        self.starts: list[int] = []
        for row in rows:
            number, kind = row["endpoint"], row["kind"]
            source = _relayed(row)
            if kind == "subscription":
                self._subscriptions[row["topic"]].append(number)
            elif kind == "service":
                self._services[row["topic"]].append(number)
            elif source is not None:
                self._relays[source].append(number)
            else:
                self.starts.append(number)

    def walk(self, before: Path, writer: int) -> Iterator[Path]:
        topic = self._topics[writer]
        if self._kinds[writer] == "client":
            for service in self._services[topic]:
                yield (*before, ChainLink(writer, service), ChainLink(service, writer))
            return
        for reader in self._subscriptions[topic]:
            path = (*before, ChainLink(writer, reader))
            onward = self._relays[reader]
            if not onward:
                yield path
            for relay in onward:
                yield from self.walk(path, relay)


def _relayed(row: Row) -> int | None:
    """The subscription that a publisher relays."""
    return arrival_of(row).get("from") if relays(row) else None


STAMPS = ("notified_ns", "taken_ns", "callback_ns")
LATE = "late"


@dataclass(frozen=True)
class PathWriter:
    """A writer's messages by place: arrays of shape (n,). `call_ns`: when the call was made, as
    `since_call_ns` gives it."""

    endpoint: int
    places: WriterPlaces
    intended_ns: np.ndarray
    call_ns: np.ndarray
    cause_endpoint: np.ndarray
    cause_seq: np.ndarray

    def __len__(self) -> int:
        return len(self.call_ns)


@dataclass(frozen=True)
class Hop:
    """The source's messages on one link: arrays of shape (n,) for n messages of the source.
    `place`: the message's place in the order of the link's writer, −1 where this writer never sent
    it; a stamp that was not taken is ABSENT."""

    writer: PathWriter
    reader: int
    place: np.ndarray
    accepted: np.ndarray
    call_ns: np.ndarray
    notified_ns: np.ndarray
    taken_ns: np.ndarray
    callback_ns: np.ndarray
    late: np.ndarray
    """Whether the link's ledger has the message as late."""
    stopped: np.ndarray
    """Whether the message reached the relay when the relay may have stopped already."""
    reliable: bool
    """Whether the link is reliable; a late message on a reliable link is under way."""

    @property
    def arrived(self) -> np.ndarray:
        arrived: np.ndarray = self.taken_ns != ABSENT
        return arrived


@dataclass(frozen=True)
class PathTrace:
    """The messages of one path. `wanted`: which messages are of the steady state and were due while
    every endpoint of the path was there."""

    path: Path
    intended_ns: np.ndarray
    wanted: np.ndarray
    hops: tuple[Hop, ...]

    @property
    def first(self) -> Hop:
        return self.hops[0]

    @property
    def last(self) -> Hop:
        return self.hops[-1]

    @cached_property
    def end_to_end_ns(self) -> np.ndarray:
        """The time from the intended send time until the last reader has taken the message, for
        each wanted message: float64, +inf where it never arrived."""
        latency_ns: np.ndarray = elapsed(self.last.taken_ns, self.intended_ns)[self.wanted]
        return latency_ns

    @cached_property
    def service_ns(self) -> np.ndarray:
        """The time from the source's publish call, for wanted messages that the call accepted."""
        accepted = self.wanted & self.first.accepted
        latency_ns: np.ndarray = elapsed(self.last.taken_ns, self.first.call_ns)[accepted]
        return latency_ns


def elapsed(until_ns: np.ndarray, since_ns: np.ndarray) -> np.ndarray:
    """until − since as float64; +inf where `until` is ABSENT. The times are subtracted as integers,
    since a clock may be above 2^53 ns."""
    elapsed_ns: np.ndarray = (until_ns - since_ns).astype(float)
    elapsed_ns[until_ns == ABSENT] = np.inf
    return elapsed_ns


class Tracer:
    """Follows paths through the records of one trial. Raises ValueError where the records
    contradict their format."""

    def __init__(
        self,
        columns: Columns,
        window: SteadyWindow | None,
        lives: Mapping[int, ReaderLife],
        reliable: Mapping[int, int | None],
    ):
        """`reliable`: the endpoints that were granted reliable delivery → the depth of their
        history, None where that is not known; on other endpoints no message is under way."""
        self._columns, self._window, self._lives = columns, window, lives
        self._reliable = reliable
        self._sent = grouped(columns.sent("endpoint"))
        reader, writer = (columns.received(c).astype(np.int64) for c in ("endpoint", "writer"))
        self._received = grouped(reader << 32 | writer)
        self._writers: dict[int, PathWriter] = {}
        self._arrivals: dict[ChainLink, dict[str, np.ndarray]] = {}

    def trace(self, path: Path) -> PathTrace:
        source = self._writer(path[0].writer)
        wanted = source.places.steady.copy()
        for endpoint in {number for link in path for number in link}:
            if (life := self._lives.get(endpoint)) is not None:
                wanted &= (source.intended_ns >= life.begin_ns) & (source.intended_ns < life.end_ns)
        return PathTrace(path, source.intended_ns, wanted, tuple(self._hops(path, len(source))))

    def _hops(self, path: Path, n: int) -> Iterator[Hop]:
        before: Hop | None = None
        origin = np.arange(n)
        for link in path:
            is_service = before is not None and before.reader == link.writer
            writer = self._writer(link.writer, is_service=is_service)
            if before is not None:
                origin = _origins(writer, before.writer, origin)
            arrivals = self._arrived(link)
            place = _chosen(writer, arrivals["taken_ns"], origin, n)
            exists = place >= 0
            before = Hop(
                writer,
                link.reader,
                place,
                exists & _at(writer.places.accepted, place, exists, missing=False),
                _at(writer.call_ns, place, exists),
                **{name: _at(arrivals[name], place, exists) for name in STAMPS},
                late=_at(arrivals[LATE], place, exists, missing=False),
                stopped=~exists & self._after_window(before, n),
                reliable=self._is_reliable(link),
            )
            yield before

    def _after_window(self, before: Hop | None, n: int) -> np.ndarray:
        """Whether each message reached a relay after the window's end, when the relay may have
        stopped relaying: relays stop a grace period after the window, and record all that they
        receive until then."""
        if before is None or self._window is None:
            return np.zeros(n, bool)
        came_ns = np.maximum(before.taken_ns, before.callback_ns)
        after: np.ndarray = before.arrived & (came_ns >= self._window.end_ns)
        return after

    def _is_reliable(self, link: ChainLink) -> bool:
        return self._reliable.keys() >= set(link)

    def _writer(self, endpoint: int, *, is_service: bool = False) -> PathWriter:
        if endpoint not in self._writers:
            self._writers[endpoint] = self._read(endpoint, is_service=is_service)
        return self._writers[endpoint]

    def _read(self, endpoint: int, *, is_service: bool) -> PathWriter:
        rows = self._sent.get(endpoint, np.empty(0, np.int64))
        seq = self._columns.sent("seq")[rows]
        order = reply_order(seq) if is_service else place_order(seq)

        def column(name: str, missing: int = ABSENT) -> np.ndarray:
            values: np.ndarray = self._columns.sent(name)[rows]
            if order is None:
                return values
            return _at(values.astype(np.int64), order, order >= 0, missing)

        flags, cause, cause_seq = column("flags", 0), column("cause_endpoint"), column("cause_seq")
        intended = column("intended_ns")
        call = since_call_ns(column("call_ns"), flags, lambda: column("fill_ns"))
        first, depth = int(seq.min()) if len(seq) else 0, self._reliable.get(endpoint)
        return PathWriter(
            endpoint=endpoint,
            places=writer_places(first, flags, intended, call, self._window, depth),
            intended_ns=intended,
            call_ns=call,
            cause_endpoint=cause.astype(np.int64),
            cause_seq=cause_seq.astype(np.int64),
        )

    def _arrived(self, link: ChainLink) -> dict[str, np.ndarray]:
        """The stamps of each message's first sound arrival, by place, and whether it was late."""
        if link not in self._arrivals:
            sent, life = self._writer(link.writer), self._lives.get(link.reader)
            rows = self._received.get(link.reader << 32 | link.writer, np.empty(0, np.int64))
            places = expected_by(sent.places, sent.intended_ns, life)
            arrangement = ledger.arrange(
                places,
                Arrivals(
                    *(self._columns.received(name)[rows] for name in ("seq", "taken_ns", "flags"))
                ),
            )
            taken = np.flatnonzero(arrangement.first >= 0)
            stamps = {name: np.full(len(sent), ABSENT) for name in STAMPS}
            for name in STAMPS:
                stamps[name][taken] = self._columns.received(name)[rows[arrangement.first[taken]]]
            stamps[LATE] = np.zeros(len(sent), bool)
            if len(taken) < len(sent):
                pace = pace_of(
                    arrangement,
                    stamps["taken_ns"],
                    sent.intended_ns,
                    life,
                    self._window,
                    reliable=self._is_reliable(link),
                )
                stamps[LATE] = ledger.late_messages(places, arrangement, pace)
            self._arrivals[link] = stamps
        return self._arrivals[link]


def _origins(writer: PathWriter, before: PathWriter, origin: np.ndarray) -> np.ndarray:
    """For each message of `writer` the place of the source's message that caused it through
    `before`; −1 where there is none."""
    cause = writer.cause_seq - before.places.first_seq
    of_before = (writer.cause_endpoint == before.endpoint) & (cause >= 0) & (cause < len(before))
    origins = np.full(len(writer), -1, np.int64)
    origins[of_before] = origin[cause[of_before]]
    return origins


def _chosen(writer: PathWriter, taken_ns: np.ndarray, origin: np.ndarray, n: int) -> np.ndarray:
    """For each message of the source the place of the message that it became; an accepted message
    goes before a failed one, then the one that arrived first."""
    candidates = np.flatnonzero(origin >= 0)
    at = origin[candidates]
    arrived = np.where(taken_ns == ABSENT, np.iinfo(np.int64).max, taken_ns)[candidates]
    order = np.lexsort(
        (writer.call_ns[candidates], arrived, ~writer.places.accepted[candidates], at)
    )
    first = order[begins(at[order])]
    chosen = np.full(n, -1, np.int64)
    chosen[at[first]] = candidates[first]
    return chosen


def _at(
    values: np.ndarray, place: np.ndarray, exists: np.ndarray, missing: Any = ABSENT
) -> np.ndarray:
    result = np.full(len(place), missing, values.dtype)
    result[exists] = values[place[exists]]
    return result


def traces(
    columns: Columns,
    ways: Sequence[Path],
    window: SteadyWindow | None,
    lives: Mapping[int, ReaderLife],
    reliable: Mapping[int, int | None] | None = None,
) -> Iterator[PathTrace]:
    """The trace of each path, one after the other; `reliable` and ValueError as in `Tracer`."""
    if ways:
        tracer = Tracer(columns, window, lives, reliable or {})
        yield from (tracer.trace(path) for path in ways)
