"""Which conditions of a section ran, in a few words, where its budget left some out: what was found
holds for these alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rmwbench.results.answer.facts import names

WORKLOAD = ""
"""The axis that is no factor."""


@dataclass(frozen=True)
class _Condition:
    """Read off the name of a comparison, `stream [network=home, rate_hz=80]`."""

    workload: str
    levels: Mapping[str, str]

    def at(self, axis: str) -> str:
        return self.workload if axis == WORKLOAD else self.levels.get(axis, "")

    def told(self, axes: Sequence[str]) -> str:
        """`rate_hz=80`: what tells it apart on these axes."""
        levels = [f"{axis}={self.levels[axis]}" for axis in axes if axis in self.levels]
        return " ".join([self.workload, *levels] if WORKLOAD in axes or not levels else levels)


def words(ran: Sequence[str], not_run: Sequence[str]) -> str:
    """`network.loss=0.0; 0.1 and 0.2 were not run`, of names of comparisons. Where they differ in
    several things what was not run is counted: `small rate_hz=30; 5 more were not run`. Empty where
    all ran, or none."""
    if not ran or not not_run:
        return ""
    here, absent = list(map(_read, ran)), list(map(_read, not_run))
    axes = _axes([*here, *absent])
    told = names([one.told(axes) for one in here])
    rest = f"{len(absent)} more" if len(axes) != 1 else names([one.at(axes[0]) for one in absent])
    return f"{told}; {rest} {'was' if len(absent) == 1 else 'were'} not run"


def _read(name: str) -> _Condition:
    workload, _, listed = name.partition(" [")
    levels = {}
    for one in filter(None, listed.removesuffix("]").split(", ")):
        factor, _, level = one.partition("=")
        levels[factor] = level
    return _Condition(workload, levels)


def _axes(found: Sequence[_Condition]) -> list[str]:
    """On which they differ: their workloads, and factors."""
    factors = dict.fromkeys(factor for one in found for factor in one.levels)
    return [axis for axis in (WORKLOAD, *factors) if len({one.at(axis) for one in found}) > 1]
