"""Where messages went missing: the places that a message passes, the counts of each place, and the
losses that no place counted.

Places count in units of their own. A message dropped in a reader's queue is one message; a datagram
dropped by a socket costs one message of a writer that does not repeat, no message of a writer that
does, and several where small messages share the datagram. So counts of messages are exact, counts
of datagrams and frames say where to look and how much they can explain, and a loss that no counter
explains is `not located`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rmwbench.analysis.metrics.fates import HELD
from rmwbench.analysis.records.ledger import Ledger, UnsentBy


@dataclass(frozen=True)
class Drops:
    """The drops that were counted over the steady window; None where nothing counts them.
    `sockets`: process → datagrams dropped because a UDP socket had no room; `interfaces`: name →
    frames; `reassembly`: datagrams whose fragments did not come together; `reader_queue`: messages
    that the reader's own queue dropped; `noticed`: messages that the reader's middleware knows to
    be missing, wherever they were lost."""

    sockets: Mapping[str, int] | None = None
    interfaces: Mapping[str, int] | None = None
    reassembly: int | None = None
    reader_queue: int | None = None
    noticed: int | None = None
    links: Mapping[str, int] = field(default_factory=dict)
    """Link and reason → frames with data that the network between hosts lost; empty where hosts
    have none."""

    def __add__(self, other: "Drops") -> "Drops":
        return Drops(
            _merged(self.sockets, other.sockets),
            _merged(self.interfaces, other.interfaces),
            _sum(self.reassembly, other.reassembly),
            _sum(self.reader_queue, other.reader_queue),
            _sum(self.noticed, other.noticed),
            {
                link: self.links.get(link, 0) + other.links.get(link, 0)
                for link in [*self.links, *other.links]
            },
        )


Label = Literal["counted", "inferred", "at most"]


@dataclass(frozen=True)
class LossPlace:
    """A place with its `count`, in `unit`. `messages`: how many missing messages the count
    explains, exactly, as an inference or at most, as `label` says."""

    place: str
    count: int
    unit: str
    messages: int
    label: Label
    text: str


@dataclass(frozen=True, kw_only=True)
class Losses:
    """`wanted`: messages that should have arrived, once per reader. `under_way`: slow messages,
    which are not lost and in no place. `missing`: messages that did not arrive sound and in time.
    `places` from the writer to the consumer; the exact counts and `not_located` add up to at most
    `missing`. `uncounted`: places without a counter, whose losses would not show."""

    wanted: int
    under_way: int
    missing: int
    places: tuple[LossPlace, ...]
    not_located: int
    uncounted: tuple[str, ...]


SOCKET_FIX = (
    "raise net.core.rmem_max and let the middleware ask for a larger receive buffer; "
    "`rmwbench doctor` says how"
)
REASSEMBLY_FIX = "raise net.ipv4.ipfrag_high_thresh, or send smaller datagrams"


def drops(counters: Iterable[Mapping[str, Any]]) -> Drops:
    """The drops of one trial, from its rows of the bundle's `counters`: the growth of each counter
    over the steady window. A reader's own counts are of the whole trial, because a middleware
    reports them only at its end. The drops of sockets begin at 0 where their process began within
    the window; the kernel's counters, which begin with the kernel, need a reading at the window's
    begin. A socket that was closed takes its count along, so a smaller count is no drop."""
    edges: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    readers: dict[int, Counter[str]] = defaultdict(Counter)
    for row in counters:
        if row["value"] is None:
            continue
        if row["at"] in ("steady_begin", "steady_end"):
            edges[row["process"], row["counter"]][row["at"]] = row["value"]
        elif row["counter"] in ("reader_drops", "own.sample_lost"):
            readers[row["endpoint"]][row["counter"]] += int(row["value"])
    for (_, name), at in edges.items():
        if name == "socket_drops":
            at.setdefault("steady_begin", 0)
    grown = {
        key: max(int(at["steady_end"] - at["steady_begin"]), 0)
        for key, at in edges.items()
        if len(at) == 2
    }
    sockets = {process: n for (process, name), n in grown.items() if name == "socket_drops"}
    if not sockets:  # without the sampler only the host's sum is known
        errors = "udp.rcvbuf_errors"
        sockets = {process: n for (process, name), n in grown.items() if name == errors}
    interfaces: dict[str, int] = defaultdict(int)
    for (_, name), n in grown.items():
        if name.startswith("interface.") and name.endswith(("_dropped", "_errors")):
            interfaces[name.removeprefix("interface.").rpartition(".")[0]] += n
    failed = [n for (_, name), n in grown.items() if name == "ip.reasm_fails"]  # of every host
    noticed = [own["own.sample_lost"] for own in readers.values() if "own.sample_lost" in own]
    # The drops of a DDS reader include messages that never came and that no queue dropped.
    queues = [
        max(own["reader_drops"] - own["own.sample_lost"], 0)
        for own in readers.values()
        if "reader_drops" in own
    ]
    reassembly, queue, missed = (
        sum(counts) if counts else None for counts in (failed, queues, noticed)
    )
    return Drops(sockets or None, interfaces or None, reassembly, queue, missed)


def locate(ledger: Ledger, drops: Drops, *, reliable: bool, keep_last: bool) -> Losses:
    """Explain the ledger's missing messages by the counted drops. `reliable`, `keep_last`: as
    granted."""
    places = [*_before_the_wire(ledger)]
    queue = min(ledger.vanished, drops.reader_queue or 0)
    rest = ledger.vanished - queue
    below = [*_below(drops, rest)]
    places += below
    if drops.reader_queue:
        text = "the reader's queue was full and dropped them: it is read too slowly or is too short"
        # A reader counts over the whole trial; where other places dropped too, its drops may be
        # from before the window.
        label: Label = "at most" if below else "counted"
        places.append(
            LossPlace("reader's queue", drops.reader_queue, "messages", queue, label, text)
        )
    if below:
        rest -= min(rest, sum(place.count for place in below))
    elif rest and reliable and keep_last and ledger.delivered and drops.noticed is not None:
        places += _histories(drops.noticed, rest)
        rest = 0
    places += _after_the_wire(ledger)
    return Losses(
        wanted=ledger.wanted,
        under_way=ledger.under_way,
        missing=ledger.undelivered,
        places=tuple(places),
        not_located=rest,
        uncounted=_uncounted(drops),
    )


def _before_the_wire(ledger: Ledger) -> Iterator[LossPlace]:
    for by, count in ledger.unsent_by.items():
        if by is not UnsentBy.REFUSED:
            yield _of_messages("schedule", count, f"they were due and never sent: {HELD[by]}")
    text = "the publish call returned an error: the middleware did not take them"
    if ledger.failed:
        yield _of_messages("publish call", ledger.failed, text)


def _below(drops: Drops, rest: int) -> Iterator[LossPlace]:
    """The kernel's places, each with the most of the `rest` that it can explain."""
    text = (
        "the network lost frames with data there; a reliable stream repeats them while its history "
        "has them"
    )
    for link, count in drops.links.items():
        yield _at_most(f"link {link}", count, "frames", rest, text)
    text = "the interface dropped frames"
    for name, count in sorted((drops.interfaces or {}).items()):
        if count:
            yield _at_most(f"interface {name}", count, "frames", rest, text)
    if drops.reassembly:
        text = f"IP fragments did not come together; {REASSEMBLY_FIX}"
        yield _at_most("IP reassembly", drops.reassembly, "datagrams", rest, text)
    for process, count in sorted((drops.sockets or {}).items()):
        if count:
            text = f"the receive buffer of a UDP socket of {process} was full; {SOCKET_FIX}"
            yield _at_most(f"socket buffer of {process}", count, "datagrams", rest, text)


