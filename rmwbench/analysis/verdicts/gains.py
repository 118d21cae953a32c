"""Planned ratios: what tuning does, what a feature costs. Each is a statement about a pair of arms
that shared blocks, asked before the campaign, and all of a report are a family: any claim among
them that is false has a probability of at most alpha (statements.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rmwbench.analysis.metrics.glossary import Metric
from rmwbench.analysis.verdicts import statements
from rmwbench.analysis.verdicts.ratio import Bounds
from rmwbench.analysis.verdicts.statements import Statement
from rmwbench.analysis.verdicts.verdict import NoRatio, Ratio, Rules

Relation = Literal["better", "worse", "equivalent", "undecided"]


@dataclass(frozen=True)
class Gain(Ratio):
    """A ratio with an answer that holds for the whole report: *worse* where it is larger, by the
    direction of its metric. Its interval has the level at which it was judged; 95 % for itself
    where nothing may be decided yet."""

    answer: Relation = field(kw_only=True)


def planned(
    metric: Metric,
    left: Mapping[int, float],
    right: Mapping[int, float],
    bounds: tuple[Bounds, Bounds] = ({}, {}),
) -> Statement:
    """Left ÷ right: block -> value, +inf allowed. `bounds`: for the clocks of two hosts."""
    return Statement(
        left=left, right=right, metric=metric, paired=True, bounds=bounds, by_ratio=True
    )


def has_ratio(left: Mapping[int, float], right: Mapping[int, float]) -> bool:
    """Whether both sides have values, none of which is 0: else there is nothing to divide."""
    return bool(left and right) and min(*left.values(), *right.values()) > 0


def judge(questions: Sequence[Statement], rules: Rules) -> list[Gain]:
    """A gain for each, in their order; `rules.alpha` is that of the report, or of its last look."""
    out = []
    for answer in statements.judge(questions, rules):
        ratio = answer.effect
        if not isinstance(ratio, Ratio):
            ratio = NoRatio(no_data=answer.reason)
        relation: Relation = "undecided" if answer.verdict == "no data" else answer.verdict
        out.append(Gain(**vars(ratio), answer=relation))
    return out
