"""The values that a claim's test compares, block by block over the campaigns of one machine, and
their interval. Pure.

Campaigns of one machine are pooled by their blocks: each block gives one value of the test (a
ratio, a product, a ratio of ratios), and all of them together one t interval, as if they were one
longer campaign. If the k campaigns' means differ by more than their blocks do, the interval that
the blocks give within their campaigns is widened by Birge's ratio √(Q ÷ (k − 1)) of these means
(Phys. Rev. 40, 1932; the scale factor of the Particle Data Group): it is never narrowed, and the
scatter between campaigns is counted once.

How much larger one fraction is than another is expressed as a difference: two things that never
happened have no ratio, and yet it is known how far apart they can be at most.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from rmwbench.analysis.metrics.aggregate import judged_loss
from rmwbench.analysis.metrics.glossary import GLOSSARY, Clocks, Metric
from rmwbench.analysis.stats import intervals
from rmwbench.analysis.stats.intervals import Interval
from rmwbench.analysis.verdicts.ratio import bounded_exp, rounding_error, standard_error
from rmwbench.analysis.verdicts.variances import likeness
from rmwbench.published.campaign import CampaignArm
from rmwbench.published.claims.amounts import unit_of
from rmwbench.published.claims.claims_file import ClaimTest
from rmwbench.published.claims.judging.decision_rules import (
    Code,
    ErrorLevel,
    ErrorShare,
    level_of,
)
from rmwbench.results.model import Estimate

Block = tuple[int, int]
"""The number of the campaign, and of the block in it."""
Values = Mapping[Block, float]


@dataclass(frozen=True)
class Sides:
    """The arms of one cell in one campaign: left and right, and each at the levels by which it is
    divided."""

    campaign: int
    """Campaigns are numbered in the order in which they were run."""
    left: CampaignArm
    right: CampaignArm | None = None
    left_base: CampaignArm | None = None
    right_base: CampaignArm | None = None

    @property
    def arms(self) -> tuple[CampaignArm, ...]:
        arms = (self.left, self.right, self.left_base, self.right_base)
        return tuple(arm for arm in arms if arm is not None)


@dataclass(frozen=True)
class ClaimValue:
    """A value with its interval, from the `blocks` that both sides have; `value` is None if there
    is no ratio."""

    value: float | None
    low: float
    high: float
    blocks: int
    infinite: bool = False
    """Some block has no finite positive ratio: the interval is the range of the blocks, or the
    bound of what was never seen, and order must decide, too."""
    enough: bool = True
    """Whether order decides: the range of these blocks covers the median as often as the level
    asks."""
    refused: Code | None = None
    """Why the values say nothing: `lost`, the time that the lost messages of a block would have
    taken is not known; `machine_bound`, some blocks were spoilt by a busy machine."""
    seen: bool = False
    """The value is above 0 in some block."""


def _no_value(blocks: int, refused: Code | None = None) -> ClaimValue:
    return ClaimValue(None, 0.0, math.inf, blocks, refused=refused)


def whatever_load(test: ClaimTest) -> bool:
    """Whether a busy machine does not affect the answer: memory that is held, and whether something
    is seen at all."""
    if test.existence and test.relation == "greater":
        return True
    return all(name in GLOSSARY and GLOSSARY[name].load_independent for name in test.metrics)


def per_trial(arm: CampaignArm, metric: str) -> dict[int, float]:
    """Return block -> the trial's value. By the rules of a verdict, a block that the arm lost is
    infinite in every latency and in every time until something came, has nothing delivered, and no
    value if its cost is not known. The same holds for a percentile in a block whose messages did
    not get through (`_never_came`). If trials were done and none has a value by itself, such as a
    percentile for which only all of them have enough messages, lost blocks alone are no values
    either."""
    values = dict(arm.per_trial.get(metric, {}))
    entry = GLOSSARY.get(metric)
    if entry is None or entry.failed_value is None:
        return values
    lost = _never_came(arm, entry) | dict.fromkeys(arm.lost_blocks, entry.failed_value)
    is_lost_everywhere = arm.lost_all or (arm.blocks and arm.blocks <= lost.keys())
    if not (values or (metric in arm.metrics and is_lost_everywhere)):
        return values
    return lost | values


LONGEST_CALL, UNSENT = "publish_call_max", "never_sent_share"


def explaining_metrics(metric: str) -> tuple[str, ...]:
    """Return the metrics that say why a percentile has no value in a block: how many of the
    messages did not get through; for publish calls, how many calls were not made, and how long the
    longest lasted."""
    entry = GLOSSARY.get(metric)
    if entry is None or entry.kind != "quantile":
        return ()
    if entry.source == "publish_call":
        return LONGEST_CALL, UNSENT
    return (judged_loss(metric),) if entry.clocks in (Clocks.ONE_WAY, Clocks.ENDS) else ()


def _never_came(arm: CampaignArm, entry: Metric) -> dict[int, float]:
    """Return the done blocks in which a percentile has no value because the publisher was held or
    the reader came too late: the messages sent and due are too few for it, and more of the
    scheduled messages are missing than lie beyond it. The percentile is infinite there. For publish
    calls it is the longest call, for which those that were not made waited. Nothing was due in a
    block whose reader never matched; it counts if other blocks have values, since these show that
    something should have been."""
    values = arm.per_trial.get(entry.name, {})
    without_value, beyond = arm.blocks - values.keys(), 1 - entry.q
    explaining = [arm.per_trial.get(name, {}) for name in explaining_metrics(entry.name)]
    match explaining:
        case [lost]:
            blocks = (b for b in without_value if (lost[b] > beyond if b in lost else values))
            return dict.fromkeys(blocks, math.inf)
        case [longest, unsent]:
            calls = {block: longest[block] for block in without_value & longest.keys()}
            return {b: x for b, x in calls.items() if math.isinf(x) or unsent.get(b, 0.0) > beyond}
    return {}


def left_values(test: ClaimTest, cell: Sequence[Sides]) -> dict[Block, float]:
    return _values(test, [(x.campaign, x.left, x.left_base) for x in cell], test.metric)


def right_values(test: ClaimTest, cell: Sequence[Sides]) -> dict[Block, float]:
    sides = [(x.campaign, x.right, x.right_base) for x in cell if x.right is not None]
    return _values(test, sides, test.metric_of_right)


def _values(
    test: ClaimTest, sides: Sequence[tuple[int, CampaignArm, CampaignArm | None]], metric: str
) -> dict[Block, float]:
    out = {}
    for campaign, arm, base in sides:
        for block, value in _products(test, arm, metric).items():
            if base is None:
                out[campaign, block] = value
            elif (below := _products(test, base, metric).get(block)) is not None:
                # how an arm's own messages grow is not known where the first did not arrive
                out[campaign, block] = math.nan if math.isinf(below) else _quotient(value, below)
    return out


def _products(test: ClaimTest, arm: CampaignArm, metric: str) -> dict[int, float]:
    values = per_trial(arm, metric)
    if test.times_metric is not None:
        other = per_trial(arm, test.times_metric)
        values = {block: value * other[block] for block, value in values.items() if block in other}
        values = {block: value for block, value in values.items() if not math.isnan(value)}  # ∞ × 0
    if whatever_load(test):
        return values
    return {block: value for block, value in values.items() if block not in arm.spoilt_blocks}


def _quotient(a: float, b: float) -> float:
    """Return a ÷ b; nan for 0 ÷ 0 and ∞ ÷ ∞."""
    if b == 0:
        return math.inf if a > 0 else math.nan
    return math.nan if math.isinf(a) and math.isinf(b) else a / b


def blocks_by_campaign(blocks: Sequence[Block]) -> list[int]:
    """Return how many of these blocks each campaign has, in the order of the campaigns."""
    return [count for _, count in sorted(Counter(campaign for campaign, _ in blocks).items())]


def value_of_cell(test: ClaimTest, cell: Sequence[Sides], share: ErrorShare) -> ClaimValue:
    if test.right is None:
        return _level(test, cell, share)
    if test.by == "difference":
        return _difference(test, cell, share)
    ratio = _ratio(test, cell, share)
    return _exponent(test, ratio) if test.by == "exponent" else ratio


def _exponent(test: ClaimTest, ratio: ClaimValue) -> ClaimValue:
    if ratio.value is None:
        return ratio
    assert test.sizes is not None, "checked when the file was read"
    scale = math.log(test.sizes[0] / test.sizes[1])

    def of(x: float) -> float:
        return (math.inf if math.isinf(x) else -math.inf if x == 0 else math.log(x)) / scale

    low, high = sorted((of(ratio.low), of(ratio.high)))
    return replace(ratio, value=of(ratio.value), low=low, high=high)


def _ratio(test: ClaimTest, cell: Sequence[Sides], share: ErrorShare) -> ClaimValue:
    """Return the mean of the block ratios. If there are none, because only all trials together have
    enough messages for the compared percentiles, or because two hosts' clocks widened their
    intervals, return the ratio of the metrics' own intervals."""
    left, right = left_values(test, cell), right_values(test, cell)
    common = sorted(left.keys() & right.keys())
    widened = any(
        _is_of_two_clocks(arm.metrics.get(name))
        for sides in cell
        for arm in sides.arms
        for name in test.metrics
    )
    if not common or widened:
        return _of_intervals(test, cell, share)
    if _lost_by_itself(cell, [side[block] for side in (left, right) for block in common]):
        return _no_value(len(common), "lost")
    quotients = {block: _quotient(left[block], right[block]) for block in common}
    defined = [block for block in common if not math.isnan(quotients[block])]
    if 2 * len(defined) < len(common):
        return _no_value(len(common))
    level = level_of(blocks_by_campaign(defined), share)
    ratios = np.array([quotients[block] for block in defined])
    if np.isinf(ratios).any() or (ratios <= 0).any():
        return _of_nothing_seen(test, cell, (left, right), share) or _range(ratios, level)
    if len(defined) < 2 or level.error <= 0:
        return ClaimValue(float(np.exp(np.log(ratios).mean())), 0.0, math.inf, len(defined))
    values = [np.array([side[block] for block in defined]) for side in (left, right)]
    least = rounding_error(*values)
    mean, half = _mean_of_logs(np.log(ratios), [number for number, _ in defined], least, level)
    return ClaimValue(math.exp(mean), math.exp(mean - half), bounded_exp(mean + half), len(defined))


