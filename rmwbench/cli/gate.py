"""Whether what a suite calls acceptable was reached, as an exit code: `outcomes:` makes `run` and
`show` a gate."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmwbench.bundle import Bundle
    from rmwbench.results.shown import Condition, Shown

REACHED = "all acceptable"
OPEN = ("undecided", "no data")
"""Outcomes of a condition (`rmwbench.analysis.verdicts.outcomes`); every other one is not
acceptable, and so is an open one that may be all but REACHED."""


def limits(bundle: "Bundle") -> bool:
    """Whether the campaign's suite says what is acceptable."""
    return bool((bundle.campaign.get("plan") or {}).get("outcomes"))


def exit_code(shown: "Shown") -> int:
    """0 where every condition is acceptable or the suite sets no limits, 1
    where one is not, 2 where that could not be told."""
    if shown.outcomes is None:
        return 0
    found = shown.outcomes.conditions
    if any(map(_is_missed, found)):
        return 1
    return 0 if found and all(one.outcome == REACHED for one in found) else 2


def _is_missed(condition: "Condition") -> bool:
    """Also where it is open what becomes of it, but not whether all is acceptable."""
    if condition.outcome in OPEN:
        return bool(condition.may) and REACHED not in condition.may
    return condition.outcome != REACHED
