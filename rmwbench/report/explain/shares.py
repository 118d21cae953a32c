"""The arms of a show document as bars of shares: which path the bytes took, where messages were
lost, why the slowest were slow. Both the bars and the words beside them come from here, so that
they agree.

Fifteen causes and a dozen places are too many colours to learn. So the colour of a part says where
it is: at the publisher, on the way, at the reader, in the machine; the bar contains its name. How
solid a part is says how well it is known."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rmwbench.analysis.causes.loss_places import Losses
from rmwbench.report.view import LegendKey
from rmwbench.results.shown import PathShare, WorkloadArm
from rmwbench.results.workload.lost_messages import measure
from rmwbench.words import numbers as fmt

PHASES = {"late": "waiting to be sent", "writing": "writing", "flight": "in flight"}
"""The phases of a slow message in words; `late` is a fate, so its phase has another name."""

SEEN = 0.005
"""A path with a smaller share of the bytes is discovery and the like: it is in the document, not in
a picture."""

COUNTED, CLAIMED, INFERRED = "counted", "claimed", "inferred"
"""How well a part is known: counted (drawn filled); the middleware's word, or an upper bound
(outlined); what remained (dashed)."""
_ATTESTED = {"counted": "counted by the kernel", "evidence": "the middleware's own word"}
_KNOWN = {"evidence": CLAIMED, "at most": CLAIMED, "inferred": INFERRED, "not located": INFERRED}

PATHS: Mapping[str, str] = {
    "shm": "shared memory",
    "process": "within one process",
    "unix": "Unix sockets",
    "udp": "UDP sockets",
    "tcp": "TCP connections",
    "network": "a network interface; the protocol was not counted",
    "other": "no path that is known here",
}
SIDES: Mapping[str, str] = {
    "schedule": "before the publish call: the publisher was late itself",
    "publisher": "the publisher's side",
    "way": "the way between, in the kernel and the network",
    "reader": "the reader's side",
    "machine": "the machine, whatever the middleware",
    "unknown": "nobody can say",
}
_PLACE_SIDES = {
    "schedule": "schedule",
    "publish call": "publisher",
    "writer's history": "publisher",
    "link": "way",
    "interface": "way",
    "IP reassembly": "way",
    "socket buffer": "way",
    "content": "way",
    "too late": "way",
    "reader's queue": "reader",
    "reader's history": "reader",
}
CAUSE_SIDES: Mapping[str, str] = {
    "link away": "way",
    "frame lost": "way",
    "steal": "machine",
    "machine busy": "machine",
    "publisher not scheduled": "machine",
    "receiver not scheduled": "machine",
    "page fault": "machine",
    "publish blocked": "publisher",
    "publisher late": "schedule",
    "payload writing": "publisher",
    "behind an earlier message": "way",
    "retransmission": "way",
    "overtaken": "way",
    "socket buffer full": "way",
    "IP reassembly": "way",
    "TCP retransmission": "way",
    "taking": "reader",
    "unexplained": "unknown",
}


KINDS: Mapping[str, tuple[str, str, str]] = {
    "source": (
        "machine",
        "waiting at the source",
        "from the intended time until the source's publish call",
    ),
    "transport": (
        "way",
        "transport",
        "from a publish call until the next node has the message; every second paler",
    ),
    "relay": ("publisher", "relay", "from then until the relay's own publish call"),
}
"""Kind of a part of a chain → the side that gives its colour, its name, and what it is."""


@dataclass(frozen=True)
class BarPart:
    """A piece of a bar: `share` of the axis, `kind` for its colour (a path or a side), `known` for
    how solid it is, `label` for the text in it, `told` for that text with all facts."""

    name: str
    share: float
    kind: str
    known: str
    label: str
    told: str


@dataclass(frozen=True)
class ShareBar:
    """The parts of one arm from left to right, and the number at their right."""

    arm: str
    parts: Sequence[BarPart]
    beside: str


def percent(share: float) -> str:
    return "< 0.1 %" if 0 < share < 0.001 else fmt.quantity(share, "fraction")


def paths(arms: Iterable[WorkloadArm]) -> list[ShareBar]:
    """Shares of the payload bytes; an arm whose paths are not attested has no bar."""
    out = []
    for arm in arms:
        parts = []
        for path in _joined(arm.paths):
            if path.fraction >= SEEN:
                share = percent(path.fraction)
                on = f" over {path.interface}" if path.interface else ""
                how = _ATTESTED.get(path.label, "inferred")
                told = f"{share} {PATHS.get(path.path, path.path)}{on}, {how}"
                label = f"{path.path} {share}" + (" inferred" if path.label == "inferred" else "")
                known = _KNOWN.get(path.label, COUNTED)
                parts.append(BarPart(path.path, path.fraction, path.path, known, label, told))
        if parts:
            out.append(ShareBar(arm.arm, parts, ", ".join(part.label for part in parts[1:])))
    return out


def places(arms: Iterable[WorkloadArm]) -> list[ShareBar]:
    """Shares of the wanted messages, for arms that miss some. The parts of an arm add up to what it
    misses: places that may each explain the same messages are one part."""
    out = []
    for arm in arms:
        losses = arm.losses
        if losses is not None and losses.missing and losses.wanted:
            parts = [part for part in _places(losses) if part.share > 0]
            out.append(ShareBar(arm.arm, parts, percent(losses.missing / losses.wanted)))
    return out


def causes(arms: Iterable[WorkloadArm]) -> list[ShareBar]:
    """Shares of the slowest messages, of the writer and reader with the longest tail, for arms that
    have a tail."""
    out = []
    for arm in arms:
        if tails := arm.tails:
            parts = []
            for cause in tails[0].causes:
                label = f"{cause.cause} {percent(cause.share)}"
                told = f"{cause.messages} of {tails[0].messages}: {cause.text}"
                parts.append(
                    BarPart(cause.cause, cause.share, *_cause_side(cause.cause), label, told)
                )
            out.append(ShareBar(arm.arm, parts, fmt.quantity(tails[0].worst[0].latency_ns, "ns")))
    return out


def path_keys(bars: Iterable[ShareBar]) -> list[LegendKey]:
    kinds = {part.kind for bar in bars for part in bar.parts}
    return [LegendKey(kind, COUNTED, kind, words) for kind, words in PATHS.items() if kind in kinds]


def place_keys(arms: Iterable[WorkloadArm]) -> list[LegendKey]:
    """Each place of any arm once, with its meaning and what to do about it."""
    keys: dict[str, LegendKey] = {}
    for losses in (arm.losses for arm in arms):
        if losses is None:
            continue
        for place in losses.places:
            if place.messages:
                known = _KNOWN.get(place.label, COUNTED)
                keys.setdefault(
                    place.place, LegendKey(_side(place.place), known, place.place, place.text)
                )
        if losses.not_located:
            words = "no place counted them" + (
                f"; nobody counts at {', '.join(losses.uncounted)}" if losses.uncounted else ""
            )
            keys.setdefault("not located", LegendKey("unknown", INFERRED, "not located", words))
    return _by_side(keys.values())


def cause_keys(arms: Iterable[WorkloadArm]) -> list[LegendKey]:
    """Each cause of any drawn arm once, with its words."""
    causes = [cause for arm in arms for tail in arm.tails[:1] for cause in tail.causes]
    keys: dict[str, LegendKey] = {}
    for cause in causes:
        keys.setdefault(cause.cause, LegendKey(*_cause_side(cause.cause), cause.cause, cause.text))
    return _by_side(keys.values())


def _cause_side(cause: str) -> tuple[str, str]:
    """The side of a cause, and how well it is known."""
    side = CAUSE_SIDES.get(cause, "unknown")
    return side, INFERRED if side == "unknown" else COUNTED


def _joined(paths: Iterable[PathShare]) -> list[PathShare]:
    """The interfaces of one path and label as one part, named after the largest: eth0 beside lo is
    discovery."""
    joined: dict[tuple[str, str], PathShare] = {}
    for path in paths:
        key = path.path, path.label
        before = joined.get(key)
        joined[key] = (
            path if before is None else replace(before, fraction=before.fraction + path.fraction)
        )
    return sorted(joined.values(), key=lambda path: -path.fraction)


def _places(losses: Losses) -> Iterable[BarPart]:
    wanted, exact, bounds = losses.wanted, losses.not_located, []
    for place in losses.places:
        if place.label == "at most":
            bounds.append(place)
            continue
        exact += place.messages
        share, known = place.messages / wanted, _KNOWN.get(place.label, COUNTED)
        told = f"{measure(place)}: {place.text}"
        yield BarPart(place.place, share, _side(place.place), known, place.place, told)
    rest = max(0, losses.missing - exact)
    bounds = [place for place in bounds if place.messages]
    if rest and sum(place.messages for place in bounds) > rest:
        name = " or ".join(place.place for place in bounds)
        told = "; ".join(f"{measure(place)}: {place.text}" for place in bounds)
        yield BarPart(name, rest / wanted, _side(bounds[0].place), CLAIMED, name, told)
    else:
        for place in bounds:
            told = f"{measure(place)}: {place.text}"
            share, label = place.messages / wanted, f"at most: {place.place}"
            yield BarPart(place.place, share, _side(place.place), CLAIMED, label, told)
    if losses.not_located:
        told = fmt.counted(losses.not_located, "message")
        share = losses.not_located / wanted
        yield BarPart("not located", share, "unknown", INFERRED, "not located", told)


def _side(place: str) -> str:
    return next((side for name, side in _PLACE_SIDES.items() if place.startswith(name)), "unknown")


def _by_side(keys: Iterable[LegendKey]) -> list[LegendKey]:
    order = list(SIDES)
    return sorted(keys, key=lambda key: order.index(key.kind))
