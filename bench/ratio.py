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
"""Of every line, all always there; their meaning: docs/benchmarks.md."""


def verdict(line: Mapping[str, Any]) -> str:
    """`met` when the whole interval lies within the limit, `not met` when all of it lies outside,
    `undecided` otherwise; `no promise` without a limit, `no data` without pairs."""
    if line["pairs"] == 0:
        return "no data"
    if line["limit"] is None:
        return "no promise"
    if line["low"] is None and line["high"] is None:
        return "undecided"
    lower = -math.inf if line["limit"][0] is None else line["limit"][0]
    upper = math.inf if line["limit"][1] is None else line["limit"][1]
    # JSON has no infinity: an end that is null beside one that is not never came.
    low = math.inf if line["low"] is None else line["low"]
    high = math.inf if line["high"] is None else line["high"]
    if lower <= low and high <= upper:
        return "met"
    return "not met" if high < lower or low > upper else "undecided"


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


def until_decided(
    first: int, pair: Callable[[int], str], lines: Callable[[], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """What `lines` says once none of them is open: after `first` pairs, or after as many again as
    there were, LOOKS times at most. `pair` measures one, given its number from 0, and returns what
    is said of it."""
    done = 0
    for look in range(LOOKS):
        until = first << look
        for number in range(done, until):
            print(f"  {number + 1} of {until}: {pair(number)}", file=sys.stderr, flush=True)
        done = until
        found = lines()
        if all(verdict(line) != "undecided" for line in found):
            break
    return found


def against(
    promise: float,
    runs: int,
    run: Callable[[], dict[str, Any]],
    value: str,
    details: Callable[[list[dict[str, Any]]], dict[str, Any]],
    **about: Any,
) -> dict[str, Any]:
    """One line: `value` of each `run` divided by what is promised of it, in so many runs or as many
    as it takes. `details` of all runs; `about` as `line` has it."""
    done: list[dict[str, Any]] = []

    def one(_: int) -> str:
        done.append(run())
        return f"{done[-1][value]:.4g} {about['unit']}"

    def lines() -> list[dict[str, Any]]:
        ours = [found[value] for found in done]
        theirs = [promise] * len(done)
        return [line(**about, ours=ours, theirs=theirs, details=details(done))]

    return until_decided(runs, one, lines)[0]


def lowest_rank(pairs: int, looks: int = LOOKS) -> int | None:
    """The highest rank k (from 0) with P(binomial(pairs, 1/2) <= k) within the error of one look's
    one side; None below 8 pairs, below 6 where one look is all."""
    from scipy.stats import binom

    rank = -1
    while binom.cdf(rank + 1, pairs, 0.5) <= 0.025 / looks:
        rank += 1
    return rank if rank >= 0 else None
