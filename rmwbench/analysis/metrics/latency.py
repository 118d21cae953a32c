"""One trial's latencies, arrivals and ledger from its records. Columns are read one by one, so that
memory stays at a few columns.

Every message that the schedule wanted is in the samples of the response latency and the latency
until consumed, once per reader, and every message that was sent in that of the service latency. One
that did not arrive sound and in time is +inf (rule 4). Latencies of several readers are pooled
within the trial."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import cache, cached_property

import numpy as np

from rmwbench.analysis.metrics.periods import PUBLISHER, SUBSCRIPTION, longest, of_endpoint
from rmwbench.analysis.metrics.sample import Sample, blocks, make_sample
from rmwbench.analysis.metrics.stability import Drift, drift
from rmwbench.analysis.records.calls import legs, match_replies, writers_with_readers
from rmwbench.analysis.records.columns import Columns, EndpointRow, SteadyWindow
from rmwbench.analysis.records.joining import ReaderLife
from rmwbench.analysis.records.ledger import (
    ABSENT,
    Arrangement,
    Arrivals,
    Ledger,
    Pace,
    UnsentBy,
    WriterPlaces,
    arrange,
    grouped,
    is_steady,
    late_messages,
    longest_run,
    place_order,
    reconcile,
    since_call_ns,
)
from rmwbench.analysis.records.unsent import Calls, held_by
from rmwbench.analysis.stats.estimate import allowed, rank
from rmwbench.codes import FAILED, FOREIGN, LOANED, SENDERS

SERIES_POINTS, SERIES_SLOWEST = 2_000, 100
"""The points of a thinned series, and how many of these are its slowest messages."""
ALL_THE_TIME: Mapping[int, ReaderLife] = {}
"""Every endpoint is there from before the window to after it."""


@dataclass(frozen=True)
class ReaderDelivery:
    """The delivery of all writers to one reader: of `wanted` messages `arrived` sound and in time.
    `median_ns`: of the response latency, infinite where half of the messages did not arrive, None
    where they are too few for a median."""

    wanted: int
    arrived: int
    median_ns: float | None

    @property
    def delivered(self) -> float:
        return self.arrived / self.wanted


@dataclass
class Messages:
    """The measurements of one trial's messages. `samples` by metric stem: response_latency,
    consumed_latency, service_latency, publish_call, writing, arrival_jitter, publisher_period,
    subscription_period; with clients request_leg and reply_leg."""

    ledger: Ledger = field(default_factory=Ledger)
    samples: dict[str, Sample] = field(default_factory=dict)
    longest_stall_ns: float | None = None
    longest_period_ns: dict[str, float] = field(default_factory=dict)
    """Stem -> the longest mean period of any publisher, or of any subscription."""
    undelivered_in_a_row: int | None = None
    """The longest run of any pair; None without a pair."""
    arrived_in_window: int = 0
    bytes_in_window: int = 0
    calls_in_window: int = 0
    """Publish calls made while the steady window lasted, whenever their messages were due."""
    published_in_window: int = 0
    """The calls of publishers among `calls_in_window`; the others are requests."""
    heard_in_window: int = 0
    """The arrivals at subscriptions among `arrived_in_window`; the others are replies."""
    scheduled: int = 0
    """Messages that the schedule wanted in the steady window, before fan-out."""
    failed_calls: int = 0
    """Publish calls for scheduled messages that returned an error, whether or not these arrived."""
    not_attempted: int = 0
    """Scheduled messages without a publish call."""
    never_returned: bool = False
    """Whether the last publish call of some writer never returned."""
    longest_bytes: int = 0
    """The size of the largest message or reply that was sent, whether or not it arrived."""
    pairs: int = 0
    readers: int = 0
    taken: int = 0
    """Arrivals at subscriptions over the whole trial."""
    lent: int = 0
    """Arrivals that were read in place, by their flag LOANED."""
    by_reader: dict[int, ReaderDelivery] = field(default_factory=dict)
    """Endpoint of a subscription -> its delivery; empty with fewer than two subscriptions."""
    drift: Drift | None = None
    """Drift of the pair that drifted most within the window; None where no latency rose or fell."""
    series: tuple[np.ndarray, np.ndarray] | None = None
    """(seconds since the steady window began, latency in ns with +inf where lost) of the first
    pair, thinned to SERIES_POINTS."""


def measure(
    columns: Columns,
    endpoints: Sequence[EndpointRow],
    window: SteadyWindow | None,
    lives: Mapping[int, ReaderLife] = ALL_THE_TIME,
    beside: Sequence[EndpointRow] = (),
    stuck: Container[int] = (),
) -> Messages:
    """The measurements of the messages of `endpoints`, from SENT and RECEIVED records. `lives`: of
    endpoints that join late or leave early; `beside`: all endpoints of the trial, where `endpoints`
    are some of these; `stuck`: the writers whose last publish call never returned. Raises
    ValueError where the records contradict their format."""
    messages = Messages()
    recorded, columns = columns, match_replies(columns, endpoints)
    writers, pairs = _pairs(
        columns, endpoints, window, lives, messages, _held_by(columns, beside or endpoints, stuck)
    )
    messages.never_returned = any(e.endpoint in stuck for e in endpoints)
    _legs(recorded, endpoints, writers, messages)
    if window is not None:
        _periods(writers, pairs, window, lives, messages)
        calls = [(w.kind, int(np.count_nonzero(window.holds(w.call_ns)))) for w in writers]
        messages.calls_in_window = sum(number for _, number in calls)
        messages.published_in_window = sum(number for kind, number in calls if kind == "publisher")
    _count(columns, endpoints, writers, pairs, messages)
    messages.samples["response_latency"] = make_sample(
        responses := [_wanted(p.taken_ns, p.writer.intended_ns, p.places.steady) for p in pairs]
    )
    if pairs and window is not None:
        first = pairs[0]
        due_ns = first.writer.intended_ns[first.places.steady]
        messages.series = thin_series((due_ns - window.begin_ns) / 1e9, responses[0])
    messages.samples["arrival_jitter"] = make_sample([jitter(r) for r in responses])
    messages.drift = drift(responses)
    messages.by_reader = _by_reader(pairs, responses)
    del responses

    _consumed(columns, pairs, messages)
    for w in writers:
        w.intended_ns = _RELEASED
    messages.samples["service_latency"] = make_sample(
        [_wanted(p.taken_ns, p.writer.call_ns, p.places.steady & p.sent) for p in pairs]
    )
    pairs.clear()
    messages.samples["publish_call"] = make_sample(
        [_wanted(w.placed(columns.sent("return_ns")), w.call_ns, _called(w)) for w in writers]
    )
    messages.samples["writing"] = make_sample([_writing(columns, w) for w in writers])
    return messages


def _by_reader(
    pairs: "Sequence[_Pair]", responses: Sequence[np.ndarray]
) -> dict[int, ReaderDelivery]:
    parts: dict[int, list[np.ndarray]] = {}
    for pair, response in zip(pairs, responses, strict=True):
        if pair.reader.kind == "subscription" and len(response):
            parts.setdefault(pair.reader.endpoint, []).append(response)
    if len(parts) < 2:
        return {}
    return {reader: _delivery_of(np.concatenate(own)) for reader, own in parts.items()}


def _delivery_of(response_ns: np.ndarray) -> ReaderDelivery:
    """The delivery to one reader, from the latencies of the messages that it wanted, shape (n,)
    with n > 0, +inf for messages that never arrived."""
    n = len(response_ns)
    place = rank(n, 0.5)
    median = float(np.partition(response_ns, place)[place]) if allowed(n, 0.5) else None
    return ReaderDelivery(n, int(np.count_nonzero(np.isfinite(response_ns))), median)


def _count(
    columns: Columns,
    endpoints: Sequence[EndpointRow],
    writers: Sequence["_WriterColumns"],
    pairs: Sequence["_Pair"],
    messages: Messages,
) -> None:
    """Count the scheduled messages and their publish calls."""
    places = [w.places for w in writers]
    messages.scheduled = sum(int(np.count_nonzero(w.steady)) for w in places)
    messages.failed_calls = sum(int(np.count_nonzero(w.steady & w.failed)) for w in places)
    messages.not_attempted = sum(int(np.count_nonzero(w.steady & ~w.attempted)) for w in places)
    messages.pairs, messages.readers = len(pairs), len({p.reader.endpoint for p in pairs})
    sizes, rows = columns.sent("bytes"), [w.rows for w in writers if w.kind == "publisher"]
    if services := [e.endpoint for e in endpoints if e.kind == "service"]:
        rows.append(np.isin(columns.sent("endpoint"), services))
    messages.longest_bytes = max((int(sizes[own].max(initial=0)) for own in rows), default=0)


def _called(writer: "_WriterColumns") -> np.ndarray:
    """Which steady messages have a publish call; in records of older workers a refused loan has
    none."""
    called: np.ndarray = writer.places.steady & (writer.call_ns != ABSENT)
    return called


def _writing(columns: Columns, writer: "_WriterColumns") -> np.ndarray:
    """How long we wrote each message that has a publish call, ns, float64: from its begin to the
    call, without the wait for a loan, which is the middleware's. Messages whose worker did not
    record this are left out."""
    begun_ns, timed = writer.placed(columns.sent("begun_ns")), _called(writer)
    timed &= begun_ns != ABSENT
    loaned = (writer.placed(columns.sent("flags")) & LOANED) != 0
    if loaned.any():
        timed &= ~loaned | (writer.placed(columns.sent("fill_ns")) != ABSENT)
    return _wanted(writer.call_ns, begun_ns, timed)


def paired(
    columns: Columns,
    endpoints: Sequence[EndpointRow],
    window: SteadyWindow | None,
    lives: Mapping[int, ReaderLife] = ALL_THE_TIME,
) -> "list[_Pair]":
    """Every writer with each of its readers, first arrivals in place. Raises as `measure`."""
    columns = match_replies(columns, endpoints)
    heard = _writers_with_readers(columns, endpoints, window)
    return [pair for pair, _ in _each(columns, heard, lives, Messages())]


_WritersWithReaders = Sequence["tuple[_WriterColumns, tuple[EndpointRow, ...]]"]


def _writers_with_readers(
    columns: Columns, endpoints: Sequence[EndpointRow], window: SteadyWindow | None
) -> _WritersWithReaders:
    rows = _selector(columns.sent("endpoint"))
    return [
        (_writer(columns, e, rows(e.endpoint), window), readers)
        for e, readers in writers_with_readers(endpoints)
    ]


def _each(
    columns: Columns,
    heard: _WritersWithReaders,
    lives: Mapping[int, ReaderLife],
    messages: Messages,
) -> "Iterator[tuple[_Pair, Arrangement]]":
    """Each writer with each of its readers; rows without a writer are counted in `messages`."""
    received_rows = _pair_selector(columns, messages)
    flags, seq, taken = (columns.received(c) for c in ("flags", "seq", "taken_ns"))
    for w, r in ((w, r) for w, readers in heard for r in readers):
        rows, life = received_rows(r.endpoint, w.endpoint), lives.get(r.endpoint)
        places = expected_by(w.places, w.intended_ns, life)
        arrangement = arrange(places, Arrivals(seq[rows], taken[rows], flags[rows]))
        yield _Pair(w, r, rows, places, life, arrangement.first, taken), arrangement


def _pairs(
    columns: Columns,
    endpoints: Sequence[EndpointRow],
    window: SteadyWindow | None,
    lives: Mapping[int, ReaderLife],
    messages: Messages,
    held: "Callable[[_WriterColumns], UnsentBy]",
) -> "tuple[list[_WriterColumns], list[_Pair]]":
    """The writers, and each writer with each of its readers; `messages` gets the ledgers and the
    arrivals within the window. `held`: a function from a writer to the cause why it did not
    send."""
    heard, size = _writers_with_readers(columns, endpoints, window), columns.received("bytes")
    pairs: list[_Pair] = []
    stalls, runs = [], []
    for p, arrangement in _each(columns, heard, lives, messages):
        pairs.append(p)
        if p.reader.kind == "subscription":
            messages.taken += len(arrangement.arrivals.flags)
            messages.lent += int(np.count_nonzero(arrangement.arrivals.flags & LOANED))
        ledger, missing = reconcile(p.places, arrangement), p.places.steady & (p.first < 0)
        if p.writer.reliable and p.reader.reliable and (ledger.after_drain or missing.any()):
            pace = pace_of(
                arrangement, p.taken_ns, p.writer.intended_ns, p.life, window, reliable=True
            )
            waiting = late_messages(p.places, arrangement, pace)
            ledger = ledger.still_under_way(int(np.count_nonzero(waiting)))
            missing &= ~waiting
        if ledger.not_attempted:
            ledger = ledger.held(held(p.writer))
        runs.append(longest_run(missing[p.places.steady]))
        messages.ledger += ledger
        if window is None:
            continue
        _count_within(window, p, size[p.rows], messages)
        taken_ns = arrangement.arrivals.taken_ns
        ordered = taken_ns if arrangement.rows is None else taken_ns[arrangement.rows]
        presence = _both_there(p, window, lives)
        begin, stop = np.searchsorted(ordered, [presence.begin_ns, presence.end_ns])
        stalls.append(longest_gap(ordered[begin:stop], presence))
    messages.longest_stall_ns = max(stalls, default=None)
    messages.undelivered_in_a_row = max(runs, default=None)
    return [w for w, _ in heard], pairs


def _held_by(
    columns: Columns, endpoints: Sequence[EndpointRow], stuck: Container[int]
) -> "Callable[[_WriterColumns], UnsentBy]":
    """A function from a writer to the cause why it did not send. It needs all `endpoints` of the
    trial, since the writer may have waited for a publisher of another topic. `stuck`: as
    `measure`."""

    @cache
    def selected() -> Callable[[int], Rows]:
        return _selector(columns.sent("endpoint"))

    @cache
    def calls(endpoint: int) -> Calls:
        rows = selected()(endpoint)
        order = place_order(columns.sent("seq")[rows])
        columns_of_call = ("intended_ns", "call_ns", "return_ns")
        recorded = Calls(*(_ordered(columns.sent(name), rows, order) for name in columns_of_call))
        return recorded.with_open_call() if endpoint in stuck else recorded

    @cache
    def held(endpoint: int, process: str | None) -> UnsentBy:
        others = [
            calls(e.endpoint)
            for e in endpoints
            if process and e.process == process and e.kind in SENDERS and e.endpoint != endpoint
        ]
        return held_by(calls(endpoint), others)

    return lambda writer: held(writer.endpoint, writer.process)


def _both_there(
    pair: "_Pair", window: SteadyWindow, lives: Mapping[int, ReaderLife]
) -> SteadyWindow:
    """The part of the window in which both ends are there: nothing can arrive in the rest."""
    for end in (pair.writer.endpoint, pair.reader.endpoint):
        window = lives.get(end, _ALWAYS).within(window)
    return window


def _periods(
    writers: "Sequence[_WriterColumns]",
    pairs: "Sequence[_Pair]",
    window: SteadyWindow,
    lives: Mapping[int, ReaderLife],
    messages: Messages,
) -> None:
    """The periods of each publisher, and of each subscription over all its writers together."""
    heard: dict[int, list[_Pair]] = {}
    for p in pairs:
        if p.reader.kind == "subscription":
            heard.setdefault(p.reader.endpoint, []).append(p)
    each = {
        PUBLISHER: [
            of_endpoint(w.call_ns, [lives.get(w.endpoint, _ALWAYS).within(window)])
            for w in writers
            if w.kind == "publisher"
        ],
        # By the first sound arrivals from all its writers.
        SUBSCRIPTION: [
            of_endpoint(
                np.concatenate([p.taken_ns for p in own]),
                [_both_there(p, window, lives) for p in own],
            )
            for own in heard.values()
        ],
    }
    for stem, of_each in each.items():
        messages.samples[stem] = make_sample([own for own, _ in of_each])
        if (longest_ns := longest(of_each)) is not None:
            messages.longest_period_ns[stem] = longest_ns


def _count_within(
    window: SteadyWindow, pair: "_Pair", sizes: np.ndarray, messages: Messages
) -> None:
    """First arrivals in the window and their bytes; `sizes` by row of the pair."""
    inside = window.holds(pair.taken_ns)
    count = int(np.count_nonzero(inside))
    messages.arrived_in_window += count
    messages.heard_in_window += count if pair.reader.kind == "subscription" else 0
    if len(sizes) and sizes.strides == (0,):
        messages.bytes_in_window += count * int(sizes[0])
    elif count:
        messages.bytes_in_window += int(sizes[pair.first[inside]].sum(dtype=np.int64))


def expected_by(
    places: WriterPlaces, intended_ns: np.ndarray, life: ReaderLife | None
) -> WriterPlaces:
    """The writer's messages, of which only those that the reader may expect are steady."""
    if life is None:
        return places
    seq = places.first_seq + np.arange(len(places.steady))
    return replace(places, steady=places.steady & life.expects(seq, intended_ns))


