"""Counts of positive numbers in bins of equal ratio: the distribution of any number of intervals or
sizes in memory that does not grow with them."""

import numpy as np

BINS_PER_OCTAVE = 256
"""A bin is 0.27 % wide."""


class Histogram:
    """A bin has the count and the sum of its numbers, so the bins add no error to a mean, and at
    most 0.27 % to a quantile. Numbers below 1 count as 1."""

    def __init__(self) -> None:
        self._bins: dict[int, list[float]] = {}
        self._sorted: tuple[np.ndarray, np.ndarray] | None = None
        self.least, self.most = np.inf, 0.0

    def add(self, values: np.ndarray) -> None:
        if not len(values):
            return
        values = np.maximum(values, 1).astype(float)
        self.least = min(self.least, float(values.min()))
        self.most = max(self.most, float(values.max()))
        bins, inverse = np.unique(
            np.floor(np.log2(values) * BINS_PER_OCTAVE).astype(int), return_inverse=True
        )
        counts, sums = np.bincount(inverse), np.bincount(inverse, weights=values)
        for at, count, total in zip(bins.tolist(), counts.tolist(), sums.tolist(), strict=True):
            bin_sums = self._bins.setdefault(at, [0, 0.0])
            bin_sums[0] += count
            bin_sums[1] += total
        self._sorted = None

    @property
    def means(self) -> np.ndarray:
        """The mean of each bin, ascending."""
        return self._arrays()[0]

    @property
    def counts(self) -> np.ndarray:
        """The count of each bin of `means`."""
        return self._arrays()[1]

    @property
    def count(self) -> int:
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        return float((self.means * self.counts).sum() / self.counts.sum())

    def quantile(self, q: float) -> float:
        """The mean of the quantile's bin."""
        below = np.cumsum(self.counts)
        return float(self.means[np.searchsorted(below, q * below[-1])])

    def within(self, low: float, high: float) -> np.ndarray:
        """A mask of the bins whose means are in [low, high)."""
        inside: np.ndarray = (self.means >= low) & (self.means < high)
        return inside

    def share(self, low: float, high: float = np.inf) -> float:
        """The share of the numbers in the bins `within` [low, high)."""
        return float(self.counts[self.within(low, high)].sum() / self.counts.sum())

    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        if self._sorted is None:
            sums = np.array([self._bins[at] for at in sorted(self._bins)]).reshape(-1, 2)
            self._sorted = sums[:, 1] / np.maximum(sums[:, 0], 1), sums[:, 0]
        return self._sorted
