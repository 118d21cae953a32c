"""A limits file (docs/limits.md) from its path, with file and line for mistakes."""

from collections.abc import Collection, Sequence
from pathlib import Path

from rmwbench.errors import UserError, did_you_mean
from rmwbench.input_file import read_text
from rmwbench.suite.file.places import shown
from rmwbench.suite.file.tree import validated
from rmwbench.suite.limits import LimitsFile

MOST_BYTES = 64 * 1024


def read_limits(path: Path) -> LimitsFile:
    """Raises UserError for a file that cannot be read or is not a limits file."""
    try:
        text = read_text(path, MOST_BYTES)
    except UnicodeDecodeError as error:
        raise UserError(
            "the limits file is not text",
            where=str(path),
            expected="YAML in UTF-8",
            actual=str(error),
        ) from error
    except OSError as error:
        raise UserError(
            "cannot read the limits file",
            where=str(path),
            actual=error.strerror,
            fix="docs/limits.md shows one; limits/ of a checkout has three",
        ) from error
    return validated(text, where=shown(path), model=LimitsFile)


def check_topics(limits: LimitsFile, known: Collection[str]) -> None:
    """Raises UserError for limits of a topic, or a reader, that no campaign has: nothing would be
    judged by them. `known` is empty where no trial ended, and then nobody can say."""
    short = sorted(name for name in known if " " not in name)  # `image → control` is `control`, too
    for topic in limits.topics:
        if known and topic not in known:
            raise UserError(
                f"no topic or reader of these campaigns is called `{topic}`",
                where=f"limits {limits.limits}, topics",
                expected="one of " + ", ".join(short),
                actual=topic,
                fix=did_you_mean(topic, known),
            )


def no_such_case(limits: LimitsFile, cases: Sequence[str]) -> UserError:
    """What to say where no cell that was measured is what the limits are of."""
    case = [limits.of.workload] if limits.of.workload else []
    case += [f"{name}={level}" for name, level in limits.of.levels.items()]
    return UserError(
        f"no cell of these campaigns is what limits `{limits.limits}` are of",
        where="of",
        expected="; ".join(cases) or "a campaign with a workload",
        actual=" ".join(case) or "any",
        fix="change `of:` of the limits file, or measure that case",
    )
