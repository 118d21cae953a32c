"""One trial's evidence -> its metrics. Campaigns look at trials while they run and reports when
they are done: both come through here, so that they cannot disagree.

Where the evidence comes from is not our business (a bundle, a test): it is described by what it
must offer.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any, Protocol

import numpy as np

from rmwbench.analysis.metrics import bring_up, cost, cpu_by_second, discovery, memory, sending
from rmwbench.analysis.metrics.aggregate import Trial
from rmwbench.analysis.metrics.chain import layers as chain_layers
from rmwbench.analysis.metrics.chain.chain import Chains, measure_chains
from rmwbench.analysis.metrics.chain.paths import paths
from rmwbench.analysis.metrics.chain.trace import traces
from rmwbench.analysis.metrics.comparisons import is_reliable, kept, loads
from rmwbench.analysis.metrics.glossary import METRICS, Clocks, Of, names_of
from rmwbench.analysis.metrics.latency import measure
from rmwbench.analysis.metrics.network.cross_traffic import cross_traffic
from rmwbench.analysis.metrics.network.network import network
from rmwbench.analysis.metrics.network.stray import stray
from rmwbench.analysis.metrics.sample import make_sample
from rmwbench.analysis.metrics.saturation import limit_reached, without_rates
from rmwbench.analysis.metrics.topics import judged_topics
from rmwbench.analysis.records import one_clock
from rmwbench.analysis.records.calls import heard_by
from rmwbench.analysis.records.columns import Columns, Endpoint, Window
from rmwbench.analysis.records.frame_counts import counts_of
from rmwbench.analysis.records.frames import frames_of
from rmwbench.analysis.records.joining import Life, history, lives
from rmwbench.errors import UserError

Row = Mapping[str, Any]
UNFINISHED = "unfinished"
"""Event of a writer whose last publish call had not returned when all was over: a dead peer holds
it."""
AWAITED = ("subscription", "service")
"""Late joiners whose match is asked for; of one that sends at once it cannot be."""
LEFTOVERS = "leftovers"
"""Event of a host with what its processes left behind in /dev/shm and /tmp."""
NOT_ASKED = "nobody looked: the suite does not say `sampling: {leftovers: true}`"


class Evidence(Protocol):
    """What a bundle has of one done trial: rows of its small tables (docs/formats/bundle.md), and
    its records by column. `where` names the bundle in errors. Read only, so that a list of rows
    will do for a sequence of them.
    """

    @property
    def trial(self) -> int: ...
    @property
    def cell(self) -> int: ...
    @property
    def block(self) -> int: ...
    @property
    def row(self) -> Row: ...
    @property
    def endpoints(self) -> Sequence[Row]: ...
    @property
    def counters(self) -> Sequence[Row]: ...
    @property
    def events(self) -> Sequence[Row]: ...
    @property
    def records(self) -> Columns: ...
    @property
    def where(self) -> str: ...
    @property
    def definition(self) -> str | None: ...
    @property
    def clock_map(self) -> Sequence[Row]: ...

    def samples(self) -> Sequence[tuple[int, str, str, float]]: ...

    def frames(self) -> Mapping[str, Any] | None: ...

    def spans(self) -> Mapping[str, np.ndarray] | None: ...


def measure_trial(evidence: Evidence) -> Trial:
    """All metrics of one done trial. Raises UserError where its records contradict the format."""
    evidence, known_clocks = told(evidence)
    window = window_of(evidence, known_clocks)
    end_ns, window_ns = (None, None) if window is None else (window.end_ns, window.length_ns)
    endpoints = endpoints_of(evidence)
    known = lives(evidence.endpoints, evidence.events, window)
    log, definition = evidence.frames(), loads(evidence.definition)
    focus = focus_of(definition)
    judged = [e for e in endpoints if not focus or e.topic in focus]
    apart = judged_topics(evidence.endpoints, focus)
    try:
        messages = measure(evidence.records, judged, window, known, endpoints)
        # What processes cost is for all that they carry.
        whole = measure(evidence.records, endpoints, window, known) if focus else messages
        amounts, fractions, why, seen = network(
            evidence.records,
            evidence.endpoints,
            endpoints,
            evidence.events,
            window,
            None if log is None else frames_of(log),
            definition,
            known,
            focus,
            counts_of(evidence.counters),
        )
        chains = measure_chains(evidence.records, evidence.endpoints, window, known, focus)
        layers = layers_of(evidence, chains, window, known)
        of_topics = {
            one.name: (own, measure(evidence.records, own, window, known, endpoints))
            for one in apart
            for own in [[e for e in judged if e.topic in one.members]]
        }
    except ValueError as error:
        raise UserError(
            f"the records of trial {evidence.trial} contradict the record format: {error}",
            where=evidence.where,
            fix="the worker that wrote them has a bug; exclude its arm, or run again",
        ) from None
    bounds = clock_bounds(known_clocks, endpoints, window) | chain_bounds(
        known_clocks, chains, window
    )
    messages.samples |= chains.samples
    before = [e for e in evidence.events if not _within(e, evidence.row)]
    messages.samples["endpoint_match"] = make_sample([discovery.endpoint_matches_ns(before)])
    trial = Trial(
        evidence.trial,
        evidence.block,
        messages,
        window_ns,
        fractions=fractions | chains.fractions,
        network=seen,
        chain=chains.chain,
        clock_bounds=bounds,
        topics={
            name: Trial(
                evidence.trial,
                evidence.block,
                found,
                window_ns,
                clock_bounds=clock_bounds(known_clocks, own, window),
            )
            for name, (own, found) in of_topics.items()
        },
    )
    trial.values |= history(evidence.records, endpoints, known) | amounts | chains.values
    trial.layers = layers
    trial.values |= {} if layers is None else layers.shares
    trial.reasons |= dict.fromkeys(
        set(names_of(Of.LAYERS)) - trial.values.keys(), chain_layers.NOT_TRACED
    )
    if chains.reason is not None:
        trial.reasons |= dict.fromkeys(names_of(Of.CHAIN), chains.reason)
    samples = evidence.samples()
    late = {
        e["endpoint"]: e["node"]
        for e in evidence.endpoints
        if e.get("joins_ns") is not None and e["kind"] in AWAITED
    }
    trial.values |= discovery.late_match(
        [e for e in evidence.events if _within(e, evidence.row)], late
    )
    trial.reasons |= why
    for values, reasons in (
        cost.cost(
            evidence.counters,
            published=whole.published_in_window,
            heard=whole.heard_in_window,
            delivered=whole.arrived_in_window,
            window_ns=window_ns,
            delivered_bytes=whole.bytes_in_window,
            no_data=cost.unread(evidence.events),
        ),
        memory.growth(
            [reading for reading in samples if reading[2] != "cpu"],
            evidence.counters,
            window,
            published=whole.published_in_window,
            heard=whole.heard_in_window,
            delivered=whole.arrived_in_window,
        ),
        cost.setup(before),
        leftovers(evidence.events),
        stray(evidence.counters, definition),
        cross_traffic(evidence.counters, definition),
        discovery.graph(before, evidence.counters),
        sending.sending(
            evidence.records,
            evidence.endpoints,
            evidence.counters,
            log if counts_of(evidence.counters) is None else None,
            window,
        ),
    ):
        trial.values |= values
        trial.reasons |= reasons
    _second_by_second(trial, evidence.counters, samples, window)
    trial.bring_up = bring_up.bring_up(evidence.events, definition, end_ns)
    values, of_nodes, reasons = bring_up.metrics(trial.bring_up, trial.values, window_ns)
    trial.values |= values
    trial.fractions |= of_nodes
    trial.reasons |= reasons
    of = {
        name: {e["endpoint"] for e in evidence.events if e["event"] == name}
        for name in (UNFINISHED, "finished")
    }
    if of[UNFINISHED] - of["finished"]:
        trial.values["publish_call_max"] = inf
    if reason := limit_reached(evidence.endpoints, evidence.events, window):
        without_rates(trial, reason)
    return trial


def _second_by_second(
    trial: Trial,
    counters: Sequence[Row],
    samples: Sequence[tuple[int, str, str, float]],
    window: Window | None,
) -> None:
    """Where a process has no CPU over the window, the sum over all of them has none by second
    either."""
    cpu = [
        (time_ns, process, value)
        for time_ns, process, counter, value in samples
        if counter == "cpu"
    ]
    seconds, reason = cpu_by_second.cpu_by_second(cpu, counters, window)
    if reason is None and "cpu_cores" in trial.reasons:
        seconds, reason = seconds[:0], trial.reasons["cpu_cores"]
    trial.messages.samples[cpu_by_second.NAME] = make_sample([seconds])
    if reason is not None:
        trial.reasons |= dict.fromkeys(
            (m.name for m in METRICS if m.source == cpu_by_second.NAME), reason
        )


def endpoints_of(evidence: Evidence) -> list[Endpoint]:
    """Every endpoint of the trial, with the reliability and the history that it was granted."""
    return [
        Endpoint(
            e["endpoint"],
            e["kind"],
            e["topic"],
            is_reliable([e]),
            kept(e),
            e["process"] if _may_share_its_thread(e) else None,
        )
        for e in evidence.endpoints
    ]


def _may_share_its_thread(endpoint: Row) -> bool:
    """Whether the thread that sends for it may send for others of its process: not of a relay,
    which sends what it gets, and not where each was granted a thread of its own."""
    arrival = loads(endpoint["asked"]).get("arrival")
    relays = isinstance(arrival, Mapping) and arrival.get("kind") == "relay"
    return not relays and loads(endpoint["granted"]).get("schedule") != "own"


def focus_of(definition: Mapping[str, Any]) -> tuple[str, ...]:
    """The topics and services that a cell's latencies and losses are of; empty for all."""
    workload = definition.get("workload")
    return tuple(workload.get("focus") or ()) if isinstance(workload, Mapping) else ()


