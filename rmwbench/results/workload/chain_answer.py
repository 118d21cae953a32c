"""The answer about relayed messages: the parts of their way one after the other, and the layers
that their time went to, each over trials with an interval."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from rmwbench.analysis.metrics.aggregate import MeasuredTrial, over_trials, widened
from rmwbench.analysis.metrics.chain.chain import PART_QUANTILES
from rmwbench.analysis.metrics.chain.layers import TAKE, WORDS
from rmwbench.analysis.metrics.glossary import GLOSSARY, MetricScope
from rmwbench.analysis.metrics.glossary import Kind as KindOfMetric
from rmwbench.analysis.stats.estimate import Estimate, NoData
from rmwbench.results.explain.explain_model import ChainAnswer, ChainPartAnswer, Kind, Layer


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
    chains = [trial.chain for trial in trials if trial.chain is not None]
    if not chains:
        return None
    first = chains[0]
    parts = []
    for place, part in enumerate(first.parts):
        trial_parts = [chain.parts[place] for chain in chains if place < len(chain.parts)]
        clock_bound_ns = max(p.clock_bound_ns for p in trial_parts)
        count = sum(p.count for p in trial_parts)
        p50, p95 = (
            part_over_trials(
                [p.quantiles.get(q) for p in trial_parts], count, clock_bound_ns, kind="positive"
            )
            for q in PART_QUANTILES
        )
        parts.append(
            ChainPartAnswer(
                kind=cast(Kind, part.kind),
                hop=part.hop,
                name=part.name,
                count=count,
                lost=sum(p.lost for p in trial_parts),
                typical=part_over_trials(
                    [p.typical_ns for p in trial_parts], count, clock_bound_ns
                ),
                p50=p50,
                p95=p95,
            )
        )
    fewest, most = first.nodes
    return ChainAnswer(
        ways=first.paths,
        nodes=(fewest, most),
        wanted=sum(chain.wanted for chain in chains),
        arrived=sum(chain.arrived for chain in chains),
        under_way=sum(chain.under_way for chain in chains),
        overdue=sum(chain.overdue for chain in chains),
        parts=tuple(parts),
    )


def layers(trials: Sequence[MeasuredTrial]) -> tuple[Layer, ...] | None:
    """Return each category with its time, all hops of a way together, and its share; None if no
    trial has layers. Where some trials were traced, only these: others divide the time
    differently."""
    with_layers = [trial.layers for trial in trials if trial.layers is not None]
    with_layers = [trial for trial in with_layers if trial.traced] or with_layers
    if not with_layers:
        return None
    whole = float(np.mean([trial.end_to_end_ns for trial in with_layers]))
    out = []
    for name in WORDS:
        if not any(name in trial.spent_ns for trial in with_layers):
            continue
        spent = [trial.spent_ns.get(name, 0.0) for trial in with_layers]
        if name == TAKE and not any(spent):
            continue  # an executor of rclcpp has one stamp for the wake-up and the message
        mean = float(np.mean(spent))
        out.append(
            Layer(
                category=name,
                text=WORDS[name],
                time=part_over_trials(spent, sum(trial.messages for trial in with_layers)),
                share=mean / whole if whole else 0.0,
            )
        )
    return tuple(out)


def part_over_trials(
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