def _legs(
    recorded: Columns,
    endpoints: Sequence[EndpointRow],
    writers: "Sequence[_WriterColumns]",
    messages: Messages,
) -> None:
    """The samples `request_leg` and `reply_leg`, where there are clients."""
    called = {
        w.endpoint: w.places.first_seq + np.flatnonzero(w.places.steady & w.places.accepted)
        for w in writers
        if w.kind == "client"
    }
    if called:
        messages.samples |= {
            name: make_sample([leg]) for name, leg in legs(recorded, endpoints, called).items()
        }


@dataclass
class _WriterColumns:
    """A publisher's rows, and their columns in order of place."""

    endpoint: int
    kind: str
    topic: str
    rows: "Rows"
    order: np.ndarray | None
    places: WriterPlaces
    intended_ns: np.ndarray
    """`_RELEASED` once nothing asks for it any more."""
    call_ns: np.ndarray
    """As `since_call_ns` has it."""
    reliable: bool
    process: str | None

    def placed(self, column: np.ndarray) -> np.ndarray:
        return _ordered(column, self.rows, self.order)


@dataclass
class _Pair:
    """A writer and one of its readers with its `life`; `first` and `taken_ns` (ABSENT where nothing
    arrived) by place."""

    writer: _WriterColumns
    reader: EndpointRow
    rows: "Rows"
    places: WriterPlaces
    life: ReaderLife | None
    first: np.ndarray
    taken: InitVar[np.ndarray]
    taken_ns: np.ndarray = field(init=False)

    def __post_init__(self, taken: np.ndarray) -> None:
        self.taken_ns = self.placed(taken)

    @property
    def sent(self) -> np.ndarray:
        """Whether each message was sent: its publish call succeeded, or returned an error and the
        message arrived all the same."""
        sent: np.ndarray = self.places.attempted & (~self.places.failed | (self.first >= 0))
        return sent

    @cached_property
    def missing(self) -> np.ndarray:
        return np.flatnonzero(self.first < 0)

    def placed(self, column: np.ndarray) -> np.ndarray:
        """A column of `received` by place; ABSENT where no message arrived."""
        values = column[self.rows]
        if not len(values):
            return np.full(len(self.first), ABSENT)
        stamps: np.ndarray = values[self.first]
        stamps[self.missing] = ABSENT
        return stamps


