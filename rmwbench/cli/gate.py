"""Whether what was asked was answered, as an exit code: what a suite calls acceptable (`outcomes:`
makes `run` and `show` a gate), and what the user's own arms do."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmwbench.bundle import Bundle
    from rmwbench.results.shown import LevelsOutcome, SuiteAnswer

REACHED = "meets"
OPEN = ("open", "unknown")
"""Outcomes of a condition (`rmwbench.analysis.verdicts.limit_outcomes`); every other one misses a limit, and
so does an open one that may be all but REACHED."""


def limits(bundle: "Bundle") -> bool:
    """Whether the campaign's suite says what is acceptable."""
    return bundle.campaign.plan.outcomes is not None


def exit_code(answer: "SuiteAnswer") -> int:
    """0 where every condition meets the limits or there are none, 1 where one does not, 2 where that
    could not be told."""
    if answer.outcomes is None:
        return 0
    conditions = answer.outcomes.conditions
    if any(map(_is_missed, conditions)):
        return 1
    return 0 if conditions and all(condition.outcome == REACHED for condition in conditions) else 2


def own_failed(bundle: "Bundle") -> bool:
    """Whether an arm of the user's own failed in every trial: what was asked is not answered then,
    whatever the others did. Own is what neither ships as a candidate nor stands in a shipped
    suite."""
    arms = {cell["cell"]: cell["arm"]["name"] for cell in bundle.campaign.plan.cells}
    statuses: dict[str, set[str]] = {}
    for trial in bundle.trials():
        statuses.setdefault(arms[trial.cell], set()).add(trial.status)
    failed = {
        arm
        for arm, arm_statuses in statuses.items()
        if "failed" in arm_statuses and "done" not in arm_statuses
    }
    return bool(failed) and not failed <= _shipped(bundle)


def _shipped(bundle: "Bundle") -> set[str]:
    from rmwbench.suite.file.candidates_file import shipped_candidates
    from rmwbench.suite.file.load import plain
    from rmwbench.suite.file.places import read, suites_directory

    suite = Path((bundle.campaign.request or {}).get("suite_file") or "")
    names = set(shipped_candidates().by_name)
    if suite.is_relative_to(suites_directory()):
        names |= {arm["name"] for arm in plain(read(suite), where=str(suite))["arms"]}
    return names


def _is_missed(condition: "LevelsOutcome") -> bool:
    """Whether a condition misses a limit, also where its outcome is open and only meeting all
    limits is ruled out."""
    if condition.outcome in OPEN:
        return bool(condition.may) and REACHED not in condition.may
    return condition.outcome != REACHED
