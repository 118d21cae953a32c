"""One definition of a percentile for the whole tool: the order statistic x(⌈n·q⌉), the inverse of
the empirical distribution.

No interpolation: lost messages are +inf, and between a number and infinity there is nothing to
interpolate.
"""

import math

BEYOND = 10
"""Messages that must lie beyond a percentile before it is printed (rule 5 of the design)."""


def allowed(n: int, q: float) -> bool:
    """Whether n messages are enough for the quantile q: n·(1−q) ≥ 10, forgiving the rounding of
    1−q."""
    return n * (1 - q) >= BEYOND - 1e-6


def needed(q: float) -> int:
    """The smallest n that `allowed` accepts."""
    return math.ceil((BEYOND - 1e-6) / (1 - q))


def rank(n: int, q: float) -> int:
    """The 0-based index of the quantile q in n sorted values."""
    return min(max(math.ceil(n * q - 1e-9) - 1, 0), n - 1)
