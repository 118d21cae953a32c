"""One trial's latencies in a form that can be pooled over trials: small samples are kept whole,
large samples in narrow bins.

Percentiles and the slowest messages are exact either way; the mean of a large sample and the points
of its charts are within 0.4 %."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from rmwbench.analysis.stats.estimate import allowed, rank

KEEP = 100_000
"""Samples up to this size are kept whole for pooling over trials, larger samples as bins of 0.4 %
with the exact upper tail."""
QUANTILES = (0.5, 0.9, 0.95, 0.99, 0.999)


@dataclass(frozen=True)
class Sample:
    """Latencies in ns, sorted, +inf for never arrived. `weight` is how many messages each value
    stands for, shape of `values`, or None for 1.
    """

    values: np.ndarray
    weight: np.ndarray | None
    count: int
    exact: dict[float, float]
    """Quantile -> value, from all `count` messages, for the quantiles that rule 5 allows."""

    @property
    def largest_finite(self) -> float:
        """The slowest of the messages that arrived; 0 where none did."""
        finite = int(np.searchsorted(self.values, np.inf))
        return float(self.values[finite - 1]) if finite else 0.0

    @property
    def mean_of_arrived(self) -> float | None:
        """The mean of the messages that arrived, within 0.4 % for large samples; None where no
        message arrived."""
        arrived = int(np.searchsorted(self.values, np.inf))
        weight = None if self.weight is None else self.weight[:arrived]
        return float(np.average(self.values[:arrived], weights=weight)) if arrived else None

    def at(self, place: int) -> float:
        """The value at a 0-based place of the sorted messages, within 0.4 % for large samples."""
        if self.weight is None:
            return float(self.values[place])
        return float(self.values[np.searchsorted(np.cumsum(self.weight), place, side="right")])


def make_sample(parts: Iterable[np.ndarray]) -> Sample:
    """A sample from the latencies of all pairs, each float64 of shape (n,)."""
    parts = [p for p in parts if len(p)]
    values = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty(0)
    n = len(values)
    qs = [q for q in QUANTILES if allowed(n, q)]
    if n <= KEEP:
        ordered = np.sort(values)
        return Sample(ordered, None, n, {q: float(ordered[rank(n, q)]) for q in qs})
    return _condensed(values, qs)


_SHIFT = 44
"""Bits of a float64 dropped from its bin's key: 8 bits of mantissa stay, so a bin is at most 0.4 %
wide."""
_INFINITE_KEY = int(np.array(np.inf).view(np.int64)) >> _SHIFT


def blocks(n: int, size: int = 1 << 18) -> Iterator[slice]:
    """Slices of `size` that fit a processor's cache: whole columns would spend their time on fresh
    pages."""
    return (slice(at, min(at + size, n)) for at in range(0, n, size))


def _condensed(values: np.ndarray, qs: list[float]) -> Sample:
    """A large sample by counting into bins, ten times faster than sorting: exact quantiles by
    sorting the bin of each, an exact upper tail, and below it the bins with their counts. Shape of
    `values`: (n,), n > KEEP."""
    n = len(values)
    # the bits of negative numbers run backwards; such clocks are wrong, but are shown as they are
    if values.min() < 0:
        return _condensed_by_sorting(values, qs)
    bits = values.view(np.int64)
    counts = np.zeros(_INFINITE_KEY + 1, np.int64)
    for part in blocks(n):
        counts_of_part = np.bincount(bits[part] >> _SHIFT)
        counts[: len(counts_of_part)] += counts_of_part
    ends = np.cumsum(counts)
    finite = int(ends[_INFINITE_KEY - 1])
    ranks = {q: rank(n, q) for q in qs}
    bin_of = {q: int(np.searchsorted(ends, r, side="right")) for q, r in ranks.items()}
    first_tail = int(np.searchsorted(ends, max(finite - KEEP // 10, 0), side="right"))
    wanted = np.zeros(_INFINITE_KEY + 1, bool)
    wanted[list(bin_of.values())] = True
    wanted[first_tail:_INFINITE_KEY] = True
    chosen = np.sort(
        np.concatenate([values[part][wanted[bits[part] >> _SHIFT]] for part in blocks(n)])
    )
    # `chosen` holds whole bins in order: a bin's values stand behind those of the smaller wanted
    # bins.
    before = np.cumsum(np.where(wanted, counts, 0)) - np.where(wanted, counts, 0)
    exact = {
        q: float(chosen[int(before[b]) + ranks[q] - (int(ends[b]) - int(counts[b]))])
        for q, b in bin_of.items()
    }
    tail = chosen[int(before[first_tail]) : int(before[_INFINITE_KEY])]
    bins = np.flatnonzero(counts[:first_tail])
    return _binned(bins.astype(np.int64), counts[bins], tail, n, exact)


def _condensed_by_sorting(values: np.ndarray, qs: list[float]) -> Sample:
    """The same for values of either sign."""
    ordered = np.sort(values)
    n, finite = len(ordered), int(np.searchsorted(ordered, np.inf))
    keys = ordered[:finite].view(np.int64) >> _SHIFT
    begins = np.flatnonzero(np.diff(keys, prepend=_INFINITE_KEY))
    tail_bin = int(np.searchsorted(begins, max(finite - KEEP // 10, 0), side="right")) - 1
    begins = begins[: tail_bin + 1]
    exact = {q: float(ordered[rank(n, q)]) for q in qs}
    return _binned(keys[begins[:-1]], np.diff(begins), ordered[begins[-1] : finite], n, exact)


def _binned(
    keys: np.ndarray, counts: np.ndarray, tail: np.ndarray, n: int, exact: dict[float, float]
) -> Sample:
    """A sample of `n` messages: bins by key, below an exact `tail`; the other messages never
    arrived."""
    centres = ((keys << _SHIFT) + (1 << (_SHIFT - 1))).view(np.float64)
    never = n - int(counts.sum()) - len(tail)
    lost = [np.inf] if never else []
    weight = np.concatenate([counts.astype(np.float64), np.ones(len(tail)), [never] * len(lost)])
    return Sample(np.concatenate([centres, tail, lost]), weight, n, exact)