def told(evidence: Evidence) -> tuple[Evidence, one_clock.Clocks]:
    """The evidence with every stamp on one clock, and the clocks of its hosts. UserError where
    those contradict."""
    try:
        return one_clock.on_one_clock(evidence)
    except ValueError as error:
        raise UserError(
            f"the clock_map of trial {evidence.trial} contradicts itself: {error}",
            where=evidence.where,
            fix="exclude the trial, or run again on hosts whose clocks nobody steps",
        ) from None


def window_of(evidence: Evidence, known: one_clock.Clocks) -> Window | None:
    """The steady window of evidence that was `told`, if the trial came so far."""
    begin_ns, end_ns, drain_end_ns = (
        evidence.row.get(c) for c in ("steady_begin_ns", "steady_end_ns", "drain_end_ns")
    )
    if begin_ns is None or end_ns is None:
        return None
    window = Window(begin_ns, end_ns, drain_end_ns=drain_end_ns)
    return replace(window, slack_ns=known.slack_ns(window))


def clock_bounds(
    known: one_clock.Clocks, endpoints: Sequence[Endpoint], window: Window | None
) -> dict[str, float]:
    """Sample or metric -> how far its values may be from the truth for the hosts' clocks, ns; of
    the widest pair of endpoints. Empty where all have one clock. What one host stamped at both
    ends, as a client does, is exact; so is jitter, in which the offset cancels."""
    if known.one:
        return {}
    pairs = [(w.endpoint, r.endpoint) for w, readers in heard_by(endpoints) for r in readers]
    calls = [
        (client.endpoint, service.endpoint)
        for service in endpoints
        for client in endpoints
        if service.kind == "service" and client.kind == "client" and client.topic == service.topic
    ]
    return _bounds(
        {
            Clocks.ONE_WAY: max((known.bound_ns(w, r, window) for w, r in pairs), default=0.0),
            Clocks.LEG: max((known.bound_ns(c, s, window) for c, s in calls), default=0.0),
            Clocks.EVENTS: known.widest_ns(window),
        }
    )


