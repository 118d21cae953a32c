"""rmwbench: which robot middleware, configured how, will carry this robot's traffic, with evidence.

For Python programs: `rmwbench.open("campaigns/quick-…").arms["camera"]["zenoh
tuned"].response_latency.p50` (docs/library.md).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rmwbench.results.library import Campaign

__all__ = ["open"]


def open(directory: "Path | str | None" = None) -> "Campaign":
    """Return the campaign in this directory, or the newest below ./campaigns if it is None. Raises
    rmwbench.errors.UserError if there is none, or if it is not the campaign of a suite."""
    from rmwbench.results.library import open_campaign  # late: `rmwbench --help` reads no bundle

    return open_campaign(directory)
