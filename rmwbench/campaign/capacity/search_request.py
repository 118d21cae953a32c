"""The space of a capacity search, from the user's request: the levels of an axis, and the arms.

A search has one cell per level and arm: the workload at the level, with the window that the limit's
percentile needs. A p99 needs 1 000 messages at any rate, so a low rate needs a long window. A
window is a second or longer, because a queue must have time to grow, unless a second has more than
`ENOUGH_MESSAGES`.

The machine bounds the levels of an arm, and the bound is known before anything runs: an arm that
spins needs a core for each spinner and one more, and a trial's processes and messages must fit into
memory. Such a bound ends the range of the arm's levels, with its reason; the answer then is "at
least up to".
"""

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from rmwbench.analysis.capacity.limit import CapacityLimit, parse_limit
from rmwbench.campaign.capacity.axis import Axis, axis, levels, unfit
from rmwbench.campaign.plan import unsupported_cells
from rmwbench.campaign.plan.machine_limits import MIB, memory_bytes
from rmwbench.campaign.plan.plan import budget_text, duration_text
from rmwbench.campaign.plan.request import check_named
from rmwbench.errors import UserError
from rmwbench.lab.host.host import available_memory_bytes
from rmwbench.lab.machine import describe
from rmwbench.suite.arm import Arm
from rmwbench.suite.cells import Cell
from rmwbench.suite.fault import Fault
from rmwbench.suite.network.network import links_between
from rmwbench.suite.suite import Suite
from rmwbench.suite.timeline import Timeline
from rmwbench.suite.workload.arrival import Poisson
from rmwbench.suite.workload.endpoints import Endpoint, endpoints
from rmwbench.suite.workload.workload import Workload
from rmwbench.words.numbers import counted, distinct

FEWEST_MESSAGES = 50
"""The fewest messages per trial, for any limit: with fewer, a growing queue is not seen."""
WINDOW_S = 1.0
ENOUGH_MESSAGES = 200_000
"""Messages per reader and window. More would make the bundle large and the answer no better."""
COUNTED_S = 1000.0
FIXED_COST_S = 0.6
"""The time of a probe besides its timeline: start, match, collect, clean up, and measure."""


class SearchCells:
    """The cells of one capacity search: `suite` with the workload searched, an axis, and the
    messages a trial needs."""

    def __init__(self, suite: Suite, workload: Workload, along: Axis, messages: int):
        self.suite, self.workload, self.along = suite, workload, along
        self.messages = max(messages, FEWEST_MESSAGES)
        self._timeline = workload.timeline.over(suite.timeline)
        self.at_level = lru_cache(maxsize=None)(self._at_level)

    def cell(self, arm: Arm, level: float, number: int = 0) -> Cell:
        """Return the cell of an arm at a level. Raises UserError if the level, or its window,
        contradicts the workload."""
        changed, timeline, graph = self.at_level(level)
        with self._unfit_at(level, timeline):
            links = links_between(
                self.suite.networks, changed.network, changed.host_names, timeline
            )
        number_of_level = int(level) if float(level).is_integer() else level
        return Cell(
            number,
            self.suite.suite,
            changed,
            arm,
            {self.along.factor: number_of_level},
            timeline,
            graph,
            links=links,
        )

    def probe_s(self, level: float) -> float:
        """Return the expected time of a probe at the level. Raises as `cell`."""
        return self.at_level(level)[1].duration_s + FIXED_COST_S

    def _at_level(self, level: float) -> tuple[Workload, Timeline, tuple[Endpoint, ...]]:
        changed = self.along.at(self.workload, level)
        long = self._timeline.lasting(COUNTED_S)
        with self._unfit_at(level, long):
            drafts = endpoints(changed, long)
        per_s = min((e.steady_messages for e in drafts if e.reads), default=0) / COUNTED_S
        poisson = any(isinstance(e.arrival, Poisson) for e in drafts)
        # a window may begin just after a message was due; a Poisson draw may be short by four
        # standard deviations
        messages = self.messages + (4 * math.sqrt(self.messages) if poisson else 1)
        seconds = (
            max(min(WINDOW_S, ENOUGH_MESSAGES / per_s), messages / per_s) if per_s else WINDOW_S
        )
        timeline = self._timeline.lasting(math.ceil(seconds * 100) / 100)
        with self._unfit_at(level, timeline):
            return changed, timeline, endpoints(changed, timeline)

    @contextmanager
    def _unfit_at(self, level: float, timeline: Timeline) -> Iterator[None]:
        try:
            yield
        except Fault as fault:
            window = f"a window of {timeline.steady_s:g} s"
            why = f"at {quantity(level, self.along)}, with {window}, {fault.what}"
            raise unfit(self.workload, self.along, why) from fault


