"""Intervals over trials. Percentiles come from messages, inference comes from trials (rule 3): n
here is the number of trials.

Every function says what it assumes; all work on plain arrays. Distributions come from
scipy.special: scipy.stats takes half a second to import.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from rmwbench.analysis.stats.estimate import rank

Interval = tuple[float, float, float]

_LARGEST_LOG = 700.0
"""Beyond it the exponential function overflows."""

BURST = 10
"""How many messages a single disturbance may lose at once within a bound "none was lost": events
that never happened have no variance, so this is an assumption, and every such bound names it."""


def log_t(values: np.ndarray, confidence: float = 0.95) -> Interval:
    """Geometric mean and t interval of positive finite values, shape (n,), n ≥ 2: exp(m ±
    t(n−1)·s/√n) of the logarithms.

    Latencies and costs of trials are skewed to the right and positive; their logarithms are nearly
    symmetric.
    """
    logs = np.log(np.asarray(values, float))
    mean, half = float(logs.mean()), _half(logs, confidence)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def plain_t(values: np.ndarray, confidence: float = 0.95) -> Interval:
    """Mean and t interval of values of either sign."""
    values = np.asarray(values, float)
    mean, half = float(values.mean()), _half(values, confidence)
    return mean, mean - half, mean + half


def amount_t(values: np.ndarray, confidence: float = 0.95, *, unit: str = "") -> Interval:
    """`plain_t` of amounts that may be zero. It is cut at 0, and for fractions at 1, unless a value
    lies beyond."""
    mean, low, high = plain_t(values, confidence)
    if (values >= 0).all():
        low = max(low, 0.0)
    if unit == "fraction" and (values <= 1).all():
        high = min(high, 1.0)
    return mean, low, high


def median_range(values: np.ndarray) -> tuple[Interval, float]:
    """The lower median of trials with [smallest, largest], and the coverage of that range for the
    population's median: 1 − 2^(1−n).

    For trials of which some are infinite: order needs no finite numbers. (David & Nagaraja, Order
    Statistics, 3rd ed., §7.1.)
    """
    ordered = np.sort(np.asarray(values, float))
    n = len(ordered)
    return (float(ordered[rank(n, 0.5)]), float(ordered[0]), float(ordered[-1])), range_coverage(n)


def range_coverage(n: int) -> float:
    """The probability that the range of n values covers the population's median: 1 − 2^(1−n)."""
    return 1 - 2.0 ** (1 - n)


