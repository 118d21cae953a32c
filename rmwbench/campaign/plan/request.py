"""What the user asked for, and the plan that follows from it: which cells, and within a budget
which of them.

What a budget leaves out is decided once. The campaign keeps the decision (`Request.shortened`,
`comparisons`, `most_blocks`, `least_blocks`), so that resuming it on a machine that has become
faster, or with more workers, plans the same trials.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rmwbench.campaign.plan import cut, unsupported
from rmwbench.campaign.plan.cut import Cut
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
from rmwbench.suite.cells import Cell, cells, comparisons, renumbered
from rmwbench.suite.file.candidate_list import NO_CHOICE, Choice
from rmwbench.suite.file.load import added, parse, plain, written
from rmwbench.suite.file.places import shown
from rmwbench.suite.file.short_version import KEY as SHORT_KEY
from rmwbench.suite.suite import Suite
from rmwbench.words.level_names import named_level
from rmwbench.words.numbers import counted

MOST_SHORT_BLOCKS = 20
"""Of a short version that stands in for the whole suite: more decide nothing more, and are not what
was asked for."""


@dataclass(frozen=True)
class Request:
    """What makes the plan besides the suite's text. `suite_file` is where profile files are looked
    for from; `sampling` overrides the suite's. `comparisons` are those that the budget holds, all
    where None; `most_blocks` bounds what the budget buys; `least_blocks` run however slow the
    machine is, where that is more than the suite's minimum. `written` are the suite's arms where
    candidates or the command line say them, and not its text. `at`: `FACTOR=LEVEL`, the levels of
    factors that were asked for; of a factor that is not named, all. `shortened`: the suite's short
    version; `placed`: the option by which its hosts are machines; `added`: the arms that the command
    line added to the suite's, `network`: what it put between all hosts. `until_limits`: a sequential
    design ends once the suite's limits are settled, whatever its verdicts are."""

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
        """Made from campaign.json. Raises KeyError or TypeError where that is not valid."""
        held, written = raw.get("comparisons"), raw.get("written")
        return Request(
            raw["suite_file"],
            raw["seed"],
            raw["budget_s"],
            tuple(raw["workloads"]),
            tuple(raw["arms"]),
            raw.get("sampling", {}),
            raw.get("shortened", False),
            raw.get("placed"),
            None if held is None else tuple(held),
            raw.get("most_blocks"),
            None if written is None else tuple(written),
            raw.get("least_blocks"),
            tuple(raw.get("at", ())),
            tuple(raw.get("added", ())),
            raw.get("network"),
            raw.get("until_limits", False),
        )


@dataclass(frozen=True)
class _Version:
    """The whole suite or its short version, with the cells that were asked for and what each
    comparison costs per block. `minimum`: so many blocks, at least."""

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
        """The smallest budget that holds any comparison."""
        return self.minimum * min(
            (cost for cost in self.costs_s.values() if cost > 0), default=math.inf
        )

    def fits(self, budget_s: float) -> bool:
        return self.minimum_s <= budget_s * (1 + 1e-9)