def _of_nothing_seen(
    test: ClaimTest, cell: Sequence[Sides], sides: tuple[Values, Values], share: ErrorShare
) -> ClaimValue | None:
    """Return the ratio if one side is a share or a count that is 0 in every block: that side's
    bound, by how much could have been seen, against the interval of the other, each with half of
    the error. It decides only as far as order does, too, since a bound on messages is no bound on
    trials that go wrong as a whole. Return None for all else that has no ratio, which order alone
    compares."""
    common = sorted(sides[0].keys() & sides[1].keys())
    of_look = level_of(blocks_by_campaign(common), share)
    level = ErrorLevel(of_look.error / 2)
    values = [np.array([side[block] for block in common]) for side in sides]
    if test.times_metric or test.base_at or len(common) < 2 or level.error <= 0:
        return None
    if not np.isfinite(values).all() or all(side.any() for side in values):
        return None
    names = (test.metric, test.metric_of_right)
    campaigns = [campaign for campaign, _ in common]
    ends = []
    for name, arms, side in zip(names, _arms_by_side(cell), values, strict=True):
        metrics = [arm.metrics[name] for arm in arms]
        own = _over_trials(name, metrics, side, level, logs=bool((side > 0).all()))
        if own is None:
            return None
        ends.append(_widen(own, side, campaigns, level))
    (x, x_low, x_high), (y, y_low, y_high) = ends
    low, high = max(0.0, x_low) / y_high, x_high / y_low if y_low > 0 else math.inf
    enough = intervals.range_coverage(len(common)) >= of_look.confidence
    return ClaimValue(_quotient(x, y), low, high, len(common), infinite=True, enough=enough)