def _histories(noticed: int, rest: int) -> Iterator[LossPlace]:
    """The histories of a reliable stream of keep_last that delivered some messages and lost others
    although nothing below dropped any: newer messages overwrote the lost ones, in the writer's
    history where the reader's middleware noticed that they never came, else in the reader's.
    Without the middleware's count of the gaps, or where nothing arrived at all, that would be a
    guess."""
    quiet = "nothing below dropped anything, and the reader's middleware"
    never_came = min(rest, noticed)
    if never_came:
        text = f"{quiet} noticed gaps: newer messages overwrote them before a repeat"
        yield _of_messages("writer's history", never_came, text, "inferred")
    if overwritten := rest - never_came:
        text = f"{quiet} misses none: newer messages overwrote them before they were read"
        yield _of_messages("reader's history", overwritten, text, "inferred")


def _after_the_wire(ledger: Ledger) -> Iterator[LossPlace]:
    text = "they arrived, and only with changed content"
    if ledger.corrupt:
        yield _of_messages("content", ledger.corrupt, text)
    text = "they arrived after the trial had stopped waiting"
    if ledger.after_drain:
        yield _of_messages("too late", ledger.after_drain, text)


def _uncounted(drops: Drops) -> tuple[str, ...]:
    names = {
        "sockets": "socket buffers",
        "reassembly": "IP reassembly",
        "interfaces": "interfaces",
        "reader_queue": "the reader's queue",
    }
    return tuple(text for name, text in names.items() if getattr(drops, name) is None)


def _of_messages(place: str, count: int, text: str, label: Label = "counted") -> LossPlace:
    return LossPlace(place, count, "messages", count, label, text)


def _at_most(place: str, count: int, unit: str, rest: int, text: str) -> LossPlace:
    return LossPlace(place, count, unit, min(rest, count), "at most", text)


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _merged(a: Mapping[str, int] | None, b: Mapping[str, int] | None) -> Mapping[str, int] | None:
    if a is None or b is None:
        return None
    return {name: a.get(name, 0) + b.get(name, 0) for name in a.keys() | b.keys()}
