"""Is an arm better than another by a metric, worse, equivalent, or is it not decided? The one
engine that `compare` asks row by row, and `show` for the effect of tuning and the cost of a
feature.

Within a campaign both sides share blocks and are compared within them. Two campaigns share none:
trials are compared with trials (Welch's t, Biometrika 34, 1947), and the state of the machine on
either day stays in the difference, whatever their number. Multiplicity is controlled over all
statements of a call, twice: worse and better claims are one family of two-sided tests, equivalence
(two one-sided tests) another; in each, Holm's procedure keeps the probability of any false claim
below alpha. Variances are moderated by those of the same metric, and multiplied where
neighbouring blocks of one campaign resemble each other (variances.py).

Delivery is judged first (`judged_loss`): a side that delivers less is never called better or
equivalent for being fast."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import special

from rmwbench.analysis.metrics.aggregate import judged_loss
from rmwbench.analysis.metrics.comparisons import PRIMARY
from rmwbench.analysis.metrics.glossary import FAILED_TRIALS, Better, Metric
from rmwbench.analysis.stats.resolution import (
    Threshold,
    blocks_for,
    blocks_for_equivalence,
    sd_upper,
)
from rmwbench.analysis.verdicts.ranking_words import words
from rmwbench.analysis.verdicts.ratio import (
    NOT_INTERLEAVED,
    Bounds,
    half_width,
    have_both,
    have_ratios,
    p_of_ranks,
    p_of_signs,
    ratio_of_logs,
    rounding_error,
    shifts,
    without_ratio,
)
from rmwbench.analysis.verdicts.variances import (
    NO_LIKENESS,
    NO_PRIOR,
    Likeness,
    Prior,
    likeness,
    prior_of,
)
from rmwbench.analysis.verdicts.verdict import ALL_LOST, BlockRatio, NoRatio, Rules
from rmwbench.analysis.verdicts.wording import interval, times
from rmwbench.words.numbers import AS_WRITTEN, percent, points

Counts = tuple[int, int]
"""(events, of)."""
_Logs = tuple[np.ndarray, np.ndarray]
"""The logarithms of the values of left and of right."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Is `left` worse than `right` by this metric? Each side is block -> its trial's value (+inf
    allowed), or `Counts` for fractions. `paired`: whether the blocks are of one campaign. `group`:
    the name of the cell whose statements are judged together: the loss in any of its topics comes
    first. `reliable`: neither side may lose anything. `bounds`: how far the values of left and
    right may be from the truth for the clocks of two hosts, in the metric's unit, for each block
    where blocks differ. `topic`: the topic of the values, None for the whole cell. `primary`: the
    metric by which the cell is judged, which says which loss comes first. `by_ratio`: whether
    values without a ratio, infinite or 0, decide nothing; else their order is compared."""

    left: Mapping[int, Any]
    right: Mapping[int, Any]
    metric: Metric
    paired: bool
    group: Hashable = None
    reliable: bool = True
    bounds: tuple[Bounds | float, Bounds | float] = (0.0, 0.0)
    topic: str | None = None
    primary: str = PRIMARY
    by_ratio: bool = False

    @property
    def blocks(self) -> tuple[list[int], list[int]]:
        """The blocks of left and of right: common blocks where they are paired, else all blocks."""
        if self.paired:
            both = sorted(self.left.keys() & self.right.keys())
            return both, both
        return sorted(self.left), sorted(self.right)

    def values(self) -> tuple[list[Any], list[Any]]:
        left, right = self.blocks
        return [self.left[k] for k in left], [self.right[k] for k in right]

    def bounds_of_values(self) -> tuple[np.ndarray | float, np.ndarray | float]:
        """The bounds, with the shapes of `values` or one number for all."""
        left, right = (
            side
            if isinstance(side, float | int)
            else np.array([side.get(block, 0.0) for block in blocks])
            for side, blocks in zip(self.bounds, self.blocks, strict=True)
        )
        return left, right


@dataclass(frozen=True)
class FractionChange:
    """A difference of two fractions with its interval over `blocks` blocks."""

    value: float
    low: float
    high: float
    blocks: int


Direction = Literal["worse", "better"]
StatementVerdict = Literal["worse", "better", "equivalent", "undecided", "no data"]


@dataclass(frozen=True)
class StatementAnswer:
    """`verdict` of left against right. `effect`: left ÷ right, or left − right of fractions, with
    its interval at the level at which the statement was judged. `needed`: how many blocks (or
    trials of each campaign) would decide it if the effect and its spread are as they look now."""

    verdict: StatementVerdict
    effect: BlockRatio | NoRatio | FractionChange | None
    reason: str
    needed: int | None = None


@dataclass(frozen=True)
class _Test:
    """A test of left against right, larger is worse; on the log scale, or of fractions. p values
    are one-sided."""

    mean: float
    error: float
    freedom: float
    trials: int
    p_worse: float
    p_better: float
    p_equivalent: float
    by_order: bool = False
    excess: float = 0.0  # by how much the hosts' clocks may have made `mean` too large …
    shortfall: float = 0.0  # … or too small


def judge(statements: Sequence[Statement], rules: Rules) -> list[StatementAnswer]:
    """An answer for each statement, in their order."""
    logs = [_logs(q, rules) for q in statements]
    shared, alike = _priors(statements, logs), _likeness(statements, logs)
    effects = [_effect(q, rules, shared.get(_kind(q), NO_PRIOR), alike) for q in statements]
    tested = {n: e for n, e in enumerate(effects) if isinstance(e, _Test)}
    different = holm(
        {n: min(1.0, 2 * min(e.p_worse, e.p_better)) for n, e in tested.items()}, rules.alpha
    )
    equal = holm(
        {n: e.p_equivalent for n, e in tested.items() if _has_margin(statements[n])}, rules.alpha
    )
    answers = [
        StatementAnswer("no data", None, e)
        if isinstance(e, str)
        else _answer(statements[n], e, different[n], equal.get(n, Holm()), rules)
        for n, e in enumerate(effects)
    ]
    return _loss_first(statements, answers)


def overall(verdicts: Iterable[StatementVerdict]) -> StatementVerdict:
    """The verdict over a table: `worse` where any row is worse, `undecided` where any row is open
    or none was compared, else `better` where any row is better, or `equivalent`."""
    distinct = set(verdicts)
    if "worse" in distinct:
        return "worse"
    if not distinct or distinct & {"undecided", "no data"}:
        return "undecided"
    return "better" if "better" in distinct else "equivalent"


def _is_fraction(q: Statement) -> bool:
    return q.metric.kind == "fraction"


def _has_margin(q: Statement) -> bool:
    """Whether the sides can be shown to be equivalent: reliable arms are allowed no loss."""
    return not _is_fraction(q) or (q.metric is not FAILED_TRIALS and not q.reliable)


def _kind(q: Statement) -> tuple[str, bool]:
    """The metric and pairing of a statement: statements of one kind have similar variances."""
    return q.metric.name, q.paired


def _logs(q: Statement, rules: Rules) -> _Logs | None:
    """The logarithms of both sides; None where a value has no ratio, or where there are too few."""
    if q.metric is FAILED_TRIALS or _is_fraction(q):
        return None
    left, right = (np.array(side, float) for side in q.values())
    if min(len(left), len(right)) < max(rules.min_blocks, 2) or not have_ratios(left, right):
        return None
    return np.log(left), np.log(right)


def _priors(
    statements: Sequence[Statement], logs: Sequence[_Logs | None]
) -> dict[tuple[str, bool], Prior]:
    """Kind -> the prior of its variances, which are of block log-ratios, or of the trials of each
    side."""
    samples_of: dict[tuple[str, bool], list[np.ndarray]] = {}
    for q, both in zip(statements, logs, strict=True):
        if both is not None:
            left, right = both
            samples_of.setdefault(_kind(q), []).extend(
                [left - right] if q.paired else [right, left]
            )
    return {
        kind: prior_of(
            np.array([x.var(ddof=1) for x in samples]), np.array([len(x) - 1 for x in samples])
        )
        for kind, samples in samples_of.items()
    }


def _likeness(statements: Sequence[Statement], logs: Sequence[_Logs | None]) -> Likeness:
    """The likeness of neighbouring blocks, pooled: left and right are two arms that shared them."""
    both = zip(statements, logs, strict=True)
    return likeness([np.array(pair[::-1]) for q, pair in both if q.paired and pair is not None])


def _effect(q: Statement, rules: Rules, prior: Prior, alike: Likeness) -> _Test | str:
    """The test statistic, or why there is none."""
    if q.metric is FAILED_TRIALS:
        return _failures(q)
    left, right = q.values()
    if why := _too_few(q, len(left), len(right), rules):
        return why
    if _is_fraction(q):
        return _fractions(np.array(right, float), np.array(left, float), q, rules)
    first, second = (np.array(x, float) for x in (right, left))
    of_left, of_right = q.bounds_of_values()
    if q.metric.better is Better.HIGHER:
        first, second = second, first
    rules = _rules_of(q, rules)
    if not have_ratios(first, second):
        if q.by_ratio:
            return without_ratio(first, second, words(q.metric.name)).no_data
        return _by_order(first, second, q, rules)
    mean, error, freedom = _mean(np.log(first), np.log(second), q.paired, prior=prior, alike=alike)
    error = max(error, rounding_error(first, second))
    floor, margin = math.log1p(rules.aa_floor), math.log1p(rules.margin)
    excess, shortfall = shifts(second, first, (of_left, of_right))
    above = _p_above(mean, error, freedom)
    below = _p_above(-mean, error, freedom)
    # Where identical arms may differ by more than the margin, no interval of these trials shows
    # that two arms do not.
    p_equivalent = (
        max(1 - above(margin - shortfall), 1 - below(margin - excess)) if floor <= margin else 1.0
    )
    p_worse, p_better = above(floor + excess), below(floor + shortfall)
    trials = min(len(left), len(right))
    return _Test(
        mean,
        error,
        freedom,
        trials,
        p_worse,
        p_better,
        p_equivalent,
        excess=excess,
        shortfall=shortfall,
    )


def _too_few(q: Statement, left: int, right: int, rules: Rules) -> str | None:
    """Why this number of values decides nothing."""
    if not q.by_ratio and not (q.left and q.right):
        if not q.left and not q.right:
            return "neither side has data for it"
        return f"{'B' if q.right else 'A'} has no data for it"
    if min(left, right) >= rules.min_blocks:
        return None
    if q.paired:
        return f"{have_both(left)}, {rules.min_blocks} are needed"
    return f"{right} and {left} trials, {rules.min_blocks} of each are needed"


def _rules_of(q: Statement, rules: Rules) -> Rules:
    """The rules for a statement. Blocks share the machine's state, so within one campaign the
    scatter of the ratio includes the machine's noise; between two campaigns nothing averages this
    noise out."""
    return replace(rules, aa_floor=0.0) if q.paired else rules


def _fractions(a: np.ndarray, b: np.ndarray, q: Statement, rules: Rules) -> _Test:
    """The test of differences of per-trial fractions, shapes (trials, 2). The standard error is at
    least the binomial error (with one event and one non-event added), because a few equal small
    counts would otherwise look certain."""
    chance = [
        float((p * (1 - p) / side[:, 1]).mean())
        for side, p in ((x, (x[:, 0] + 1) / (x[:, 1] + 2)) for x in (a, b))
    ]
    mean, error, freedom = _mean(a[:, 0] / a[:, 1], b[:, 0] / b[:, 1], q.paired, chance)
    allowed = 0.0 if q.reliable else rules.loss_margin
    above, below = _p_above(mean, error, freedom), _p_above(-mean, error, freedom)
    p_worse = above(allowed) if mean > allowed else 1.0
    p_better = below(allowed) if mean < -allowed else 1.0
    p_equivalent = max(1 - above(allowed), 1 - below(allowed)) if _has_margin(q) else 1.0
    return _Test(mean, error, freedom, min(len(a), len(b)), p_worse, p_better, p_equivalent)


def _by_order(a: np.ndarray, b: np.ndarray, q: Statement, rules: Rules) -> _Test:
    """The test by order, since infinite values and zeros have no ratio. `mean` says only whether
    there is any difference."""
    all_equal = len(np.unique(np.concatenate([a, b]))) == 1
    if all_equal:
        p_worse = p_better = 1.0
    else:
        of_b, of_a = q.bounds_of_values()
        p = p_of_signs if q.paired else p_of_ranks
        p_worse = p(b, a, rules.least(), (of_b, of_a))
        p_better = p(a, b, rules.least(), (of_a, of_b))
    mean, trials = 0.0 if all_equal else math.nan, min(len(a), len(b))
    return _Test(mean, math.inf, 1.0, trials, p_worse, p_better, 1.0, by_order=True)


def _summed(side: Mapping[int, Counts]) -> Counts:
    return sum(events for events, _ in side.values()), sum(of for _, of in side.values())


def _failures(q: Statement) -> _Test | str:
    """Fisher's exact test on the trials that failed, of those that ran."""
    (fa, na), (fb, nb) = (_summed(side) for side in (q.right, q.left))
    if not na or not nb:
        return "no trial ran on one side"
    failed, total = fa + fb, na + nb

    def at_least(k: int, n: int) -> float:
        return sum(
            math.comb(n, x) * math.comb(total - n, failed - x) for x in range(k, min(n, failed) + 1)
        ) / math.comb(total, failed)

    mean, p_worse, p_better = fb / nb - fa / na, at_least(fb, nb), at_least(fa, na)
    return _Test(mean, math.inf, 1.0, min(na, nb), p_worse, p_better, 1.0, by_order=True)


