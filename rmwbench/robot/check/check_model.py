"""The answer of `rmwbench check` (docs/formats/check.md): the outcome of each candidate by the
suite's limits, the comparison with the last check, and the candidates that the exit code is
about."""

from dataclasses import dataclass
from typing import Literal

from rmwbench.analysis.verdicts.limit_outcomes import Outcome, Why
from rmwbench.results.compare.compare_model import Compared
from rmwbench.results.show_model import LimitedValue
from rmwbench.words.fields import absent


@dataclass(frozen=True, kw_only=True)
class MoreTime:
    """The time that would decide a candidate with too few blocks or a too wide interval, if its
    value and the scatter of its blocks stay the same. `blocks` are those of a whole campaign; None
    if no realistic number is enough."""

    blocks: int | None
    minutes: float | None


@dataclass(frozen=True, kw_only=True)
class CheckedCandidate:
    """An arm over all workloads and levels: `meets` if it meets the limits in each, `misses` if it
    misses them, or cannot run, in one. `workload` decided the outcome, or has the least room below
    its limit; `missed` counts the workloads in which it misses."""

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
    """`directory` is that of the campaign, `created_utc` its begin. `candidates` are in order, best
    first, empty without limits. The exit code is about those `in_use`; `outcome` is their common
    one, None without limits. `since` is the comparison with the last check, None at the first check
    or if they cannot be compared, for the reason in `not_compared`."""

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
