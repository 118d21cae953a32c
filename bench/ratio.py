"""A ratio of two things measured in pairs, as one line of the form that all bench programs print.

The interval assumes no distribution: the number of pairs below the true median is binomial (n,
1/2), which gives the ranks that hold it with at least 95 %. The same rule as in the Rust programs
(native/bench/common/src/ratio.rs).
"""

import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any


def line(
    *,
    bench: str,
    name: str,
    message_bytes: int,
    metric: str,
    unit: str,
    limit: tuple[float | None, float | None] | None,
    ours: Sequence[float],
    theirs: Sequence[float],
    details: dict[str, Any],
) -> dict[str, Any]:
    """`ours` and `theirs` in `unit`, pair by pair; `limit` as (lower, upper), None for an open
    side."""
    ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    rank = lowest_rank(len(ratios))
    return {
        "bench": bench,
        "name": name,
        "message_bytes": message_bytes,
        "metric": metric,
        "unit": unit,
        "ours": statistics.median(ours),
        "theirs": statistics.median(theirs),
        "ratio": statistics.median(ratios),
        "low": None if rank is None else ratios[rank],
        "high": None if rank is None else ratios[-1 - rank],
        "pairs": len(ratios),
        "limit": None if limit is None else list(limit),
        "note": None,
        "details": details,
    }


def repeated(run: Callable[[], dict[str, Any]], times: int) -> list[dict[str, Any]]:
    """What `run` returns each time, with its `seconds`; each is said as it comes."""
    runs = []
    for n in range(times):
        runs.append(run())
        print(f"  run {n + 1} of {times}: {runs[-1]['seconds']:.2f} s", file=sys.stderr, flush=True)
    return runs


def lowest_rank(pairs: int) -> int | None:
    """The highest rank k (from 0) with P(binomial(pairs, 1/2) <= k) <= 2.5 %; None below 6
    pairs."""
    from scipy.stats import binom

    rank = -1
    while binom.cdf(rank + 1, pairs, 0.5) <= 0.025:
        rank += 1
    return rank if rank >= 0 else None