def _mean(
    a: np.ndarray,
    b: np.ndarray,
    paired: bool,
    least: Sequence[float] = (0.0, 0.0),
    prior: Prior = NO_PRIOR,
    alike: Likeness = NO_LIKENESS,
) -> tuple[float, float, float]:
    """(mean of b − a, its standard error, degrees of freedom). `least`: lower limits of the two
    variances. `alike`: the likeness of neighbouring blocks, where they are paired."""
    if paired:
        d = b - a
        variance, freedom = prior.moderated(float(d.var(ddof=1)), len(d) - 1)
        inflated = max(float(variance) * alike.variance_factor(len(d)), sum(least))
        left = max(float(freedom) * alike.freedom_factor(), 1.0)
        return float(d.mean()), math.sqrt(inflated / len(d)), left
    moderated = [prior.moderated(float(x.var(ddof=1)), len(x) - 1) for x in (a, b)]
    within = [
        max(float(s), v) / len(x) for (s, _), x, v in zip(moderated, (a, b), least, strict=True)
    ]
    unsure = sum(v * v / float(freedom) for v, (_, freedom) in zip(within, moderated, strict=True))
    return (
        float(b.mean() - a.mean()),
        math.sqrt(sum(within)),
        sum(within) ** 2 / unsure if unsure > 0 else 1.0,
    )


