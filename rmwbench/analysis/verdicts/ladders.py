"""The levels of a factor: which cells are the same arm at several levels of one factor, and which
levels are compared with each other.

The factor is one of the suite's, or the one thing in which two of its workloads differ: then each
workload is a level. Every level is compared with the one before it and with the first, and with no
other, so that a factor of five levels costs seven comparisons, not ten."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Protocol, TypeVar

BETWEEN_WORKLOADS = "workload"
"""The factor of a ladder whose levels are workloads."""
_NAMES = ("cell", "suite", "comparison", "factors", "arm")
"""Keys of a cell's definition that name the cell, or that are compared separately."""
_DERIVED = ("capacity", "endpoint", "peers", "node", "process")
"""Keys of an endpoint that follow from other keys, or are its place."""


@dataclass(frozen=True)
class Rung:
    """A cell with its arm, the levels of its workload (factor -> level) and its definition."""

    cell: int
    workload: str
    arm: str
    levels: Mapping[str, Any]
    definition: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Ladder:
    """An arm at the `levels` of `factor`, in order, with the cell of each level. `others`: the
    levels of all other factors, which are the same. `changed`: the one node in which workloads
    differ, where it is one node."""

    factor: str
    workload: str
    arm: str
    levels: tuple[Any, ...]
    cells: tuple[int, ...]
    others: Mapping[str, Any]
    changed: str | None = None

    def only(self, has: Callable[[int], bool]) -> "Ladder":
        """The ladder with the levels alone whose cell satisfies `has`."""
        places = [at for at, cell in enumerate(self.cells) if has(cell)]
        levels, cells = ([column[at] for at in places] for column in (self.levels, self.cells))
        return replace(self, levels=tuple(levels), cells=tuple(cells))


def steps(levels: int) -> list[tuple[int, int]]:
    """(place of a level, place of the level with which it is compared), for this many levels."""
    neighbours = [(at, at - 1) for at in range(1, levels)]
    return neighbours + [(at, 0) for at in range(2, levels)]


def ladders(rungs: Iterable[Rung]) -> list[Ladder]:
    """The ladders with at least two levels, in the order of the cells."""
    rungs = list(rungs)
    return [*_of_factors(rungs), *_between_workloads(rungs)]


def _of_factors(rungs: Sequence[Rung]) -> list[Ladder]:
    groups: dict[Any, list[Rung]] = {}
    for rung in rungs:
        for factor in rung.levels:
            others = {name: level for name, level in rung.levels.items() if name != factor}
            key = (factor, rung.workload, rung.arm, _key(others))
            groups.setdefault(key, []).append(rung)
    ladders = []
    for (factor, workload, arm, _), group in groups.items():
        by_level = {_key(rung.levels[factor]): rung for rung in reversed(group)}
        ordered = in_order(list(reversed(by_level.values())), factor)
        if len(ordered) < 2:
            continue
        others = {name: level for name, level in ordered[0].levels.items() if name != factor}
        levels, cells = (rung.levels[factor] for rung in ordered), (rung.cell for rung in ordered)
        ladders.append(Ladder(factor, workload, arm, tuple(levels), tuple(cells), others))
    return ladders


class HasLevels(Protocol):
    @property
    def levels(self) -> Mapping[str, Any]: ...


Case = TypeVar("Case", bound=HasLevels)


def in_order(cases: Sequence[Case], factor: str) -> list[Case]:
    """The cases in the order of their levels: numbers by size, others as in the suite."""
    levels = [case.levels[factor] for case in cases]
    if all(isinstance(level, int | float) and not isinstance(level, bool) for level in levels):
        return sorted(cases, key=lambda case: float(case.levels[factor]))
    return list(cases)


def _between_workloads(rungs: Sequence[Rung]) -> list[Ladder]:
    """Ladders of two workloads that differ in one thing alone: in the endpoints of a node, or in
    one key."""
    first: dict[str, Rung] = {}
    for rung in rungs:
        first.setdefault(rung.workload, rung)
    shapes = {name: _shape(rung) for name, rung in first.items() if not _has_reference(rung)}
    compared: set[str] = set()
    ladders = []
    for base, other in combinations(shapes, 2):
        if other in compared or (node := _difference(shapes[base], shapes[other])) is None:
            continue
        compared.add(other)
        changed = node or None
        others = {(r.arm, _key(r.levels)): r.cell for r in rungs if r.workload == other}
        for rung in (r for r in rungs if r.workload == base):
            cell = others.get((rung.arm, _key(rung.levels)))
            if cell is not None:
                levels, cells = (base, other), (rung.cell, cell)
                ladders.append(
                    Ladder(BETWEEN_WORKLOADS, base, rung.arm, levels, cells, rung.levels, changed)
                )
    return ladders


def _has_reference(rung: Rung) -> bool:
    """Whether the cell's workload names the workload with which it is compared."""
    workload = rung.definition.get("workload")
    return isinstance(workload, Mapping) and bool(workload.get("against"))


_Shape = dict[tuple[str, ...], Any]
"""(key,) of a definition, or (node, kind and topic of an endpoint, key) -> value."""


def _shape(rung: Rung) -> _Shape:
    """The definition of a cell without names. A topic that has the name of its workload counts as
    the same topic in another workload."""
    shape: _Shape = {}
    definition = rung.definition
    workload = definition.get("workload")
    if isinstance(workload, Mapping):
        descriptive = ("name", "title", "description")
        shape |= {("workload", k): v for k, v in workload.items() if k not in descriptive}
    for key, value in definition.items():
        if key not in (*_NAMES, "workload", "endpoints"):
            shape[(key,)] = value
    for endpoint in definition.get("endpoints") or ():
        topic = endpoint.get("topic")
        called = "" if topic == rung.workload else topic
        place = (str(endpoint.get("node")), f"{endpoint.get('kind')} {called}")
        for key, value in endpoint.items():
            if key in _DERIVED or key == "topic":
                continue
            if key == "arrival" and isinstance(value, Mapping):
                value = {k: v for k, v in value.items() if k != "phase_ns"}
            shape[(*place, key)] = value
    return shape


def _difference(base: _Shape, other: _Shape) -> str | None:
    """The one node in which two shapes differ, empty where they differ in another single thing;
    None where they differ in nothing, or in more than one thing."""
    missing = object()
    apart = [k for k in base.keys() | other.keys() if base.get(k, missing) != other.get(k, missing)]
    if not apart:
        return None
    nodes = {key[0] for key in apart if len(key) == 3}
    if len(nodes) == 1 and all(len(key) == 3 for key in apart):
        (node,) = nodes
        places, others = ({k[:2] for k in shape if k[0] == node} for shape in (base, other))
        return node if places == others else ""
    return "" if len({key[-1] for key in apart}) == 1 else None


def _key(value: Any) -> str:
    """A hashable key of a level, or of the levels of several factors."""
    if isinstance(value, Mapping):
        return repr(sorted((name, _key(level)) for name, level in value.items()))
    return repr(value)