PROCESS_BYTES = 48 << 20
"""The approximate memory of a worker with its middleware; it matters for hundreds of workers."""
RESERVE_BYTES = 512 << 20


def spin_reason(cell: Cell, cores: int) -> str | None:
    """Return why the machine has too few cores for the arm's spinning readers, or None."""
    if cell.arm.wait != "poll":
        return None
    spinners = len({e.process for e in cell.endpoints if e.reads})
    if cores > spinners:
        return None
    return f"not testable here: {spinners} spinning and {counted(cores, 'core')}; it needs {spinners + 1}"


def memory_reason(cell: Cell, available_bytes: int) -> str | None:
    """Return why a trial of this cell does not fit into memory, or None."""
    needed_bytes = memory_bytes(cell) + len(cell.processes) * PROCESS_BYTES + RESERVE_BYTES
    if needed_bytes <= available_bytes:
        return None
    return (
        f"a trial would need about {math.ceil(needed_bytes / MIB)} MiB of memory, and "
        f"{available_bytes // MIB} MiB are available"
    )


MOST_TRIALS = 40
"""The most trials per arm. With a boundary that is still undecided then, the trials of one level
have different outcomes."""
MOST_LEVELS = 3000
FEWEST_ROUNDS = 12
"""A budget for fewer rounds cannot bracket and test an arm."""
RANGE_BELOW, RANGE_ABOVE, LONGEST_PROBE_S = 1e3, 1e5, 60.0
"""The range of a search around the workload's own level, as factors below and above it, and the
longest probe, if the user gives no range."""
UNITS = {
    "hz": {"hz": 1, "khz": 1e3, "mhz": 1e6},
    "bytes": {"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 1024, "mib": 1 << 20, "gib": 1 << 30},
    "": {},
}


@dataclass(frozen=True)
class SearchRequest:
    """The user's request, as it is kept in the bundle. The search ends after `budget_s`."""

    suite_file: str
    workload: str
    arms: tuple[str, ...]
    limit: str
    along: str
    least: str | None
    most: str | None
    budget_s: float | None
    resolution: float
    seed: int
    network: str | None = None


@dataclass(frozen=True)
class SearchArm:
    """An arm and the levels at which it can be tested here. `bound` is the reason why it cannot be
    tested at the next level, or, without any level, at all."""

    arm: Arm
    levels: tuple[float, ...]
    bound: str | None

    def nearest(self, level: float) -> float:
        """Return the arm's level that is nearest to `level`."""
        return nearest_level(self.levels, level)


@dataclass(frozen=True)
class SearchSpace:
    """The levels of an axis and the arms of a search, which begins at `start`."""

    request: SearchRequest
    limit: CapacityLimit
    along: Axis
    cells: SearchCells
    levels: tuple[float, ...]
    start: float
    arms: tuple[SearchArm, ...]
    warnings: tuple[str, ...] = ()

    @property
    def testable(self) -> list[SearchArm]:
        return [each for each in self.arms if each.levels]

    def document(self) -> dict[str, Any]:
        """Return the search for campaign.json."""
        along, workload = self.along, self.cells.workload
        return {
            "request": asdict(self.request),
            "along": along.name,
            "factor": along.factor,
            "unit": along.unit,
            "title": along.title,
            "whole": along.whole,
            "limit": self.limit.document(),
            "workload": workload.name,
            "workload_title": workload.display_title,
            "workload_description": workload.description,
            "own_level": along.own(workload),
            "levels": list(self.levels),
            "most_trials": MOST_TRIALS,
            "arms": [
                {
                    "arm": each.arm.name,
                    "middleware": each.arm.middleware,
                    "profile": each.arm.profile.name,
                    "role": "floor" if each.arm.is_floor else "contender",
                    "wait": each.arm.wait,
                    "start": each.nearest(self.start) if each.levels else None,
                    "levels": len(each.levels),
                    "bound": each.bound,
                }
                for each in self.arms
            ],
        }


def search_space(request: SearchRequest, suite: Suite, where: str) -> SearchSpace:
    """Return the arms with the levels at which they can be tested here. Raises UserError if no arm
    can be tested, or the budget cannot test the limit."""
    limit, along = parse_limit(request.limit), axis(request.along)
    check_named(suite, workloads=[request.workload])
    workload = next(each for each in suite.workloads if each.name == request.workload)
    arms = _arms(suite, workload, request.arms)
    absent = unsupported_cells.absent_arms(arms)
    arms = [arm for arm in arms if arm.name not in absent]
    unsupported_cells.check_arms_left([arm.name for arm in arms], absent, where)
    all_levels, start = _levels(along, along.own(workload), request)
    cells = SearchCells(suite, workload, along, limit.messages)
    # unless --from asks for them, levels whose probes take very long are left out
    if request.least is None:
        longest_s = max(LONGEST_PROBE_S, 2 * cells.probe_s(start))
        all_levels = tuple(
            level for level in all_levels if level >= start or cells.probe_s(level) <= longest_s
        )
    space = SearchSpace(
        request,
        limit,
        along,
        cells,
        all_levels,
        start,
        tuple(testable_arm(cells, arm, all_levels) for arm in arms),
    )
    if not space.testable:
        raise UserError(
            "no arm can be tested here", where=f"suite {suite.suite}", actual=space.arms[0].bound
        )
    warnings = _check_time(space)
    warnings += [f"{each.arm.name}: {each.bound}" for each in space.arms if not each.levels]
    warnings += [f"left out: {name}: {reason}" for name, reason in absent.items()]
    if suite.factors:
        warnings.append(
            f"the suite's factors ({', '.join(suite.factors)}) keep the workload's own values"
        )
    return replace(space, warnings=tuple(warnings))


def testable_arm(cells: SearchCells, arm: Arm, levels: tuple[float, ...]) -> SearchArm:
    """Return the arm with the levels, from the easiest on, that memory and cores of this machine
    permit. A higher level needs more of both, and has a shorter window, so the first that does not
    fit is found by bisection."""
    cores, available = int(describe()["hardware"]["cores_usable"]), available_memory_bytes()

    def reason(index: int) -> str | None:
        try:
            cell = cells.cell(arm, levels[index])
        except UserError as error:
            return error.what
        return spin_reason(cell, cores) or memory_reason(cell, available)

    count = bisect_left(range(len(levels)), True, key=lambda index: reason(index) is not None)
    return SearchArm(arm, levels[:count], reason(count) if count < len(levels) else None)


def _levels(
    along: Axis, own_level: float, request: SearchRequest
) -> tuple[tuple[float, ...], float]:
    """Return all levels of the axis, and the level to start at."""
    least, most = _range(along, own_level, request)
    all_levels = levels(along, own_level, request.resolution, least, most)
    if len(all_levels) < 2:
        raise UserError(
            "a search needs at least two levels",
            where="--from, --to",
            actual=f"{quantity(all_levels[0], along)} alone" if all_levels else "none",
        )
    if len(all_levels) > MOST_LEVELS:
        raise UserError(
            f"{len(all_levels)} levels are too many to search",
            where="--resolution",
            expected=f"at most {MOST_LEVELS} between {quantity(least, along)} and "
            f"{quantity(most, along)}",
            fix="a coarser --resolution, or a narrower range with --from and --to",
        )
    return all_levels, nearest_level(all_levels, min(max(own_level, least), most))


TYPICAL_TRIALS = 24
"""The trials, those of the curve included, of an arm whose boundary lies between two levels."""


def forecast(space: SearchSpace) -> str:
    """Return one sentence on what a search will do and its approximate time."""
    cells, along, request = space.cells, space.along, space.request
    probe_s, arms = cells.probe_s(space.start), len(space.testable)
    least, most = (quantity(level, along) for level in (space.levels[0], space.levels[-1]))
    text = (
        f"{counted(arms, 'arm')} from {quantity(space.start, along)}, between "
        f"{least} and {most}; probes take {duration_text(probe_s)} there "
        f"({space.limit.demanding.text} needs {cells.messages} messages)"
    )
    if request.budget_s is not None:
        return f"{text}; ends after {duration_text(request.budget_s)} at the latest"
    typical = duration_text(TYPICAL_TRIALS * arms * probe_s)
    return (
        f"{text}; about {typical} at that length, with at most {MOST_TRIALS} probes per arm to "
        "decide it"
    )


def nearest_level(candidates: Sequence[float], level: float) -> float:
    """Return the candidate that is nearest to `level`."""
    return min(candidates, key=lambda candidate: abs(math.log(candidate / level)))


def quantity(level: float, along: Axis) -> str:
    """Return a level with its unit, as in the report: `412 Hz`, `64 kB`, `7 subscribers`."""
    if along.unit == "":
        return f"{level:g} {along.title if level != 1 else along.title.removesuffix('s')}"
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1)):
        if level >= factor or not unit:
            return f"{level / factor:.4g} {unit}{'Hz' if along.unit == 'hz' else 'B'}"
    raise AssertionError


