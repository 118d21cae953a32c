"""The fewest blocks for a verdict, and the fewest messages for a percentile: a quantile q is
printed only where n·(1−q) ≥ 10, so that at least ten messages are beyond it."""

import math

DECIDABLE_BLOCKS = 5
"""The fewest blocks for a verdict (`rmwbench.analysis.verdicts.verdict.Rules.min_blocks`): a look
at fewer decides nothing."""

MESSAGES_BEYOND = 10

QUANTILES = (0.5, 0.9, 0.99, 0.999)


def messages_needed(quantile: float) -> int:
    """The fewest messages for the quantile: 20 for p50, 100 for p90, 1000 for p99."""
    return math.ceil(round(MESSAGES_BEYOND / (1 - quantile), 6))


def percentile_name(quantile: float) -> str:
    """The name of a percentile: `p50`, `p99`, `p99.9`."""
    return f"p{quantile * 100:g}"
