"""Whether what a suite calls acceptable was reached, as an exit code: `outcomes:` makes `run` and
`show` a gate."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmwbench.bundle import Bundle
    from rmwbench.results.shown import Shown

REACHED = "all acceptable"
OPEN = ("undecided", "no data")
"""Outcomes of a condition (`rmwbench.analysis.verdicts.outcomes`); every other one is not
acceptable."""


def limits(bundle: "Bundle") -> bool:
    """Whether the campaign's suite says what is acceptable."""
    return bool((bundle.campaign.get("plan") or {}).get("outcomes"))


def exit_code(shown: "Shown") -> int:
    """0 where every condition is acceptable or the suite sets no limits, 1
    where one is not, 2 where that could not be told."""
    if shown.outcomes is None:
        return 0
    found = [condition.outcome for condition in shown.outcomes.conditions]
    if any(outcome != REACHED and outcome not in OPEN for outcome in found):
        return 1
    return 2 if not found or any(outcome in OPEN for outcome in found) else 0
