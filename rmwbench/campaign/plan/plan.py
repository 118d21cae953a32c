"""The plan of a campaign: pure arithmetic from a suite to an ordered list of trials, with nothing
run and no clock read.

Of the cells given only the number of blocks follows from a budget (which cells those are:
request.py). Steady windows stay as the suite wrote them, since a shorter one would change what a
percentile rests on, and a longer one what is compared with an earlier campaign; and blocks are
never cut, since a comparison needs each of its arms equally often. The order is random but hashed
from the seed by name: block 3 is the same block whether 5 or 50 are planned, so resuming and
extending a campaign change nothing that was already decided. A sequential design plans its maximum
of blocks and, before anything is measured, the looks at which it may end earlier.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rmwbench.analysis.verdicts.ladders import steps
from rmwbench.campaign.plan import judged_parts
from rmwbench.campaign.plan.cut import Cut
from rmwbench.campaign.plan.judged_parts import JudgedLevels
from rmwbench.errors import UserError
from rmwbench.lab.host.hosts import NAMESPACES, HostKind
from rmwbench.suite.cells import Cell, comparisons
from rmwbench.suite.decidable import DECIDABLE_BLOCKS, QUANTILES, messages_needed, percentile_name
from rmwbench.suite.seed import derive_seed
from rmwbench.suite.suite import Suite

DEFAULT_FIXED_COST_S = 0.3
"""Start, match, collect and clean up: what a trial costs besides its timeline, until the machine
has been seen to need more."""
NETWORK_COST_S = 0.3
"""What a trial over several hosts costs besides: 50 ms for devices, 150 to 500 for the probe."""

TYPICAL_LOG_RATIO_SDS = (0.1, 0.6)
"""Spread of block log-ratios on a quiet machine and on a small shared virtual one: what a plan can
say before anything was measured."""

RACED = 4
"""So many times the blocks that fit into a budget are planned for a campaign by the clock: what
decided arms leave free are blocks of the others (docs/formulas.md), and the estimate of a trial
allows for drains that few need."""

NOTHING: Mapping[int, str] = {}

FixedCost = float | Mapping[str, float]


@dataclass(frozen=True)
class Trial:
    """One execution of one cell. `trial` counts from 1, `block` and `position` (within the block)
    from 0.

    `seed` draws the schedule and is the same for every arm of a comparison within a block, so that
    they get the same arrivals. `repeats` is the number of the void trial whose place this one
    takes; no plan has such.
    """

    trial: int
    cell: int
    block: int
    position: int
    seed: int
    estimated_s: float
    repeats: int | None = None

    def document(self) -> dict[str, Any]:
        return {
            "trial": self.trial,
            "cell": self.cell,
            "block": self.block,
            "position": self.position,
            "seed": self.seed,
            "estimated_s": round(self.estimated_s, 3),
        }


@dataclass(frozen=True)
class Percentile:
    """Whether a quantile may be printed: per trial and over all blocks pooled, by n·(1−q) ≥ 10."""

    quantile: float
    needed: int
    per_trial: bool
    pooled: bool


@dataclass(frozen=True)
class ComparedCells:
    """The cells that are compared with each other. `steady_messages` is None where the middleware's
    speed decides it (saturation). `topics`: those, and readers, that are judged one by one; empty
    where the workload is judged as one. `rivalries`: families of at least two contenders, each of
    which is judged by itself; `contenders` has the largest."""

    key: str
    cells: tuple[Cell, ...]
    steady_messages: int | None
    percentiles: tuple[Percentile, ...]
    contenders: int
    topics: tuple[str, ...]
    rivalries: int
    resolvable: tuple[tuple[float, float], ...]

    @property
    def workload(self) -> str:
        return self.cells[0].workload.name


@dataclass(frozen=True)
class Plan:
    """What a campaign will do. Times are estimates from the timelines and the fixed cost; nothing
    here was measured.

    `blocks` will run, or in a sequential design at most that many: `looks` are the numbers of
    blocks after which it may end, the last of them `blocks`. A fixed design has no looks.
    `unsupported` has the cells without trials, because their middleware cannot do what they ask
    for, with the reason; `left_out` the optional arms whose middleware is not here; `cut` what the
    budget does not hold. `beyond` has the cells that ask for more than the machine has, in words,
    and `machine` what it has, as the document says it; None where the trials run elsewhere. `host`
    is the kind of host that trials get.
    """

    suite: Suite
    seed: int
    cells: tuple[Cell, ...]
    comparisons: tuple[ComparedCells, ...]
    blocks: int
    budget_s: float | None
    block_s: float
    trials: tuple[Trial, ...]
    looks: tuple[int, ...] = ()
    unsupported: Mapping[int, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    cut: Cut | None = None
    beyond: Mapping[int, str] = field(default_factory=dict)
    machine: Mapping[str, Any] | None = None
    host: HostKind = NAMESPACES

    @property
    def sequential(self) -> bool:
        return bool(self.looks)

    @property
    def judged_after(self) -> tuple[int, ...]:
        """The numbers of blocks after which verdicts are given: the looks, or the end of a fixed
        design."""
        return self.looks or (self.blocks,)

    @property
    def least_blocks(self) -> int:
        """What runs in any case: all blocks, or those until the first look."""
        return self.looks[0] if self.looks else self.blocks

    @property
    def within_s(self) -> float | None:
        """The time after which a campaign by the clock ends: what the suite gives it, or a budget;
        or what its minimum of blocks takes where that is longer. None for other campaigns."""
        given_s = self.suite.blocks.within_s
        if given_s is None:
            return None
        return max(given_s if self.budget_s is None else self.budget_s, self.minimum_s)

    @property
    def estimated_s(self) -> float:
        """The seconds that all blocks take, or as many as the suite's time holds; a sequential
        design may take less."""
        all_s = self.blocks * self.block_s
        return all_s if self.within_s is None else min(all_s, self.within_s)

    @property
    def minimum_s(self) -> float:
        """What the suite's minimum of blocks takes: the smallest budget."""
        return self.suite.blocks.minimum * self.block_s

    def cell(self, number: int) -> Cell:
        return self.cells[number - 1]

    @cached_property
    def levels(self) -> Sequence[JudgedLevels]:
        """The comparisons of an arm with itself at other levels, of the cells that will run."""
        return judged_parts.judged_levels(
            [cell for cell in self.cells if cell.number not in self.unsupported]
        )

    @property
    def compared(self) -> int:
        """How many comparisons will be judged: of arms with each other and of levels, in each topic
        and for each reader that is judged by itself."""
        between_arms = sum(one.rivalries * max(len(one.topics), 1) for one in self.comparisons)
        return between_arms + sum(one.compared for one in self.levels)

    def document(self) -> dict[str, Any]:
        """The plan as JSON, described in docs/formats/plan.md."""
        return {
            "schema": "rmwbench/plan",
            "version": 1,
            "suite": {
                "name": self.suite.suite,
                "title": self.suite.title,
                "description": self.suite.description,
            },
            "seed": self.seed,
            "blocks": {
                "count": self.blocks,
                "planned": self.suite.blocks.planned,
                "minimum": self.suite.blocks.minimum,
                "maximum": self.suite.blocks.maximum,
                "within_s": self.suite.blocks.within_s,
                "looks": list(self.looks),
                "decide": list(self.suite.blocks.decide),
            },
            "outcomes": None if self.suite.outcomes is None else self.suite.outcomes.document(),
            "budget_s": self.budget_s,
            "block_s": round(self.block_s, 3),
            "estimated_s": round(self.estimated_s, 3),
            "minimum_s": round(self.minimum_s, 3),
            "comparisons": [
                _comparison_document(comparison, self.least_blocks)
                for comparison in self.comparisons
            ],
            "levels": [_levels_document(one) for one in self.levels],
            "unsupported": [
                {"cell": cell, "reason": reason}
                for cell, reason in sorted(self.unsupported.items())
            ],
            "left_out": [{"arm": arm, "reason": reason} for arm, reason in self.left_out.items()],
            "not_run": None if self.cut is None else self.cut.document(),
            "host": self.host.document(),
            "machine": None if self.machine is None else dict(self.machine),
            "cells": [cell.definition() for cell in self.cells],
            "trials": [trial.document() for trial in self.trials],
        }


