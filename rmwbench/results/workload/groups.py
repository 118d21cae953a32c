"""Links, outages and late nodes in a report: which of their metrics stand together, and what is
told of each link.

Most campaigns have none of it. So these are tables of their own that appear where any arm has a
value, instead of columns of the main table that would read `no data` everywhere else.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf
from typing import NamedTuple

import numpy as np

from rmwbench.analysis.metrics.aggregate import Trial, over_trials
from rmwbench.analysis.metrics.glossary import Entry, Kind
from rmwbench.analysis.metrics.network import cross_traffic, delivery
from rmwbench.analysis.metrics.network.link_bytes import BYTES, LOST, RETRANSMITTED, UP, USED, Wire
from rmwbench.analysis.metrics.network.network import Network
from rmwbench.analysis.metrics.network.stray import STRAY, TO_ITSELF
from rmwbench.analysis.records.frames import CLASSES
from rmwbench.analysis.stats import intervals
from rmwbench.analysis.stats.metric import Measured, Metric, NoData
from rmwbench.results import shown as answer
from rmwbench.results.shown import (
    Arm,
    Delivered,
    Link,
    Outage,
    Recovery,
    Sent,
    ShownOutage,
    TrialRate,
    Workload,
)
from rmwbench.words import numbers as fmt

VERDICTS = {
    "lost_up": "random loss",
    "lost_down": "random loss",
    "queue_full_up": "its queue was full",
    "queue_full_down": "its queue was full",
    "policed_up": "above its flow's limit",
    "policed_down": "above its flow's limit",
    "blackhole": "out of range",
    "no_carrier": "no carrier",
    "too_large": "larger than its MTU",
    "given_up": "all attempts used up",
    "no_destination": "no such destination",
    "refused": "the device refused it",
}
"""Of a frame that a link lost, in words."""


@dataclass(frozen=True)
class Group:
    """A table: `metrics` maps a short title to the metric of its column."""

    title: str
    reading: str
    metrics: dict[str, str]


GROUPS = (
    Group(
        "Along the chain",
        "From the source's intended time to the last subscription, once per way between the two.",
        {
            "median": "end_to_end_latency_p50",
            "p95": "end_to_end_latency_p95",
            "p99": "end_to_end_latency_p99",
            "slowest": "end_to_end_latency_max",
            "all transports": "chain_transport_p50",
            "all relays": "chain_relay_p50",
            "never arrived": "end_to_end_undelivered",
            "lost in transport": "lost_in_transport",
            "lost in relays": "lost_in_relays",
        },
    ),
    Group(
        "By layer",
        "Shares of the time from the publish call to the last callback, in trials that trace the "
        "layers.",
        {
            "ROS 2": "layer_share_ros2",
            "its largest part": "layer_share_ros2_largest",
            "notification": "layer_share_notification",
            "middleware": "layer_share_middleware",
            "relays": "layer_share_relays",
            "remainder": "layer_share_remainder",
        },
    ),
    Group(
        "On the links",
        "What crossed the links between hosts in the steady window, for each payload byte that "
        "reached another host.",
        {"bytes per byte": BYTES}
        | {kind: f"{BYTES}_{kind}" for kind in CLASSES}
        | {"sent again": RETRANSMITTED, "frames lost": LOST, "busiest link": USED},
    ),
    Group(
        "Traffic of others",
        "TCP between hosts that are not the robot's, over the same network: what its receivers "
        "read in the steady window, all of it together. The CPU is that of its own processes, on "
        "this machine as everything else.",
        {
            "goodput": cross_traffic.GOODPUT,
            "worst second": cross_traffic.LEAST,
            "CPU": cross_traffic.CPU,
        },
    ),
    Group(
        "Further interfaces",
        "What hosts sent from before the first session until the window's end that could reach no "
        "other host: into interfaces that lead nowhere, and over the loopback to an address that "
        "two hosts have.",
        {"into them": STRAY, "to itself": TO_ITSELF},
    ),
    Group(
        "Discovery or delivery",
        "Where messages for or from nodes that joined within the window were lost, as shares of "
        "all that were published for them. What was still under way at the end is lost nowhere.",
        {
            "before the first delivery": delivery.DISCOVERY,
            "of these unmatched": delivery.UNMATCHED,
            "between first and last": delivery.DELIVERY,
            "after the last": delivery.TAIL,
            "loss from the first on": delivery.AFTER_FIRST,
        },
    ),
    Group(
        "Around the interruption",
        "Messages per trial, once per reader and for all interruptions together. Recovered is who "
        "has a message that was published after the link or node was back.",
        {
            "time to recover": "recovery_time",
            "silence": "outage_stall",
            "longest other stall": "stall_outside_outages",
            "lost in it": "lost_in_outage",
            "delivered after it": "repaired_after_outage",
            "lost before recovery": "lost_before_recovery",
            "lost afterwards": "lost_after_recovery",
            "duplicates": "duplicates_after_outage",
            "bytes to recover": "recovery_bytes",
            "files left behind": "leftover_files",
            "bytes in them": "leftover_bytes",
        },
    ),
)


def groups(workload: Workload) -> list[Group]:
    """The tables of a workload, each with the columns that have data in any arm. If its only data
    is a stall, there is no such table: the main tables have it."""
    found = []
    for group in GROUPS:
        metrics = {
            title: name
            for title, name in group.metrics.items()
            if any(
                name in arm.metrics and arm.metrics[name].no_data is None for arm in workload.arms
            )
        }
        if set(metrics.values()) - {"stall_outside_outages"}:
            found.append(Group(group.title, group.reading, metrics))
    return found


def rows(workload: Workload, group: Group) -> list[list[str]]:
    """The table as text: the arm, then each metric with its interval."""
    return [
        [arm.arm, *(fmt.metric(arm.metrics.get(name)).full for name in group.metrics.values())]
        for arm in workload.arms
    ]


class _Seen(NamedTuple):
    """What one trial's links carried, in so many ns."""

    wire: Wire
    length_ns: int


