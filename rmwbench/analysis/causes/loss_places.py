"""Where messages went missing: each place that a message passes, what was counted there, and what
nobody counted.

Places count in units of their own. A message dropped in a reader's queue is one message; a datagram
dropped by a socket costs one message of a writer that does not repeat, none of one that does,
several where small messages share it. So counts of messages are taken at their word, counts of
datagrams and frames say where to look and how much they can explain, and what no counter explains
stays `not located` instead of being given to the nearest suspect.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rmwbench.analysis.metrics.fates import HELD
from rmwbench.analysis.records.ledger import Ledger, UnsentBy


@dataclass(frozen=True)
class Drops:
    """What was counted over the steady window; None where nothing counts it. `sockets`: process →
    datagrams dropped because a UDP socket had no room; `interfaces`: name → frames; `reassembly`:
    datagrams whose fragments did not come together; `reader_queue`: messages that the reader's own
    queue dropped; `noticed`: messages that the reader's middleware knows to be missing, wherever
    they went."""

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
    """`count` was counted there, in `unit`; `messages`: how many of the missing it explains, as
    `label` says: exactly (`counted`), as an inference, or at most."""

    place: str
    count: int
    unit: str
    messages: int
    label: Label
    text: str


@dataclass(frozen=True, kw_only=True)
class Losses:
    """`wanted`: messages that there should have been, once per reader. `under_way`: slow, not lost,
    and in no place. `missing`: those that did not arrive sound and in time. `places` from the
    writer to the consumer; their exact ones and `not_located` add up to at most `missing`.
    `uncounted`: places where nothing counts, so that losses there would not show."""

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
    """From one trial's rows of the bundle's `counters`: what grew over the steady window; a
    reader's own counts are of the whole trial, because a middleware tells them at its end only.
    Sockets' drops begin with their process, and at 0 where it began within the window; the kernel
    counts the rest since its start, which says nothing without a beginning. A socket that was
    closed took its count along: fewer than before is none."""
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
        sockets = {
            process: n for (process, name), n in grown.items() if name == "udp.rcvbuf_errors"
        }
    interfaces: dict[str, int] = defaultdict(int)
    for (_, name), n in grown.items():
        if name.startswith("interface.") and name.endswith(("_dropped", "_errors")):
            interfaces[name.removeprefix("interface.").rpartition(".")[0]] += n
    failed = [n for (_, name), n in grown.items() if name == "ip.reasm_fails"]  # of every host
    noticed = [own["own.sample_lost"] for own in readers.values() if "own.sample_lost" in own]
    # A DDS reader counts as its drops also what never came, which is not its queue's doing.
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
    """Explains the ledger's missing messages by what was counted. `reliable`, `keep_last`: as
    granted."""
    places = _before_the_wire(ledger)
    queue = min(ledger.vanished, drops.reader_queue or 0)
    rest = ledger.vanished - queue
    below = _below(drops, rest)
    places += below
    if drops.reader_queue:
        text = "the reader's queue was full and dropped them: it is read too slowly or is too short"
        # A reader counts over the whole trial; where others dropped too, these may be from before
        # the window.
        label: Label = "at most" if below else "counted"
        places.append(
            LossPlace("reader's queue", drops.reader_queue, "messages", queue, label, text)
        )
    if (
        rest
        and not below
        and reliable
        and keep_last
        and ledger.delivered
        and drops.noticed is not None
    ):
        places += _histories(drops.noticed, rest)
        rest = 0
    elif below:
        rest -= min(rest, sum(place.count for place in below))
    places += _after_the_wire(ledger)
    return Losses(
        wanted=ledger.wanted,
        under_way=ledger.under_way,
        missing=ledger.undelivered,
        places=tuple(places),
        not_located=rest,
        uncounted=_uncounted(drops),
    )


def _before_the_wire(ledger: Ledger) -> list[LossPlace]:
    out = []
    for by, count in ledger.unsent_by.items():
        if by is not UnsentBy.REFUSED:
            text = f"they were due and never sent: {HELD[by]}"
            out.append(_exact("schedule", count, text))
    if ledger.failed:
        text = "the publish call returned an error: the middleware did not take them"
        out.append(_exact("publish call", ledger.failed, text))
    return out


def _below(drops: Drops, rest: int) -> list[LossPlace]:
    """The kernel's places, each with what it can explain of the `rest` at most."""
    out = []
    for link, count in drops.links.items():
        text = (
            "the network lost frames with data there; a reliable stream repeats them while its "
            "history has them"
        )
        out.append(_at_most(f"link {link}", count, "frames", rest, text))
    for name, count in sorted((drops.interfaces or {}).items()):
        if count:
            out.append(
                _at_most(f"interface {name}", count, "frames", rest, "the interface dropped frames")
            )
    if drops.reassembly:
        text = f"IP fragments did not come together; {REASSEMBLY_FIX}"
        out.append(_at_most("IP reassembly", drops.reassembly, "datagrams", rest, text))
    for process, count in sorted((drops.sockets or {}).items()):
        if count:
            text = f"the receive buffer of a UDP socket of {process} was full; {SOCKET_FIX}"
            out.append(_at_most(f"socket buffer of {process}", count, "datagrams", rest, text))
    return out


def _histories(noticed: int, rest: int) -> list[LossPlace]:
    """A reliable stream of keep_last that delivered some messages and lost others though nothing
    below dropped any: newer messages overwrote them, in the writer's history where the reader's
    middleware noticed that they never came, in the reader's where it did not. Without the
    middleware's count of the gaps, or where nothing arrived at all, that would be a guess, and is
    not made."""
    quiet = "nothing below dropped anything"
    never_came = min(rest, noticed)
    out = []
    if never_came:
        text = (
            f"{quiet}, and the reader's middleware noticed gaps: newer messages overwrote them "
            "before a repeat"
        )
        out.append(
            LossPlace("writer's history", never_came, "messages", never_came, "inferred", text)
        )
    if overwritten := rest - never_came:
        text = (
            f"{quiet}, and the reader's middleware misses none: newer messages overwrote them "
            "before they were read"
        )
        out.append(
            LossPlace("reader's history", overwritten, "messages", overwritten, "inferred", text)
        )
    return out


def _after_the_wire(ledger: Ledger) -> list[LossPlace]:
    out = []
    if ledger.corrupt:
        out.append(_exact("content", ledger.corrupt, "they arrived, and only with changed content"))
    if ledger.after_drain:
        out.append(
            _exact(
                "too late", ledger.after_drain, "they arrived after the trial had stopped waiting"
            )
        )
    return out


def _uncounted(drops: Drops) -> tuple[str, ...]:
    names = {
        "sockets": "socket buffers",
        "reassembly": "IP reassembly",
        "interfaces": "interfaces",
        "reader_queue": "the reader's queue",
    }
    return tuple(text for name, text in names.items() if getattr(drops, name) is None)


def _exact(place: str, count: int, text: str) -> LossPlace:
    return LossPlace(place, count, "messages", count, "counted", text)


def _at_most(place: str, count: int, unit: str, rest: int, text: str) -> LossPlace:
    return LossPlace(place, count, unit, min(rest, count), "at most", text)


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _merged(a: Mapping[str, int] | None, b: Mapping[str, int] | None) -> Mapping[str, int] | None:
    if a is None or b is None:
        return None
    return {name: a.get(name, 0) + b.get(name, 0) for name in a.keys() | b.keys()}