def _mean_of_logs(
    logs: np.ndarray, campaigns: Sequence[int], least: float, level: ErrorLevel
) -> tuple[float, float]:
    """Return (mean, half of its interval) of block log-ratios, shape (blocks,), as for a verdict's
    pair: neighbouring blocks may resemble each other (variances.py), and the standard error is not
    below `least`. Neither includes differences between campaigns, which `between_half` covers."""
    inside = _within_campaigns(logs, campaigns)
    freedom = len(logs) - len(set(campaigns))
    if freedom < 1:
        inside, freedom = logs - logs.mean(), len(logs) - 1
    alike = likeness([np.array([inside / 2, -inside / 2])])
    variance = float((inside**2).sum()) / freedom * alike.variance_factor(len(logs))
    error = max(math.sqrt(variance / len(logs)), least)
    t = -float(special.stdtrit(max(freedom * alike.freedom_factor(), 1.0), level.error))
    return float(logs.mean()), max(t * error, between_half(logs, campaigns, level))


def _within_campaigns(values: np.ndarray, campaigns: Sequence[int]) -> np.ndarray:
    """Return each block without its campaign's mean."""
    names, out = np.array(campaigns), np.empty(len(values))
    for name in set(campaigns):
        out[names == name] = values[names == name] - values[names == name].mean()
    return out


