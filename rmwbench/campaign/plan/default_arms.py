"""The default arms of a suite that names none, and of `quick`, whose own arms are the middlewares
through their own libraries: the RMWs of the sourced ROS 2, else the middlewares through their own
libraries.

They become a choice of the command line (`--candidates`), so that a campaign keeps its arms and is
resumed with them, even if another ROS 2 is sourced then.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from rmwbench.lab.middleware import find_workers, not_ready, ros2
from rmwbench.suite.file.candidate_list import Choice
from rmwbench.suite.file.candidates_file import known_candidates
from rmwbench.suite.file.load import names_arms
from rmwbench.suite.file.suite_files import path_text, suites_directory

RMWS, NATIVE, QUICK = "ros2", "native", "quick"
"""Sets of candidates. `quick` is the name of a suite, too."""
TUNED = "tuned"


@dataclass(frozen=True)
class DefaultArms:
    """A choice of arms. `note` says which arms are compared, and how to get the others; it is empty
    if the suite names its arms."""

    choice: Choice
    note: str = ""


def default_arms(path: Path, text: str, choice: Choice, *, names_arm: bool) -> DefaultArms:
    """Return the choice of arms of a run that names none. `names_arm`: the command line names arms
    of the suite (`--arm`). `choice` has its other options on arms."""
    if choice.candidates:
        return DefaultArms(choice)
    has_arms = names_arms(text, where=path_text(path))
    quick = path.resolve() == suites_directory().resolve() / f"{QUICK}.yaml"
    if has_arms and (not quick or names_arm or choice.without):
        return DefaultArms(choice)
    reason = _lacking()
    if reason is None:
        native = f"--candidates {QUICK if quick else NATIVE}"
        note = (
            f"comparing the RMWs of the sourced ROS 2 ({native} compares the middlewares through "
            "their own libraries)"
        )
        return DefaultArms(replace(choice, candidates=(RMWS,)), note)
    note = f"comparing middlewares through their own libraries; ROS 2's RMWs: {reason}"
    return DefaultArms(choice if has_arms else replace(choice, candidates=native_arms()), note)


def native_arms() -> tuple[str, ...]:
    """Return the set of middlewares as installed, and the tuned candidate of each that has one."""
    candidates = known_candidates()
    middlewares = {candidate.arm["middleware"] for candidate in candidates.of_set(NATIVE)}
    tuned = [
        candidate.name
        for candidate in candidates.by_name.values()
        if candidate.arm["middleware"] in middlewares
        and candidate.arm.get("profile") == TUNED
        and not candidate.arm.get("loan")
    ]
    return (NATIVE, *tuned)


def _lacking() -> str | None:
    """Return why no RMW can be compared here, with a remedy; None if one can."""
    if not ros2.prefixes():
        return ros2.SOURCE_FIX
    names = [str(candidate.arm["middleware"]) for candidate in known_candidates().of_set(RMWS)]
    workers = find_workers(set(names))
    lacks = [not_ready(name, workers) for name in names]
    return None if None in lacks else next(lack.text for lack in lacks if lack is not None)