def network(trials: Sequence[Trial]) -> answer.Network | None:
    """Of an arm; None where no trial has links or an interruption."""
    seen = [
        _Seen(t.network.wire, t.network.length_ns) for t in trials if t.network.wire is not None
    ]
    if not seen and not any(t.network.outages for t in trials):
        return None
    return answer.Network(
        sent=_sent(seen), links=_links(seen), outages=_outages([t.network for t in trials])
    )


def _sent(seen: Sequence[_Seen]) -> tuple[Sent, ...]:
    """By sender and class: frames of all trials, bytes per second, and the share of all bytes."""
    found = []
    total = sum(n.wire.bytes for n in seen)
    for host in sorted({host for n in seen for host, _ in n.wire.sent}):
        for kind in CLASSES:
            counts = [n.wire.sent.get((host, kind), (0, 0)) for n in seen]
            if not any(frames for frames, _ in counts):
                continue
            rate = _amount(
                "bytes/s",
                [1e9 * size / n.length_ns for (_, size), n in zip(counts, seen, strict=True)],
            )
            share = sum(size for _, size in counts) / total
            frames = sum(frames for frames, _ in counts)
            found.append(Sent(host=host, class_=kind, frames=frames, bytes_per_s=rate, share=share))
    return tuple(found)


def _links(seen: Sequence[_Seen]) -> tuple[Link, ...]:
    """By link and direction: what it let through, what share of its frames it lost, and to what."""
    found = []
    there = dict.fromkeys(link for n in seen for link in n.wire.entered)
    for host, way in sorted(there, key=lambda link: (link[0], link[1] != UP)):
        carried = [1e9 * n.wire.carried.get((host, way), 0) / n.length_ns for n in seen]
        lost: Counter[str] = Counter()
        of_trial = []
        for n in seen:
            here = {
                verdict: c for (h, w, verdict), c in n.wire.lost.items() if (h, w) == (host, way)
            }
            lost.update(here)
            of_trial.append(sum(here.values()))
        found.append(
            Link(
                host=host,
                direction=way,
                bytes_per_s=_amount("bytes/s", carried),
                lost=_fraction(of_trial, [n.wire.entered.get((host, way), 0) for n in seen]),
                verdicts=dict(lost.most_common()),
            )
        )
    return tuple(found)