class Planner:
    """Plans of one suite's text; each version of it is read once. `choice`: what the command line
    says of its arms and network."""

    def __init__(self, text: str, suite_file: str, choice: Choice = NO_CHOICE):
        self._text, self._path, self.choice = text, Path(suite_file), choice
        self._found: dict[tuple[bool, frozenset[str]], tuple[Suite, tuple[Cell, ...]]] = {}

    def written(self) -> tuple[dict[str, Any], ...] | None:
        """The arms, where the text alone does not say them."""
        return written(self._text, where=shown(self._path), choice=self.choice)

    def added(self) -> tuple[str, ...]:
        """The names of the arms that the command line adds."""
        return added(self._text, where=shown(self._path), choice=self.choice)

    def _read(self, request: Request) -> tuple[Suite, tuple[Cell, ...]]:
        """The suite and all its cells; shortened with every level of the factors of which levels
        were asked for."""
        asked = _factors(request.at) if request.shortened else frozenset()
        key = (request.shortened, asked)
        if key not in self._found:
            self._found[key] = self._parsed(request.shortened, asked)
        return self._found[key]

    def _parsed(
        self, shortened: bool, whole_factors: frozenset[str]
    ) -> tuple[Suite, tuple[Cell, ...]]:
        suite = parse(
            self._text,
            where=shown(self._path),
            directory=self._path.parent,
            middlewares=names_here(),  # a user's own worker is as good as a shipped one
            shortened=shortened,
            whole_factors=whole_factors,
            choice=self.choice,
        )
        return suite, cells(suite)

    def chosen(self, request: Request) -> tuple[Suite, tuple[Cell, ...]]:
        """The suite with the request's sampling and least blocks, and the cells asked for. Raises
        UserError where there are none."""
        suite, found = self._read(request)
        if request.sampling:
            suite = suite.model_copy(
                update={"sampling": suite.sampling.model_copy(update=request.sampling)}
            )
            found = tuple(replace(cell, sampling=suite.sampling) for cell in found)
        if request.least_blocks is not None:
            minimum = max(suite.blocks.minimum, request.least_blocks)
            suite = suite.model_copy(
                update={"blocks": suite.blocks.model_copy(update={"minimum": minimum})}
            )
        found = _chosen(suite, found, request)
        return suite, found if request.placed is None else placement.placed(found, request.placed)

    def described(self, request: Request, kind: HostKind) -> dict[int, str]:
        """Cell of the request -> what its workers' descriptions say that it cannot do; none where
        that is all of them, which is refused with its reasons once they have been asked."""
        _, found = self.chosen(request)
        workers = find_workers({name for cell in found for name in cell.middlewares})
        lacking = unsupported.described(found, workers, kind)
        return {} if len(lacking) == len(found) else lacking

    def plan(
        self,
        request: Request,
        lacking: Mapping[int, str] = NOTHING,
        machine: MachineLimits | None = None,
        **more: Any,
    ) -> Plan:
        """`machine` marks the cells that ask for more than it has; `more` are fields of the
        plan."""
        suite, found = self.chosen(request)
        made = make_plan(
            suite,
            found,
            seed=request.seed,
            budget_s=request.budget_s,
            most_blocks=request.most_blocks,
            unsupported=lacking,
        )
        if machine is not None:
            beyond = machine.all_beyond(found)
            more |= {
                "beyond": {number: one.text for number, one in beyond.items()},
                "machine": machine.document()
                | {"beyond": [one.document(number) for number, one in beyond.items()]},
            }
        return replace(made, **more)

    def without_absent(self, request: Request) -> tuple[Request, dict[str, str]]:
        """The request for the arms that can run here, and the optional ones that cannot, with the
        reason: a resumed campaign has the same arms, whatever is built by then. Raises UserError
        where none is left."""
        _, found = self.chosen(request)
        absent = unsupported.left_out({cell.arm.name: cell.arm for cell in found}.values())
        if not absent:
            return request, {}
        kept = tuple(dict.fromkeys(cell.arm.name for cell in found if cell.arm.name not in absent))
        unsupported.check_arms_left(kept, absent, shown(self._path), self.added())
        return replace(request, arms=kept), absent

    def within_budget(self, request: Request, machine: MachineLimits) -> tuple[Request, Cut | None]:
        """The request for what its budget holds: the whole suite, else its short version, else as
        many comparisons as fit (cut.py), those last that ask for more than the machine has. Raises
        UserError where not one fits."""
        if request.budget_s is None:
            return request, None
        if request.comparisons is not None:  # chosen already; what else the suite has is left out
            return request, self._chosen_cut(request, request.comparisons, request.budget_s)
        budget_s, whole, shorter = request.budget_s, self._version(request), None
        if whole.fits(budget_s):
            return request, None
        if asked := self._shortened(request):
            request, shorter = asked, self._version(asked)
        runs = shorter or whole
        held, short = None, shorter is not None
        if not runs.fits(budget_s):
            found = _kept(runs, budget_s, machine)
            if not found:
                raise self._too_small(request, whole, runs)
            held = tuple(key for key in runs.groups if key in found)
        # told as levels of the version that was asked for, so that what the short one has not is
        # named too
        made = self._cut(request, whole, runs.groups if held is None else held, runs.name)
        most = max(MOST_SHORT_BLOCKS, runs.suite.blocks.most) if short else request.most_blocks
        return replace(request, comparisons=held, most_blocks=most), made

    def by_importance(self, request: Request, machine: MachineLimits) -> dict[str, float]:
        """What a block of each comparison takes, in the order in which a budget keeps them."""
        version = self._version(request)
        return {key: version.costs_s[key] for key in _kept(version, math.inf, machine)}

    def _chosen_cut(self, request: Request, run: Collection[str], budget_s: float) -> Cut:
        """What all comparisons would take in as many blocks as the chosen ones get."""
        whole = self._version(replace(request, comparisons=None))
        block_s = math.fsum(whole.costs_s.get(key, 0.0) for key in run)
        blocks = blocks_within(budget_s, block_s, whole.minimum, whole.suite.suite)
        return self._cut(request, replace(whole, minimum=blocks), run, whole.name)

    def _cut(self, request: Request, whole: _Version, run: Collection[str], version: str) -> Cut:
        not_run = tuple(key for key in whole.groups if key not in run)
        return Cut(
            duration_text(request.budget_s or 0.0),
            version,
            whole.name,
            f"{duration_text(whole.minimum_s)} ({counted(whole.minimum, 'block')} of "
            f"{duration_text(whole.block_s)})",
            whole.minimum_s,
            len(whole.groups),
            not_run,
            cut.words(whole.suite, whole.groups, run),
        )

    def _version(self, request: Request) -> _Version:
        suite, found = self.chosen(request)
        costs = costs_s(found, self.described(request, host_kind()))
        groups = comparisons(found)
        each = {
            key: math.fsum(costs.get(cell.number, 0.0) for cell in group)
            for key, group in groups.items()
        }
        name = cut.SHORT if request.shortened else cut.WHOLE
        return _Version(name, suite, groups, each, suite.blocks.minimum)

    def _shortened(self, request: Request) -> Request | None:
        """The same of the short version, without the arms and workloads that it has not; None where
        the suite has none, or none with anything that was asked for by name."""
        if request.shortened or SHORT_KEY not in plain(
            self._text, where=shown(self._path), choice=self.choice
        ):
            return None
        suite, _ = self._read(replace(request, shortened=True))
        workloads, arms = (
            {workload.name for workload in suite.workloads},
            {arm.name for arm in suite.arms},
        )
        if request.workloads and not workloads & set(request.workloads):
            return None
        asked = replace(
            request,
            shortened=True,
            workloads=tuple(name for name in request.workloads if name in workloads),
            arms=tuple(name for name in request.arms if name in arms),
        )
        return None if request.arms and not asked.arms else asked

    def _too_small(self, request: Request, whole: _Version, runs: _Version) -> UserError:
        least_s = min(version.least_s for version in (whole, runs))
        hints = ["fewer with --workload NAME or --arm NAME"]
        if runs is not whole:
            hints.insert(
                0,
                f"or all of the short version with --short --budget {budget_text(runs.minimum_s)}",
            )
        return UserError(
            f"the budget is too small for suite `{runs.suite.suite}`: it holds not even one "
            "comparison",
            expected=f"at least {duration_text(least_s)}, which is {runs.minimum} blocks of the "
            f"smallest; all take {duration_text(whole.minimum_s)}",
            actual=duration_text(request.budget_s or 0.0),
            fix=f"give it --budget {budget_text(least_s)} or more; {'; '.join(hints)}",
        )


