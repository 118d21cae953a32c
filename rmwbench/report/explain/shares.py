"""The arms of a show document as bars of shares: which path the bytes took, where messages were
lost, why the slowest messages were slow. Both the bars and the words beside them come from here, so
that they agree.

Fifteen causes and a dozen places are too many colours to learn. So the colour of a part shows its
side: the publisher, the way, the reader or the machine; the bar contains its name. The outline of a
part shows how certain it is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rmwbench.analysis.causes.loss_places import Losses, LossPlace
from rmwbench.report.view import LegendKey
from rmwbench.results.show_model import PathShare, WorkloadArm
from rmwbench.results.workload.lost_messages import measure
from rmwbench.words import numbers as fmt

PHASES = {"late": "waiting to be sent", "writing": "writing", "flight": "in flight"}
"""The phases of a slow message in words; `late` is a fate, so its phase has another name."""

LEAST_PATH = 0.005
"""The least share of the bytes that is drawn: smaller paths carry discovery and the like, and stand
in the table only."""

COUNTED, CLAIMED, INFERRED = "counted", "claimed", "inferred"
"""How certain a part is: it was counted (drawn filled); it is the middleware's word or an upper
bound (outlined); it is the rest that the counters leave over (dashed)."""
_ATTESTED = {"counted": "counted by the kernel", "evidence": "the middleware's own word"}
_CERTAINTY = {
    "evidence": CLAIMED,
    "at most": CLAIMED,
    "inferred": INFERRED,
    "not located": INFERRED,
}

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
"""Kind of a part of a chain → the side that gives its colour, its name, and its meaning."""


@dataclass(frozen=True)
class BarPart:
    """A piece of a bar: `share` of the axis, `kind` (a path or a side) for its colour, `certainty`
    for its outline, `label` for the text in it, `tooltip` for the text with all facts."""

    name: str
    share: float
    kind: str
    certainty: str
    label: str
    tooltip: str


@dataclass(frozen=True)
class ShareBar:
    """The parts of an arm from left to right, and the text `beside` them at the right."""

    arm: str
    parts: Sequence[BarPart]
    beside: str


def percent(share: float) -> str:
    return "< 0.1 %" if 0 < share < 0.001 else fmt.quantity(share, "fraction")


def paths(arms: Iterable[WorkloadArm]) -> list[ShareBar]:
    """Return the shares of the payload bytes; an arm whose paths are not attested has no bar."""
    bars = []
    for arm in arms:
        parts = [_path_part(path) for path in _joined(arm.paths) if path.fraction >= LEAST_PATH]
        if parts:
            bars.append(ShareBar(arm.arm, parts, ", ".join(part.label for part in parts[1:])))
    return bars


def _path_part(path: PathShare) -> BarPart:
    share = percent(path.fraction)
    label = f"{path.path} {share}" + (" inferred" if path.label == "inferred" else "")
    interface = f" over {path.interface}" if path.interface else ""
    source = _ATTESTED.get(path.label, "inferred")
    tooltip = f"{share} {PATHS.get(path.path, path.path)}{interface}, {source}"
    certainty = _CERTAINTY.get(path.label, COUNTED)
    return BarPart(path.path, path.fraction, path.path, certainty, label, tooltip)


def places(arms: Iterable[WorkloadArm]) -> list[ShareBar]:
    """Return the shares of the wanted messages, for arms that miss some. The parts of an arm add up
    to the messages it misses: places that may each explain the same messages are one part."""
    return [
        ShareBar(
            arm.arm,
            [part for part in _places(losses) if part.share > 0],
            percent(losses.missing / losses.wanted),
        )
        for arm in arms
        if (losses := arm.losses) is not None and losses.missing and losses.wanted
    ]


def causes(arms: Iterable[WorkloadArm]) -> list[ShareBar]:
    """Return the shares of the slowest messages, of the writer and reader with the longest tail,
    for arms that have a tail."""
    bars = []
    for arm in arms:
        for tail in arm.tails[:1]:
            parts = [
                BarPart(
                    cause.cause,
                    cause.share,
                    *_cause_side(cause.cause),
                    f"{cause.cause} {percent(cause.share)}",
                    f"{cause.messages} of {tail.messages}: {cause.text}",
                )
                for cause in tail.causes
            ]
            bars.append(ShareBar(arm.arm, parts, fmt.quantity(tail.worst[0].latency_ns, "ns")))
    return bars


def path_keys(bars: Iterable[ShareBar]) -> list[LegendKey]:
    """Return the key of each path that some bar has."""
    kinds = {part.kind for bar in bars for part in bar.parts}
    return [LegendKey(kind, COUNTED, kind, words) for kind, words in PATHS.items() if kind in kinds]


def place_keys(arms: Iterable[WorkloadArm]) -> list[LegendKey]:
    """Return a key for each place of any arm, with its meaning and the remedy."""
    keys: dict[str, LegendKey] = {}
    for losses in (arm.losses for arm in arms):
        if losses is None:
            continue
        for place in losses.places:
            if place.messages:
                certainty = _CERTAINTY.get(place.label, COUNTED)
                keys.setdefault(
                    place.place, LegendKey(_side(place.place), certainty, place.place, place.text)
                )
        if losses.not_located:
            words = "no place counted them" + (
                f"; nobody counts at {', '.join(losses.uncounted)}" if losses.uncounted else ""
            )
            keys.setdefault("not located", LegendKey("unknown", INFERRED, "not located", words))
    return _by_side(keys.values())


def cause_keys(arms: Iterable[WorkloadArm]) -> list[LegendKey]:
    """Return a key for each cause of any drawn arm, with its words."""
    texts: dict[str, str] = {}
    for tail in (tail for arm in arms for tail in arm.tails[:1]):
        for cause in tail.causes:
            texts.setdefault(cause.cause, cause.text)
    return _by_side(LegendKey(*_cause_side(cause), cause, text) for cause, text in texts.items())


def _cause_side(cause: str) -> tuple[str, str]:
    """Return the side of a cause and its certainty."""
    side = CAUSE_SIDES.get(cause, "unknown")
    return side, INFERRED if side == "unknown" else COUNTED


def _joined(paths: Iterable[PathShare]) -> list[PathShare]:
    """Return the paths, largest first. The interfaces of one path and label are one part, named
    after the first interface: eth0 beside lo is discovery."""
    joined: dict[tuple[str, str], PathShare] = {}
    for path in paths:
        first = joined.setdefault((path.path, path.label), replace(path, fraction=0.0))
        joined[path.path, path.label] = replace(first, fraction=first.fraction + path.fraction)
    return sorted(joined.values(), key=lambda path: -path.fraction)


def _places(losses: Losses) -> Iterable[BarPart]:
    exact, bounds = losses.not_located, []
    for place in losses.places:
        if place.label == "at most":
            bounds.append(place)
            continue
        exact += place.messages
        certainty = _CERTAINTY.get(place.label, COUNTED)
        yield _place_part(losses, place, certainty, place.place)
    rest = max(0, losses.missing - exact)
    bounds = [place for place in bounds if place.messages]
    if rest and sum(place.messages for place in bounds) > rest:
        name = " or ".join(place.place for place in bounds)
        tooltip = "; ".join(f"{measure(place)}: {place.text}" for place in bounds)
        yield BarPart(name, rest / losses.wanted, _side(bounds[0].place), CLAIMED, name, tooltip)
    else:
        for place in bounds:
            yield _place_part(losses, place, CLAIMED, f"at most: {place.place}")
    if losses.not_located:
        tooltip = fmt.counted(losses.not_located, "message")
        share = losses.not_located / losses.wanted
        yield BarPart("not located", share, "unknown", INFERRED, "not located", tooltip)


def _place_part(losses: Losses, place: LossPlace, certainty: str, label: str) -> BarPart:
    share, tooltip = place.messages / losses.wanted, f"{measure(place)}: {place.text}"
    return BarPart(place.place, share, _side(place.place), certainty, label, tooltip)


def _side(place: str) -> str:
    return next((side for name, side in _PLACE_SIDES.items() if place.startswith(name)), "unknown")


def _by_side(keys: Iterable[LegendKey]) -> list[LegendKey]:
    order = list(SIDES)
    return sorted(keys, key=lambda key: order.index(key.kind))