def _arms_by_side(cell: Sequence[Sides]) -> tuple[list[CampaignArm], list[CampaignArm]]:
    return [x.left for x in cell], [x.right for x in cell if x.right is not None]


def _lost_by_itself(cell: Sequence[Sides], values: Sequence[float]) -> bool:
    """Whether one arm in two cells is both sides, and a value of either is infinite: of two arms
    the one that loses is the slower one, but what an arm's own messages cost or how they grow is
    not known where they did not arrive."""
    is_one_arm = all(
        x.right is not None and x.left is not x.right and x.left.arm == x.right.arm for x in cell
    )
    return is_one_arm and any(map(math.isinf, values))


def _has_lost_blocks(arm: CampaignArm, metric: str) -> bool:
    """Whether an arm lost blocks, or has blocks without a value of the metric since nothing came.
    No pooled percentile includes these."""
    entry = GLOSSARY.get(metric)
    short = entry is not None and _never_came(arm, entry)
    return bool(arm.lost_blocks or arm.metrics[metric].no_data or short)


def _refused_pool(
    test: ClaimTest, sides: Sequence[tuple[CampaignArm, str]], blocks: int
) -> ClaimValue | None:
    """Return why all trials of these arms together say nothing: blocks that were lost, or that are
    left out; None if they say something."""
    if any(_has_lost_blocks(arm, metric) for arm, metric in sides):
        return _no_value(blocks, "lost")
    if not whatever_load(test) and any(arm.spoilt_blocks for arm, _ in sides):
        return _no_value(blocks, "machine_bound")
    return None


def _is_of_two_clocks(metric: Estimate | None) -> bool:
    """Whether the interval was widened for two clocks. The values of single trials were not, so no
    ratio may be taken of them."""
    return metric is not None and metric.clock_bound_ns is not None


def _scale_bound(value: float, end: float, times: float) -> float:
    """Return a bound that is `times` as far from its value, on the logarithms."""
    if end <= 0 or math.isinf(end) or end == value:  # a logarithm and back is a little less
        return end
    log = math.log(value) + times * (math.log(end) - math.log(value))
    return bounded_exp(log)


