"""One arm against another, metric by metric: is B worse than A, better, equivalent, or not decided?
For maintainers who hunt a regression, where a verdict about "the best" is not an answer.

Within a campaign both sides share blocks and are compared within them. Two campaigns share none:
trials are compared with trials (`ratio.unpaired`), and the machine's state of either day stays in
the difference, whatever their number. Multiplicity is controlled over the table, twice: worse and
better claims are one family of two-sided tests, equivalence (two one-sided tests) another; in each
Holm's procedure keeps the probability of any false claim below alpha. Where neighbouring blocks of
one campaign resemble each other, variances of ratios are multiplied for it (likeness.py).

Delivery is judged first (`judged_loss`): what delivers less is never called better or equivalent
for being fast.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from rmwbench.analysis.metrics.aggregate import judged_loss
from rmwbench.analysis.metrics.comparisons import PRIMARY
from rmwbench.analysis.metrics.glossary import Better, Metric
from rmwbench.analysis.metrics.glossary.losses import FAILED_TRIALS
from rmwbench.analysis.stats.resolution import blocks_for, blocks_for_equivalence, sd_upper
from rmwbench.analysis.verdicts.likeness import NONE, Likeness, likeness
from rmwbench.analysis.verdicts.ratio import (
    NOT_INTERLEAVED,
    p_of_ranks,
    p_of_signs,
    rounding_error,
    shifts,
)
from rmwbench.analysis.verdicts.variances import NOTHING, Prior, prior_of
from rmwbench.analysis.verdicts.verdict import BlockRatio, NoRatio, Rules
from rmwbench.analysis.verdicts.wording import interval, times
from rmwbench.words.numbers import percent, points

Counts = tuple[int, int]
"""(events, of)."""
_Logs = tuple[np.ndarray, np.ndarray]
"""Logarithms of A's and of B's values."""


@dataclass(frozen=True)
class Question:
    """Is B worse than A by this metric? `a`, `b`: block -> its trial's value (+inf allowed), or
    `Counts` for fractions. `paired`: they are blocks of one campaign. `group`: what is judged
    together (a cell): the loss in any of its topics comes first. `reliable`: neither side may lose
    anything. `bounds`: how far A's and B's values may be from the truth for the clocks of two
    hosts, in the metric's unit. `topic`: whose the values are, None: the whole cell's. `primary`:
    the metric that the cell is judged by, which says what loss comes first.
    """

    group: Hashable
    entry: Metric
    a: Mapping[int, Any]
    b: Mapping[int, Any]
    paired: bool
    reliable: bool = True
    bounds: tuple[float, float] = (0.0, 0.0)
    topic: str | None = None
    primary: str = PRIMARY


@dataclass(frozen=True)
class Change:
    """A difference of two fractions, B − A, with its interval over so many blocks."""

    value: float
    low: float
    high: float
    blocks: int


@dataclass(frozen=True)
class Answer:
    """`verdict`: worse | better | equivalent | undecided | no data, of B against A. `effect`: B ÷
    A, or B − A of fractions, its interval at the level at which the row was judged. `needed`: how
    many blocks (or trials of each campaign) would decide it, were the effect and its spread what
    they look like now.
    """

    verdict: str
    effect: BlockRatio | NoRatio | Change | None
    reason: str
    needed: int | None = None


@dataclass(frozen=True)
class _Effect:
    """Of B against A, larger is worse; on the log scale, or of fractions. p values are
    one-sided."""

    mean: float
    error: float
    freedom: float
    trials: int
    worse: float
    better: float
    equivalent: float
    by_order: bool = False
    spare: float = 0.0  # by how much the hosts' clocks may have made `mean` too large …
    extra: float = 0.0  # … or too small


def judge(questions: Sequence[Question], rules: Rules) -> list[Answer]:
    """An answer per question, in their order."""
    logs = [_logs(q, rules) for q in questions]
    shared, alike = _priors(questions, logs), _likeness(questions, logs)
    effects = [_effect(q, rules, shared.get(_kind(q), NOTHING), alike) for q in questions]
    tested = {n: e for n, e in enumerate(effects) if isinstance(e, _Effect)}
    different = _holm(
        {n: min(1.0, 2 * min(e.worse, e.better)) for n, e in tested.items()}, rules.alpha
    )
    equal = _holm(
        {n: e.equivalent for n, e in tested.items() if _has_margin(questions[n])}, rules.alpha
    )
    answers = [
        Answer("no data", None, e)
        if isinstance(e, str)
        else _answer(questions[n], e, different[n], equal.get(n, (False, 1)), rules)
        for n, e in enumerate(effects)
    ]
    return _loss_first(questions, answers)


def overall(verdicts: Iterable[str]) -> str:
    """Of a table's verdicts: `worse` where anything is, `undecided` where anything is open or
    nothing was compared, else `equivalent`, or `better` where something is.
    """
    found = set(verdicts)
    if "worse" in found:
        return "worse"
    if not found or found & {"undecided", "no data"}:
        return "undecided"
    return "better" if "better" in found else "equivalent"


def _is_fraction(q: Question) -> bool:
    return q.entry.kind == "fraction"


def _has_margin(q: Question) -> bool:
    """Whether its sides can be shown to be equivalent: reliable arms are allowed no loss."""
    return not _is_fraction(q) or (q.entry is not FAILED_TRIALS and not q.reliable)


def _kind(q: Question) -> tuple[str, bool]:
    """Rows of one kind have variances alike."""
    return q.entry.name, q.paired


def _logs(q: Question, rules: Rules) -> _Logs | None:
    """Of common blocks where the two sides are paired; None where there is no ratio of them, or too
    few."""
    if q.entry is FAILED_TRIALS or _is_fraction(q):
        return None
    both = sorted(set(q.a) & set(q.b)) if q.paired else None
    a, b = (
        np.array([side[k] for k in (sorted(side) if both is None else both)], float)
        for side in (q.a, q.b)
    )
    if min(len(a), len(b)) < max(rules.min_blocks, 2) or not all(
        ((x > 0) & np.isfinite(x)).all() for x in (a, b)
    ):
        return None
    return np.log(a), np.log(b)


def _priors(
    questions: Sequence[Question], logs: Sequence[_Logs | None]
) -> dict[tuple[str, bool], Prior]:
    """What the rows of a kind tell about each other's variances: of block log-ratios, or of the
    trials of each side."""
    found: dict[tuple[str, bool], list[np.ndarray]] = {}
    for q, both in zip(questions, logs, strict=True):
        if both is not None:
            a, b = both
            found.setdefault(_kind(q), []).extend([b - a] if q.paired else [a, b])
    return {
        kind: prior_of(
            np.array([x.var(ddof=1) for x in samples]), np.array([len(x) - 1 for x in samples])
        )
        for kind, samples in found.items()
    }


def _likeness(questions: Sequence[Question], logs: Sequence[_Logs | None]) -> Likeness:
    """Of neighbouring blocks, pooled over the table: A and B are two arms that shared them."""
    both = zip(questions, logs, strict=True)
    return likeness([np.array(pair) for q, pair in both if q.paired and pair is not None])


def _effect(
    q: Question, rules: Rules, prior: Prior = NOTHING, alike: Likeness = NONE
) -> _Effect | str:
    """The test statistic, or why there is none."""
    if q.entry is FAILED_TRIALS:
        return _failures(q)
    both = sorted(set(q.a) & set(q.b)) if q.paired else None
    a, b = ([side[k] for k in (sorted(side) if both is None else both)] for side in (q.a, q.b))
    if not q.a or not q.b:
        return f"{'neither side has' if not q.a and not q.b else 'A has no' if not q.a else 'B has no'} data for it"
    if min(len(a), len(b)) < rules.min_blocks:
        return (
            f"{len(a)} blocks have both, {rules.min_blocks} are needed"
            if q.paired
            else f"{len(a)} and {len(b)} trials, {rules.min_blocks} of each are needed"
        )
    if _is_fraction(q):
        return _fractions(np.array(a, float), np.array(b, float), q, rules)
    first, second = (np.array(x, float) for x in (a, b))
    if q.entry.better is Better.HIGHER:
        first, second = second, first
    rules = _rules_of(q, rules)
    if not all(((x > 0) & np.isfinite(x)).all() for x in (first, second)):
        return _by_order(first, second, q, rules)
    mean, error, freedom = _mean(np.log(first), np.log(second), q.paired, prior=prior, alike=alike)
    error = max(error, rounding_error(first, second))
    floor, margin = math.log1p(rules.aa_floor), math.log1p(rules.margin)
    spare, extra = shifts(second, first, (q.bounds[1], q.bounds[0]))
    above = _p_above(mean, error, freedom)
    below = _p_above(-mean, error, freedom)
    # Where identical arms may differ by more than the margin, no interval of these trials shows
    # that two do not.
    equivalent = (
        max(1 - above(margin - extra), 1 - below(margin - spare)) if floor <= margin else 1.0
    )
    worse, better = above(floor + spare), below(floor + extra)
    return _Effect(
        mean,
        error,
        freedom,
        min(len(a), len(b)),
        worse,
        better,
        equivalent,
        spare=spare,
        extra=extra,
    )


def _rules_of(q: Question, rules: Rules) -> Rules:
    """Blocks share the machine's state, so within one campaign the scatter of the ratio holds the
    machine's noise; two campaigns have nothing that averages it out."""
    return replace(rules, aa_floor=0.0) if q.paired else rules