QUIET_NS, QUIET_LATENCIES = 1_000_000_000, 3
"""A reliable stream has come to its end when nothing arrives for the longer of a second and three
times its longest latency (the drain of rmwbench/campaign/trial/window.py waits at least so
long)."""


def pace_of(
    arrangement: Arrangement,
    taken_ns: np.ndarray,
    intended_ns: np.ndarray,
    life: ReaderLife | None,
    window: SteadyWindow | None,
    *,
    reliable: bool,
) -> Pace:
    """How a stream went when the drain ended, or its reader left (`life`), by the stamps of its
    messages in order of place. A stream that is not `reliable` had ended; a stream with a message
    that came afterwards had not. The history of a late reader is old by design, so its age is not
    used."""
    arrived = taken_ns != ABSENT
    if not reliable or window is None or window.drain_end_ns is None:
        return Pace.ENDED
    came_after = bool((~arrived[arrangement.late_places]).any())
    if not arrived.any():
        return Pace.MOVING if came_after else Pace.ENDED
    waits_ns = taken_ns - intended_ns
    within_life = arrived if life is None else arrived & (intended_ns >= life.begin_ns)
    longest_ns = int(waits_ns[within_life].max(initial=0))
    end_ns = window.drain_end_ns if life is None else min(window.drain_end_ns, life.end_ns)
    silent_ns = end_ns - int(taken_ns[arrived].max())
    if silent_ns < QUIET_NS:
        return Pace.MOVING
    may_go_on = came_after or silent_ns < QUIET_LATENCIES * longest_ns
    return Pace.SILENT if may_go_on else Pace.ENDED


