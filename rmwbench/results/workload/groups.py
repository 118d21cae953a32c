"""Links, interruptions and late nodes in a report: the tables of their metrics, and the figures of
each link.

Most campaigns have none of them. So their metrics stand in tables of their own if any arm has a
value, and not in columns of the main table that would read `no data` in most reports."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from typing import NamedTuple

import numpy as np

from rmwbench.analysis.metrics.aggregate import MeasuredTrial, over_trials
from rmwbench.analysis.metrics.glossary import BRING_UP, METRICS, Kind
from rmwbench.analysis.metrics.network.link_bytes import UP, Wire
from rmwbench.analysis.metrics.network.network_metrics import TrialNetwork
from rmwbench.analysis.records.frames import CLASSES
from rmwbench.analysis.stats import intervals
from rmwbench.analysis.stats.estimate import Estimate, Measured, NoData
from rmwbench.results import show_model
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
"""The verdict about a frame that a link lost -> its words."""


@dataclass(frozen=True)
class MetricTable:
    """A table of the metrics of a group. `metrics`: the heading of a column -> its metric."""

    title: str
    reading: str
    metrics: Mapping[str, str]


TABLES = tuple(
    MetricTable(
        group.title,
        group.text,
        {m.heading: m.name for m in METRICS if m.group is group and m.heading},
    )
    for group in dict.fromkeys(m.group for m in METRICS if m.heading)
    if group is not BRING_UP  # lifecycle nodes have a table of their own (beside/bring_up)
)


def groups(workload: show_model.WorkloadAnswer) -> list[MetricTable]:
    """Return the tables of a workload, each with the columns that have data in any arm. A group
    whose only data is a stall has no table, since the main tables have that column."""
    tables = []
    for group in TABLES:
        metrics = {
            title: name
            for title, name in group.metrics.items()
            if any(
                name in arm.metrics and arm.metrics[name].no_data is None for arm in workload.arms
            )
        }
        if set(metrics.values()) - {"stall_outside_outages"}:
            tables.append(MetricTable(group.title, group.reading, metrics))
    return tables


class _LinkBytes(NamedTuple):
    """The bytes on the links of one trial, in `length_ns`."""

    wire: Wire
    length_ns: int


def network(trials: Sequence[MeasuredTrial]) -> show_model.NetworkAnswer | None:
    """Return the traffic of an arm on its links; None if no trial has links or an interruption."""
    traffic = [
        _LinkBytes(t.network.wire, t.network.length_ns)
        for t in trials
        if t.network.wire is not None
    ]
    if not traffic and not any(t.network.outages for t in trials):
        return None
    return show_model.NetworkAnswer(
        sent=_sent(traffic),
        links=_links(traffic),
        outages=_outages([t.network for t in trials]),
    )


def _sent(traffic: Sequence[_LinkBytes]) -> tuple[show_model.SentFrames, ...]:
    """Return for each sender and class the frames of all trials, the bytes per second, and the
    share of all bytes."""
    classes = []
    total = sum(n.wire.bytes for n in traffic)
    for host in sorted({host for n in traffic for host, _ in n.wire.sent}):
        for class_ in CLASSES:
            counts = [n.wire.sent.get((host, class_), (0, 0)) for n in traffic]
            if not any(frames for frames, _ in counts):
                continue
            rate = _amount(
                "bytes/s",
                [1e9 * size / n.length_ns for (_, size), n in zip(counts, traffic, strict=True)],
            )
            share = sum(size for _, size in counts) / total
            frames = sum(frames for frames, _ in counts)
            classes.append(
                show_model.SentFrames(
                    host=host, class_=class_, frames=frames, bytes_per_s=rate, share=share
                )
            )
    return tuple(classes)


def _links(traffic: Sequence[_LinkBytes]) -> tuple[show_model.Link, ...]:
    """Return for each link and direction the traffic that it let through, the share of its frames
    that it lost, and the verdicts about these."""
    links = []
    places = dict.fromkeys(link for n in traffic for link in n.wire.entered)
    for host, way in sorted(places, key=lambda link: (link[0], link[1] != UP)):
        carried = [1e9 * n.wire.carried.get((host, way), 0) / n.length_ns for n in traffic]
        lost: Counter[str] = Counter()
        lost_frames = []
        for n in traffic:
            verdicts = {
                verdict: c for (h, w, verdict), c in n.wire.lost.items() if (h, w) == (host, way)
            }
            lost.update(verdicts)
            lost_frames.append(sum(verdicts.values()))
        links.append(
            show_model.Link(
                host=host,
                direction=way,
                bytes_per_s=_amount("bytes/s", carried),
                lost=_fraction(lost_frames, [n.wire.entered.get((host, way), 0) for n in traffic]),
                verdicts=dict(lost.most_common()),
            )
        )
    return tuple(links)


def _outages(trials: Sequence[TrialNetwork]) -> tuple[show_model.MeanOutage, ...]:
    """Return the interruptions by their place in a trial, each with the recovery of every stream
    that it touched."""
    most = max(trials, key=lambda n: len(n.outages), default=TrialNetwork())
    outages = []
    for place, outage in enumerate(most.outages):
        in_trials = [(n, n.outages[place]) for n in trials if len(n.outages) > place]
        begin = [(o.down_ns - n.begin_ns) / 1e9 for n, o in in_trials]
        end = [(o.up_ns - n.begin_ns) / 1e9 for n, o in in_trials if not isinf(o.up_ns)]
        streams: dict[tuple[str, str, str], list[float]] = {}
        for n, o in in_trials:
            for r in n.recoveries:
                if r.outage == o:
                    streams.setdefault((r.topic, r.writer, r.reader), []).append(r.time_ns)
        outages.append(
            show_model.MeanOutage(
                kind=outage.kind,
                who=outage.who,
                what=outage.what,
                begin_s=float(np.mean(begin)),
                end_s=float(np.mean(end)) if end else None,
                streams=tuple(
                    show_model.Recovery(
                        topic=topic,
                        writer=writer,
                        reader=reader,
                        recovery_time=_amount("ns", times, kind="positive"),
                    )
                    for (topic, writer, reader), times in streams.items()
                ),
            )
        )
    return tuple(outages)


def delivered(arm: str, trials: Sequence[MeasuredTrial]) -> show_model.Delivered | None:
    """Return `charts.delivered` of an arm: for each bin of the window the mean over trials of
    messages due, published and taken per second, and the taken ones of each trial; None if no trial
    has bins."""
    sizes = Counter((t.network.bin_ns, len(t.network.arrived)) for t in trials if t.network.bin_ns)
    if not sizes:
        return None
    (bin_ns, _), _ = sizes.most_common(1)[0]
    binned = [t for t in trials if t.network.bin_ns == bin_ns]
    networks = [t.network for t in binned]
    length = min(len(n.arrived) for n in networks)
    edges = np.minimum(np.arange(length + 1) * bin_ns, networks[0].length_ns) / 1e9
    widths = np.diff(edges)
    rates = np.array([n.arrived[:length] / widths for n in networks])
    wanted = np.mean([n.wanted[:length] / widths for n in networks], axis=0)
    sent = np.mean([n.sent[:length] / widths for n in networks], axis=0)
    return show_model.Delivered(
        arm=arm,
        bin_s=bin_ns / 1e9,
        time_s=tuple(((edges[:-1] + edges[1:]) / 2).tolist()),
        rate_hz=tuple(rates.mean(axis=0).tolist()),
        wanted_hz=tuple(wanted.tolist()),
        sent_hz=tuple(sent.tolist()),
        trials=tuple(
            show_model.TrialRate(trial=t.trial, rate_hz=tuple(rate.tolist()))
            for t, rate in list(zip(binned, rates, strict=True))[:TRIALS]
        ),
        outages=tuple(
            show_model.ChartOutage(begin_s=o.begin_s, end_s=o.end_s, text=f"{o.who}: {o.what}")
            for o in _outages(networks)
        ),
    )


TRIALS = 8
"""So many trials have a line of their own in the picture: more would hide the mean."""


def _amount(unit: str, values: Sequence[float], *, kind: Kind = "amount") -> Estimate:
    return over_trials(unit, kind, np.array(values, float), len(values), "values")


def _fraction(events: Sequence[int], frames: Sequence[int]) -> Estimate:
    counts, totals = np.array(events), np.array(frames)
    used = totals > 0
    if not used.any():
        return NoData("fraction", no_data="no frame met this link")
    (value, low, high), method = intervals.clustered_fraction(
        counts[used], totals[used], items="frames"
    )
    return Measured("fraction", value, low, high, int(totals.sum()), int(used.sum()), method)


def slowest(arm: show_model.WorkloadArm) -> list[tuple[str, ...]]:
    """Return a line per interruption and stream: (interruption, its time, stream, time to
    recover)."""
    rows: list[tuple[str, ...]] = []
    for outage in arm.network.outages if arm.network else ():
        interruption = f"{outage.who}: {outage.what}"
        end = outage.end_s
        until = "the end" if end is None else f"{fmt.concise(end)} s"
        when = f"{fmt.concise(outage.begin_s)} s" + (
            "" if end == outage.begin_s else f" to {until}"
        )
        slowest_first = sorted(outage.streams, key=lambda s: -(s.recovery_time.value or 0))
        for s in slowest_first[:MOST_STREAMS]:
            stream = f"{s.topic}: {s.writer} → {s.reader}"
            rows.append((interruption, when, stream, fmt.metric(s.recovery_time).full))
    return rows


MOST_STREAMS = 12
"""An interruption has so many lines at most: a fleet has hundreds of streams, and the slowest ones
matter."""
