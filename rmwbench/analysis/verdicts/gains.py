"""Planned ratios: the effect of tuning, the cost of a feature. Each is a statement about a pair of
arms that shared blocks, and is planned before the campaign. All statements of a report are one
family: the probability that any claim among them is false is at most alpha (statements.py)."""

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
    direction of its metric. Its interval has the level at which it was judged, or 95 % where
    nothing may be decided yet."""

    answer: Relation = field(kw_only=True)


def planned(
    metric: Metric,
    left: Mapping[int, float],
    right: Mapping[int, float],
    bounds: tuple[Bounds, Bounds] = ({}, {}),
) -> Statement:
    """The statement about left ÷ right; each side is block -> value, +inf allowed. `bounds`: how
    far values may be from the truth for the clocks of two hosts."""
    return Statement(
        left=left, right=right, metric=metric, paired=True, bounds=bounds, by_ratio=True
    )


def has_ratio(left: Mapping[int, float], right: Mapping[int, float]) -> bool:
    """Whether both sides have values and none of these is 0."""
    return bool(left and right) and min(*left.values(), *right.values()) > 0


def judge(questions: Sequence[Statement], rules: Rules) -> list[Gain]:
    """The gain for each statement, in their order; `rules.alpha` is that of the report, or of its
    last look."""
    gains = []
    for answer in statements.judge(questions, rules):
        ratio = answer.effect
        if not isinstance(ratio, Ratio):
            ratio = NoRatio(no_data=answer.reason)
        relation: Relation = "undecided" if answer.verdict == "no data" else answer.verdict
        gains.append(Gain(**vars(ratio), answer=relation))
    return gains
