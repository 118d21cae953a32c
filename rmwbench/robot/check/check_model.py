"""The answer of `rmwbench check` (docs/formats/check.md): what the suite's limits say of each
candidate, what `compare` says of the last check, and which candidates the exit code is about."""

from dataclasses import dataclass
from typing import Literal

from rmwbench.analysis.verdicts.limit_outcomes import Outcome, Why
from rmwbench.results.compare.compare_model import Compared
from rmwbench.results.shown import LimitedValue
from rmwbench.words.fields import absent


@dataclass(frozen=True, kw_only=True)
class MoreTime:
    """The time that would decide a candidate whose blocks are too few or whose interval is too
    wide, were its value and the scatter of its blocks what they are now. `blocks` are those of a
    whole campaign; None where no realistic number would."""

    blocks: int | None
    minutes: float | None


@dataclass(frozen=True, kw_only=True)
class CheckedCandidate:
    """An arm over all workloads and levels: `meets` where it does in each, `misses` where it does
    in one, or cannot run there. `workload`: the one that decided it, or where the least room is
    left; `missed`: in how many it misses."""

    arm: str
    outcome: Outcome
    why: Why
    workload: str
    limit: LimitedValue | None = absent()
    reason: str
    missed: int
    more_time: MoreTime | None = absent()


@dataclass(frozen=True, kw_only=True)
class RobotCheck:
    """`directory`: the campaign; `created_utc`: when it began. `candidates`: best first, empty
    without limits. `in_use`: those that the exit code is about, and `outcome` theirs together, None
    without limits. `since` is None where this is the first check or the last one cannot be
    compared, for the reason in `not_compared`."""

    schema: Literal["rmwbench/check"] = "rmwbench/check"
    version: Literal[1] = 1
    suite: str
    directory: str
    created_utc: str | None
    in_use: tuple[str, ...]
    outcome: Outcome | None
    candidates: tuple[CheckedCandidate, ...]
    since: Compared | None
    not_compared: str | None
    exit_code: Literal[0, 1, 2]