def make_plan(
    suite: Suite,
    cells: Sequence[Cell],
    *,
    seed: int,
    budget_s: float | None = None,
    fixed_cost_s: FixedCost = DEFAULT_FIXED_COST_S,
    unsupported: Mapping[int, str] = NOTHING,
    most_blocks: int | None = None,
) -> Plan:
    """Blocks, order and time for the cells of a suite.

    `fixed_cost_s` is what a trial costs besides its timeline, one number or one per arm's name.
    `unsupported` cells get no trials. `most_blocks` bounds what a budget buys. Raises UserError
    where the budget is below what the minimum of blocks takes.
    """
    cost_s = costs_s(cells, unsupported, fixed_cost_s)
    block_s = math.fsum(cost_s.values())
    blocks = _blocks(suite, block_s, budget_s, most_blocks)
    looks = _looks(suite.blocks.minimum, blocks) if suite.blocks.sequential else ()
    grouped = comparisons(cells)
    cells_of_key = {
        key: [cell for cell in group if cell.number in cost_s] for key, group in grouped.items()
    }
    definitions = {key: group[0].definition() for key, group in grouped.items()}
    topics = {
        key: judged_parts.topics(group[0], definitions[key]) for key, group in grouped.items()
    }
    families = {
        key: judged_parts.families(group, definitions[key]) for key, group in cells_of_key.items()
    }
    in_report = sum(sum(sizes) * max(len(topics[key]), 1) for key, sizes in families.items())
    return Plan(
        suite=suite,
        seed=seed,
        cells=tuple(cells),
        comparisons=tuple(
            _comparison(key, group, families[key], topics[key], in_report, looks or (blocks,))
            for key, group in grouped.items()
        ),
        blocks=blocks,
        budget_s=budget_s,
        block_s=block_s,
        trials=_trials(cells_of_key, seed, blocks, cost_s),
        looks=looks,
        unsupported=dict(unsupported),
    )