def _consumed(columns: Columns, pairs: list[_Pair], messages: Messages) -> None:
    consumed = columns.received("consumed_ns")
    # A reader that never stamps it gives no data; a reader without arrivals gives infinity.
    if not len(consumed) or consumed.max() != ABSENT:
        messages.samples["consumed_latency"] = make_sample(
            [_wanted(p.placed(consumed), p.writer.intended_ns, p.places.steady) for p in pairs]
        )


def longest_gap(arrivals_ns: np.ndarray, window: SteadyWindow) -> float:
    """The longest time without an arrival in the steady window, in ns, its two edges included; the
    whole window where nothing arrived. `arrivals_ns`: sorted, within the window."""
    return float(np.diff(arrivals_ns, prepend=window.begin_ns, append=window.end_ns).max())


def jitter(response_ns: np.ndarray) -> np.ndarray:
    """|D(i−1, i)| of RFC 3550 §6.4.1 in ns: how far the distance of two consecutive arrivals is
    from the distance intended, which is the difference of their latencies; for consecutive messages
    that both arrived, shape (≤ n−1,)."""
    arrived = np.isfinite(response_ns)
    consecutive: Rows = slice(None) if arrived.all() else arrived[1:] & arrived[:-1]
    distances_ns: np.ndarray = np.abs(response_ns[1:][consecutive] - response_ns[:-1][consecutive])
    return distances_ns