def _range(values: np.ndarray, level: ErrorLevel) -> ClaimValue:
    """Return the range of the values, which needs no finite numbers: it covers their median with
    probability 1 − 2^(1−n)."""
    (value, low, high), covered = intervals.median_range(values)
    return ClaimValue(
        value, low, high, len(values), infinite=True, enough=covered >= level.confidence
    )


def between_half(values: np.ndarray, campaigns: Sequence[int], level: ErrorLevel) -> float:
    """Return half of the interval that the means of campaigns give: t(n − k)·√(MS between ÷ n),
    which is Birge's ratio times the half that the blocks give within their campaigns. The result is
    0 for one campaign, and if no campaign has two blocks. `values`: the blocks' values, shape
    (blocks,); `campaigns`: the campaign of each block."""
    counts = Counter(campaigns)
    freedom = len(values) - len(counts)
    if len(counts) < 2 or freedom < 1:
        return 0.0
    means = values - _within_campaigns(values, campaigns)
    between = float(((means - values.mean()) ** 2).sum()) / (len(counts) - 1)
    return -float(special.stdtrit(freedom, level.error)) * math.sqrt(between / len(values))


def _widen(
    interval: Interval, values: np.ndarray, campaigns: Sequence[int], level: ErrorLevel
) -> Interval:
    """Return an interval that is no narrower than the one that the campaigns' means give, on the
    logarithms if possible."""
    value, low, high = interval
    if low > 0 and (values > 0).all():
        half = between_half(np.log(values), campaigns, level)
        return value, min(low, value * math.exp(-half)), max(high, value * bounded_exp(half))
    half = between_half(values, campaigns, level)
    return value, min(low, value - half), max(high, value + half)


def _of_intervals(test: ClaimTest, cell: Sequence[Sides], share: ErrorShare) -> ClaimValue:
    """Return the left's interval against the right's, which is more conservative."""
    left, right = _arms_by_side(cell)
    if test.times_metric or test.base_at:
        return _no_value(0)
    right_metric = test.metric_of_right
    trials = [_trials(arm, test.metric) for arm in left]
    blocks = min(sum(trials), sum(_trials(arm, right_metric) for arm in right))
    compared = [*((arm, test.metric) for arm in left), *((arm, right_metric) for arm in right)]
    if (refused := _refused_pool(test, compared, blocks)) is not None:
        return refused
    level = level_of(trials, share)
    x, x_low, x_high = _combine([arm.metrics[test.metric] for arm in left], level)
    y, y_low, y_high = _combine([arm.metrics[right_metric] for arm in right], level)
    if _lost_by_itself(cell, [value for value in (x, y) if value is not None]):
        return _no_value(blocks, "lost")
    low = x_low / y_high if y_high > 0 and math.isfinite(y_high) else 0.0
    high = x_high / y_low if y_low > 0 and math.isfinite(x_high) else math.inf
    value = x / y if x is not None and y and math.isfinite(x) and math.isfinite(y) else None
    if value is None and not (low == 0 and high == math.inf):
        value = math.inf if x is None or math.isinf(x) or y == 0 else 0.0
    ratio = ClaimValue(value, low, high, blocks)
    return _by_order(_by_order(ratio, (x, x_low, x_high), level), (y, y_low, y_high), level)


def _by_order(
    claim_value: ClaimValue, own: tuple[float | None, float, float], level: ErrorLevel
) -> ClaimValue:
    """Return the value with whether order decides. What a side gives over all of its trials may be
    infinite, or a 0 without a bound: these decide as far as order does, by the number of trials
    (`_range`). A one-sided bound does not decide: it stands at 95 %, whatever the level of the look
    is."""
    value, _, high = own
    if value is None:
        return replace(claim_value, infinite=True, enough=False)
    if not (math.isinf(value) or value == high == 0):
        return claim_value
    covered = intervals.range_coverage(claim_value.blocks) >= level.confidence
    return replace(claim_value, infinite=True, enough=claim_value.enough and covered)