def costs_s(
    cells: Sequence[Cell],
    unsupported: Mapping[int, str] = NOTHING,
    fixed_cost_s: FixedCost = DEFAULT_FIXED_COST_S,
) -> dict[int, float]:
    """What a trial of each cell takes; those that are `unsupported` have none."""
    return {
        cell.number: cell.timeline.duration_s
        + _fixed_cost_s(fixed_cost_s, cell.arm.name)
        + _network_cost_s(cell)
        for cell in cells
        if cell.number not in unsupported
    }


def _blocks(suite: Suite, block_s: float, budget_s: float | None, most_blocks: int | None) -> int:
    if budget_s is None:
        return suite.blocks.most
    spent_s = budget_s if most_blocks is None else min(budget_s, most_blocks * block_s)
    blocks = blocks_within(spent_s, block_s, suite.blocks.minimum, suite.suite)
    if suite.blocks.within_s is None:
        return blocks
    return min(RACED * blocks, MAX_BLOCKS if most_blocks is None else max(blocks, most_blocks))


def _looks(minimum: int, maximum: int) -> tuple[int, ...]:
    # its scipy takes half a second: not for `--help`
    from rmwbench.analysis.verdicts.sequential import planned_looks

    return planned_looks(minimum, maximum)


def blocks_within(budget_s: float, block_s: float, minimum: int, suite: str) -> int:
    """Whole blocks that fit into the budget; UserError where they are fewer than `minimum` or too
    many."""
    # a budget typed from a printed estimate must not lose a block to the last binary digit
    blocks = math.floor(budget_s / block_s + 1e-9)
    if blocks < minimum:
        needed_s = minimum * block_s
        raise UserError(
            f"the budget is too small for suite `{suite}`",
            expected=f"at least {duration_text(needed_s)}: {minimum} blocks of "
            f"{duration_text(block_s)}",
            actual=duration_text(budget_s),
            fix=f"give it --budget {budget_text(needed_s)} or more; fewer with --short, --workload "
            "NAME or --arm NAME",
        )
    if blocks > MAX_BLOCKS:
        raise UserError(
            f"the budget is too large for suite `{suite}`",
            expected=f"at most {duration_text(MAX_BLOCKS * block_s)}: {MAX_BLOCKS} blocks of "
            f"{duration_text(block_s)}",
            actual=duration_text(budget_s),
            fix="give it less: a few dozen blocks decide what can be decided",
        )
    return blocks


MAX_BLOCKS = 10_000
"""The same limit as in a suite file. More blocks are a typing mistake, and their plan alone would
fill the memory."""


def duration_text(seconds: float) -> str:
    """`48 s`, `4.8 min`, `1.5 h`."""
    if seconds < 90:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 5400 else f"{seconds / 3600:.3g} h"


def budget_text(seconds: float) -> str:
    """The next longer time that `--budget` reads: `48s`, `5m`, `1.6h`."""
    if seconds < 90:
        return f"{math.ceil(seconds)}s"
    return (
        f"{math.ceil(seconds / 60)}m" if seconds < 5400 else f"{math.ceil(seconds / 360) / 10:g}h"
    )


def _network_cost_s(cell: Cell) -> float:
    """What joining hosts and trying the network adds."""
    return NETWORK_COST_S if cell.links is not None else 0.0


def _fixed_cost_s(fixed_cost_s: FixedCost, arm: str) -> float:
    return (
        fixed_cost_s.get(arm, DEFAULT_FIXED_COST_S)
        if isinstance(fixed_cost_s, Mapping)
        else fixed_cost_s
    )