def parse_level(text: str, along: Axis, where: str) -> float:
    """Return the number of `100`, `1.5 kHz` or `64KiB` in the axis's unit. Raises UserError for
    other texts."""
    match = re.fullmatch(r"\s*([0-9.]+(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)\s*", text)
    units = UNITS[along.unit]
    if not match or (match[2] and match[2].lower() not in units):
        raise UserError(
            f"`{text}` is not a level of {along.name}",
            where=where,
            expected="a number" + (f", optionally with one of {', '.join(units)}" if units else ""),
            actual=text,
        )
    try:
        level = float(match[1]) * units.get(match[2].lower(), 1)
    except ValueError:
        raise UserError(f"`{match[1]}` is not a number", where=where, actual=text) from None
    if not along.least <= level <= along.most:
        raise UserError(
            f"`{text}` is out of range",
            where=where,
            expected=f"{quantity(along.least, along)} to {quantity(along.most, along)}",
            actual=text,
        )
    return level


def _range(along: Axis, own_level: float, request: SearchRequest) -> tuple[float, float]:
    least = max(along.least, own_level / RANGE_BELOW)
    most = min(along.most, own_level * RANGE_ABOVE)
    if request.least is not None:
        least = parse_level(request.least, along, "--from")
    if request.most is not None:
        most = parse_level(request.most, along, "--to")
    if request.least is None:
        least = min(least, most)
    if request.most is None:
        most = max(least, most)
    if not least < most:
        raise UserError(
            "the range is empty",
            where="--from, --to",
            expected="--from below --to",
            actual=f"from {quantity(least, along)} to {quantity(most, along)}",
        )
    return least, most