def _fractions(a: np.ndarray, b: np.ndarray, q: Question, rules: Rules) -> _Effect:
    """Differences of per-trial fractions, shapes (trials, 2). The standard error is not taken below
    the binomial one (with one event and one non-event added), because a few equal small counts
    would otherwise look certain.
    """
    chance = [
        float((p * (1 - p) / side[:, 1]).mean())
        for side, p in ((x, (x[:, 0] + 1) / (x[:, 1] + 2)) for x in (a, b))
    ]
    mean, error, freedom = _mean(a[:, 0] / a[:, 1], b[:, 0] / b[:, 1], q.paired, chance)
    allowed = 0.0 if q.reliable else rules.loss_margin
    above, below = _p_above(mean, error, freedom), _p_above(-mean, error, freedom)
    worse = above(allowed) if mean > allowed else 1.0
    better = below(allowed) if mean < -allowed else 1.0
    equivalent = max(1 - above(allowed), 1 - below(allowed)) if _has_margin(q) else 1.0
    return _Effect(mean, error, freedom, min(len(a), len(b)), worse, better, equivalent)


def _by_order(a: np.ndarray, b: np.ndarray, q: Question, rules: Rules) -> _Effect:
    """Infinite values and zeros have an order and no ratio. `mean` says only whether there is any
    difference."""
    same = len(np.unique(np.concatenate([a, b]))) == 1
    if same:
        worse = better = 1.0
    else:
        of_a, of_b = q.bounds
        p = p_of_signs if q.paired else p_of_ranks
        worse = p(b, a, rules.least(), (of_b, of_a))
        better = p(a, b, rules.least(), (of_a, of_b))
    return _Effect(
        0.0 if same else math.nan,
        math.inf,
        1.0,
        min(len(a), len(b)),
        worse,
        better,
        1.0,
        by_order=True,
    )