def thin_series(time_s: np.ndarray, latency_ns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most SERIES_POINTS points, each a message: evenly spaced messages, so that the cloud and
    the share of lost messages are as in all, and the slowest of the other messages that arrived, so
    that spikes stay visible."""
    n = len(latency_ns)
    if n <= SERIES_POINTS:
        return time_s.copy(), latency_ns.copy()
    chosen = np.zeros(n, bool)
    evenly = np.linspace(0, n, SERIES_POINTS - SERIES_SLOWEST, endpoint=False)
    chosen[evenly.astype(np.int64)] = True
    others = np.flatnonzero(~chosen)
    arrived = np.where(np.isfinite(latency_ns[others]), latency_ns[others], -np.inf)
    chosen[others[np.argpartition(arrived, -SERIES_SLOWEST)[-SERIES_SLOWEST:]]] = True
    return time_s[chosen], latency_ns[chosen]


def writer_places(
    first_seq: int,
    flags: np.ndarray,
    intended_ns: np.ndarray,
    call_ns: np.ndarray,
    window: SteadyWindow | None,
    depth: int | None,
) -> WriterPlaces:
    """A writer's messages by place, from their columns in that order; `call_ns` as `since_call_ns`
    gives it."""
    begin_ns = None if window is None else window.begin_ns - window.slack_ns
    failed = (flags & FAILED) != 0
    # A call that failed was made, even where its loan was refused before it began to publish.
    attempted = (call_ns != ABSENT) | failed
    steady = is_steady(flags, intended_ns, begin_ns)
    return WriterPlaces(first_seq, steady, attempted, failed, depth)


def _writer(
    columns: Columns, publisher: EndpointRow, rows: "Rows", window: SteadyWindow | None
) -> _WriterColumns:
    seq = columns.sent("seq")[rows]
    order = place_order(seq)
    first = int(seq.min()) if len(seq) else 0
    del seq
    intended_ns, flags, call_ns = (
        _ordered(columns.sent(c), rows, order) for c in ("intended_ns", "flags", "call_ns")
    )
    call_ns = since_call_ns(call_ns, flags, lambda: _ordered(columns.sent("fill_ns"), rows, order))
    return _WriterColumns(
        endpoint=publisher.endpoint,
        kind=publisher.kind,
        topic=publisher.topic,
        rows=rows,
        order=order,
        places=writer_places(first, flags, intended_ns, call_ns, window, publisher.depth),
        intended_ns=intended_ns,
        call_ns=call_ns,
        reliable=publisher.reliable,
        process=publisher.process,
    )


Rows = slice | np.ndarray
_RELEASED = np.empty(0, np.int64)
_ALWAYS = ReaderLife()


def _ordered(column: np.ndarray, rows: Rows, order: np.ndarray | None) -> np.ndarray:
    values = column[rows]
    return values if order is None else values[order]


def _selector(endpoint: np.ndarray) -> Callable[[int], Rows]:
    """endpoint -> its rows; a slice (no copy) where the trial has one writer."""
    if len(endpoint) == 0:
        return lambda _: slice(0, 0)
    only = int(endpoint[0])
    if (endpoint == only).all():
        return lambda wanted: slice(None) if wanted == only else slice(0, 0)
    # Of few writers and many messages this is quicker than `grouped`, which sorts.
    rows = {int(e): np.flatnonzero(endpoint == e) for e in np.unique(endpoint)}
    return lambda wanted: rows.get(wanted, slice(0, 0))


def _pair_selector(columns: Columns, messages: Messages) -> Callable[[int, int], Rows]:
    """(reader, writer) -> rows of `received`; rows without a writer are foreign, and counted."""
    reader, writer = columns.received("endpoint"), columns.received("writer")
    if len(reader) == 0:
        return lambda *_: slice(0, 0)
    pair = (int(reader[0]), int(writer[0]))
    if pair[1] and (writer == pair[1]).all() and (reader == pair[0]).all():
        return lambda *wanted: slice(None) if wanted == pair else slice(0, 0)
    if not writer.all():
        foreign = int(np.count_nonzero((columns.received("flags") & FOREIGN)[writer == 0] != 0))
        messages.ledger += Ledger(foreign=foreign)
    rows = grouped(reader.astype(np.int64) << 32 | writer.astype(np.int64))
    return lambda reader, writer: rows.get(reader << 32 | writer, slice(0, 0))


def _wanted(stamp_ns: np.ndarray, since_ns: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """stamp − since of the wanted messages, float64 of shape (wanted.sum(),), +inf where there is
    no stamp."""
    # subtracted as integers: a monotonic clock passes 2^53 ns, where float64 starts to round, after
    # 104 days
    elapsed = np.empty(len(stamp_ns))
    for part in blocks(len(stamp_ns)):
        elapsed[part] = stamp_ns[part] - since_ns[part]
        elapsed[part][stamp_ns[part] == ABSENT] = np.inf
    return elapsed if wanted.all() else elapsed[wanted]
