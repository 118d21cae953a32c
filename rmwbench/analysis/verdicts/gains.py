"""Planned ratios: what tuning does, what a feature costs. Each is of one pair of arms that shared
blocks, asked before the campaign, and all of a report are a family: any claim among them that is
false has a probability of at most alpha.

Two such families exist: `larger` or `smaller` (Holm over two-sided t tests, and an estimate beyond
the margin), and `same` (Holm over two one-sided tests within the margin). Variances are moderated
by those of the same `kind` (variances.py), and inflated where neighbouring blocks resemble each
other (likeness.py).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

import numpy as np
from scipy import special

from rmwbench.analysis.verdicts.likeness import likeness
from rmwbench.analysis.verdicts.ratio import Bounds, bounds_in, rounding_error, shifts
from rmwbench.analysis.verdicts.variances import Prior, prior_of
from rmwbench.analysis.verdicts.verdict import BlockRatio, NoRatio, Ratio, Rules


class Answer(StrEnum):
    LARGER = "larger"
    SMALLER = "smaller"
    SAME = "same"
    OPEN = "open"


@dataclass(frozen=True)
class Planned:
    """`a` ÷ `b`: block -> value, +inf allowed; values of one `kind` (a metric) have variances
    alike. `bounds`: of `a` and of `b`, for the clocks of two hosts."""

    kind: str
    a: Mapping[int, float]
    b: Mapping[int, float]
    bounds: tuple[Bounds, Bounds] = ({}, {})

    @property
    def blocks(self) -> list[int]:
        """Those that both have."""
        return sorted(self.a.keys() & self.b.keys())


@dataclass(frozen=True)
class Gain(Ratio):
    """A ratio with an answer that holds for the whole report. Its interval has the level at which
    it was judged; 95 % for itself where nothing may be decided yet."""

    answer: Answer = field(kw_only=True)

    @classmethod
    def of_ratio(cls, answer: Answer, ratio: Ratio) -> Self:
        return cls(**vars(ratio), answer=answer)


@dataclass(frozen=True)
class _Tested:
    mean: float
    error: float
    freedom: float
    blocks: int
    spare: float  # by how much the hosts' clocks may have made the mean too large …
    extra: float  # … or too small

    def above(self, threshold: float) -> float:
        """One-sided p of "the mean is not above the threshold"."""
        if self.error == 0:
            return 0.0 if self.mean > threshold else 1.0
        return float(special.stdtr(self.freedom, -(self.mean - threshold) / self.error))

    def ratio(self, level: float) -> BlockRatio:
        half = -float(special.stdtrit(self.freedom, level)) * self.error if self.error > 0 else 0.0
        low, high = self.mean - half - self.spare, self.mean + half + self.extra
        return BlockRatio(
            math.exp(self.mean), math.exp(low), math.exp(min(high, 700.0)), self.blocks
        )


def judge(planned: Sequence[Planned], rules: Rules) -> list[Gain]:
    """A gain for each, in their order; `rules.alpha` is that of the report, or of its last look."""
    logs = [_logs(p, rules.min_blocks) for p in planned]
    alike = likeness([pair for pair in logs if isinstance(pair, np.ndarray)])
    priors = _priors(planned, logs)
    tested: dict[int, _Tested] = {}
    for n, pair in enumerate(logs):
        if isinstance(pair, NoRatio):
            continue
        d = pair[0] - pair[1]
        variance, freedom = priors[planned[n].kind].moderated(float(d.var(ddof=1)), len(d) - 1)
        error = math.sqrt(float(variance) * alike.variance_factor(len(d)) / len(d))
        a, b = np.exp(pair)
        error = max(error, rounding_error(a, b))
        clocks = shifts(a, b, bounds_in(planned[n].bounds, planned[n].blocks))
        freedom = max(float(freedom) * alike.freedom_factor(), 1.0)
        tested[n] = _Tested(float(d.mean()), error, freedom, len(d), *clocks)
    different = _holm(
        {n: 2 * min(t.above(t.spare), 1 - t.above(-t.extra)) for n, t in tested.items()},
        rules.alpha,
    )
    margin = math.log1p(rules.margin)
    same = _holm(
        {
            n: max(t.above(t.spare - margin), 1 - t.above(margin - t.extra))
            for n, t in tested.items()
        },
        rules.alpha,
    )
    return [
        Gain.of_ratio(Answer.OPEN, pair)
        if isinstance(pair, NoRatio)
        else _gain(tested[n], different[n], same[n], rules)
        for n, pair in enumerate(logs)
    ]


def _gain(t: _Tested, different: tuple[bool, int], same: tuple[bool, int], rules: Rules) -> Gain:
    level = rules.alpha / (2 * different[1]) if rules.alpha > 0 else 0.025
    if different[0] and abs(t.mean) > math.log1p(rules.least()):
        return Gain.of_ratio(Answer.LARGER if t.mean > 0 else Answer.SMALLER, t.ratio(level))
    if same[0]:
        return Gain.of_ratio(Answer.SAME, t.ratio(rules.alpha / same[1]))
    return Gain.of_ratio(Answer.OPEN, t.ratio(level))


def _logs(planned: Planned, min_blocks: int) -> np.ndarray | NoRatio:
    """Log values of both over their common blocks, shape (2, blocks)."""
    blocks = planned.blocks
    if len(blocks) < max(min_blocks, 2):
        return NoRatio(no_data=f"{len(blocks)} blocks have both, {max(min_blocks, 2)} are needed")
    values = np.array([[side[block] for block in blocks] for side in (planned.a, planned.b)], float)
    if infinite := int((~np.isfinite(values)).any(0).sum()):
        return NoRatio(
            no_data=f"in {infinite} of {len(blocks)} blocks a side is infinite: that has no ratio"
        )
    logs: np.ndarray = np.log(values)
    return logs


def _priors(planned: Sequence[Planned], logs: Sequence[np.ndarray | NoRatio]) -> dict[str, Prior]:
    kinds: dict[str, list[np.ndarray]] = {p.kind: [] for p in planned}
    for p, pair in zip(planned, logs, strict=True):
        if isinstance(pair, np.ndarray):
            kinds[p.kind].append(pair[0] - pair[1])
    return {
        kind: prior_of(
            np.array([d.var(ddof=1) for d in found]), np.array([len(d) - 1 for d in found])
        )
        for kind, found in kinds.items()
    }


def _holm(p: Mapping[int, float], alpha: float) -> dict[int, tuple[bool, int]]:
    """Step-down: whether each is rejected, and by how much its p was multiplied (those after the
    stop: as there)."""
    out, stop = {}, None
    for place, n in enumerate(sorted(p, key=lambda n: (p[n], n))):
        remaining = len(p) - place
        if stop is None and not (alpha > 0 and p[n] * remaining <= alpha):
            stop = remaining
        out[n] = (stop is None, stop or remaining)
    return out