def _failures(q: Question) -> _Effect | str:
    """Fisher's exact test on trials that failed, of those that ran."""
    (fa, na), (fb, nb) = (
        tuple(map(sum, zip(*side.values(), strict=True))) or (0, 0) for side in (q.a, q.b)
    )
    if not na or not nb:
        return "no trial ran on one side"
    failed, total = fa + fb, na + nb

    def at_least(k: int, n: int) -> float:
        return sum(
            math.comb(n, x) * math.comb(total - n, failed - x) for x in range(k, min(n, failed) + 1)
        ) / math.comb(total, failed)

    mean = fb / nb - fa / na
    return _Effect(
        mean, math.inf, 1.0, min(na, nb), at_least(fb, nb), at_least(fa, na), 1.0, by_order=True
    )


def _mean(
    a: np.ndarray,
    b: np.ndarray,
    paired: bool,
    least: Sequence[float] = (0.0, 0.0),
    prior: Prior = NOTHING,
    alike: Likeness = NONE,
) -> tuple[float, float, float]:
    """(mean of b − a, its standard error, degrees of freedom). `least`: variances that the two are
    not taken below. `alike`: of neighbouring blocks, where they are paired."""
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
    """One-sided p of "the mean is not above the threshold", as a function of it."""

    def p(threshold: float) -> float:
        if error == 0:
            return 0.0 if mean > threshold else 1.0
        return float(special.stdtr(freedom, -(mean - threshold) / error))

    return p


