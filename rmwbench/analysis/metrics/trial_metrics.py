"""The metrics of one trial, from its evidence. Campaigns look at trials while they run and reports
when they are done: both use this module, so that they cannot disagree."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rmwbench.analysis.metrics import bring_up, cost, discovery, sending, time_series
from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.metrics.chain import layers as chain_layers
from rmwbench.analysis.metrics.chain.chain import Chain, Chains, measure_chains
from rmwbench.analysis.metrics.chain.trace import paths, traces
from rmwbench.analysis.metrics.comparisons import arrival_of, json_column
from rmwbench.analysis.metrics.context import Context, Evidence
from rmwbench.analysis.metrics.glossary import METRICS, Clocks, MetricScope, names_of
from rmwbench.analysis.metrics.judged_topics import Topic, judged_topics, same_readers
from rmwbench.analysis.metrics.latency import Messages, measure
from rmwbench.analysis.metrics.network.network_counters import cross_traffic, stray_measures
from rmwbench.analysis.metrics.network.network_metrics import NetworkMetrics, network
from rmwbench.analysis.metrics.sample import make_sample
from rmwbench.analysis.records.calls import writers_with_readers
from rmwbench.analysis.records.clocks import TrialClocks
from rmwbench.analysis.records.columns import EndpointRow, Row, SteadyWindow
from rmwbench.analysis.records.joining import history
from rmwbench.analysis.stats.estimate import Measures
from rmwbench.errors import UserError

AWAITED = ("subscription", "service")
"""Kinds of late joiners whose match is measured; a publisher may send at once, so its match is
not."""
LEFTOVERS = "leftovers"
"""The event of a host that lists the files its processes left behind in /dev/shm and /tmp."""
NOT_ASKED = "not counted: the suite does not say `sampling: {leftovers: true}`"


def measure_trial(evidence: Evidence, apart: Sequence[Topic] = ()) -> MeasuredTrial:
    """All metrics of one done trial. `apart`: groups of readers that other cells judge by
    themselves; they are measured in this trial too. Raises UserError where its records contradict
    the format."""
    context = Context.of(evidence)
    try:
        records = _Records.of(context, apart)
    except ValueError as error:
        raise UserError(
            f"the records of trial {evidence.trial} contradict the record format: {error}",
            where=evidence.where,
            fix="the worker that wrote them has a bug; exclude its arm, or run again",
        ) from None
    trial = _trial(context, records)
    for measures in _parts(context, records):
        trial.take(measures)
    _second_by_second(trial, context)
    _bring_up(trial, context)
    if reason := limit_reached(context.evidence.endpoints, context.evidence.events, context.window):
        drop_whole_window_metrics(trial, reason)
    return trial


@dataclass(frozen=True, kw_only=True)
class _Records:
    """The measurements of a trial's records. `whole`: of all endpoints; `messages`: of the
    endpoints in focus; `topics`: of each topic that is judged by itself; `readers`: of each group
    of readers that only another cell judges by itself; `no_shares`: why `layers` have no shares."""

    messages: Messages
    whole: Messages
    topics: Mapping[str, tuple[list[EndpointRow], Messages]]
    readers: Mapping[str, tuple[list[EndpointRow], Messages]]
    network: NetworkMetrics
    chains: Chains
    layers: chain_layers.Layers | None
    no_shares: str

    @classmethod
    def of(cls, context: Context, apart: Sequence[Topic]) -> "_Records":
        """Raises ValueError where the records contradict the format."""
        columns, window = context.evidence.records, context.window

        def measured(endpoints: Sequence[EndpointRow]) -> Messages:
            return measure(
                columns, endpoints, window, context.lives, context.endpoints, context.stuck
            )

        def of_each(
            parts: Iterable[tuple[str, frozenset[int]]],
        ) -> dict[str, tuple[list[EndpointRow], Messages]]:
            each = {n: [e for e in context.judged if e.endpoint in own] for n, own in parts}
            return {name: (own, measured(own)) for name, own in each.items() if own}

        rows, definition = context.evidence.endpoints, context.definition
        topics = judged_topics(rows, definition)
        called = {topic.name for topic in topics}
        alike = [part for part in apart if part.name not in called]
        messages = measured(context.judged)
        chains = measure_chains(
            columns, context.evidence.endpoints, window, context.lives, context.focus
        )
        if chains.chain is not None:
            chains.chain = with_clock_bounds(context.clocks, chains.chain, window)
        layers, no_shares = layers_of(context, chains)
        return cls(
            messages=messages,
            # Processes have one cost for all endpoints.
            whole=measure(columns, context.endpoints, window, context.lives)
            if context.focus
            else messages,
            topics=of_each((topic.name, topic.endpoints) for topic in topics),
            readers=of_each((part.name, same_readers(part, rows, definition)) for part in alike),
            network=network(context),
            chains=chains,
            layers=layers,
            no_shares=no_shares,
        )


def _trial(context: Context, records: _Records) -> MeasuredTrial:
    """The trial with the metrics that its records alone give."""
    evidence, window, chains = context.evidence, context.window, records.chains
    window_ns = None if window is None else window.length_ns
    messages, layers = records.messages, records.layers
    messages.samples |= chains.samples
    messages.samples["endpoint_match"] = make_sample(
        [discovery.endpoint_matches_ns(context.before)]
    )

    def of_part(own: Sequence[EndpointRow], measured: Messages) -> MeasuredTrial:
        bounds = clock_bounds(context.clocks, own, window)
        return MeasuredTrial(
            evidence.trial, evidence.block, measured, window_ns, clock_bounds=bounds
        )

    trial = MeasuredTrial(
        evidence.trial,
        evidence.block,
        messages,
        window_ns,
        fractions=chains.fractions,
        network=records.network.network,
        chain=chains.chain,
        layers=layers,
        clock_bounds=clock_bounds(context.clocks, context.endpoints, window)
        | chain_bounds(context.clocks, chains, window),
        topics={name: of_part(*part) for name, part in records.topics.items()},
        readers={name: of_part(*part) for name, part in records.readers.items()},
    )
    trial.values |= history(evidence.records, context.endpoints, context.lives)
    trial.values |= chains.values
    trial.take(records.network.measures)
    trial.values |= {} if layers is None else layers.shares
    trial.reasons |= dict.fromkeys(
        set(names_of(MetricScope.LAYERS)) - trial.values.keys(), records.no_shares
    )
    if chains.reason is not None:
        trial.reasons |= dict.fromkeys(names_of(MetricScope.CHAIN), chains.reason)
    return trial


def _parts(context: Context, records: _Records) -> Iterator[Measures]:
    """The metrics from counters and events, one group at a time."""
    evidence, whole, window = context.evidence, records.whole, context.window
    awaited = {
        e["endpoint"]: e["node"]
        for e in evidence.endpoints
        if e.get("joins_ns") is not None and e["kind"] in AWAITED
    }
    yield discovery.late_match(context.within, awaited)
    yield cost.cost(
        evidence.counters,
        published=whole.published_in_window,
        heard=whole.heard_in_window,
        delivered=whole.arrived_in_window,
        window_ns=None if window is None else window.length_ns,
        delivered_bytes=whole.bytes_in_window,
        no_data=cost.unread_reasons(evidence.events),
    )
    yield time_series.memory_growth(
        [reading for reading in context.samples if reading[2] != "cpu"],
        evidence.counters,
        window,
        published=whole.published_in_window,
        heard=whole.heard_in_window,
        delivered=whole.arrived_in_window,
    )
    yield cost.setup(context.before)
    yield leftovers(evidence.events)
    yield stray_measures(evidence.counters, context.definition)
    yield cross_traffic(evidence.counters, context.definition)
    yield discovery.graph(context.before, evidence.counters)
    yield sending.sending(
        evidence.records,
        evidence.endpoints,
        evidence.counters,
        context.log if context.frame_counts is None else None,
        window,
    )


def _bring_up(trial: MeasuredTrial, context: Context) -> None:
    """Add the bring-up of the lifecycle nodes and their cost to the trial."""
    window = context.window
    end_ns, window_ns = (None, None) if window is None else (window.end_ns, window.length_ns)
    trial.bring_up = bring_up.bring_up(context.evidence.events, context.definition, end_ns)
    trial.take(bring_up.metrics(trial.bring_up, trial.values, window_ns))


def _second_by_second(trial: MeasuredTrial, context: Context) -> None:
    """Add the CPU of all processes, second by second; no data, with the same reason, where it was
    asked for and a process has no CPU over the window."""
    cpu = [
        (time_ns, process, value)
        for time_ns, process, counter, value in context.samples
        if counter == "cpu"
    ]
    seconds, reason = time_series.cpu_by_second(cpu, context.evidence.counters, context.window)
    if cpu and "cpu_cores" in trial.reasons:
        seconds, reason = seconds[:0], trial.reasons["cpu_cores"]
    trial.messages.samples[time_series.CPU_BY_SECOND] = make_sample([seconds])
    if reason is not None:
        trial.reasons |= dict.fromkeys(
            (m.name for m in METRICS if m.source == time_series.CPU_BY_SECOND), reason
        )


def clock_bounds(
    clocks: TrialClocks, endpoints: Sequence[EndpointRow], window: SteadyWindow | None
) -> dict[str, float]:
    """Sample or metric -> how far its values may be from the truth because of the hosts' clocks, in
    ns, for the widest pair of endpoints. Empty where all hosts have one clock. A time with both
    stamps of one host, as a client's, is exact; so is jitter, in which the offset cancels."""
    if clocks.is_single:
        return {}
    pairs = [
        (w.endpoint, r.endpoint) for w, readers in writers_with_readers(endpoints) for r in readers
    ]
    calls = [
        (client.endpoint, service.endpoint)
        for service in endpoints
        for client in endpoints
        if service.kind == "service" and client.kind == "client" and client.topic == service.topic
    ]
    return _bounds(
        {
            Clocks.ONE_WAY: max((clocks.bound_ns(w, r, window) for w, r in pairs), default=0.0),
            Clocks.LEG: max((clocks.bound_ns(c, s, window) for c, s in calls), default=0.0),
            Clocks.EVENTS: clocks.widest_ns(window),
        }
    )


