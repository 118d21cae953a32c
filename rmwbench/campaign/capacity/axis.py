"""The axes of a capacity search: one small class per axis.

An axis knows its level in a workload, the workload at another level, its range, and that a higher
level is harder. The search knows only the positions of levels in order of hardness.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

from rmwbench.errors import UserError, not_one_of
from rmwbench.suite.workload.arrival import MAX_RATE_HZ, Relay, Saturation, TraceArrival
from rmwbench.suite.workload.message_type import HEADER_BYTES, message_type
from rmwbench.suite.workload.topology import Node
from rmwbench.suite.workload.workload import EXCLUDES, Workload

WHERE = "--along"


class Axis:
    """An axis: its `name` on the command line, its `factor` in the cells, its `unit` as in the show
    document (empty for a count). Levels lie in [least, most]."""

    name: str
    factor: str
    unit: str
    title: str
    whole = False
    least: float
    most: float

    def own(self, workload: Workload) -> float:
        """Return the level in the suite. Raises UserError if the workload has no level on this
        axis."""
        raise NotImplementedError

    def at(self, workload: Workload, level: float) -> Workload:
        """Return the workload at a level."""
        raise NotImplementedError

    def rounded(self, level: float, digits: int) -> float:
        """Return a level as it is tried and printed: whole, or with `digits` significant
        digits."""
        return (
            float(max(round(level), math.ceil(self.least)))
            if self.whole
            else float(f"{level:.{digits}g}")
        )


class Rate(Axis):
    """The messages per second of the fastest publisher; the others keep their proportion."""

    name, factor, unit, title = "rate", "rate_hz", "hz", "rate"
    least, most = 0.01, float(MAX_RATE_HZ)

    def own(self, workload: Workload) -> float:
        rates = [rate for arrival in _arrivals(workload) if (rate := self._rate(workload, arrival))]
        if not rates:
            raise unfit(workload, self, "none of its publishers has a rate")
        return max(rates)

    def at(self, workload: Workload, level: float) -> Workload:
        factor = level / self.own(workload)
        changes: dict[str, Any] = {}
        if workload.rate_hz is not None:
            changes["rate_hz"] = workload.rate_hz * factor if workload.nodes else level
        elif workload.arrival is not None:
            changes["arrival"] = _scaled(workload.arrival, factor)
        if workload.nodes is not None:
            changes["nodes"] = _with_publishers(workload.nodes, lambda p: _scaled(p, factor))
        return workload.model_copy(update=changes)

    def _rate(self, workload: Workload, arrival: Any) -> float | None:
        if isinstance(arrival, Saturation):
            reason = "sends as fast as it can, so that no message is late"
            raise unfit(workload, self, f"one of its publishers {reason}")
        if isinstance(arrival, TraceArrival):
            raise unfit(workload, self, "one of its publishers has recorded times")
        return None if isinstance(arrival, Relay) else arrival.rate_hz


class Size(Axis):
    """The payload bytes: the workload's message becomes Bytes(N)."""

    name, factor, unit, title, whole = "size", "payload_bytes", "bytes", "message size", True
    least, most = HEADER_BYTES, float(1 << 28)

    def own(self, workload: Workload) -> float:
        return float(message_type(self._message(workload)).payload_bytes)

    def at(self, workload: Workload, level: float) -> Workload:
        name = f"Bytes({round(level)})"
        if workload.nodes is None:
            return workload.model_copy(update={"message": name})
        nodes = _with_publishers(
            workload.nodes, lambda p: p.model_copy(update={"message": name}) if p.message else p
        )
        return workload.model_copy(
            update={"nodes": nodes} | ({"message": name} if workload.message else {})
        )

    def _message(self, workload: Workload) -> str:
        if workload.clients is not None:
            raise unfit(workload, self, "a service has two messages, a request and a reply")
        type_names = {
            p.message
            for node in workload.nodes or ()
            for p in node.publishers
            if p.message is not None
        }
        type_names |= {workload.message} if workload.message else set()
        if not type_names:
            raise unfit(workload, self, "it has no messages of its own")
        if len(type_names) > 1:
            raise unfit(
                workload, self, f"it has several message types: {', '.join(sorted(type_names))}"
            )
        return type_names.pop()

    def rounded(self, level: float, digits: int) -> float:
        return max(float(HEADER_BYTES), float(round(float(f"{level:.{digits}g}"))))


class Subscribers(Axis):
    """The listeners of the talker's topic, placed by the workload's `processes`."""

    name, factor, unit, title, whole = "subscribers", "subscribers", "", "subscribers", True
    least, most = 1, 1000

    def own(self, workload: Workload) -> float:
        if workload.nodes is not None:
            raise unfit(workload, self, "it lists its nodes itself")
        if (workload.graph or workload.clients or workload.bring_up) is not None:
            raise unfit(workload, self, "it has no subscribers to add")
        return float(workload.subscribers or 1)

    def at(self, workload: Workload, level: float) -> Workload:
        return workload.model_copy(update={"subscribers": round(level)})


