"""Pure comparisons of a reported value with a truth that is known beforehand.

A check ends in one of three ways. `recovered`: the report holds the truth. `failed`: it does not,
and no machine explains that. `could not tell`: the machine spoilt the trials. The amount that the
machine may add to a value (it is late, and never early) is an allowance that the caller measured in
the same trials; no number here is a tolerance chosen to make a check pass.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import special

from rmwbench.results.machine.machine_model import Outcome, TruthCheck

RECOVERED: Outcome = "recovered"
FAILED: Outcome = "failed"
UNKNOWN: Outcome = "could not tell"

DIGITS = 1e-5
"""The relative tolerance: the show document keeps six digits."""

LAW_CONFIDENCE = 0.999
"""The confidence at which an interval over trials must hold a law's own value: with 95 % one of
twenty honest checks would fail. `coverage_is_plausible` counts the 95 % intervals that hold it."""


def overall(checks: Sequence[TruthCheck]) -> Outcome:
    """Return the outcome of a truth: `recovered` if all of its checks are, else `failed` if one
    failed."""
    outcomes = {check.outcome for check in checks}
    if FAILED in outcomes:
        return FAILED
    return RECOVERED if outcomes == {RECOVERED} else UNKNOWN


def check(
    label: str, passed: bool, expected: str, reported: str, within_95: bool | None = None
) -> TruthCheck:
    """Return a check that was recovered or failed."""
    return TruthCheck(label, RECOVERED if passed else FAILED, expected, reported, within_95)


def equal(label: str, reported: float, truth: float) -> TruthCheck:
    """Check that a number is the truth to the document's digits. This is for counts, and for values
    that two programs computed from the same records."""
    same = math.isclose(reported, truth, rel_tol=DIGITS, abs_tol=1e-12)
    return check(label, same, _text(truth), _text(reported))


def between(label: str, reported: float, low: float, high: float) -> TruthCheck:
    """Check that a number is in [low, high]. The width is the amount that the machine added."""
    inside = _reaches(low, reported) and _reaches(reported, high)
    return check(label, inside, _span(low, high), _text(reported))


def holds(
    label: str, metric: Mapping[str, Any], truth: float, *, below: float = 0.0, above: float = 0.0
) -> TruthCheck:
    """Check that the reported interval holds the truth, if it is widened by the amounts `below` and
    `above` that the machine may have added."""
    if "value" not in metric:
        return _without_value(label, metric, truth)
    low, high = float(metric["low"]) - below, float(metric["high"]) + above
    inside = _reaches(low, truth) and _reaches(truth, high)
    return check(label, inside, _text(truth), _span(low, high))


def _without_value(label: str, metric: Mapping[str, Any], truth: float) -> TruthCheck:
    reason = f"no value: {metric.get('no_data', 'a bound only')}"
    return TruthCheck(label, UNKNOWN, _text(truth), reason)


def holds_law(
    label: str, metric: Mapping[str, Any], truth: float, *, below: float = 0.0
) -> TruthCheck:
    """Check that an interval over trials holds the law's own value (not the mean of these draws).

    The reported 95 % interval is widened to `LAW_CONFIDENCE` by the ratio of the t quantiles at its
    trials − 1 degrees of freedom, on logarithms if the interval was made on logarithms.
    """
    if "value" not in metric:
        return _without_value(label, metric, truth)
    value, low, high = (float(metric[name]) for name in ("value", "low", "high"))
    trials = int(metric["trials"])
    if trials < 2 or not math.isfinite(high):
        return TruthCheck(label, UNKNOWN, _text(truth), "no interval over trials")
    wider = float(
        special.stdtrit(trials - 1, (1 + LAW_CONFIDENCE) / 2)
        / special.stdtrit(trials - 1, (1 + 0.95) / 2)
    )
    if low > 0 and "log" in metric["interval"]:
        least, most = value * (low / value) ** wider, value * (high / value) ** wider
    else:
        least, most = value - wider * (value - low), value + wider * (high - value)
    inside, within_95 = (
        _reaches(a - below, truth) and _reaches(truth, b) for a, b in ((least, most), (low, high))
    )
    return check(label, inside, _text(truth), _span(low - below, high), within_95)


def coverage_is_plausible(checks: Sequence[TruthCheck]) -> TruthCheck | None:
    """Check that enough of the 95 % intervals hold their law's value; None without such intervals.

    The check fails if so few would hold it in one of a thousand calibrations (binomial, as if the
    intervals were independent).
    """
    hits = [bool(check.within_95) for check in checks if check.within_95 is not None]
    if not hits:
        return None
    n, hit = len(hits), sum(hits)
    chance = float(special.bdtr(hit, n, 0.95))
    label = "95 % intervals that hold their law's value"
    return check(label, chance >= 0.001, f"about {0.95 * n:.0f} of {n}", f"{hit} of {n}")


def order_statistic(values: np.ndarray, q: float) -> float:
    """Return x(⌈n·q⌉), the tool's definition of a percentile. The calibration has its own code for
    it on purpose."""
    return float(np.sort(values)[max(math.ceil(len(values) * q - 1e-9) - 1, 0)])


def latest(draws: np.ndarray, mean_lateness: float, q: float) -> float:
    """Return the highest possible quantile q of draw + lateness, for any lateness ≥ 0 of that mean.

    At most a fraction δ of the messages is later than mean/δ (Markov), and 1 − q − δ of the draws
    lie above their own quantile q + δ, so at most 1 − q of the sums lie above the sum of the two;
    the best δ counts. Nothing is assumed about the machine, so a loaded machine gives no false
    alarm.
    """
    deltas = (1 - q) * np.linspace(0.02, 1, 50)
    return float(
        min(order_statistic(draws, min(q + delta, 1.0)) + mean_lateness / delta for delta in deltas)
    )


MEDIAN_PAIRS = 3
"""The fewest pairs whose median variance is used."""
FLOOR_CONFIDENCE = 0.95


def aa_floor(logs: Sequence[np.ndarray], blocks: int) -> float | None:
    """Return the A/A noise: the ratio minus 1 that a comparison of an arm with itself does not
    exceed in FLOOR_CONFIDENCE of campaigns of `blocks` blocks. None if nothing was measured.

    `logs` has the block log-ratios of each A/A pair. Their true mean is 0, so s² = Σx²/n of a pair
    has n degrees of freedom. With several pairs, s² is the median over pairs, divided by the median
    of χ²(n)/n: one bimodal pair, or two minutes of other load, is not the noise of all. The floor
    is exp(t·s/√blocks) − 1, with t at 2/π of all degrees of freedom, which is the efficiency of a
    median of normal values.
    """
    pairs = [np.asarray(x, float) for x in logs if len(x)]
    total = sum(map(len, pairs))
    if total < 2:
        return None
    if len(pairs) < MEDIAN_PAIRS:
        pooled = np.concatenate(pairs)
        variance, freedom = float(pooled @ pooled) / total, float(total)
    else:
        scaled = [float(x @ x) / float(special.chdtri(len(x), 0.5)) for x in pairs]
        variance, freedom = float(np.median(scaled)), 2 / math.pi * total
    t = float(special.stdtrit(freedom, (1 + FLOOR_CONFIDENCE) / 2))
    return math.expm1(t * math.sqrt(variance / blocks))


def aa_floor_of_pair(logs: Sequence[float], blocks: int) -> tuple[float, float, float] | None:
    """Return (value, low, high): the A/A noise of a single arm with its interval; None with fewer
    than two blocks.

    The true mean of the log-ratios is 0, so Σx² is σ²·χ²(n), which gives the interval of σ.
    """
    x = np.asarray(logs, float)
    n = len(x)
    if n < 2:
        return None
    tail = (1 - FLOOR_CONFIDENCE) / 2
    t = float(special.stdtrit(n, 1 - tail))
    variances = (
        float(x @ x) / n,
        *(float(x @ x) / float(special.chdtri(n, q)) for q in (tail, 1 - tail)),
    )
    value, low, high = (math.expm1(t * math.sqrt(variance / blocks)) for variance in variances)
    return value, low, high


def _reaches(low: float, high: float) -> bool:
    """Whether low ≤ high to the document's digits; infinities are equal to themselves."""
    return low <= high or math.isclose(low, high, rel_tol=DIGITS)


def _text(value: float) -> str:
    return f"{value:.6g}"


def _span(low: float, high: float) -> str:
    return f"[{low:.6g}, {high:.6g}]"