def _trials(arm: CampaignArm, metric: str) -> int:
    estimate = arm.metrics.get(metric)
    return (estimate and estimate.trials) or 0


def _combine(metrics: Sequence[Estimate], level: ErrorLevel) -> tuple[float | None, float, float]:
    """Return the campaigns' intervals of 95 % as one interval at the level. For positive values it
    is their geometric mean, each weighted by the inverse square of its interval's half on the
    logarithms, widened by Birge's ratio if they differ by more than these. For what happened in no
    campaign it is the bound of all their trials. Otherwise it is the mean weighted by their trials,
    with the bounds of the widest."""
    ends = [_at_level(metric, level) for metric in metrics]
    if len(ends) == 1:
        return ends[0]
    low, high = min(end[1] for end in ends), max(end[2] for end in ends)
    values = [end[0] for end in ends if end[0] is not None]
    if len(values) < len(ends):
        return None, low, high
    if not any(values):  # a bound on what was never seen goes with one over the messages
        rate = sum(1 / end[2] for end in ends if end[2] > 0)  # 0 is none
        return 0.0, low, 1 / rate if rate > 0 else high
    if all(end[0] and 0 < end[1] < end[2] < math.inf for end in ends):
        return _geometric(np.log(np.array(ends, float)), level)
    weights = [float(metric.trials or 1) for metric in metrics]
    value = sum(value * w for value, w in zip(values, weights, strict=True)) / sum(weights)
    return value, low, high


def _geometric(logs: np.ndarray, level: ErrorLevel) -> Interval:
    """Return (value, low, high) of all campaigns together, from those of each at the level, on the
    logarithms."""
    values, halves = logs[:, 0], np.maximum(logs[:, 2] - logs[:, 0], logs[:, 0] - logs[:, 1])
    weights = 1 / halves**2
    mean = float((values * weights).sum() / weights.sum())
    q = float((((values - mean) / halves) ** 2).sum()) * float(special.ndtri(level.error)) ** 2
    half = max(1.0, math.sqrt(q / (len(values) - 1))) / math.sqrt(float(weights.sum()))
    return math.exp(mean), math.exp(mean - half), bounded_exp(mean + half)


def _at_level(metric: Estimate, level: ErrorLevel) -> tuple[float | None, float, float]:
    """Return value, low, high of a metric's interval of 95 % at another level: its half is wider by
    the ratio of the two values of t with its trials' degrees of freedom. A one-sided bound reaches
    to infinity and has no value."""
    if metric.at_least is not None:
        return None, metric.at_least, math.inf
    assert metric.value is not None, "without data it was refused (judge.py)"
    value = metric.value
    low, high = (value if end is None else end for end in (metric.low, metric.high))
    if level.error <= 0:
        return value, -math.inf, math.inf
    freedom = max((metric.trials or 2) - 1, 1)
    times = max(1.0, float(special.stdtrit(freedom, level.error) / special.stdtrit(freedom, 0.025)))
    if math.isinf(value):
        return value, low, high
    if value == 0:  # a bound on what never happened shrinks with the logarithm of the error
        return value, low, high * max(1.0, math.log(2 * level.error) / math.log(0.05))
    if low > 0 and math.isfinite(high):
        return value, _scale_bound(value, low, times), _scale_bound(value, high, times)
    return (
        value,
        max(0.0, value - (value - low) * times) if low >= 0 else low,
        value + (high - value) * times,
    )