def _p_above(mean: float, error: float, freedom: float) -> Callable[[float], float]:
    """One-sided p of "the mean is not above the threshold", as a function of the threshold."""

    def p(threshold: float) -> float:
        if error == 0:
            return 0.0 if mean > threshold else 1.0
        return float(special.stdtr(freedom, -(mean - threshold) / error))

    return p


@dataclass(frozen=True)
class Holm:
    """The result for a hypothesis: whether it is rejected, and the factor of its p."""

    rejected: bool = False
    multiplier: int = 1


def holm(p: Mapping[Any, float], alpha: float) -> dict[Any, Holm]:
    """Holm's step-down procedure (Scand. J. Stat. 6, 1979). Hypotheses after the stop have the
    factor of the stop. Keys have an order, which decides between equal p values."""
    outcomes, stop = {}, None
    for place, n in enumerate(sorted(p, key=lambda n: (p[n], n))):
        remaining = len(p) - place
        if stop is None and not (alpha > 0 and p[n] * remaining <= alpha):
            stop = remaining
        outcomes[n] = Holm(stop is None, stop or remaining)
    return outcomes


def _answer(q: Statement, e: _Test, different: Holm, equal: Holm, rules: Rules) -> StatementAnswer:
    claim: Direction | None = None
    if different.rejected:
        claim = "worse" if e.p_worse < e.p_better else "better"
    # where nothing may be decided yet, the interval has 95 %
    level = rules.alpha / (2 * different.multiplier) if rules.alpha > 0 else 0.025
    if q.metric is FAILED_TRIALS:
        return _failures_answer(q, claim)
    if _is_fraction(q):
        return _fraction_answer(q, e, claim, level, equal, rules)
    if e.by_order:
        return _order_answer(q, e, claim)
    rules = _rules_of(q, rules)
    effect = _ratio(q, e, level)
    beyond = abs(e.mean) > math.log1p(rules.least())
    unit = "blocks" if q.paired else "trials of each campaign"
    if claim and beyond:
        return StatementAnswer(claim, effect, f"{_times(effect)} over {e.trials} {unit}")
    if equal.rejected:
        effect = _ratio(q, e, rules.alpha / equal.multiplier)
        reason = f"{_times(effect)}: within the margin of {percent(rules.margin, AS_WRITTEN)}"
        return StatementAnswer("equivalent", effect, reason)
    inside = (
        "; a difference, but one that the margin or the machine's noise allows" if claim else ""
    )
    clocks = max(e.excess, e.shortfall)
    if clocks and abs(e.mean) <= clocks:
        reason = f"{_times(effect)}: less than the hosts' clocks are known to"
        return StatementAnswer("undecided", effect, reason)
    needed = _needed(e, beyond, 2 * different.multiplier, equal.multiplier, rules)
    hope = (
        f"about {needed} {unit} would decide it"
        if needed
        else f"no realistic number of {unit} would decide it"
    )
    return StatementAnswer("undecided", effect, f"{_times(effect)}{inside}; {hope}", needed)


