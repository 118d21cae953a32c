"""The user's request and its plan: the cells, and those of them that a budget holds.

The decision on a budget is made once. The campaign keeps it (`Request.shortened`, `comparisons`,
`most_blocks`, `least_blocks`), so that a campaign that is resumed on a faster machine, or with more
workers, has the same trials.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from rmwbench.campaign.plan import budget_cut, unsupported_cells
from rmwbench.campaign.plan.budget_cut import Cut
from rmwbench.campaign.plan.machine_limits import MachineLimits
from rmwbench.campaign.plan.plan import (
    NOTHING,
    Plan,
    blocks_within,
    budget_text,
    costs_s,
    duration_text,
    make_plan,
)
from rmwbench.errors import UserError, did_you_mean, not_one_of
from rmwbench.lab.host import HostKind, host_kind
from rmwbench.lab.middleware import find_workers, names_here
from rmwbench.suite import placement
from rmwbench.suite.cells import Cell, cells, comparisons, renumber
from rmwbench.suite.file.candidate_list import NO_CHOICE, Choice
from rmwbench.suite.file.load import added_arms, parse, plain, written_arms
from rmwbench.suite.file.short_version import KEY as SHORT_KEY
from rmwbench.suite.file.suite_files import path_text
from rmwbench.suite.suite import Suite
from rmwbench.words.level_names import named_level
from rmwbench.words.numbers import counted, distinct

MOST_SHORT_BLOCKS = 20
"""The most blocks of a short version that replaces the whole suite: more would decide nothing more,
and the user did not ask for them."""


@dataclass(frozen=True)
class Request:
    """The parameters of a plan besides the suite's text. Paths of profile files are relative to
    `suite_file`; `sampling` overrides the suite's. `comparisons` are those that the budget holds,
    None for all; `most_blocks` limits the blocks within the budget; `least_blocks` run on any
    machine, if they are more than the suite's minimum. `written` has the suite's arms if candidates
    or the command line name them. `at` has levels of factors, `FACTOR=LEVEL`; a factor that is not
    named has all its levels. `shortened`: the suite's short version; `placed`: the option by which
    its hosts are machines; `added`: the arms that the command line adds; `network`: the network
    that it puts between all hosts. `until_limits`: a sequential design ends when the suite's limits
    are settled, whatever its verdicts are."""

    suite_file: str
    seed: int = 0
    budget_s: float | None = None
    workloads: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()
    sampling: dict[str, Any] = field(default_factory=dict)
    shortened: bool = False
    placed: str | None = None
    comparisons: tuple[str, ...] | None = None
    most_blocks: int | None = None
    written: tuple[dict[str, Any], ...] | None = None
    least_blocks: int | None = None
    at: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    network: str | None = None
    until_limits: bool = False

    @staticmethod
    def of_document(raw: Mapping[str, Any]) -> "Request":
        """Return the request in campaign.json. Raises ValueError if it is not valid."""
        return TypeAdapter(Request).validate_python(raw)


@dataclass(frozen=True)
class _Version:
    """The whole suite or its short version, with the requested cells, the time of a block of each
    comparison, and the `minimum` of blocks."""

    name: str
    suite: Suite
    groups: Mapping[str, tuple[Cell, ...]]
    costs_s: Mapping[str, float]
    minimum: int

    @property
    def block_s(self) -> float:
        return math.fsum(self.costs_s.values())

    @property
    def minimum_s(self) -> float:
        return self.minimum * self.block_s

    @property
    def least_s(self) -> float:
        """The smallest budget that holds a comparison."""
        return self.minimum * min(
            (cost for cost in self.costs_s.values() if cost > 0), default=math.inf
        )

    def fits(self, budget_s: float) -> bool:
        return self.minimum_s <= budget_s * (1 + 1e-9)


class Planner:
    """The maker of plans of one suite's text, each version of which is parsed once. `choice` has
    the command line's options on arms and network."""

    def __init__(self, text: str, suite_file: str, choice: Choice = NO_CHOICE):
        self._text, self._path, self.choice = text, Path(suite_file), choice
        self._parsed = cache(self._parse)

    def arms_written(self) -> tuple[dict[str, Any], ...] | None:
        """Return the arms, if the text alone does not have them."""
        return written_arms(self._text, where=path_text(self._path), choice=self.choice)

    def added(self) -> tuple[str, ...]:
        """Return the names of the arms that the command line adds."""
        return added_arms(self._text, where=path_text(self._path), choice=self.choice)

    def _read(self, request: Request) -> tuple[Suite, tuple[Cell, ...]]:
        """Return the suite and all its cells. A short version has all levels of the factors of
        which levels are requested."""
        factors = _factors(request.at) if request.shortened else frozenset()
        return self._parsed(request.shortened, factors)

    def _parse(
        self, shortened: bool, whole_factors: frozenset[str]
    ) -> tuple[Suite, tuple[Cell, ...]]:
        suite = parse(
            self._text,
            where=path_text(self._path),
            directory=self._path.parent,
            middlewares=names_here(),  # a user's own worker is as good as a shipped one
            shortened=shortened,
            whole_factors=whole_factors,
            choice=self.choice,
        )
        return suite, cells(suite)

    def select(self, request: Request) -> tuple[Suite, tuple[Cell, ...]]:
        """Return the suite with the request's sampling and least blocks, and the requested cells.
        Raises UserError if there are none."""
        suite, chosen_cells = self._read(request)
        if request.sampling:
            suite = suite.model_copy(
                update={"sampling": suite.sampling.model_copy(update=request.sampling)}
            )
            chosen_cells = tuple(replace(cell, sampling=suite.sampling) for cell in chosen_cells)
        if request.least_blocks is not None:
            minimum = max(suite.blocks.minimum, request.least_blocks)
            suite = suite.model_copy(
                update={"blocks": suite.blocks.model_copy(update={"minimum": minimum})}
            )
        chosen_cells = _select_cells(suite, chosen_cells, request)
        return suite, chosen_cells if request.placed is None else placement.place_cells(
            chosen_cells, request.placed
        )

    def unsupported_reasons(self, request: Request, kind: HostKind) -> dict[int, str]:
        """Return cell → the reason why its workers' descriptions do not support it; empty if that
        is all cells, since `start.check_request` then refuses the request with all reasons."""
        _, chosen_cells = self.select(request)
        workers = find_workers({name for cell in chosen_cells for name in cell.middlewares})
        reasons = unsupported_cells.unsupported_reasons(chosen_cells, workers, kind)
        return {} if len(reasons) == len(chosen_cells) else reasons

    def plan(
        self,
        request: Request,
        reasons: Mapping[int, str] = NOTHING,
        machine: MachineLimits | None = None,
        **more: Any,
    ) -> Plan:
        """Return the plan. It marks the cells that need more than `machine` has; `more` are fields
        of the plan."""
        suite, chosen_cells = self.select(request)
        new_plan = make_plan(
            suite,
            chosen_cells,
            seed=request.seed,
            budget_s=request.budget_s,
            most_blocks=request.most_blocks,
            unsupported=reasons,
        )
        if machine is not None:
            beyond = machine.all_beyond(chosen_cells)
            more |= {
                "beyond": {number: excess.text for number, excess in beyond.items()},
                "machine": machine.document()
                | {"beyond": [excess.document(number) for number, excess in beyond.items()]},
            }
        return replace(new_plan, **more)

    def without_absent(self, request: Request) -> tuple[Request, dict[str, str]]:
        """Return the request for the arms that can run here, and the absent arms with the reason. A
        resumed campaign thus has the same arms, even if more workers are built by then. Raises
        UserError if no arm is left."""
        _, chosen_cells = self.select(request)
        absent = unsupported_cells.absent_arms(
            {cell.arm.name: cell.arm for cell in chosen_cells}.values()
        )
        if not absent:
            return request, {}
        arms_left = tuple(
            dict.fromkeys(cell.arm.name for cell in chosen_cells if cell.arm.name not in absent)
        )
        unsupported_cells.check_arms_left(arms_left, absent, path_text(self._path), self.added())
        return replace(request, arms=arms_left), absent

    def within_budget(self, request: Request, machine: MachineLimits) -> tuple[Request, Cut | None]:
        """Return the request for the cells that its budget holds: the whole suite, else its short
        version, else as many comparisons as fit (budget_cut.py), those last that need more than the
        machine has. Raises UserError if no comparison fits."""
        if request.budget_s is None:
            return request, None
        if request.comparisons is not None:  # they are chosen already
            return request, self._chosen_cut(request, request.comparisons, request.budget_s)
        budget_s, asked_version, shorter = request.budget_s, self._version(request), None
        if asked_version.fits(budget_s):
            return request, None
        if short_request := self._shortened(request):
            request, shorter = short_request, self._version(short_request)
        runs = shorter or asked_version
        chosen_keys, short = None, shorter is not None
        if not runs.fits(budget_s):
            fitting = _fitting(runs, budget_s, machine)
            if not fitting:
                raise self._too_small(request, asked_version, runs)
            chosen_keys = tuple(key for key in runs.groups if key in fitting)
        # in levels of the requested version, so that those that the short one lacks are named, too
        reduction = self._cut(
            request, asked_version, runs.groups if chosen_keys is None else chosen_keys, runs.name
        )
        most = max(MOST_SHORT_BLOCKS, runs.suite.blocks.most) if short else request.most_blocks
        return replace(request, comparisons=chosen_keys, most_blocks=most), reduction

    def by_importance(self, request: Request, machine: MachineLimits) -> dict[str, float]:
        """Return comparison → the time of its block, in the order in which a budget keeps them."""
        version = self._version(request)
        return {key: version.costs_s[key] for key in _fitting(version, math.inf, machine)}

    def _chosen_cut(self, request: Request, run: Collection[str], budget_s: float) -> Cut:
        """Return the cut of a request whose comparisons are chosen already. Its whole minimum is
        the time of all comparisons with the blocks that the chosen ones get."""
        whole_suite = self._version(replace(request, comparisons=None))
        block_s = math.fsum(whole_suite.costs_s.get(key, 0.0) for key in run)
        blocks = blocks_within(budget_s, block_s, whole_suite.minimum, whole_suite.suite.suite)
        return self._cut(request, replace(whole_suite, minimum=blocks), run, whole_suite.name)

    def _cut(
        self, request: Request, asked_version: _Version, run: Collection[str], version: str
    ) -> Cut:
        not_run = tuple(key for key in asked_version.groups if key not in run)
        minimum, budget = distinct(duration_text, asked_version.minimum_s, request.budget_s or 0.0)
        blocks = counted(asked_version.minimum, "block")
        return Cut(
            budget,
            version,
            asked_version.name,
            f"{minimum} ({blocks} of {duration_text(asked_version.block_s)})",
            asked_version.minimum_s,
            len(asked_version.groups),
            not_run,
            budget_cut.words(asked_version.suite, asked_version.groups, run),
        )

    def _version(self, request: Request) -> _Version:
        suite, chosen_cells = self.select(request)
        costs = costs_s(chosen_cells, self.unsupported_reasons(request, host_kind()))
        groups = comparisons(chosen_cells)
        cost_s_of = {
            key: math.fsum(costs.get(cell.number, 0.0) for cell in group)
            for key, group in groups.items()
        }
        name = budget_cut.SHORT if request.shortened else budget_cut.WHOLE
        return _Version(name, suite, groups, cost_s_of, suite.blocks.minimum)

    def _shortened(self, request: Request) -> Request | None:
        """Return the same request for the short version, without the arms and workloads that it
        lacks; None without a short version, or if it has none of the named arms or workloads."""
        if request.shortened or SHORT_KEY not in plain(
            self._text, where=path_text(self._path), choice=self.choice
        ):
            return None
        suite, _ = self._read(replace(request, shortened=True))
        workloads = {workload.name for workload in suite.workloads}
        arms = {arm.name for arm in suite.arms}
        if request.workloads and not workloads & set(request.workloads):
            return None
        short_request = replace(
            request,
            shortened=True,
            workloads=tuple(name for name in request.workloads if name in workloads),
            arms=tuple(name for name in request.arms if name in arms),
        )
        return None if request.arms and not short_request.arms else short_request

    def _too_small(self, request: Request, asked_version: _Version, runs: _Version) -> UserError:
        hints = ["less is enough with --workload NAME or --arm NAME"]
        if runs is not asked_version:
            hints.insert(
                0,
                f"or all of the short version with --short --budget {budget_text(runs.minimum_s)}",
            )
        least, given = distinct(duration_text, runs.least_s, request.budget_s or 0.0)
        return UserError(
            f"the budget is too small for suite `{runs.suite.suite}`: it holds not even one "
            "comparison",
            expected=f"at least {least}, which is {counted(runs.minimum, 'block')} of the smallest; "
            f"all take {duration_text(asked_version.minimum_s)}",
            actual=given,
            fix=f"give it --budget {budget_text(runs.least_s)} or more; {'; '.join(hints)}",
        )


