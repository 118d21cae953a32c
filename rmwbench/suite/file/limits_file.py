"""Reads a limits file (docs/limits.md); errors have file and line."""

from collections.abc import Collection, Sequence
from pathlib import Path

from rmwbench.errors import UserError, did_you_mean
from rmwbench.suite.file.suite_files import path_text, read
from rmwbench.suite.file.tree import validated
from rmwbench.suite.limits import LimitsFile

MOST_BYTES = 64 * 1024


def read_limits(path: Path) -> LimitsFile:
    """The limits of a file. Raises UserError for a file that cannot be read or is not valid."""
    fix = "docs/limits.md shows an example; limits/ of a checkout has three"
    text = read(path, kind="limits file", most_bytes=MOST_BYTES, fix=fix)
    return validated(text, where=path_text(path), model=LimitsFile)


def check_topics(limits: LimitsFile, known: Collection[str]) -> None:
    """Raises UserError if a limit names a topic or reader that no campaign has. If `known` is empty
    (no trial ended), every name passes."""
    # leave out `image → control`: `control` is listed
    names = sorted(name for name in known if " " not in name)
    for topic in limits.topics:
        if known and topic not in known:
            raise UserError(
                f"no topic or reader of these campaigns is called `{topic}`",
                where=f"limits {limits.limits}, topics",
                expected="one of " + ", ".join(names),
                actual=topic,
                fix=did_you_mean(topic, known),
            )


def no_such_case(limits: LimitsFile, cases: Sequence[str]) -> UserError:
    """The error for limits whose case no measured cell matches. `cases` are those of the cells."""
    case = [limits.of.workload] if limits.of.workload else []
    case += [f"{name}={level}" for name, level in limits.of.levels.items()]
    return UserError(
        f"no measured cell matches the case (`of:`) of limits `{limits.limits}`",
        where="of",
        expected="; ".join(cases) or "a campaign with a workload",
        actual=" ".join(case) or "any",
        fix="change `of:` of the limits file, or measure that case",
    )