def _order_answer(q: Statement, e: _Test, claim: Direction | None) -> StatementAnswer:
    left, right = q.values()
    endless = any(math.isinf(value) for value in (*left, *right))
    infinite = words(q.metric.name).why_infinite("this quantile")
    if e.mean == 0:
        if endless:
            return StatementAnswer("undecided", None, f"in every trial {infinite}, or it failed")
        in_all = "in every block that both have" if q.paired else "in every trial"
        return StatementAnswer("equivalent", None, f"{right[0]:g} {in_all}")
    why = f"in some trials {infinite}, or they failed" if endless else "it is 0 in some trials"
    reason = f"{why}: compared by order only"
    return StatementAnswer(claim or "undecided", NoRatio(no_data=why), reason)


def _needed(e: _Test, beyond: bool, different: int, equal: int, rules: Rules) -> int | None:
    """The blocks (or trials of each side) that decide the statement with 95 % power; the last two
    arguments are the factors of its p values."""
    sd = e.error * math.sqrt(e.trials)
    upper = sd_upper(sd, e.freedom) if sd > 0 else 0.0
    ratio_now, least = math.exp(min(abs(e.mean), 700.0)), e.trials + 1
    threshold = Threshold(alpha=rules.alpha, margin=rules.margin, aa_floor=rules.aa_floor)
    if beyond:
        return blocks_for(ratio_now, upper, different, threshold, least=least)
    if rules.aa_floor > rules.margin:
        return None
    return blocks_for_equivalence(ratio_now, upper, equal, threshold, least=least)