def _trials(
    grouped: Mapping[str, Sequence[Cell]], seed: int, blocks: int, costs_s: Mapping[int, float]
) -> tuple[Trial, ...]:
    """Block after block: its comparisons in random order, and within each its arms in random order,
    back to back.

    Sorting by a keyed hash is a uniform random permutation, and one that Python versions cannot
    change.
    """
    trials: list[Trial] = []
    for block in range(blocks):
        position = 0
        for key in sorted(
            grouped, key=lambda key: derive_seed(seed, "comparison order", block, key)
        ):
            schedule_seed = derive_seed(seed, "schedule", block, key)
            for cell in sorted(
                grouped[key],
                key=lambda cell: derive_seed(seed, "arm order", block, key, cell.arm.name),
            ):
                trials.append(
                    Trial(
                        len(trials) + 1,
                        cell.number,
                        block,
                        position,
                        schedule_seed,
                        costs_s[cell.number],
                    )
                )
                position += 1
    return tuple(trials)


def _comparison(
    key: str,
    group: Sequence[Cell],
    families: Sequence[int],
    topics: tuple[str, ...],
    in_report: int,
    looks: Sequence[int],
) -> ComparedCells:
    """`families`: the contenders of each; `in_report`: those of all comparisons. A percentile that
    needs blocks pooled is promised of those until the first look only. A fixed design has one look,
    its end."""
    first = group[0]
    messages = None if first.saturating else first.steady_messages
    percentiles = tuple(
        Percentile(
            quantile=quantile,
            needed=messages_needed(quantile),
            per_trial=messages is not None and messages >= messages_needed(quantile),
            pooled=messages is not None and messages * looks[0] >= messages_needed(quantile),
        )
        for quantile in QUANTILES
    )
    contenders = max(families)
    return ComparedCells(
        key=key,
        cells=tuple(group),
        steady_messages=messages,
        percentiles=percentiles,
        contenders=contenders,
        topics=topics,
        rivalries=sum(size > 1 for size in families),
        resolvable=tuple(
            (sd, _resolvable_ratio(contenders, in_report, looks, sd))
            for sd in TYPICAL_LOG_RATIO_SDS
        ),
    )


def _resolvable_ratio(contenders: int, in_report: int, looks: Sequence[int], sd: float) -> float:
    """What the last look can tell with its share of alpha; infinite where no arm has a rival."""
    # their scipy takes half a second: not for `--help`
    from rmwbench.analysis.stats import resolution
    from rmwbench.analysis.verdicts import sequential

    if looks[-1] < DECIDABLE_BLOCKS or contenders < 2:
        return math.inf
    tests = resolution.comparisons(contenders, in_report)
    threshold = resolution.Threshold(alpha=sequential.alpha_at(looks, looks[-1]))
    return resolution.resolvable_ratio(looks[-1], tests, sd, threshold)


def _levels_document(judged: JudgedLevels) -> dict[str, Any]:
    ladder = judged.ladder
    pairs = [(ladder.levels[at], ladder.levels[step]) for at, step in steps(len(ladder.levels))]
    return {
        "factor": ladder.factor,
        "workload": ladder.workload,
        "arm": ladder.arm,
        "levels": list(ladder.levels),
        "cells": list(ladder.cells),
        "topics": list(judged.topics),
        "compared": [{"level": level, "against": against} for level, against in pairs],
    }


def _comparison_document(comparison: ComparedCells, blocks: int) -> dict[str, Any]:
    workload, messages = comparison.cells[0].workload, comparison.steady_messages
    return {
        "comparison": comparison.key,
        "workload": workload.name,
        "title": workload.display_title,
        "description": workload.description,
        "factors": dict(comparison.cells[0].factors),
        "primary_metric": workload.primary_metric,
        "cells": [cell.number for cell in comparison.cells],
        "contenders": comparison.contenders,
        "topics": list(comparison.topics),
        "steady_messages": {
            "per_trial": messages,
            "pooled": None if messages is None else messages * blocks,
        },
        "percentiles": [
            {
                "percentile": percentile_name(p.quantile),
                "quantile": p.quantile,
                "needed": p.needed,
                "per_trial": None if messages is None else p.per_trial,
                "pooled": None if messages is None else p.pooled,
            }
            for p in comparison.percentiles
        ],
        "resolution": [
            {
                "log_ratio_sd": sd,
                "resolvable_ratio": round(ratio, 3) if math.isfinite(ratio) else None,
            }
            for sd, ratio in comparison.resolvable
        ],
    }
