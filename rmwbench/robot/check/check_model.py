"""The answer of `rmwbench check` (docs/formats/check.md): that of `decide` for the suite's own limits,
that of `compare` with the last check, and which candidates the exit code is about."""

from dataclasses import dataclass
from typing import Literal

from rmwbench.analysis.verdicts.limit_outcomes import Outcome
from rmwbench.results.compare.compare_model import Compared
from rmwbench.results.decide.decide_model import Decided


@dataclass(frozen=True, kw_only=True)
class MoreTime:
    """What would decide a candidate whose blocks are too few or whose interval is too wide, were its
    values and their scatter what they are now. `blocks` are those of a whole campaign; None where
    no realistic number would."""

    arm: str
    blocks: int | None
    minutes: float | None


@dataclass(frozen=True, kw_only=True)
class Checked:
    """`directory`: the campaign; `created_utc`: when it began. `in_use`: the candidates that the
    exit code is about, and `outcome` theirs together; None without limits. `decided` is None
    without limits, `since` where this is the first check or the last one cannot be compared, for
    the reason in `not_compared`."""

    schema: Literal["rmwbench/check"] = "rmwbench/check"
    version: Literal[1] = 1
    suite: str
    directory: str
    created_utc: str | None
    in_use: tuple[str, ...]
    outcome: Outcome | None
    decided: Decided | None
    more_time: tuple[MoreTime, ...]
    since: Compared | None
    not_compared: str | None
    exit_code: Literal[0, 1, 2]