class Topics(Axis):
    """The copies of every topic of the workload between the same nodes: each node has `level` times
    its endpoints, all on the workload's schedule."""

    name, factor, unit, title, whole = "topics", "topics", "", "topics", True
    least, most = 1, 500

    def own(self, workload: Workload) -> float:
        if not any(node.publishers for node in workload.all_nodes):
            raise unfit(workload, self, "it has no topics to copy")
        return 1.0

    def at(self, workload: Workload, level: float) -> Workload:
        copies = range(1, round(level) + 1)
        if len(copies) == 1:
            return workload
        nodes = workload.all_nodes
        topics = {item.topic for node in nodes for item in node.publishers + node.subscriptions}
        focus = tuple(
            copy
            for name in workload.focus
            for copy in ([_copy_name(name, k) for k in copies] if name in topics else [name])
        )
        changes = {"nodes": tuple(_with_copies(node, copies) for node in nodes), "focus": focus}
        return workload.model_copy(update=changes | dict.fromkeys(EXCLUDES["nodes"]))


AXES: dict[str, Axis] = {axis.name: axis for axis in (Rate(), Size(), Subscribers(), Topics())}


def axis(name: str) -> Axis:
    """Return the axis of that name. Raises UserError for an unknown name."""
    if name not in AXES:
        raise not_one_of(f"unknown axis `{name}`", name, AXES, where=WHERE)
    return AXES[name]


def levels(
    along: Axis, own_level: float, resolution: float, least: float, most: float
) -> tuple[float, ...]:
    """Return the levels of an axis from `least` to `most` in order of hardness, with `own_level` if
    it lies inside. They are own_level · 2^(k/n), rounded as the axis rounds, with n so large that
    neighbours are at most `resolution` apart; twice a level is then a level, too."""
    step = math.log(2) / math.ceil(math.log(2) / math.log1p(resolution) - 1e-9)
    first = math.ceil(math.log(least / own_level) / step - 1e-9)
    last = math.floor(math.log(most / own_level) / step + 1e-9)
    digits = 3 if resolution >= 0.02 else 4
    rounded_levels = {
        along.rounded(own_level * math.exp(step * k), digits) for k in range(first, last + 1)
    }
    # 1 MiB, 1048576 bytes, has seven digits: an end that is asked for is a level
    rounded_levels |= {along.rounded(end, 12) for end in (least, most)} | (
        {own_level} if least <= own_level <= most else set()
    )
    return tuple(sorted(level for level in rounded_levels if least <= level <= most))


def _arrivals(workload: Workload) -> list[Any]:
    """Return the arrivals of all publishers; none for lifecycle nodes that are brought up."""
    if workload.nodes is None:
        return [] if workload.common_arrival is None else [workload.common_arrival]
    return [
        (publisher if publisher.rate_hz is not None else publisher.arrival)
        or workload.common_arrival
        for node in workload.nodes
        for publisher in node.publishers
    ]


def _scaled(item: Any, factor: float) -> Any:
    """Return a publisher or an arrival with its own rate, if it has one, multiplied."""
    if getattr(item, "rate_hz", None) is not None:
        return item.model_copy(update={"rate_hz": item.rate_hz * factor})
    if getattr(item, "arrival", None) is not None:
        return item.model_copy(update={"arrival": _scaled(item.arrival, factor)})
    return item


def _with_publishers(nodes: Iterable[Node], change: Callable[[Any], Any]) -> tuple[Node, ...]:
    """Return the nodes with each publisher changed."""
    return tuple(
        node.model_copy(update={"publishers": tuple(map(change, node.publishers))})
        for node in nodes
    )


def _copy_name(topic: str, copy: int) -> str:
    return f"{topic}_c{copy}"


def _with_copies(node: Node, copies: range) -> Node:
    def renamed(item: Any, copy: int) -> Any:
        changes: dict[str, Any] = {"topic": _copy_name(item.topic, copy)}
        arrival = getattr(item, "arrival", None)
        if isinstance(arrival, Relay):
            changes["arrival"] = arrival.model_copy(
                update={"source": _copy_name(arrival.source, copy)}
            )
        return item.model_copy(update=changes)

    return node.model_copy(
        update={
            "publishers": tuple(renamed(p, k) for k in copies for p in node.publishers),
            "subscriptions": tuple(renamed(s, k) for k in copies for s in node.subscriptions),
        }
    )


def unfit(workload: Workload, along: Axis, why: str) -> UserError:
    return UserError(
        f"workload `{workload.name}` cannot be searched along {along.name}: {why}",
        where=WHERE,
        fix="choose another workload or axis: " + ", ".join(AXES),
    )