def _level(test: ClaimTest, cell: Sequence[Sides], share: ErrorShare) -> ClaimValue:
    """Return the metric's own interval over the trials of all campaigns, at the level of the
    look."""
    values = left_values(test, cell)
    metrics = [sides.left.metrics[test.metric] for sides in cell]
    if not values or any(map(_is_of_two_clocks, metrics)):
        trials = [_trials(sides.left, test.metric) for sides in cell]
        pooled = [(sides.left, test.metric) for sides in cell]
        if (refused := _refused_pool(test, pooled, sum(trials))) is not None:
            return refused
        level = level_of(trials, share)
        value, low, high = _combine(metrics, level)
        claim_value = ClaimValue(value, low, high, sum(trials), seen=bool(value) or low > 0)
        return _by_order(claim_value, (value, low, high), level)
    blocks = sorted(values)
    level = level_of(blocks_by_campaign(blocks), share)
    of_all = np.array([values[block] for block in blocks])
    is_seen = bool((of_all > 0).any())
    if not np.isfinite(of_all).all():
        return replace(_range(of_all, level), seen=is_seen)
    if len(of_all) < 2 or level.error <= 0:
        return ClaimValue(float(of_all.mean()), -math.inf, math.inf, len(of_all), seen=is_seen)
    campaigns = [campaign for campaign, _ in blocks]
    own = _over_trials(test.metric, metrics, of_all, level, whole=test.times_metric is None)
    if own is None:
        return replace(_range(of_all, level), seen=is_seen)
    value, low, high = _widen(own, of_all, campaigns, level)
    least = 0.0 if (of_all >= 0).all() else -math.inf
    most = 1.0 if test.times_metric is None and unit_of(test.metric) == "fraction" else math.inf
    return ClaimValue(value, max(least, low), min(most, high), len(of_all), seen=is_seen)


def _over_trials(
    name: str,
    metrics: Sequence[Estimate],
    values: np.ndarray,
    level: ErrorLevel,
    *,
    whole: bool = True,
    logs: bool = False,
) -> Interval | None:
    """Return what `aggregate.over_trials` does, at another confidence than 95 %. Zeros have no
    spread: their bound says how much could have been seen, and they have none if nobody knows that.
    `whole`: the values are the metric, and not a product with another. `logs`: the interval is one
    of the logarithms, as for ratios, even if a value may be 0."""
    entry = GLOSSARY.get(name)
    if whole and entry is not None and (entry.kind == "fraction" or entry.complement):
        return _fraction(metrics, values, level)
    if whole and unit_of(name) == "messages":
        return intervals.clustered_count(values, level.confidence)[0]
    if not values.any():
        return _none_seen(entry, metrics, level) if whole else None
    if not np.ptp(values):
        value = float(values[0])
        # A campaign of one trial has no interval of its own, and narrows or widens no other's.
        own = [metric for metric in metrics if (metric.trials or 0) > 1]
        if not (whole and own) or any(metric.value != value for metric in metrics):
            return value, value, value
        _, lows, highs = zip(*(_at_level(metric, level) for metric in own), strict=True)
        return value, min(lows), max(highs)
    if logs or ((values > 0).all() and (entry is None or entry.kind != "amount")):
        return intervals.log_t(values, level.confidence)
    return intervals.amount_t(values, level.confidence, unit=unit_of(name) if whole else "")


def _none_seen(
    entry: Metric | None, metrics: Sequence[Estimate], level: ErrorLevel
) -> Interval | None:
    """Return the bound that the metric has; for what is counted per message, the bound of a count
    over the messages."""
    if all(metric.value == 0 and metric.high for metric in metrics):
        return 0.0, 0.0, _combine(metrics, level)[2]
    messages = sum(metric.count or 0 for metric in metrics)
    if entry is None or not (entry.per_message and entry.unit == "count" and messages):
        return None
    return intervals.clustered_count(np.zeros(messages), level.confidence)[0]


def _fraction(metrics: Sequence[Estimate], values: np.ndarray, level: ErrorLevel) -> Interval:
    """Return the interval of a fraction of the events of a trial. `count` has all events of a
    campaign."""
    trials = sum(metric.trials or 0 for metric in metrics)
    total = sum(metric.count or 0 for metric in metrics) / max(trials, 1)
    totals = np.full(len(values), max(total, 1.0))
    return intervals.clustered_fraction(values * totals, totals, level.confidence)[0]