def _bounds(widest: Mapping[Clocks, float]) -> dict[str, float]:
    """The bounds by sample, or by metric where a metric has no sample, without bounds of 0."""
    return {
        m.source or m.name: bound
        for m in METRICS
        if m.clocks is not None and (bound := widest.get(m.clocks, 0.0))
    }


def layers_of(context: Context, chains: Chains) -> tuple[chain_layers.Layers | None, str]:
    """The layers of chains, and also of single hops where layers are traced, and the reason if they
    have no shares."""
    spans = context.evidence.spans()
    if spans is None:
        untraced = chain_layers.layers(chains.traces, None) if chains.traces else None
        return untraced, chain_layers.NOT_TRACED
    try:
        ways = () if chains.traces else paths(context.evidence.endpoints, least=1)
    except ValueError as error:
        return None, str(error)
    layers = chain_layers.layers(
        chains.traces
        or list(traces(context.evidence.records, ways, context.window, context.lives)),
        spans,
    )
    return layers, chain_layers.NOTHING_ARRIVED if layers is None else chain_layers.NOT_TRACED


def with_clock_bounds(clocks: TrialClocks, chain: Chain, window: SteadyWindow | None) -> Chain:
    """The chain, each of its transports with the bound of its own links, of which some may be
    within one host."""
    return replace(
        chain,
        parts=tuple(
            replace(
                part,
                clock_bound_ns=max(
                    (clocks.bound_ns(*link, window) for link in part.links), default=0.0
                ),
            )
            for part in chain.parts
        ),
    )