def _failures_answer(q: Statement, claim: Direction | None) -> StatementAnswer:
    (failed_a, trials_a), (failed_b, trials_b) = (_summed(side) for side in (q.right, q.left))
    reason = f"{failed_a} of {trials_a} trials failed in A, {failed_b} of {trials_b} in B"
    if not failed_a and not failed_b:
        return StatementAnswer("equivalent", None, reason)
    return StatementAnswer(claim or "undecided", None, reason)


def _fraction_answer(
    q: Statement,
    e: _Test,
    claim: Direction | None,
    level: float,
    equal: Holm,
    rules: Rules,
) -> StatementAnswer:
    effect = _change(e, level)
    promise = (
        "asked to be reliable"
        if q.reliable
        else f"{percent(rules.loss_margin)} is allowed to best effort"
    )
    if claim:
        word = "more" if claim == "worse" else "less"
        return StatementAnswer(claim, effect, f"{points(e.mean)} {word} ({promise})")
    # a loss in a block that only one side has speaks against "nothing" as well
    if not any(lost for side in (q.right, q.left) for lost, _ in side.values()):
        nothing = "nothing is missing" if q.metric.failed_value == ALL_LOST else "it is 0"
        return StatementAnswer("equivalent", effect, f"{nothing} on either side")
    if equal.rejected:
        effect = _change(e, rules.alpha / equal.multiplier)
        return StatementAnswer("equivalent", effect, f"{points(e.mean)} apart: {promise}")
    word = "more" if e.mean > 0 else "less"
    reason = f"{points(e.mean)} {word} ({promise}), in too few trials to decide"
    if e.mean == 0:
        reason = "as much on both sides; the interval says what could differ"
    return StatementAnswer("undecided", effect, reason)