def _fitting(version: _Version, budget_s: float, machine: MachineLimits) -> list[str]:
    """Return the comparisons of a version that fit, in the order of budget_cut.py, those last that need
    more than the machine has."""
    beyond = {
        key for key, group in version.groups.items() if any(machine.beyond(cell) for cell in group)
    }
    costs = {key: version.minimum * cost for key, cost in version.costs_s.items()}
    return budget_cut.fitting(version.suite, version.groups, costs, budget_s, beyond)


def _select_cells(suite: Suite, all_cells: tuple[Cell, ...], request: Request) -> tuple[Cell, ...]:
    """Return the cells of the requested workloads, arms, levels and comparisons; all if none is
    named."""
    check_named(suite, request.workloads, request.arms)
    _check_levels(suite, request.at)
    factors = _factors(request.at)
    comparison_keys = None if request.comparisons is None else set(request.comparisons)
    chosen_cells = tuple(
        cell
        for cell in all_cells
        if (not request.workloads or cell.workload.name in request.workloads)
        and (not request.arms or cell.arm.name in request.arms)
        and all(named_level(name, cell.factors[name]) in request.at for name in factors)
        and (comparison_keys is None or cell.comparison in comparison_keys)
    )
    if not chosen_cells:
        raise UserError(
            f"suite `{suite.suite}` excludes these workloads and levels for these arms",
            fix="leave out --workload, --arm or --at",
        )
    return renumber(chosen_cells) if len(chosen_cells) < len(all_cells) else chosen_cells


def check_named(suite: Suite, workloads: Sequence[str] = (), arms: Sequence[str] = ()) -> None:
    """Raise UserError for a name that the suite does not have."""
    for kind, names, known_names in (
        ("workload", workloads, [workload.name for workload in suite.workloads]),
        ("arm", arms, [arm.name for arm in suite.arms]),
    ):
        for name in names:
            if name not in known_names:
                raise not_one_of(
                    f"suite `{suite.suite}` has no {kind} `{name}`",
                    name,
                    known_names,
                    where=f"--{kind}",
                )


def _factors(at: tuple[str, ...]) -> frozenset[str]:
    """Return the names of the factors of which levels are requested."""
    return frozenset(level.partition("=")[0] for level in at)


def _check_levels(suite: Suite, at: tuple[str, ...]) -> None:
    """Raise UserError for a level that the suite does not have."""
    known_levels = [
        named_level(name, level) for name, levels in suite.factors.items() for level in levels
    ]
    for level in at:
        if level not in known_levels:
            raise UserError(
                f"suite `{suite.suite}` has no such level of a factor",
                where="--at",
                expected="one of " + ", ".join(known_levels)
                if known_levels
                else "no --at: it has no factors",
                actual=level,
                fix=did_you_mean(level, known_levels),
            )