def chain_bounds(
    clocks: TrialClocks, chains: Chains, window: SteadyWindow | None
) -> dict[str, float]:
    """The bounds of `clock_bounds` for chains: an end-to-end time depends only on the clocks of the
    first and the last host, because the errors between them cancel. The time of a relay is on one
    clock."""
    if clocks.is_single or chains.chain is None:
        return {}
    ends = max(clocks.bound_ns(first, last, window) for first, last in chains.ends)
    hops = max(part.clock_bound_ns for part in chains.chain.parts)
    return _bounds({Clocks.ENDS: ends, Clocks.HOP: hops})


def leftovers(events: Sequence[Row]) -> Measures:
    """How many files and sockets a trial left behind on all hosts (a directory by itself is not a
    leftover), and how many bytes they take."""
    of_hosts = [event for event in events if event["event"] == LEFTOVERS]
    if not of_hosts:
        return dict.fromkeys(names_of(MetricScope.HOSTS), NOT_ASKED)
    kinds = [json_column(event["text"]) for event in of_hosts]
    files = sum(count for counts in kinds for kind, count in counts.items() if kind != "directory")
    size_bytes = sum(event["value"] or 0 for event in of_hosts)
    return {"leftover_files": float(files), "leftover_bytes": float(size_bytes)}


OF_THE_WINDOW = tuple(m.name for m in METRICS if m.whole_window)


def limit_reached(
    endpoints: Iterable[Row], events: Iterable[Row], window: SteadyWindow | None
) -> str | None:
    """Why a trial, given by its rows of `endpoints` and `events`, has no rate: a publisher that
    sends back to back reached its limit before the window ended. How many messages it would have
    sent in the rest is not known, and the messages of a faster arm would be divided by more idle
    time. None where every publisher could send until the window ended."""
    limits = {row["endpoint"]: limit for row in endpoints if (limit := _limit(row)) is not None}
    if window is None or not limits:
        return None
    before_ns = [
        (window.end_ns - event["time_ns"], limits[event["endpoint"]])
        for event in events
        if event["event"] == "finished"
        and event["endpoint"] in limits
        and event["time_ns"] is not None
        and event["time_ns"] < window.end_ns
        and json_column(event["text"]).get("scheduled") == limits[event["endpoint"]]
    ]
    if not before_ns:
        return None
    left_ns, limit = max(before_ns)
    return (
        f"a publisher had sent its limit of {limit} messages {left_ns / 1e9:.3g} s before the "
        "window ended: raise `limit`"
    )


def drop_whole_window_metrics(trial: MeasuredTrial, reason: str) -> None:
    """Takes the metrics that need the whole window from the trial, its topics and its readers, and
    gives them the reason instead."""
    for part in (trial, *trial.topics.values(), *trial.readers.values()):
        for name in OF_THE_WINDOW:
            part.values.pop(name, None)
        part.reasons |= dict.fromkeys(OF_THE_WINDOW, reason)


def _limit(endpoint: Row) -> int | None:
    arrival = arrival_of(endpoint)
    return arrival.get("limit") if arrival.get("kind") == "saturation" else None