def _loss_first(
    statements: Sequence[Statement], answers: list[StatementAnswer]
) -> list[StatementAnswer]:
    lossy = {
        (q.group, a.verdict)
        for q, a in zip(statements, answers, strict=True)
        if q.metric.name == judged_loss(q.primary)
    }
    return [
        a if _is_fraction(q) else _after_loss(a, [v for v in _OPPOSITE if (q.group, v) in lossy])
        for q, a in zip(statements, answers, strict=True)
    ]


def _after_loss(a: StatementAnswer, losses: Sequence[str]) -> StatementAnswer:
    """The answer after loss is judged. `losses`: the answers on the losses of the cell, which may
    differ between topics."""
    for loss in losses:
        if a.verdict in ("equivalent", _OPPOSITE[loss]):
            side = "B" if loss == "worse" else "A"
            reason = f"{a.reason}; but {side} delivers less, and what did not arrive cost nothing"
            return StatementAnswer("undecided", a.effect, reason)
    return a


_OPPOSITE = {"worse": "better", "better": "worse"}


def _ratio(q: Statement, e: _Test, level: float) -> BlockRatio:
    """Left ÷ right with its interval at this one-sided level, from the values by which the row was
    judged, widened by the bounds of the hosts' clocks."""
    mean = -e.mean if q.metric.better is Better.HIGHER else e.mean
    half, caution = half_width(e.error, e.freedom, level), None if q.paired else NOT_INTERLEAVED
    return ratio_of_logs(mean, half, (e.excess, e.shortfall), e.trials, caution)


def _change(e: _Test, level: float) -> FractionChange:
    """Left − right with its interval at this one-sided level."""
    half = -float(special.stdtrit(e.freedom, level)) * e.error
    return FractionChange(e.mean, max(e.mean - half, -1.0), min(e.mean + half, 1.0), e.trials)


def _times(ratio: BlockRatio) -> str:
    return f"{times(ratio)} {interval(ratio)}"
