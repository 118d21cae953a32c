"""Block ratios: arms are compared within blocks only, because a block shares the machine's mood."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import special

from rmwbench.analysis.verdict import Arm, NoRatio, Ratio


def ratio(
    i: Mapping[int, float], j: Mapping[int, float], *, level: float = 0.025, min_blocks: int = 2
) -> Ratio | NoRatio:
    """Geometric mean of i/j over common blocks, with a t interval on the logarithms; each bound errs with probability
    `level`.
    """
    blocks = sorted(set(i) & set(j))
    if len(blocks) < min_blocks:
        return NoRatio(f"{len(blocks)} blocks have both, {min_blocks} are needed")
    a, b = (np.array([x[k] for k in blocks], float) for x in (i, j))
    infinite = int(np.count_nonzero(~np.isfinite(a) | ~np.isfinite(b)))
    if infinite:
        return NoRatio(
            f"in {infinite} of {len(blocks)} blocks lost messages reach the quantile: an infinite value has no ratio"
        )
    logs = np.log(a / b)
    mean, half = float(logs.mean()), -float(special.stdtrit(len(logs) - 1, level)) * standard_error(logs)
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half), len(logs))


def sign_flip(logs: np.ndarray, draws: int = 20_000) -> float | None:
    """Two-sided p of the sign-flip test of mean(logs) = 0, shape (n,): a check on the t interval that assumes symmetry
    only. None below n = 10.

    All 2^n flips up to n = 14, beyond that `draws` random ones of a fixed seed.
    """
    n = len(logs)
    if n < 10:
        return None
    if n <= 14:
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    else:
        signs = np.random.default_rng(20).choice([-1, 1], (draws, n))
    means = np.abs(signs @ logs) / n
    return float((np.count_nonzero(means >= abs(logs.mean()) - 1e-12) + (n > 14)) / (len(means) + (n > 14)))


def spread(workload: Sequence[Arm]) -> float | None:
    """The typical standard deviation of a block log-ratio between contenders: the median over their pairs. None without
    two arms and two blocks.
    """
    arms = [a for a in workload if not a.floor]
    found = []
    for n, i in enumerate(arms):
        for j in arms[n + 1 :]:
            logs = [
                math.log(i.primary[b] / j.primary[b])
                for b in set(i.primary) & set(j.primary)
                if math.isfinite(i.primary[b]) and math.isfinite(j.primary[b])
            ]
            if len(logs) > 1:
                found.append(float(np.std(logs, ddof=1)))
    return float(np.median(found)) if found else None


def standard_error(logs: np.ndarray) -> float:
    """Of the mean of block log-ratios, shape (n,); infinite below two."""
    return float(logs.std(ddof=1)) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf
