"""Where the answer flips along a factor: `B only above four cameras`.

A campaign whose cells vary a factor answers at each of its levels. A candidate flips between two
levels where it is decided to meet the limits at one and to miss them at the other; levels between
that are open only widen the gap. Nothing is said of levels that were not measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rmwbench.analysis.decide.answer import Outcome

Level = Any


@dataclass(frozen=True)
class Flip:
    """`candidate` is `before` at the level `from_` and `after` at `to`, the next that is
    decided."""

    candidate: str
    before: Outcome
    after: Outcome
    from_: Level
    to: Level


@dataclass(frozen=True)
class Along:
    """One factor with the others at `fixed` levels, in `workload`. `levels` in order (numbers by
    size, texts as they came); per level those that are decided to meet all limits (`meets`) or to
    miss one (`misses`), and those that are not decided (`open`)."""

    workload: str
    factor: str
    fixed: Mapping[str, Level]
    levels: tuple[Level, ...]
    meets: tuple[tuple[str, ...], ...]
    misses: tuple[tuple[str, ...], ...]
    open: tuple[tuple[str, ...], ...]
    flips: tuple[Flip, ...]

    @property
    def turns(self) -> bool:
        """Whether those that meet the limits are decided to be others at some level."""
        return bool(self.flips)


@dataclass(frozen=True)
class At:
    """A case: a workload at the levels of its factors, with what became of each candidate there."""

    workload: str
    levels: Mapping[str, Level]
    outcomes: Mapping[str, Outcome]


def along(cases: Sequence[At]) -> list[Along]:
    """Every factor that varies while the others stay, in the order of the cases."""
    out: list[Along] = []
    factors = list(dict.fromkeys(name for case in cases for name in case.levels))
    for factor in factors:
        groups: dict[tuple[Any, ...], list[At]] = {}
        for case in cases:
            if factor in case.levels:
                rest = tuple((k, repr(v)) for k, v in case.levels.items() if k != factor)
                groups.setdefault((case.workload, *rest), []).append(case)
        for group in groups.values():
            if len({repr(case.levels[factor]) for case in group}) > 1:
                out.append(_along(factor, _ordered(group, factor)))
    return out


def _along(factor: str, cases: Sequence[At]) -> Along:
    names = list(dict.fromkeys(name for case in cases for name in case.outcomes))
    first = cases[0]
    return Along(
        first.workload,
        factor,
        {name: level for name, level in first.levels.items() if name != factor},
        tuple(case.levels[factor] for case in cases),
        tuple(_those(case, (Outcome.MEETS,)) for case in cases),
        tuple(_those(case, (Outcome.MISSES,)) for case in cases),
        tuple(_those(case, (Outcome.OPEN, Outcome.UNKNOWN)) for case in cases),
        tuple(flip for name in names for flip in _flips(name, factor, cases)),
    )


def _flips(name: str, factor: str, cases: Sequence[At]) -> list[Flip]:
    found = [
        (case.levels[factor], case.outcomes[name])
        for case in cases
        if case.outcomes.get(name) in (Outcome.MEETS, Outcome.MISSES)
    ]
    return [Flip(name, a, b, low, high) for (low, a), (high, b) in pairwise(found) if a is not b]


def _those(case: At, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    return tuple(name for name, outcome in case.outcomes.items() if outcome in outcomes)


def _ordered(cases: Sequence[At], factor: str) -> list[At]:
    levels = [case.levels[factor] for case in cases]
    if all(isinstance(level, int | float) and not isinstance(level, bool) for level in levels):
        return sorted(cases, key=lambda case: case.levels[factor])
    return list(cases)