def _outages(seen: Sequence[Network]) -> tuple[Outage, ...]:
    """The interruptions of a trial by their place in it, each with the recovery of every stream
    that it touched."""
    most = max(seen, key=lambda n: len(n.outages), default=Network())
    found = []
    for place, outage in enumerate(most.outages):
        same = [(n, n.outages[place]) for n in seen if len(n.outages) > place]
        begin = [(o.down_ns - n.begin_ns) / 1e9 for n, o in same]
        end = [(o.up_ns - n.begin_ns) / 1e9 for n, o in same if not isinf(o.up_ns)]
        streams: dict[tuple[str, str, str], list[float]] = {}
        for n, o in same:
            for one in n.recoveries:
                if one.outage == o:
                    streams.setdefault((one.topic, one.writer, one.reader), []).append(one.time_ns)
        found.append(
            Outage(
                kind=outage.kind,
                who=outage.who,
                what=outage.what,
                begin_s=float(np.mean(begin)),
                end_s=float(np.mean(end)) if end else None,
                streams=tuple(
                    Recovery(
                        topic=topic,
                        writer=writer,
                        reader=reader,
                        recovery_time=_amount("ns", times, kind="positive"),
                    )
                    for (topic, writer, reader), times in streams.items()
                ),
            )
        )
    return tuple(found)


def delivered(arm: str, trials: Sequence[Trial]) -> Delivered | None:
    """`charts.delivered` of an arm: per bin of the window the mean over trials of messages due,
    published and taken per second, and each trial's own; None where no trial was looked at stream
    by stream."""
    seen = [t for t in trials if t.network.bin_ns]
    if not seen:
        return None
    bin_ns, _ = Counter((t.network.bin_ns, len(t.network.arrived)) for t in seen).most_common(1)[0][
        0
    ]
    seen = [t for t in seen if t.network.bin_ns == bin_ns]
    length = min(len(t.network.arrived) for t in seen)
    first = seen[0].network
    edges = np.minimum(np.arange(length + 1) * bin_ns, first.length_ns) / 1e9
    widths = np.diff(edges)
    rates = np.array([t.network.arrived[:length] / widths for t in seen])
    wanted = np.mean([t.network.wanted[:length] / widths for t in seen], axis=0)
    sent = np.mean([t.network.sent[:length] / widths for t in seen], axis=0)
    return Delivered(
        arm=arm,
        bin_s=bin_ns / 1e9,
        time_s=tuple(((edges[:-1] + edges[1:]) / 2).tolist()),
        rate_hz=tuple(rates.mean(axis=0).tolist()),
        wanted_hz=tuple(wanted.tolist()),
        sent_hz=tuple(sent.tolist()),
        trials=tuple(
            TrialRate(trial=t.trial, rate_hz=tuple(rate.tolist()))
            for t, rate in list(zip(seen, rates, strict=True))[:TRIALS]
        ),
        outages=tuple(
            ShownOutage(begin_s=o.begin_s, end_s=o.end_s, text=f"{o.who}: {o.what}")
            for o in _outages([t.network for t in seen])
        ),
    )


TRIALS = 8
"""Of which the picture shows their own line: more would hide the mean."""


def _amount(unit: str, values: Sequence[float], *, kind: Kind = "amount") -> Metric:
    found = np.array(values, float)
    entry = Entry("", "", unit, kind, "")
    return over_trials(entry, found, len(found), "values")


def _fraction(events: Sequence[int], of: Sequence[int]) -> Metric:
    counts, totals = np.array(events), np.array(of)
    kept = totals > 0
    if not kept.any():
        return NoData("fraction", no_data="no frame met this link")
    (value, low, high), method = intervals.clustered_fraction(counts[kept], totals[kept])
    return Measured("fraction", value, low, high, int(totals.sum()), int(kept.sum()), method)


def slowest(arm: Arm) -> list[tuple[str, ...]]:
    """One line per interruption and stream: (what, when, stream, time to recover)."""
    found: list[tuple[str, ...]] = []
    for outage in arm.network.outages if arm.network else ():
        what = f"{outage.who}: {outage.what}"
        end = outage.end_s
        when = f"{outage.begin_s:.3g} s" + ("" if end == outage.begin_s else f" to {_seconds(end)}")
        streams = sorted(outage.streams, key=lambda one: -(one.recovery_time.value or 0))
        for one in streams[:MOST_STREAMS]:
            stream = f"{one.topic}: {one.writer} → {one.reader}"
            found.append((what, when, stream, fmt.metric(one.recovery_time).full))
    return found


MOST_STREAMS = 12
"""Of one interruption: a fleet has hundreds, and the slowest are those that are asked for."""


def _seconds(end: float | None) -> str:
    return "the end" if end is None else f"{end:.3g} s"
