"""How much of a message's time each layer took, added up over all hops of its path and divided at
the same moments for every middleware.

Every worker stamps the publish call, the notification, the take and the callback. Workers of ROS 2
whose arm traces its layers also record when public functions of rcl and rmw are passed
(docs/formats/records.md), the same for every RMW. The time between two of these moments belongs to
one category. A moment may be absent, or out of order because a busy reader needed no wake-up of its
own: then the time on both its sides belongs to the remainder, which is shown.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from itertools import pairwise

import numpy as np

from rmwbench.analysis.metrics.chain.chain import typical
from rmwbench.analysis.metrics.chain.trace import Hop, PathTrace, elapsed
from rmwbench.analysis.records.ledger import ABSENT, grouped

WAITING, RELAY, REMAINDER = "waiting at the source", "relays", "remainder"
TAKE = "take"
STAMPED = ("publish to notify", TAKE, "hand over")
TRACED = (
    "publish: rclcpp and rcl",
    "publish: rmw",
    "middleware: write to notify",
    "notification to take",
    "take: rcl",
    "take: rmw",
    "hand over",
)
WORDS: Mapping[str, str] = {
    WAITING: "from the intended time until the source's publish call",
    "publish to notify": "publish call, middleware, transport, wake-up of the reader",
    "publish: rclcpp and rcl": "from the publish call until rmw_publish begins",
    "publish: rmw": "from rmw_publish until the middleware's own write begins",
    "middleware: write to notify": (
        "the middleware's write, transport, wake-up, until rmw_wait returns"
    ),
    "notification to take": "from rmw_wait's return until rcl_take begins: the executor",
    TAKE: "from the notification until the message is in the reader's hands",
    "take: rcl": "rcl_take around rmw_take",
    "take: rmw": "rmw_take: the middleware's take and the conversion",
    "hand over": "from the take until the callback",
    RELAY: "from a relay's callback until its next publish call",
    REMAINDER: "not told apart: a moment is missing or out of order",
}
ROS2 = ("publish: rclcpp and rcl", "publish: rmw", "take: rcl", "take: rmw", "hand over")
SHARES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "layer_share_ros2": (ROS2,),
    "layer_share_ros2_largest": (
        ("publish: rclcpp and rcl",),
        ("publish: rmw",),
        ("take: rcl", "hand over"),
        ("take: rmw",),
    ),
    "layer_share_notification": (("notification to take",),),
    "layer_share_middleware": (("middleware: write to notify",),),
    "layer_share_relays": ((RELAY,),),
    "layer_share_remainder": ((REMAINDER,),),
}
"""Metric → groups of categories. Its value is the largest group's share of the time since the
source's publish call."""
NOT_TRACED = "only arms of rclcpp with the option `layers: true` trace their layers"
NOTHING_ARRIVED = "nothing arrived, so there is no time to divide among layers"


class Moment(IntEnum):
    """The moments of the table `spans` that end a category; `begins` and `returns` are of the
    function or of the middleware's own write (docs/formats/records.md has all of them)."""

    RMW_PUBLISH_BEGINS = 2
    WRITE_BEGINS = 3
    RMW_WAIT_RETURNS = 7
    RCL_TAKE_BEGINS = 9
    RMW_TAKE_BEGINS = 10
    RMW_TAKE_RETURNS = 11
    RCL_TAKE_RETURNS = 12


ON_PUBLISHING = (Moment.RMW_PUBLISH_BEGINS, Moment.WRITE_BEGINS)
ON_TAKING = (
    Moment.RMW_WAIT_RETURNS,
    Moment.RCL_TAKE_BEGINS,
    Moment.RMW_TAKE_BEGINS,
    Moment.RMW_TAKE_RETURNS,
    Moment.RCL_TAKE_RETURNS,
)

Spans = Mapping[str, np.ndarray]
"""The columns of the table `spans`: endpoint, writer, seq, layer, time_ns."""


@dataclass(frozen=True)
class Layers:
    """The layers of one trial. `spent_ns`: category → mean over the typical messages, summed over
    all hops; its values add up to `end_to_end_ns`, the mean of the same messages. `traced`: whether
    the layers of ROS 2 are among the categories; `messages`: the number of typical messages."""

    spent_ns: Mapping[str, float]
    end_to_end_ns: float
    traced: bool
    messages: int

    @property
    def shares(self) -> dict[str, float]:
        whole = self.end_to_end_ns - self.spent_ns.get(WAITING, 0.0)
        if not self.traced or whole <= 0:
            return {}

        return {
            name: max(sum(self.spent_ns.get(kind, 0.0) for kind in part) for part in parts) / whole
            for name, parts in SHARES.items()
        }


