"""The answer about relayed messages: the parts of their way one after the other, and the layers
that their time went to, each over trials with an interval."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from rmwbench.analysis.metrics.aggregate import MeasuredTrial, over_trials, widened
from rmwbench.analysis.metrics.chain.chain import PART_QUANTILES, TRANSPORT
from rmwbench.analysis.metrics.chain.layers import WORDS
from rmwbench.analysis.metrics.glossary import GLOSSARY, METRICS, Clocks, MetricScope
from rmwbench.analysis.metrics.glossary import Kind as KindOfMetric
from rmwbench.analysis.stats.estimate import Estimate, NoData
from rmwbench.results.explain.explain_model import ChainAnswer, ChainPartAnswer, Kind, Layer

HOP = next(m.source for m in METRICS if m.clocks is Clocks.HOP)


def applies(name: str, trials: Sequence[MeasuredTrial], primary: str) -> bool:
    """Whether an arm's document lists the metric. Metrics of chains, layers and lifecycle nodes are
    left out if no trial could have them, since most campaigns have none."""
    if name == primary:
        return True
    scope = GLOSSARY[name].scope
    if scope is MetricScope.NODES:
        return any(t.bring_up is not None for t in trials)
    if scope is MetricScope.CHAIN:
        return any(t.chain is not None for t in trials)
    return scope is not MetricScope.LAYERS or any(
        t.layers is not None and t.layers.traced for t in trials
    )


def chain(trials: Sequence[MeasuredTrial]) -> ChainAnswer | None:
    """Return the parts of the way of relayed messages; None if nothing is relayed."""
    chains = [(t, t.chain) for t in trials if t.chain is not None]
    if not chains:
        return None
    first = chains[0][1]
    bound = max(t.clock_bounds.get(HOP, 0.0) for t, _ in chains)
    parts = []
    for place, part in enumerate(first.parts):
        of_trials = [chain.parts[place] for _, chain in chains if place < len(chain.parts)]
        across = bound if part.kind == TRANSPORT else 0.0
        count = sum(p.count for p in of_trials)
        p50, p95 = (
            over_parts([p.quantiles.get(q) for p in of_trials], count, across, kind="positive")
            for q in PART_QUANTILES
        )
        parts.append(
            ChainPartAnswer(
                kind=cast(Kind, part.kind),
                hop=part.hop,
                name=part.name,
                count=count,
                lost=sum(p.lost for p in of_trials),
                typical=over_parts([p.typical_ns for p in of_trials], count, across),
                p50=p50,
                p95=p95,
            )
        )
    fewest, most = first.nodes
    return ChainAnswer(
        ways=first.paths,
        nodes=(fewest, most),
        wanted=sum(chain.wanted for _, chain in chains),
        arrived=sum(chain.arrived for _, chain in chains),
        under_way=sum(chain.under_way for _, chain in chains),
        overdue=sum(chain.overdue for _, chain in chains),
        parts=tuple(parts),
    )


def layers(trials: Sequence[MeasuredTrial]) -> tuple[Layer, ...] | None:
    """Return each category with its time, all hops of a way together, and its share; None if
    nothing was traced."""
    traced = [t.layers for t in trials if t.layers is not None]
    if not traced:
        return None
    whole = float(np.mean([trial.end_to_end_ns for trial in traced]))
    out = []
    for name in WORDS:
        spent = [trial.spent_ns.get(name) for trial in traced]
        if any(value is not None for value in spent):
            mean = float(np.mean([value or 0.0 for value in spent]))
            out.append(
                Layer(
                    category=name,
                    text=WORDS[name],
                    time=over_parts(spent, sum(trial.messages for trial in traced)),
                    share=mean / whole if whole else 0.0,
                )
            )
    return tuple(out)


def over_parts(
    values: Sequence[float | None],
    count: int,
    bound_ns: float = 0.0,
    *,
    kind: KindOfMetric = "amount",
    absent: str = "too few messages, or none that reached the end",
) -> Estimate:
    """Return a part of the way over trials, from one value of each. `bound_ns`: how far the clocks
    of two hosts may widen the interval."""
    present = np.array([value for value in values if value is not None])
    if not len(present):
        return NoData("ns", no_data=absent)
    estimate = over_trials("ns", kind, present, count, "values")
    return widened(estimate, bound_ns) if bound_ns else estimate
