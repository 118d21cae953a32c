"""Was what had been injected found again? Pure comparisons of a reported value with a truth that is
known beforehand.

A check ends in one of three ways. `recovered`: the report holds the truth. `failed`: it does not,
and no machine explains that. `could not tell`: the machine took the trials. What the machine may
add to a value (it is late, and never early) is an allowance that the caller measured in the same
trials; no number here is a tolerance chosen to make a check pass.
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
"""Relative: the show document keeps six digits."""

LAW_CONFIDENCE = 0.999
"""At which a law's own value is asked of an interval over trials: with 95 % one of twenty honest
checks would fail. How many of the 95 % intervals hold it is counted beside
(`coverage_is_plausible`)."""


def overall(checks: Sequence[TruthCheck]) -> Outcome:
    """A truth is recovered when all of its checks are; one that failed outweighs any that could not
    tell."""
    outcomes = {check.outcome for check in checks}
    if FAILED in outcomes:
        return FAILED
    return RECOVERED if outcomes == {RECOVERED} else UNKNOWN


def equal(label: str, reported: float, truth: float) -> TruthCheck:
    """Checks that a number is the truth to the document's digits: for counts, and for what two
    programs computed from the same records."""
    same = math.isclose(reported, truth, rel_tol=DIGITS, abs_tol=1e-12)
    return TruthCheck(label, RECOVERED if same else FAILED, _text(truth), _text(reported))


def between(label: str, reported: float, low: float, high: float) -> TruthCheck:
    """Checks that a number is in [low, high], whose width is what the machine added."""
    inside = _reaches(low, reported) and _reaches(reported, high)
    return TruthCheck(label, RECOVERED if inside else FAILED, _span(low, high), _text(reported))


def holds(
    label: str, metric: Mapping[str, Any], truth: float, *, below: float = 0.0, above: float = 0.0
) -> TruthCheck:
    """Whether the reported interval holds the truth, of whose ends `below` and `above` may be the
    machine's doing."""
    if "value" not in metric:
        return TruthCheck(
            label, UNKNOWN, _text(truth), f"no value: {metric.get('no_data', 'a bound only')}"
        )
    low, high = (float(metric[end]) for end in ("low", "high"))
    inside = _reaches(low - below, truth) and _reaches(truth, high + above)
    return TruthCheck(
        label, RECOVERED if inside else FAILED, _text(truth), _span(low - below, high + above)
    )


def holds_law(
    label: str, metric: Mapping[str, Any], truth: float, *, below: float = 0.0
) -> TruthCheck:
    """Whether an interval over trials holds what the law itself promises (not what was drawn this
    time).

    The reported 95 % interval is widened to `LAW_CONFIDENCE` by the ratio of the t quantiles at its
    trials − 1 degrees of freedom, on the logarithms where it was made there.
    """
    if "value" not in metric:
        return TruthCheck(
            label, UNKNOWN, _text(truth), f"no value: {metric.get('no_data', 'a bound only')}"
        )
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
    outcome = RECOVERED if inside else FAILED
    return TruthCheck(label, outcome, _text(truth), _span(low - below, high), within_95)


def coverage_is_plausible(checks: Sequence[TruthCheck]) -> TruthCheck | None:
    """Whether as many of the 95 % intervals hold their law's value as 95 % can explain; None where
    none was asked.

    Fails where so few would come once in a thousand calibrations (binomial, as if the checks were
    independent).
    """
    judged = [check for check in checks if check.within_95 is not None]
    if not judged:
        return None
    n, hit = len(judged), sum(bool(check.within_95) for check in judged)
    chance = float(special.bdtr(hit, n, 0.95))
    outcome = RECOVERED if chance >= 0.001 else FAILED
    return TruthCheck(
        "95 % intervals that hold their law's value",
        outcome,
        f"about {0.95 * n:.0f} of {n}",
        f"{hit} of {n}",
    )


def order_statistic(values: np.ndarray, q: float) -> float:
    """x(⌈n·q⌉), the tool's definition of a percentile, written a second time on purpose."""
    return float(np.sort(values)[max(math.ceil(len(values) * q - 1e-9) - 1, 0)])


def latest(draws: np.ndarray, mean_lateness: float, q: float) -> float:
    """The highest that quantile q of draw + lateness can be, for any lateness ≥ 0 of that mean.

    At most a fraction δ of the messages is later than mean/δ (Markov), and 1 − q − δ of the draws
    lie above their own quantile q + δ, so at most 1 − q of the sums lie above the sum of the two;
    the best δ counts. Nothing is assumed about the machine, hence there is no false alarm, however
    loaded it is.
    """
    deltas = (1 - q) * np.linspace(0.02, 1, 50)
    return float(
        min(order_statistic(draws, min(q + delta, 1.0)) + mean_lateness / delta for delta in deltas)
    )


MEDIAN_PAIRS = 3
"""From so many pairs on their median is taken."""
FLOOR_CONFIDENCE = 0.95


def aa_floor(logs: Sequence[np.ndarray], blocks: int) -> float | None:
    """The ratio minus 1 that a comparison of an arm with itself stays within, in FLOOR_CONFIDENCE of
    campaigns of `blocks` blocks; None where nothing was measured.

    `logs` has the block log-ratios of each A/A pair. Their true mean is 0, so s² = Σx²/n of a pair
    is about 0 with n degrees of freedom. Of several pairs the median of s² is taken, over the
    median of χ²(n)/n: one bimodal pair, or two minutes of other load, is not the noise of all. The
    floor is exp(t·s/√blocks) − 1, t with 2/π of all degrees of freedom, which is what a median of
    normal values keeps.
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
    """(value, low, high): what `aa_floor` says of a single arm, with the interval that so few
    blocks leave open; None where fewer than two were measured.

    The true mean of the log-ratios is 0, so Σx² is σ²·χ²(n): the interval of σ is that of a
    variance with a known mean.
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
    """low ≤ high, to the document's digits; infinities are equal to themselves."""
    return low <= high or math.isclose(low, high, rel_tol=DIGITS)


def _text(value: float) -> str:
    return f"{value:.6g}"


def _span(low: float, high: float) -> str:
    return f"[{low:.6g}, {high:.6g}]"
