"""How much larger one fraction is than another, as a difference: two things that never happened
have no ratio, and yet it is known how far apart they can be at most. Pure."""

from collections.abc import Mapping

import numpy as np
from scipy import special

from rmwbench.analysis.stats.intervals import Interval
from rmwbench.analysis.verdicts.ratio import standard_error

WHOLE = 0.5
"""A trial that lost at least so many of its messages is one that went wrong as a whole."""


def difference(
    i: Mapping[int, float],
    j: Mapping[int, float],
    own_i: Interval,
    own_j: Interval,
    *,
    level: float = 0.025,
    unseen: float = 0.0,
) -> Interval:
    """i − j of two fractions with its interval, within [−1, 1]. `i` and `j`: block -> the trial's
    fraction; `own_i` and `own_j`: value, low and high of either over all of its trials
    (`intervals.clustered_fraction`).

    With two common blocks or more: mean and Student's t interval of the differences within blocks;
    each bound errs with probability `level`. A side that was the same in every block, 0 above all,
    shows no spread, and the differences have only the other side's: each bound is moved by as far
    as that side's own interval reaches from its value. Where neither has any spread this is [low_i
    − high_j, high_i − low_j], for two sides that lost nothing the two rules of three. Without two
    common blocks it is this as well: Bonferroni's simultaneous intervals (Miller, Simultaneous
    Statistical Inference, 2nd ed. 1981, §1.4), the most careful combination. Coverage by simulation
    with 3 to 6 blocks: 92 % where a few single messages are lost on one side alone, otherwise 93 to
    100 %.

    `unseen` is the share of trials that may go wrong as a whole although none of so many did. A
    side of which no trial lost half of its messages may have that share of trials that lose all;
    likewise the other way round. Each bound is the wider of the two, because no number of messages
    speaks of trials.
    """
    (x, x_low, x_high), (y, y_low, y_high) = own_i, own_j
    blocks = sorted(i.keys() & j.keys())
    if len(blocks) < 2:
        return _possible(x - y, x_low - y_high, x_high - y_low)
    a, b = (np.array([side[block] for block in blocks], float) for side in (i, j))
    mean = float((a - b).mean())
    half = -float(special.stdtrit(len(blocks) - 1, level)) * standard_error(a - b)
    low, high = mean - half, mean + half
    if np.ptp(a) == 0:
        low, high = low - (x - x_low), high + (x_high - x)
    if np.ptp(b) == 0:
        low, high = low - (y_high - y), high + (y - y_low)
    (less_a, more_a), (less_b, more_b) = _whole_trials(a, unseen), _whole_trials(b, unseen)
    return _possible(mean, min(low, mean - less_a - more_b), max(high, mean + more_a + less_b))


def _whole_trials(side: np.ndarray, unseen: float) -> tuple[float, float]:
    """How far the fraction of a side may be (below, above) what its trials show, if it has so many
    unseen ones that went wrong, or right, as a whole."""
    value = float(side.mean())
    above = unseen * (1 - value) if side.max() < WHOLE else 0.0
    below = unseen * value if side.min() > WHOLE else 0.0
    return below, above


def _possible(value: float, low: float, high: float) -> Interval:
    return value, max(low, -1.0), min(high, 1.0)