def order_statistic(
    at: Callable[[int], float], n: int, q: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Distribution-free binomial interval for quantile q of n independent values (David & Nagaraja
    §7.1); `at` gives the k-th smallest, k from 0.

    `high` is +inf where n is too small for an upper bound. Messages of one trial are not
    independent: use it for one trial only, and say so.
    """
    tail = (1 - confidence) / 2
    low = math.ceil(special.bdtrik(tail, n, q)) - 1
    high = math.ceil(special.bdtrik(1 - tail, n, q))
    return at(max(low, 0)), at(high) if high < n else math.inf


def pooled_quantile(samples: list[np.ndarray], q: float, confidence: float = 0.95) -> Interval:
    """Quantile q of all messages of G ≥ 2 trials pooled, with an interval that respects that
    messages of a trial are alike.

    Woodruff's inversion (J. Am. Stat. Assoc. 47, 1952): an interval for the *fraction* of messages
    at or below the estimate is carried back through the pooled order statistics. The fraction's
    variance is the cluster-robust one, G/(G−1)·Σ z_g²/N² with z_g = (messages of trial g at or
    below) − n_g·p, not taken below the binomial p(1−p)/N (chance alone makes trials look too
    equal); t with G−1 degrees of freedom, on the logit scale so that it stays inside (0, 1) (Korn &
    Graubard, Analysis of Health Surveys, 1999, §3.2).

    Where trials differ more than messages within them, a handful of trials does not reach far
    enough into the tail for any inversion (the largest of 6 lies above the population's p90 in 47 %
    of campaigns only). There the end on the tail's side is at least the normal tolerance limit of
    the trials' log medians (`_tail_reach`). Simulated coverage at 5–6 trials:
    tests/analysis/test_intervals.py.
    """
    pooled = np.sort(np.concatenate(samples))
    total, groups = len(pooled), len(samples)
    value = float(pooled[rank(total, q)])
    below = np.array([np.count_nonzero(s <= value) for s in samples], float)
    sizes = np.array([len(s) for s in samples], float)
    z = below - sizes * below.sum() / total
    variance = max(groups / (groups - 1) * float(z @ z) / total**2, q * (1 - q) / total)
    t = float(special.stdtrit(groups - 1, (1 + confidence) / 2))
    half = t * math.sqrt(variance) / (q * (1 - q))
    centre = math.log(q / (1 - q))
    low, high = (
        float(pooled[rank(total, 1 / (1 + math.exp(-x)))]) for x in (centre - half, centre + half)
    )
    reach = _tail_reach(samples, q, confidence)
    if q >= 0.5:
        high = max(high, value * math.exp(reach)) if value > 0 else high
    if q <= 0.5:
        low = min(low, value * math.exp(-reach))
    return value, low, high


def _tail_reach(samples: list[np.ndarray], q: float, confidence: float) -> float:
    """How far, in logarithms, the quantile of a population of trials may lie beyond the quantile of
    these G trials: s·(k − z), s the standard deviation of the trials' log medians, z the normal
    quantile, k the one-sided normal tolerance factor t'(G−1, z√G)/√G (Hahn & Meeker, Statistical
    Intervals, 1991, §4.6.3)."""
    medians = np.array([np.partition(s, rank(len(s), 0.5))[rank(len(s), 0.5)] for s in samples])
    if not (medians > 0).all():
        return 0.0
    if not np.isfinite(medians).all():
        return math.inf
    groups, z = len(samples), float(special.ndtri(max(q, 1 - q)))
    root = math.sqrt(groups)
    factor = float(special.nctdtrit(groups - 1, z * root, (1 + confidence) / 2)) / root
    reach = float(np.log(medians).std(ddof=1)) * (factor - z)
    return reach if reach < _LARGEST_LOG else math.inf


def quantile_lower_bound(samples: list[np.ndarray], q: float) -> float:
    """The lower bound of quantile q (one-sided, 95 %), for percentiles that rule 5 does not allow
    to print: of several trials the lower end of the clustered interval, of one trial that of the
    binomial order statistic."""
    if len(samples) > 1:
        return pooled_quantile(samples, q, 0.9)[1]
    ordered = np.sort(samples[0])
    return order_statistic(lambda k: float(ordered[k]), len(ordered), q, 0.9)[0]


def clopper_pearson(count: float, total: float, confidence: float = 0.95) -> tuple[float, float]:
    """Exact interval of a fraction count/total of independent events (Biometrika 26, 1934); `count`
    may be fractional.

    At count 0 the interval is one-sided, (0, 1 − (1−confidence)^(1/total)): about 3/total at 95 %,
    the rule of three; likewise at count = total.
    """
    if count <= 0:
        return 0.0, 1 - (1 - confidence) ** (1 / total)
    if count >= total:
        return (1 - confidence) ** (1 / total), 1.0
    tail = (1 - confidence) / 2
    low = float(special.betaincinv(count, total - count + 1, tail))
    return low, float(special.betaincinv(count + 1, total - count, 1 - tail))


def clustered_fraction(
    counts: np.ndarray, totals: np.ndarray, confidence: float = 0.95, *, items: str = "messages"
) -> tuple[Interval, str]:
    """A fraction of `items` over trials, counts/totals of shape (G,), with its interval and the
    method's name.

    Events come in bursts, so trials, not messages, are independent: Clopper–Pearson with the
    effective sample size of Korn & Graubard (Survey Methodology 24, 1998): n* = p(1−p)/v ·
    (t(n−1)/t(G−2))², v the cluster-robust variance of p, n* ≤ n. It has one degree of freedom fewer
    than theirs, because the variance of a few bursts is skewed: chosen by simulation
    (tests/simulation). Where nothing (or everything) happened there is no variance, and a bound for
    single events would miss the bursts: the bound is the rule of three for bursts of BURST
    messages, as the name says, beside the share of trials that may go wrong as a whole
    (`wrong_trials`), which no number of messages bounds."""
    counts, totals = np.asarray(counts, float), np.asarray(totals, float)
    count, total, groups = float(counts.sum()), float(totals.sum()), len(counts)
    p = count / total
    percent = f"{confidence * 100:g} %"
    if count in (0, total):
        burst = min(BURST, total / groups)
        method = f"{percent} one-sided bound for bursts of up to {burst:g} {items} (rule of three)"
        if not count:
            method += (
                f"; a fault of whole trials, seen in none of {groups}, may be in up to "
                f"{100 * wrong_trials(groups, confidence):.0f} % of them"
            )
        return (p, *clopper_pearson(count / burst, total / burst, confidence)), method
    if groups < 2:
        method = f"{percent} Clopper–Pearson, as if {items} were independent"
        return (p, *clopper_pearson(count, total, confidence)), method
    variance, effective = clustered_variance(counts, totals), total
    if variance > 0:
        effective = min(total, p * (1 - p) / variance * shrink(total, groups, confidence))
    effective = max(effective, 1.0)
    low, high = clopper_pearson(p * effective, effective, confidence)
    method = (
        f"{percent} Clopper–Pearson with the effective sample size of {groups} trials "
        "(Korn–Graubard)"
    )
    return (p, min(low, p), max(high, p)), method


def clustered_variance(counts: np.ndarray, totals: np.ndarray) -> float:
    """The cluster-robust variance of a fraction over G ≥ 2 trials, G/(G−1)·Σ z_g²/N² with z_g =
    count − total·p."""
    total, groups = float(totals.sum()), len(counts)
    z = counts - totals * (float(counts.sum()) / total)
    return groups / (groups - 1) * float(z @ z) / total**2


def wrong_trials(trials: int, confidence: float = 0.95) -> float:
    """The share of trials that may go wrong as a whole where none of this number did: 1 −
    (1 − confidence)^(1/trials), at 95 % for example 45 % after five trials."""
    return float(1 - (1 - confidence) ** (1 / trials))


def clustered_count(counts: np.ndarray, confidence: float = 0.95) -> tuple[Interval, str]:
    """Events per trial, counts of shape (G,), G ≥ 2, with its interval and the method's name:
    `clustered_fraction` for counts without a total. Garwood's exact Poisson interval (Biometrika
    28, 1936) with the effective number of events c* = 1/v · (z/t(G−2))², v the relative variance of
    the mean over trials, c* ≤ the events seen.
    """
    counts = np.asarray(counts, float)
    count, groups, percent = float(counts.sum()), len(counts), f"{confidence * 100:g} %"
    if not count:
        method = f"{percent} one-sided bound for bursts of up to {BURST} (rule of three)"
        return (0.0, 0.0, -math.log(1 - confidence) * BURST / groups), method
    mean = count / groups
    v = float(counts.var(ddof=1)) / groups / mean**2
    events = min(count, shrink(math.inf, groups, confidence) / v) if v > 0 else count
    tail = (1 - confidence) / 2
    low, high = (
        float(special.gammaincinv(k, q)) * mean / events
        for k, q in ((events, tail), (events + 1, 1 - tail))
    )
    method = f"{percent} Poisson interval with the effective events of {groups} trials"
    return (mean, min(low, mean), max(high, mean)), method


def shrink(total: float, groups: int, confidence: float) -> float:
    """(t(total−1)/t(groups−2))²: the factor for a variance that is estimated from few trials."""
    tail = (1 + confidence) / 2
    if total <= 1:
        return 1.0
    wide = special.stdtrit(total - 1, tail) if math.isfinite(total) else special.ndtri(tail)
    return float(wide / special.stdtrit(max(groups - 2, 1), tail)) ** 2


def _half(values: np.ndarray, confidence: float) -> float:
    n = len(values)
    if n < 2:
        raise ValueError("an interval over trials needs at least two")
    t = float(special.stdtrit(n - 1, (1 + confidence) / 2))
    return t * float(values.std(ddof=1)) / math.sqrt(n)
