"""Whether a line keeps its promise. The interval decides, not the point: a busy machine must not
fake a verdict."""

import math
from collections.abc import Mapping
from typing import Any

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