def _holm(p: Mapping[int, float], alpha: float) -> dict[int, tuple[bool, int]]:
    """Step-down: whether each is rejected, and by how much its p was multiplied (those after the
    stop: as there)."""
    out, stop = {}, None
    for place, n in enumerate(sorted(p, key=lambda n: (p[n], n))):
        remaining = len(p) - place
        if stop is None and not p[n] * remaining <= alpha:
            stop = remaining
        out[n] = (stop is None, stop or remaining)
    return out


def _answer(
    q: Question, e: _Effect, different: tuple[bool, int], equal: tuple[bool, int], rules: Rules
) -> Answer:
    claimed, multiplier = different
    level = rules.alpha / (2 * multiplier)
    direction = "worse" if e.worse < e.better else "better"
    if _is_fraction(q):
        return _fraction_answer(q, e, claimed, direction, level, equal, rules)
    if e.by_order:
        return _order_answer(q, e, claimed, direction)
    rules = _rules_of(q, rules)
    effect = _shifted(_ratio(q, e, level), e)
    beyond = abs(e.mean) > math.log1p(rules.least())
    unit = "blocks" if q.paired else "trials of each campaign"
    if claimed and beyond:
        return Answer(direction, effect, f"{_times(effect)} over {e.trials} {unit}")
    if equal[0]:
        effect = _shifted(_ratio(q, e, rules.alpha / equal[1]), e)
        return Answer(
            "equivalent", effect, f"{_times(effect)}: within the margin of {percent(rules.margin)}"
        )
    inside = (
        "; a difference, but one that the margin or the machine's noise allows" if claimed else ""
    )
    if abs(e.mean) <= max(e.spare, e.extra):
        return Answer(
            "undecided", effect, f"{_times(effect)}: less than the hosts' clocks are known to"
        )
    needed = _needed(e, beyond, 2 * multiplier, equal[1], rules)
    hope = (
        f"about {needed} {unit} would decide it"
        if needed
        else f"no realistic number of {unit} would decide it"
    )
    return Answer("undecided", effect, f"{_times(effect)}{inside}; {hope}", needed)


def _order_answer(q: Question, e: _Effect, claimed: bool, direction: str) -> Answer:
    endless = any(math.isinf(v) for side in (q.a, q.b) for v in side.values())
    why = (
        "in some trials messages that did not arrive reach this quantile, or they failed"
        if endless
        else "it is 0 in some trials"
    )
    if e.mean == 0:
        value = next(iter(q.a.values()))
        every = (
            "no trial delivered enough to reach this quantile"
            if endless
            else f"{value:g} in every trial"
        )
        return Answer("undecided" if endless else "equivalent", None, every)
    return Answer(
        direction if claimed else "undecided",
        NoRatio(no_data=why),
        f"{why}: compared by order only",
    )


def _needed(e: _Effect, beyond: bool, different: int, equal: int, rules: Rules) -> int | None:
    """Blocks (or trials of each side) that decide it with 95 % power; the last two: by how much a p
    is multiplied."""
    sd, ratio_now, least = (
        e.error * math.sqrt(e.trials),
        math.exp(min(abs(e.mean), 700.0)),
        e.trials + 1,
    )
    if beyond:
        return blocks_for(
            ratio_now,
            sd,
            different,
            alpha=rules.alpha,
            margin=rules.margin,
            aa_floor=rules.aa_floor,
            pilot_freedom=e.freedom,
            least=least,
        )
    if rules.aa_floor > rules.margin:
        return None
    upper = sd_upper(sd, e.freedom) if sd > 0 else 0.0
    return blocks_for_equivalence(
        ratio_now, upper, equal, alpha=rules.alpha, margin=rules.margin, least=least
    )