def _bounds(widest: Mapping[Clocks, float]) -> dict[str, float]:
    """By sample, or by metric where none is behind it; without those that are exact."""
    return {
        m.source or m.name: bound
        for m in METRICS
        if m.clocks is not None and (bound := widest.get(m.clocks, 0.0))
    }


def layers_of(
    evidence: Evidence, found: Chains, window: Window | None, known: Mapping[int, Life]
) -> chain_layers.Layers | None:
    """Of chains, and where layers are traced also of single hops."""
    spans = evidence.spans()
    if spans is None:
        return chain_layers.layers(found.traces, None) if found.traces else None
    try:
        ways = () if found.traces else paths(evidence.endpoints, least=1)
    except ValueError:  # more ways than anybody reads: then their layers are not told
        return None
    return chain_layers.layers(
        found.traces or list(traces(evidence.records, ways, window, known)), spans
    )


def chain_bounds(known: one_clock.Clocks, found: Chains, window: Window | None) -> dict[str, float]:
    """The same of what chains measure. From the first to the last it is the bound of these two
    hosts' clocks, whatever the others show: the errors between them cancel. What a relay takes is
    on one clock."""
    if known.one or not found.ends:
        return {}
    ends = max(known.bound_ns(first, last, window) for first, last in found.ends)
    links = max(known.bound_ns(writer, reader, window) for writer, reader in found.links)
    return _bounds({Clocks.ENDS: ends, Clocks.HOP: links})


def _within(event: Row, row: Row) -> bool:
    """Whether it is of the window and not of the barrier: late joiners are matched there too."""
    start_ns = row.get("start_ns")
    return start_ns is not None and event["time_ns"] is not None and event["time_ns"] >= start_ns


def leftovers(events: Iterable[Row]) -> tuple[dict[str, float], dict[str, str]]:
    """(values, reasons) of one trial, all hosts together: files and sockets (a directory by itself
    is not a leftover), and the bytes that all of it takes."""
    found = [event for event in events if event["event"] == LEFTOVERS]
    if not found:
        return {}, dict.fromkeys(names_of(Of.HOSTS), NOT_ASKED)
    kinds = [json.loads(event["text"] or "{}") for event in found]
    files = sum(count for one in kinds for kind, count in one.items() if kind != "directory")
    taken = sum(event["value"] or 0 for event in found)
    return {"leftover_files": float(files), "leftover_bytes": float(taken)}, {}