def _arms(suite: Suite, workload: Workload, names: Sequence[str]) -> list[Arm]:
    check_named(suite, arms=names)
    condition = {"workload": workload.name}
    arms = [
        arm
        for arm in suite.arms
        if (not names or arm.name in names)
        and not any(
            all((condition | {"arm": arm.name}).get(k) == v for k, v in rule.items())
            for rule in suite.exclude
        )
    ]
    if not arms:
        raise UserError(
            f"the suite excludes these arms for workload `{workload.name}`", where="--arm"
        )
    return arms


def _check_time(space: SearchSpace) -> list[str]:
    """Return warnings about the budget. Raises UserError if it can never test the limit."""
    cells, start, budget_s = space.cells, space.start, space.request.budget_s
    if budget_s is None:
        return []
    arms, along, first_s = len(space.testable), cells.along, cells.probe_s(start)
    highest = (each.levels[-1] for each in space.testable)
    shortest_s = min(cells.probe_s(level) for level in (start, *highest))
    why = f"{space.limit.demanding.text} needs {cells.messages} messages per trial"
    least_s = arms * (first_s + (FEWEST_ROUNDS - 1) * shortest_s)
    if budget_s < least_s:
        needed, given = distinct(duration_text, least_s, budget_s)
        raise UserError(
            "the budget cannot test this limit",
            where="--budget",
            expected=f"at least {needed}: {FEWEST_ROUNDS} probes of each of "
            f"{counted(arms, 'arm')}, the first of {duration_text(first_s)} at "
            f"{quantity(start, along)} ({why})",
            actual=given,
            fix=f"--budget {budget_text(least_s)}, fewer arms with --arm, a lower percentile, "
            "or a higher --from",
        )
    affordable = int(budget_s / (arms * first_s))
    if affordable >= FEWEST_ROUNDS:
        return []
    return [
        f"if the capacity is near {quantity(start, along)}, the budget allows "
        f"{counted(affordable, 'probe')} of each arm there ({duration_text(first_s)} each: {why}), "
        "and the interval will be wide; at higher levels they are shorter"
    ]