def _fraction_answer(
    q: Question,
    e: _Effect,
    claimed: bool,
    direction: str,
    level: float,
    equal: tuple[bool, int],
    rules: Rules,
) -> Answer:
    if e.by_order:
        (fa, na), (fb, nb) = (
            tuple(map(sum, zip(*side.values(), strict=True))) for side in (q.a, q.b)
        )
        text = f"{fa} of {na} trials failed in A, {fb} of {nb} in B"
        if not fa and not fb:
            return Answer("equivalent", None, text)
        return Answer(direction if claimed else "undecided", None, text)
    effect = _change(e, level)
    promise = (
        "asked to be reliable"
        if q.reliable
        else f"{percent(rules.loss_margin)} is allowed to best effort"
    )
    if claimed:
        word = "more" if direction == "worse" else "less"
        return Answer(direction, effect, f"{points(e.mean)} {word} ({promise})")
    if not any(lost for side in (q.a, q.b) for lost, _ in side.values()):
        return Answer("equivalent", effect, "nothing is missing on either side")
    if equal[0]:
        effect = _change(e, rules.alpha / equal[1])
        return Answer("equivalent", effect, f"{points(e.mean)} apart: {promise}")
    if e.mean == 0:
        return Answer(
            "undecided", effect, "as much on both sides; the interval says what could differ"
        )
    word = "more" if e.mean > 0 else "less"
    return Answer(
        "undecided",
        effect,
        f"{points(e.mean)} {word} ({promise}), in too few trials to decide",
    )


def _loss_first(questions: Sequence[Question], answers: list[Answer]) -> list[Answer]:
    lossy = {
        (q.group, a.verdict)
        for q, a in zip(questions, answers, strict=True)
        if q.entry.name == judged_loss(q.primary)
    }
    return [
        a if _is_fraction(q) else _after_loss(a, [v for v in _OPPOSITE if (q.group, v) in lossy])
        for q, a in zip(questions, answers, strict=True)
    ]


def _after_loss(a: Answer, losses: Sequence[str]) -> Answer:
    """`losses`: what B is in the losses of the cell, which may differ from topic to topic."""
    for loss in losses:
        if a.verdict in ("equivalent", _OPPOSITE[loss]):
            side = "B" if loss == "worse" else "A"
            return Answer(
                "undecided",
                a.effect,
                f"{a.reason}; but {side} delivers less, and what did not arrive cost nothing",
            )
    return a


_OPPOSITE = {"worse": "better", "better": "worse"}


def _ratio(q: Question, e: _Effect, level: float) -> BlockRatio:
    """B ÷ A with its interval at this one-sided level, from what the row was judged by."""
    mean = -e.mean if q.entry.better is Better.HIGHER else e.mean
    half = -float(special.stdtrit(e.freedom, level)) * e.error if e.error > 0 else 0.0
    low, high = math.exp(mean - half), math.exp(min(mean + half, 700.0))
    return BlockRatio(math.exp(mean), low, high, e.trials, None if q.paired else NOT_INTERLEAVED)


def _change(e: _Effect, level: float) -> Change:
    """B − A with its interval at this one-sided level."""
    half = -float(special.stdtrit(e.freedom, level)) * e.error
    return Change(e.mean, max(e.mean - half, -1.0), min(e.mean + half, 1.0), e.trials)


def _shifted(found: BlockRatio | NoRatio, e: _Effect) -> BlockRatio | NoRatio:
    """With the interval widened by what the hosts' clocks leave open."""
    if isinstance(found, NoRatio) or not (e.spare or e.extra):
        return found
    return replace(
        found, low=found.low * math.exp(-e.spare), high=found.high * math.exp(min(e.extra, 700.0))
    )


def _times(found: BlockRatio | NoRatio) -> str:
    return found.no_data if isinstance(found, NoRatio) else f"{times(found)} {interval(found)}"