def _difference(test: ClaimTest, cell: Sequence[Sides], share: ErrorShare) -> ClaimValue:
    """Return the difference, block by block. A side may have trials that go wrong as a whole and
    were not seen (`intervals.wrong_trials`): that bound holds if it is wider than what the messages
    and the spread of the trials say."""
    left, right = left_values(test, cell), right_values(test, cell)
    common = sorted(left.keys() & right.keys())
    level = level_of(blocks_by_campaign(common), share)
    if len(common) < 2 or level.error <= 0:
        value = float(np.mean([left[b] - right[b] for b in common])) if common else None
        return ClaimValue(value, -1.0, 1.0, len(common))
    a, b = (np.array([values[block] for block in common]) for values in (left, right))
    own = [
        _fraction([arm.metrics[test.metric] for arm in arms], values, level)
        for arms, values in zip(_arms_by_side(cell), (a, b), strict=True)
    ]
    unseen = intervals.wrong_trials(len(common), level.confidence)
    value, low, high = difference(a, b, *own, level=level.error, unseen=unseen)
    half = between_half(a - b, [campaign for campaign, _ in common], level)
    return ClaimValue(*_clip(value, min(low, value - half), max(high, value + half)), len(common))


WHOLE = 0.5
"""A trial that lost at least this share of its messages is one that went wrong as a whole."""


def difference(
    a: np.ndarray,
    b: np.ndarray,
    own_a: Interval,
    own_b: Interval,
    *,
    level: float = 0.025,
    unseen: float = 0.0,
) -> Interval:
    """Return a − b of two fractions with its interval, within [−1, 1]. `a` and `b`: the trials'
    fractions in the common blocks, two at least, shape (blocks,); `own_a` and `own_b`: value, low
    and high of either over all of its trials (`intervals.clustered_fraction`).

    The interval has the mean and Student's t interval of the differences within blocks; each bound
    errs with probability `level`. A side that was the same in every block, mostly 0, shows no
    spread, and the differences have only the other side's: each bound is moved by as far as that
    side's own interval reaches from its value. If neither has any spread this is [low_a − high_b,
    high_a − low_b], Bonferroni's simultaneous intervals (Miller, Simultaneous Statistical
    Inference, 2nd ed. 1981, §1.4); for two sides that lost nothing these are the two rules of
    three. Coverage by simulation with 3 to 6 blocks: 92 % if a few single messages are lost on one
    side alone, otherwise 93 to 100 %.

    `unseen` is the share of trials that may go wrong as a whole although none was seen to. A
    side of which no trial lost half of its messages may have that share of trials that lose all;
    likewise the other way round. Each bound is the wider of the two, because no number of messages
    speaks of trials.
    """
    (x, x_low, x_high), (y, y_low, y_high) = own_a, own_b
    mean = float((a - b).mean())
    half = -float(special.stdtrit(len(a) - 1, level)) * standard_error(a - b)
    low, high = mean - half, mean + half
    if np.ptp(a) == 0:
        low, high = low - (x - x_low), high + (x_high - x)
    if np.ptp(b) == 0:
        low, high = low - (y_high - y), high + (y - y_low)
    (less_a, more_a), (less_b, more_b) = _whole_trials(a, unseen), _whole_trials(b, unseen)
    return _clip(mean, min(low, mean - less_a - more_b), max(high, mean + more_a + less_b))


def _whole_trials(side: np.ndarray, unseen: float) -> tuple[float, float]:
    """Return how far the fraction of a side may be (below, above) its value, if whole trials went
    wrong, or right, and were not seen."""
    value = float(side.mean())
    above = unseen * (1 - value) if side.max() < WHOLE else 0.0
    below = unseen * value if side.min() > WHOLE else 0.0
    return below, above


def _clip(value: float, low: float, high: float) -> Interval:
    return value, max(low, -1.0), min(high, 1.0)
