"""The intervals that were candidates for block log-ratios, vectorised over campaigns: each takes
values of shape (campaigns, n) and gives (low, high) for their mean, 95 % two-sided.
"""

import numpy as np
from scipy import special

CONFIDENCE = 0.95


def student_t(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n = x.shape[1]
    mean = x.mean(1)
    half = special.stdtrit(n - 1, (1 + CONFIDENCE) / 2) * x.std(1, ddof=1) / np.sqrt(n)
    return mean - half, mean + half


def sign_flip_inversion(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All θ that the sign-flip test of x − θ does not reject: order statistics of the means of all
    2^n − 1 subsets (Hartigan, J. Am. Stat. Assoc. 64, 1969). Exact for symmetric values; infinite
    below n = 6, where even the extreme ones reach only 1 − 2/2^n.
    """
    n = x.shape[1]
    # subset means left out on each side, plus one
    skip = int(np.floor((1 - CONFIDENCE) / 2 * 2**n))
    if skip < 1:
        return np.full(len(x), -np.inf), np.full(len(x), np.inf)
    subsets = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    means = np.sort(x @ (subsets / subsets.sum(1, keepdims=True)).T, axis=1)
    return means[:, skip - 1], means[:, -skip]


def bca_bootstrap(x: np.ndarray, draws: int = 999, seed: int = 99) -> tuple[np.ndarray, np.ndarray]:
    """Efron's bias-corrected accelerated percentile bootstrap of the mean (J. Am. Stat. Assoc. 82,
    1987)."""
    campaigns, n = x.shape
    # Resampling counts are shared by the campaigns: they stay independent of each other's data.
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), draws) / n
    means = np.sort(x @ counts.T, axis=1)
    mean = x.mean(1)
    below = (
        np.count_nonzero(means < mean[:, None], 1) + np.count_nonzero(means <= mean[:, None], 1)
    ) / 2
    bias = special.ndtri(np.clip(below / draws, 0.5 / draws, 1 - 0.5 / draws))
    left_out = (x.sum(1, keepdims=True) - x) / (n - 1)
    d = left_out.mean(1, keepdims=True) - left_out
    squares = (d**2).sum(1)
    acceleration = np.where(squares > 0, (d**3).sum(1) / np.maximum(6 * squares**1.5, 1e-300), 0.0)

    def end(z: float) -> np.ndarray:
        shifted = bias + (bias + z) / (1 - acceleration * (bias + z))
        place = np.clip(np.rint(special.ndtr(shifted) * (draws + 1)).astype(int) - 1, 0, draws - 1)
        return means[np.arange(campaigns), place]

    z = float(special.ndtri((1 + CONFIDENCE) / 2))
    return end(-z), end(z)


METHODS = {
    "t": student_t,
    "sign-flip inversion": sign_flip_inversion,
    "BCa bootstrap": bca_bootstrap,
}
