"""The exit codes of `run` and `show`: by what the suite calls acceptable (`outcomes:` makes a gate
of them), and by whether the user's own arms fail."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmwbench.bundle import Bundle
    from rmwbench.results.show_model import LevelsOutcome, SuiteAnswer

REACHED = "meets"
OPEN = ("open", "unknown")
"""Outcomes of a condition (`rmwbench.analysis.verdicts.limit_outcomes`). Every other outcome misses
a limit, and so does an open one that may be all but REACHED."""


def exit_code(answer: "SuiteAnswer") -> int:
    """Return 0 if every condition meets the limits or there are no limits, 1 if a condition misses
    one, 2 if that could not be told."""
    if answer.outcomes is None:
        return 0
    conditions = answer.outcomes.conditions
    if any(map(_misses_limit, conditions)):
        return 1
    return 0 if conditions and all(condition.outcome == REACHED for condition in conditions) else 2


def own_arm_failed(bundle: "Bundle") -> bool:
    """Whether an arm of the user's own failed in every trial: the user's question is not answered
    then, whatever the other arms did. An arm is the user's own if it is no shipped candidate and in
    no shipped suite."""
    arms = {cell["cell"]: cell["arm"]["name"] for cell in bundle.campaign.plan.cells}
    statuses: dict[str, set[str]] = {}
    for trial in bundle.trials():
        statuses.setdefault(arms[trial.cell], set()).add(trial.status)
    failed = {
        arm
        for arm, arm_statuses in statuses.items()
        if "failed" in arm_statuses and "done" not in arm_statuses
    }
    return bool(failed) and not failed <= _shipped_arms(bundle)


def _shipped_arms(bundle: "Bundle") -> set[str]:
    from rmwbench.suite.file.candidates_file import shipped_candidates
    from rmwbench.suite.file.load import plain
    from rmwbench.suite.file.suite_files import read, suites_directory

    suite = Path((bundle.campaign.request or {}).get("suite_file") or "")
    names = set(shipped_candidates().by_name)
    if suite.is_relative_to(suites_directory()):
        names |= {arm["name"] for arm in plain(read(suite), where=str(suite))["arms"]}
    return names


def _misses_limit(condition: "LevelsOutcome") -> bool:
    """Whether a condition misses a limit, or has an open outcome that can only be a miss."""
    if condition.outcome in OPEN:
        return bool(condition.may) and REACHED not in condition.may
    return condition.outcome != REACHED
