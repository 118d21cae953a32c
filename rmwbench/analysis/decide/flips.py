"""Where the answer flips along a factor: `B only above four cameras`.

A campaign whose cells vary a factor answers at each of its levels. A candidate flips between two
levels where it is decided to meet the limits at one and to miss them at the other; open levels
between the two only widen the gap. Levels that were not measured have no answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

from pydantic import Field

from rmwbench.analysis.verdicts.ladders import in_order
from rmwbench.analysis.verdicts.limit_outcomes import Outcome

Level = bool | int | float | str
"""A level of a factor."""


@dataclass(frozen=True, kw_only=True)
class AtLevel:
    """The candidates that are decided to meet all limits at a level, those that miss one, and those
    for which it is open."""

    level: Level
    meets: tuple[str, ...]
    misses: tuple[str, ...]
    open: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Flip:
    """The arm is `before` at the level `from` and `after` at `to`, the next level at which it is
    decided."""

    arm: str
    before: Outcome
    after: Outcome
    from_: Annotated[Level, Field(alias="from")]
    to: Level


@dataclass(frozen=True, kw_only=True)
class Along:
    """One factor of a workload that varies while the others stay at `fixed`. `workload`: its name,
    with the campaign that defines it where another campaign's definition came first. `levels` in
    order: numbers by size, texts as they came."""

    workload: str
    factor: str
    fixed: Mapping[str, Level]
    levels: tuple[AtLevel, ...]
    flips: tuple[Flip, ...]


@dataclass(frozen=True)
class CaseOutcomes:
    """A case: a workload at the levels of its factors, with the outcome of each candidate."""

    workload: str
    levels: Mapping[str, Level]
    outcomes: Mapping[str, Outcome]


def along(cases: Sequence[CaseOutcomes]) -> list[Along]:
    """Every factor that varies while the others stay, in the order of the cases."""
    lines: list[Along] = []
    for factor in dict.fromkeys(name for case in cases for name in case.levels):
        groups: dict[tuple[Any, ...], list[CaseOutcomes]] = {}
        for case in cases:
            if factor in case.levels:
                rest = tuple((k, repr(v)) for k, v in case.levels.items() if k != factor)
                groups.setdefault((case.workload, *rest), []).append(case)
        for group in groups.values():
            if len({repr(case.levels[factor]) for case in group}) > 1:
                lines.append(_along(factor, in_order(group, factor)))
    return lines


def _along(factor: str, cases: Sequence[CaseOutcomes]) -> Along:
    names = list(dict.fromkeys(name for case in cases for name in case.outcomes))
    first = cases[0]
    return Along(
        workload=first.workload,
        factor=factor,
        fixed={name: level for name, level in first.levels.items() if name != factor},
        levels=tuple(
            AtLevel(
                level=case.levels[factor],
                meets=_candidates(case, Outcome.MEETS),
                misses=_candidates(case, Outcome.MISSES),
                open=_candidates(case, Outcome.OPEN, Outcome.UNKNOWN),
            )
            for case in cases
        ),
        flips=tuple(flip for name in names for flip in _flips(name, factor, cases)),
    )


def _flips(name: str, factor: str, cases: Sequence[CaseOutcomes]) -> list[Flip]:
    decided = [
        (case.levels[factor], case.outcomes[name])
        for case in cases
        if case.outcomes.get(name) in (Outcome.MEETS, Outcome.MISSES)
    ]
    return [
        Flip(arm=name, before=a, after=b, from_=low, to=high)
        for (low, a), (high, b) in pairwise(decided)
        if a is not b
    ]


def _candidates(case: CaseOutcomes, *outcomes: Outcome) -> tuple[str, ...]:
    return tuple(name for name, outcome in case.outcomes.items() if outcome in outcomes)
