"""How many blocks decide anything, and which percentile how many messages allow: a quantile q is
printed only where n·(1−q) ≥ 10, so at least ten messages lie beyond it. Answers say it too, which
need no suite."""

import math

DECIDABLE_BLOCKS = 5
"""With fewer nothing is decided (`rmwbench.analysis.verdicts.verdict.Rules.min_blocks`), so a look
at fewer would be wasted."""

MESSAGES_BEYOND = 10

QUANTILES = (0.5, 0.9, 0.99, 0.999)


def messages_needed(quantile: float) -> int:
    """The fewest messages for the quantile: 20 for p50, 100 for p90, 1000 for p99."""
    return math.ceil(round(MESSAGES_BEYOND / (1 - quantile), 6))


def percentile_name(quantile: float) -> str:
    """The name of a percentile: `p50`, `p99`, `p99.9`."""
    return f"p{quantile * 100:g}"