def _kept(version: _Version, budget_s: float, machine: MachineLimits) -> list[str]:
    """Of a version what fits, in the order of cut.py; last what asks for more than the machine
    has."""
    beyond = {
        key for key, group in version.groups.items() if any(machine.beyond(cell) for cell in group)
    }
    costs = {key: version.minimum * cost for key, cost in version.costs_s.items()}
    return cut.kept(version.suite, version.groups, costs, budget_s, beyond)


def _chosen(suite: Suite, found: tuple[Cell, ...], request: Request) -> tuple[Cell, ...]:
    """The cells of the workloads, arms and comparisons that were asked for; all where none was
    named."""
    for kind, wanted, known in (
        ("workload", request.workloads, [workload.name for workload in suite.workloads]),
        ("arm", request.arms, [arm.name for arm in suite.arms]),
    ):
        for name in wanted:
            if name not in known:
                raise not_one_of(
                    f"suite `{suite.suite}` has no {kind} `{name}`", name, known, where=f"--{kind}"
                )
    _check_levels(suite, request.at)
    factors = _factors(request.at)
    held = None if request.comparisons is None else set(request.comparisons)
    left = tuple(
        cell
        for cell in found
        if (not request.workloads or cell.workload.name in request.workloads)
        and (not request.arms or cell.arm.name in request.arms)
        and all(named_level(name, cell.factors[name]) in request.at for name in factors)
        and (held is None or cell.comparison in held)
    )
    if not left:
        raise UserError(
            f"suite `{suite.suite}` excludes these workloads and levels for these arms",
            fix="leave out --workload, --arm or --at",
        )
    return renumbered(left) if len(left) < len(found) else left


def _factors(at: tuple[str, ...]) -> frozenset[str]:
    """The names of the factors of which levels were asked for."""
    return frozenset(asked.partition("=")[0] for asked in at)


def _check_levels(suite: Suite, at: tuple[str, ...]) -> None:
    """Raises UserError for a level that the suite has not."""
    known = [named_level(name, level) for name, levels in suite.factors.items() for level in levels]
    for asked in at:
        if asked not in known:
            raise UserError(
                f"suite `{suite.suite}` has no such level of a factor",
                where="--at",
                expected="one of " + ", ".join(known) if known else "no --at: it has no factors",
                actual=asked,
                fix=did_you_mean(asked, known),
            )
