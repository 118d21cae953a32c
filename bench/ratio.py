"""A ratio of two things measured in pairs, as one line of the form that all bench programs print,
and its verdict.

The interval assumes no distribution: the number of pairs below the true median is binomial (n,
1/2), which gives the ranks that hold it. A line that is still open gets as many pairs again, so it
may be looked at several times: each look has an interval of 1 - 5 % / LOOKS, so that together they
hold the median with at least 95 % (Bonferroni). The same rules as in the Rust programs
(native/bench/common/src/ratio.rs). The interval decides, not the point: a busy machine must not
fake a verdict.
"""

import math
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

LOOKS = 4
"""The largest number of looks at a line; the pairs double from look to look."""

KEYS = (
    "bench",
    "name",
    "message_bytes",
    "metric",
    "unit",
    "ours",
    "theirs",
    "ratio",
    "low",
    "high",
    "pairs",
    "limit",
    "note",
    "details",
)
"""The keys of every line (docs/benchmarks.md)."""


def verdict(line: Mapping[str, Any]) -> str:
    """Return `met` if the whole interval lies within the limit, `not met` if all of it lies outside,
    `undecided` otherwise; `no promise` without a limit, `no data` without pairs."""
    if line["pairs"] == 0:
        return "no data"
    if line["limit"] is None:
        return "no promise"
    if not has_interval(line):
        return "undecided"
    lower = -math.inf if line["limit"][0] is None else line["limit"][0]
    upper = math.inf if line["limit"][1] is None else line["limit"][1]
    # JSON has no infinity: a null beside an end that is not null stands for it.
    low = math.inf if line["low"] is None else line["low"]
    high = math.inf if line["high"] is None else line["high"]
    if lower <= low and high <= upper:
        return "met"
    return "not met" if high < lower or low > upper else "undecided"


def has_interval(line: Mapping[str, Any]) -> bool:
    """Return whether a line has an interval. JSON has no infinity: with a null ratio of enough pairs
    both ends are infinite."""
    return line["low"] is not None or (
        line["ratio"] is None and lowest_rank(line["pairs"]) is not None
    )


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
    """Return a line. `ours` and `theirs` are in `unit`, pair by pair; `limit` is (lower, upper), None
    for an open side."""
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


def until_decided(
    first: int, pair: Callable[[int], str], lines: Callable[[], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Return `lines()` as soon as none of them is open: after `first` pairs, or after twice as many
    at each further look, LOOKS looks at most. `pair` measures the pair of a number, counted from 0,
    and returns a text about it."""
    measured = 0
    for look in range(LOOKS):
        until = first << look
        for number in range(measured, until):
            print(f"  {number + 1} of {until}: {pair(number)}", file=sys.stderr, flush=True)
        measured = until
        results = lines()
        if all(verdict(result) != "undecided" for result in results):
            break
    return results


def against(
    promise: float,
    runs: int,
    run: Callable[[], dict[str, Any]],
    value: str,
    details: Callable[[list[dict[str, Any]]], dict[str, Any]],
    **about: Any,
) -> dict[str, Any]:
    """Return a line: `value` of each run divided by its promise, in `runs` runs or in as many as it
    takes. `details` makes the details of all runs; `about` are further arguments of `line`."""
    results: list[dict[str, Any]] = []

    def pair(_: int) -> str:
        results.append(run())
        return f"{results[-1][value]:.4g} {about['unit']}"

    def lines() -> list[dict[str, Any]]:
        ours = [result[value] for result in results]
        theirs = [promise] * len(results)
        return [line(**about, ours=ours, theirs=theirs, details=details(results))]

    return until_decided(runs, pair, lines)[0]


def lowest_rank(pairs: int, looks: int = LOOKS) -> int | None:
    """Return the highest rank k (from 0) with P(binomial(pairs, 1/2) <= k) within the error of one
    side of one look; None below 8 pairs, or below 6 if there is one look."""
    from scipy.stats import binom

    rank = -1
    while binom.cdf(rank + 1, pairs, 0.5) <= 0.025 / looks:
        rank += 1
    return rank if rank >= 0 else None