def layers(path_traces: Sequence[PathTrace], spans: Spans | None) -> Layers | None:
    """The layers of all paths of a trial together; None where nothing arrived."""
    around_median = typical(path_traces)
    if not any(chosen.any() for chosen in around_median):
        return None
    noted = _Noted(spans) if spans is not None and len(spans["seq"]) else None
    spent: dict[str, float] = {}
    whole = count = 0.0
    for trace, chosen in zip(path_traces, around_median, strict=True):
        # Here a path ends at the last callback, which the harness stamps a little after the take.
        end = np.where(
            trace.last.callback_ns == ABSENT, trace.last.taken_ns, trace.last.callback_ns
        )
        total = elapsed(end, trace.intended_ns)[chosen]
        whole += float(total.sum())
        count += len(total)
        rest = total.copy()
        for category, took in _categories(trace, noted):
            part = took[chosen]
            spent[category] = spent.get(category, 0.0) + float(part.sum())
            rest -= part
        spent[REMAINDER] = spent.get(REMAINDER, 0.0) + float(rest.sum())
    order = list(WORDS)
    means = {name: spent[name] / count for name in sorted(spent, key=order.index)}
    return Layers(means, whole / count, noted is not None, int(count))


def _categories(trace: PathTrace, noted: "_Noted | None") -> Iterator[tuple[str, np.ndarray]]:
    """(category, time of each message of the source in ns), with a category once per hop or more
    often; 0 where a moment is not known."""
    before, label = trace.intended_ns, WAITING
    for hop in trace.hops:
        yield label, _between(before, hop.call_ns)
        if noted is None:
            moments = [hop.call_ns, hop.notified_ns, hop.taken_ns, hop.callback_ns]
            labels: Sequence[str] = STAMPED
        else:
            at = partial(noted.of, hop)
            publish = [at(hop.writer.endpoint, moment) for moment in ON_PUBLISHING]
            take = [at(hop.reader, moment) for moment in ON_TAKING]
            moments = [hop.call_ns, *publish, *take, hop.callback_ns]
            labels = (*TRACED[:4], "take: rcl", "take: rmw", "take: rcl", "hand over")
        for name, (since, until) in zip(labels, pairwise(_in_order(moments)), strict=True):
            yield name, _between(since, until)
        before, label = hop.callback_ns, RELAY


def _between(since_ns: np.ndarray, until_ns: np.ndarray) -> np.ndarray:
    stamped = (since_ns != ABSENT) & (until_ns != ABSENT)
    took = np.zeros(len(since_ns))
    took[stamped] = (until_ns[stamped] - since_ns[stamped]).astype(float)
    return took


def _in_order(moments: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    """The moments, ABSENT where a moment lies before an earlier moment or after the last moment."""
    latest, end = moments[0], moments[-1]
    for moment in moments:
        wrong = (moment < latest) | ((moment > end) & (end != ABSENT))
        stamps = np.where(wrong, ABSENT, moment)
        latest = np.maximum(latest, stamps)
        yield stamps


class _Noted:
    """When each message first passed each moment at each endpoint."""

    def __init__(self, spans: Spans):
        self._seq, self._time = spans["seq"].astype(np.int64), spans["time_ns"]
        names = (spans[name].astype(np.int64) for name in ("endpoint", "writer", "layer"))
        self._keys, key = np.unique(np.stack(list(names), 1), axis=0, return_inverse=True)
        self._rows = grouped(key.reshape(-1))
        self._index = {tuple(int(x) for x in row): number for number, row in enumerate(self._keys)}

    def of(self, hop: Hop, endpoint: int, moment: Moment) -> np.ndarray:
        """The time of the moment for each message of the source, in ns; int64 of shape (messages,),
        ABSENT where it was not recorded."""
        stamps_ns = np.full(len(hop.place), ABSENT)
        number = self._index.get((endpoint, hop.writer.endpoint, moment))
        if number is None:
            return stamps_ns
        by_place = np.full(len(hop.writer), ABSENT)
        rows = self._rows[number]
        place = self._seq[rows] - hop.writer.places.first_seq
        inside = (place >= 0) & (place < len(by_place))
        # In reverse order of time, so that the first of two equal messages is written last.
        order = np.argsort(self._time[rows], kind="stable")[::-1]
        order = order[inside[order]]
        by_place[place[order]] = self._time[rows][order]
        has_place = hop.place >= 0
        stamps_ns[has_place] = by_place[hop.place[has_place]]
        return stamps_ns
