"""The metrics of a trial's links, outages and late nodes; where a trial has none of these, the
reason why it has no such metric.

They need the messages a second time, stream by stream, so a trial of one host without an
interruption skips that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rmwbench.analysis.metrics.context import Context
from rmwbench.analysis.metrics.glossary import MetricScope, names_of
from rmwbench.analysis.metrics.network import link_bytes as wire
from rmwbench.analysis.metrics.network import network_counters, outage, streams
from rmwbench.analysis.metrics.network.link_bytes import Wire
from rmwbench.analysis.metrics.network.outage import Outage, StreamRecovery
from rmwbench.analysis.metrics.network.streams import StreamPair, pairs_of
from rmwbench.analysis.records.columns import NO_WINDOW, SteadyWindow
from rmwbench.analysis.records.frames import NO_SINGLE_FRAMES, FrameCounts, Frames
from rmwbench.analysis.stats.estimate import Measures

UNINTERRUPTED = "nothing was interrupted, so it is the longest stall"


@dataclass(frozen=True)
class TrialNetwork:
    """The data of a trial's pictures over time. `wire` is None without a frame log. `wanted`,
    `sent` and `arrived`: messages due, published and taken in each bin of `bin_ns` of the window,
    once per reader, shape (bins,), empty where the streams were not read. Times of outages are in
    the workers' clock."""

    wire: Wire | None = None
    outages: tuple[Outage, ...] = ()
    recoveries: tuple[StreamRecovery, ...] = ()
    begin_ns: int = 0
    length_ns: int = 0
    bin_ns: int = 0
    wanted: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    sent: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    arrived: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass
class NetworkMetrics:
    """A trial's metrics of its network, and the data of its pictures and tables."""

    measures: Measures
    network: TrialNetwork


def network(context: Context) -> NetworkMetrics:
    """The metrics of links, interruptions and late nodes, from the messages of topics in focus, and
    from all frames but those of cross traffic. Raises as `latency.measure`."""
    window = context.window
    if window is None or not window.length_ns:
        return NetworkMetrics(dict.fromkeys(OF_NETWORKS, NO_WINDOW), TrialNetwork())
    frames, counts = _without_others(context)
    no_log = wire.why_no_log(context.definition) if counts is None else NO_SINGLE_FRAMES
    rows, events = context.evidence.endpoints, list(context.evidence.events)
    workload = context.definition.get("workload")
    returns = isinstance(workload, Mapping) and workload.get("daemons_return_s") is not None
    interruptions = outage.outages(events, rows, window, daemons_return=returns)
    late = any(row.get("joins_ns") is not None for row in rows)
    has_log = frames is not None or counts is not None
    reads_streams = has_log or bool(interruptions) or late
    pairs: list[StreamPair] = []
    if reads_streams:
        pairs = pairs_of(context.evidence.records, rows, context.judged, window, context.lives)
    created = {row["endpoint"] for row in events if row["event"] == "created"}
    recovered = outage.recoveries(pairs, interruptions, created)
    measures = streams.joiner_losses(pairs, events)
    measures |= outage.outage_measures(pairs, interruptions, recovered, frames, window)
    if not interruptions and not late:
        measures["stall_outside_outages"] = UNINTERRUPTED
    if frames is None and interruptions:
        measures["recovery_bytes"] = no_log
    trial_wire = None
    if has_log:
        trial_wire, of_links = _links(context, interruptions, frames, counts)
        measures |= of_links
    else:
        measures |= dict.fromkeys(names_of(MetricScope.LINKS), no_log)
    if not reads_streams:
        return NetworkMetrics(measures, TrialNetwork())
    return NetworkMetrics(measures, _over_time(pairs, window, trial_wire, interruptions, recovered))


def _without_others(context: Context) -> tuple[Frames | None, FrameCounts | None]:
    """The log of frames, or, where the log lacks frames, their counts; both without cross
    traffic."""
    others = network_counters.hosts_of(context.definition)
    if context.frame_counts is not None:
        return None, context.frame_counts.without(others)
    return None if context.frames is None else context.frames.without(others), None


def _links(
    context: Context,
    interruptions: Sequence[Outage],
    frames: Frames | None,
    counts: FrameCounts | None,
) -> tuple[Wire, Measures]:
    """The traffic on the links of a trial with a window, from `counts` or else from `frames`."""
    window, definition = context.window, context.definition
    assert window is not None
    payload_bytes = wire.crossing_bytes(
        context.evidence.records, context.evidence.endpoints, window
    )
    rates_bps = wire.rates_of(definition)
    if counts is not None:
        trial_wire = wire.wire_of_counts(counts, window, payload_bytes, rates_bps)
        sums = wire.sums_of_counts(counts)
    else:
        assert frames is not None
        trial_wire = wire.wire_of(frames, interruptions, window, payload_bytes, rates_bps)
        sums = wire.sums_of(frames, window)
    measures = wire.values(trial_wire, sums)
    if frames is not None and wire.is_mixed(frames, definition):
        measures["link_utilisation"] = wire.MIXED
    return trial_wire, measures


def _over_time(
    pairs: Sequence[StreamPair],
    window: SteadyWindow,
    trial_wire: Wire | None,
    interruptions: Sequence[Outage],
    recovered: Sequence[StreamRecovery],
) -> TrialNetwork:
    due = [pair.due_ns for pair in pairs]
    bin_ns = bin_length_ns(window.length_ns, sum(map(len, due)))
    edges_ns = bin_edges_ns(window, bin_ns)
    return TrialNetwork(
        wire=trial_wire,
        outages=tuple(interruptions),
        recoveries=tuple(recovered),
        begin_ns=window.begin_ns,
        length_ns=window.length_ns,
        bin_ns=bin_ns,
        wanted=counts_per_bin(due, edges_ns),
        sent=counts_per_bin([pair.call_ns[pair.sent] for pair in pairs], edges_ns),
        arrived=counts_per_bin([pair.taken_ns[pair.arrived] for pair in pairs], edges_ns),
    )


def bin_length_ns(length_ns: int, messages: int) -> int:
    """The length of a bin for a window of `length_ns`: the shortest of a round series with at most
    60 bins and on average at least four wanted messages in each, so that a missing message is not a
    dip to zero."""
    for exponent in range(6, 12):
        for mantissa in (1, 2, 5):
            bin_ns: int = mantissa * 10**exponent
            bins = length_ns / bin_ns
            if bins <= 60 and messages >= 4 * bins:
                return bin_ns
    return length_ns


def bin_edges_ns(window: SteadyWindow, bin_ns: int) -> np.ndarray:
    """The edges of a window's bins: int64 of shape (bins + 1,); the last bin may be shorter."""
    return np.append(np.arange(window.begin_ns, window.end_ns, bin_ns), window.end_ns)


def counts_per_bin(times_ns: Iterable[np.ndarray], edges_ns: np.ndarray) -> np.ndarray:
    """How many of the times of all these arrays are in each bin: int64 of shape (bins,)."""
    counts = np.zeros(len(edges_ns) - 1, np.int64)
    for times in times_ns:
        places = np.searchsorted(edges_ns, times, side="right") - 1
        inside = (places >= 0) & (places < len(counts))
        counts += np.bincount(places[inside], minlength=len(counts))
    return counts


OF_NETWORKS = (
    *(
        name
        for of in (MetricScope.LINKS, MetricScope.OUTAGES, MetricScope.JOINERS)
        for name in names_of(of)
    ),
    "stall_outside_outages",
)
