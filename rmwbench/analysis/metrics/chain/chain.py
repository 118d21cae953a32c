"""How long a message takes from its source through all relays to the last subscription, where that
time goes, and which hop lost it.

The parts of a message's path follow each other without a gap: waiting at the source (intended →
publish call), then in turn the transport (publish call → taken) and the relay (taken → its own
publish call). So their sum is the end-to-end latency, message by message. A message that never
arrived counts as infinitely late, in the part where it stopped and end to end. It is *lost* if it
was not late there; *undelivered* also includes messages that were late on a best-effort link."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rmwbench.analysis.metrics.chain.trace import ChainLink, PathTrace, elapsed, paths, traces
from rmwbench.analysis.metrics.comparisons import history_depth, is_reliable
from rmwbench.analysis.metrics.latency import thin_series
from rmwbench.analysis.metrics.sample import Sample, make_sample
from rmwbench.analysis.records.columns import Columns, Row, SteadyWindow
from rmwbench.analysis.records.joining import ReaderLife
from rmwbench.analysis.stats.estimate import allowed, rank

SOURCE, TRANSPORT, RELAY = KINDS = ("source", "transport", "relay")
NO_CHAIN = "no message of the workload is relayed"
FILTERED = "a reader of the chain filters by content, so what it should relay is not known"
TYPICAL = (0.45, 0.55)
"""The quantiles of the end-to-end latency between which messages are typical: the mean parts of
these messages add up, which medians do not."""
PART_QUANTILES = (0.5, 0.95)


@dataclass(frozen=True)
class ChainPart:
    """One part of all paths together: its `kind`, its place `hop` (0 for the source, then from 1),
    its name.

    `count` messages reached it, and `lost` of them never left it (once per path). `quantiles` of
    the time that messages spent in it, +inf for messages that did not leave it; only those that
    rule 5 allows. `typical_ns`: the mean of that time over the typical messages. `links`: (writer,
    reader) of each path, of a transport; `clock_bound_ns`: how far these times may be from the
    truth because of the clocks of their hosts."""

    kind: str
    hop: int
    name: str
    count: int
    lost: int
    quantiles: Mapping[float, float]
    typical_ns: float | None
    links: tuple[ChainLink, ...] = ()
    clock_bound_ns: float = 0.0


@dataclass(frozen=True)
class Chain:
    """The chains of one trial: `paths` paths with `nodes` (fewest, most) on each; `wanted`
    messages, once per path. Of these `under_way` were late on a reliable link, so that their
    arrival is unknown, and `overdue` were late on a best-effort link, so that they are
    undelivered."""

    paths: int
    nodes: tuple[int, int]
    wanted: int
    arrived: int
    under_way: int
    overdue: int
    parts: tuple[ChainPart, ...]
    series: tuple[np.ndarray, np.ndarray] | None = None
    """The series of the first path, in the form of `latency.Messages.series`."""


@dataclass
class Chains:
    """The measurements of the chains of one trial; `reason`: why there are none."""

    chain: Chain | None = None
    samples: dict[str, Sample] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    fractions: dict[str, tuple[int, int]] = field(default_factory=dict)
    reason: str | None = None
    ends: tuple[tuple[int, int], ...] = ()
    """First writer and last reader of each path; an end-to-end latency is between their clocks."""
    traces: Sequence[PathTrace] = ()


def measure_chains(
    columns: Columns,
    rows: Sequence[Row],
    window: SteadyWindow | None,
    lives: Mapping[int, ReaderLife],
    focus: Sequence[str] = (),
) -> Chains:
    """The chains of one trial; `rows` are the bundle's `endpoints`. `focus`: topics and readers; a
    path counts if its first or last topic, or its last node, is among them; empty for all. Raises
    ValueError where the records contradict their format."""
    try:
        ways = paths(rows)
    except ValueError as error:
        return Chains(reason=str(error))
    if focus:
        endpoints = {row["endpoint"]: row for row in rows}
        ends = [(endpoints[way[0].writer], endpoints[way[-1].reader]) for way in ways]
        ways = [
            way
            for way, (first, last) in zip(ways, ends, strict=True)
            if {first["topic"], last["topic"], last["node"]} & {*focus}
        ]
    if not ways:
        return Chains(reason=NO_CHAIN)
    numbers = {number for way in ways for link in way for number in link}
    if any(life.percent < 100 for number, life in lives.items() if number in numbers):
        return Chains(reason=FILTERED)
    chains = Chains(ends=tuple((way[0].writer, way[-1].reader) for way in ways))
    reliable = {row["endpoint"]: history_depth(row) for row in rows if is_reliable([row])}
    path_traces = list(traces(columns, ways, window, lives, reliable))
    nodes = {row["endpoint"]: row["node"] for row in rows}
    stretches = [list(_stretches(trace, nodes)) for trace in path_traces]
    _samples(path_traces, stretches, chains)
    chains.traces = path_traces
    chains.chain = replace(_chain(path_traces, stretches), series=_series(path_traces[0], window))
    _counts(path_traces, chains.chain, chains)
    return chains


@dataclass(frozen=True)
class _Stretch:
    """A part of one path. `reached`: which of the source's messages came to it, shape (n,);
    `took_ns`: how long each took, +inf if it never left; `late`: which messages were late;
    `reliable`: whether the link is reliable; `link` of a transport alone."""

    kind: str
    hop: int
    name: str
    reached: np.ndarray
    took_ns: np.ndarray
    late: np.ndarray
    reliable: bool
    link: ChainLink | None = None

    @property
    def passed(self) -> np.ndarray:
        passed: np.ndarray = self.reached & np.isfinite(self.took_ns)
        return passed

    @property
    def stayed(self) -> np.ndarray:
        stayed: np.ndarray = self.reached & ~self.passed
        return stayed

    @property
    def lost(self) -> int:
        return int(np.count_nonzero(self.stayed & ~self.late))


def _stretches(trace: PathTrace, nodes: Mapping[int, str]) -> Iterator[_Stretch]:
    """The parts of a path in their order. A message whose relay's publish call failed was lost in
    the relay, unless it arrived in spite of the error."""
    reached = trace.wanted
    since, where, reliable = trace.intended_ns, nodes[trace.path[0].writer], True
    for number, (link, hop) in enumerate(zip(trace.path, trace.hops, strict=True)):
        kind = RELAY if number else SOURCE
        took = elapsed(hop.call_ns, since)
        took[~(hop.accepted | hop.arrived)] = np.inf
        yield (before := _Stretch(kind, number, where, reached, took, hop.stopped, reliable))
        reached, reliable = before.passed, hop.reliable
        name, took = f"{where} → {nodes[link.reader]}", elapsed(hop.taken_ns, hop.call_ns)
        after = _Stretch(TRANSPORT, number + 1, name, reached, took, hop.late, reliable, link)
        yield after
        reached = after.passed
        since, where = hop.taken_ns, nodes[link.reader]


def _samples(
    path_traces: Sequence[PathTrace], stretches: Sequence[Sequence[_Stretch]], chains: Chains
) -> None:
    pooled = {
        kind: [s.took_ns[s.reached] for part in stretches for s in part if s.kind == kind]
        for kind in KINDS
    }
    sums = {
        kind: [
            _sum(trace, [s for s in part if s.kind == kind])
            for trace, part in zip(path_traces, stretches, strict=True)
        ]
        for kind in (TRANSPORT, RELAY)
    }
    whole = make_sample([trace.end_to_end_ns for trace in path_traces])
    chains.samples = {
        "end_to_end_latency": whole,
        "end_to_end_service_latency": make_sample([trace.service_ns for trace in path_traces]),
        "hop_transport": make_sample(pooled[TRANSPORT]),
        "hop_relay": make_sample(pooled[RELAY]),
        "chain_transport": make_sample(sums[TRANSPORT]),
        "chain_relay": make_sample(sums[RELAY]),
    }
    if whole.count:
        chains.values["end_to_end_latency_max"] = float(whole.values[-1])


def _sum(trace: PathTrace, parts: Sequence[_Stretch]) -> np.ndarray:
    """The total time of these parts for each wanted message; +inf where it never arrived."""
    total = np.zeros(len(trace.wanted))
    for part in parts:
        total += part.took_ns
    total[~trace.last.arrived] = np.inf
    wanted: np.ndarray = total[trace.wanted]
    return wanted


def _counts(path_traces: Sequence[PathTrace], chain: Chain, chains: Chains) -> None:
    sent = _total(
        # A message that arrived anywhere in spite of its call's error was sent.
        t.wanted & np.any([t.first.accepted, *(hop.arrived for hop in t.hops)], axis=0)
        for t in path_traces
    )
    missing, late = chain.wanted - chain.arrived, chain.under_way + chain.overdue
    chains.fractions |= {
        "end_to_end_undelivered": (missing - chain.under_way, chain.wanted),
        "end_to_end_loss": (sent - chain.arrived - late, sent),
        "end_to_end_late_share": (late, sent),
        "end_to_end_never_sent_share": (chain.wanted - sent, chain.wanted),
    }
    for name, kind in (("lost_in_transport", TRANSPORT), ("lost_in_relays", RELAY)):
        chains.values[name] = float(sum(part.lost for part in chain.parts if part.kind == kind))


def _late(
    path_traces: Sequence[PathTrace], stretches: Sequence[Sequence[_Stretch]]
) -> tuple[int, int]:
    """How many messages were late in the part that they did not leave, on reliable and on
    best-effort links."""
    under_way = overdue = 0
    for trace, parts in zip(path_traces, stretches, strict=True):
        for part in parts:
            late = int(np.count_nonzero(part.stayed & part.late & ~trace.last.arrived))
            under_way += late if part.reliable else 0
            overdue += 0 if part.reliable else late
    return under_way, overdue


def _total(masks: Iterable[np.ndarray]) -> int:
    return sum(int(np.count_nonzero(mask)) for mask in masks)


def _chain(path_traces: Sequence[PathTrace], stretches: Sequence[Sequence[_Stretch]]) -> Chain:
    around_median = typical(path_traces)
    count = sum(int(np.count_nonzero(chosen)) for chosen in around_median)
    positions: dict[tuple[int, str], list[tuple[_Stretch, np.ndarray]]] = {}
    for parts, chosen in zip(stretches, around_median, strict=True):
        for place, part in enumerate(parts):
            positions.setdefault((place, part.kind), []).append((part, chosen))
    chain_parts = []
    for (_, kind), here in sorted(positions.items(), key=lambda item: item[0][0]):
        took = np.concatenate([part.took_ns[part.reached] for part, _ in here])
        names = list(dict.fromkeys(part.name for part, _ in here))
        spent = sum(float(part.took_ns[chosen].sum()) for part, chosen in here)
        ordered = np.sort(took)
        chain_parts.append(
            ChainPart(
                kind=kind,
                hop=here[0][0].hop,
                name=names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more",
                count=len(took),
                lost=sum(part.lost for part, _ in here),
                quantiles={
                    q: float(ordered[rank(len(took), q)])
                    for q in PART_QUANTILES
                    if allowed(len(took), q)
                },
                typical_ns=spent / count if count else None,
                links=tuple(dict.fromkeys(part.link for part, _ in here if part.link)),
            )
        )
    lengths = [len(trace.path) + 1 for trace in path_traces]
    return Chain(
        len(path_traces),
        (min(lengths), max(lengths)),
        _total(t.wanted for t in path_traces),
        _total(t.wanted & t.last.arrived for t in path_traces),
        *_late(path_traces, stretches),
        tuple(chain_parts),
    )


def _series(trace: PathTrace, window: SteadyWindow | None) -> tuple[np.ndarray, np.ndarray] | None:
    if window is None:
        return None
    return thin_series(
        (trace.intended_ns[trace.wanted] - window.begin_ns) / 1e9, trace.end_to_end_ns
    )


def typical(path_traces: Sequence[PathTrace]) -> list[np.ndarray]:
    """Which messages of each path took about the median of the messages that arrived on any path;
    at least one message where any arrived."""
    latencies = [
        np.where(t.wanted, elapsed(t.last.taken_ns, t.intended_ns), np.inf) for t in path_traces
    ]
    arrived = np.sort(np.concatenate([x[np.isfinite(x)] for x in latencies] or [np.empty(0)]))
    if not len(arrived):
        return [np.zeros(len(x), bool) for x in latencies]
    low, high = (arrived[rank(len(arrived), q)] for q in TYPICAL)
    return [(x >= low) & (x <= high) for x in latencies]
