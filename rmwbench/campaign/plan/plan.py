"""The plan of a campaign: pure arithmetic from a suite to an ordered list of trials. Nothing runs,
and no clock is read.

A budget determines the number of blocks here, and the cells in request.py. Steady windows stay as
the suite has them: a shorter window would have fewer messages for a percentile, and a longer one
could not be compared with an earlier campaign. Blocks are never cut, since a comparison needs each
of its arms equally often. The order is random but hashed from the seed by name: block 3 is the same
block whether 5 or 50 are planned, so a resumed or extended campaign keeps its earlier order. A
sequential design plans its maximum of blocks and, before anything is measured, the looks at which
it may end earlier.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rmwbench.analysis.verdicts.ladders import steps
from rmwbench.campaign.plan import judged_parts
from rmwbench.campaign.plan.budget_cut import Cut
from rmwbench.campaign.plan.judged_parts import JudgedLevels
from rmwbench.errors import UserError
from rmwbench.lab.host.hosts import NAMESPACES, HostKind
from rmwbench.suite.cells import Cell, comparisons
from rmwbench.suite.sample_sizes import (
    DECIDABLE_BLOCKS,
    QUANTILES,
    messages_needed,
    percentile_name,
)
from rmwbench.suite.seed import derive_seed
from rmwbench.suite.suite import Suite
from rmwbench.words.numbers import concise, counted, distinct

FIXED_COST_S = 0.3
"""The time of a trial besides its timeline: start, match, collect and clean up."""
NETWORK_COST_S = 0.3
"""The additional time of a trial over several hosts: 50 ms for devices, 150 to 500 ms for the
probe."""

TYPICAL_LOG_RATIO_SDS = (0.1, 0.6)
"""Standard deviations of block log-ratios on a quiet machine and on a small shared virtual one, for
a plan before anything was measured."""

RACED = 4
"""The blocks that are planned for a campaign by the clock, as a multiple of those that fit into its
budget: the time of decided arms goes to blocks of the others (docs/formulas.md), and the estimate
of a trial includes drains that few trials need."""

NOTHING: Mapping[int, str] = {}


@dataclass(frozen=True)
class Trial:
    """One execution of one cell. `trial` counts from 1, `block` and `position` (within the block)
    from 0.

    `seed` draws the schedule and is the same for all arms of a comparison within a block, so that
    they have the same arrivals. `repeats` is the number of the void trial that this one replaces;
    trials of a plan have none.
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
    """Whether a quantile may be printed, per trial and over all blocks pooled: n·(1−q) ≥ 10."""

    quantile: float
    needed: int
    per_trial: bool
    pooled: bool


@dataclass(frozen=True)
class ComparedCells:
    """The cells that are compared with each other. `steady_messages` is None if the middleware
    determines it (saturation). `topics` are the topics and readers that are judged separately;
    empty if the workload is judged as a whole. `rivalries` counts the families of two or more
    contenders, each judged separately; `contenders` is the size of the largest family."""

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
    """The trials of a campaign. Times are estimates from the timelines and the fixed cost; nothing
    is measured.

    `blocks` is the number of blocks, in a sequential design at most: it may end after each of
    `looks`, the last of which is `blocks`. A fixed design has no looks. `unsupported` has the
    cells without trials, each with the reason; `left_out` the optional arms without a middleware
    here, each with the reason; `cut` the comparisons that the budget does not hold. `beyond` has
    the cells that need more than the machine has, each with a sentence; `machine` the machine's
    resources for the document, None if trials run elsewhere. `host` is the kind of the trials'
    hosts.
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
        """The number of blocks that run in any case: all, or those until the first look."""
        return self.looks[0] if self.looks else self.blocks

    @property
    def within_s(self) -> float | None:
        """The time after which a campaign by the clock ends: its budget, or the suite's time, but
        at least the time of its minimum of blocks. None for other campaigns."""
        given_s = self.suite.blocks.within_s
        if given_s is None:
            return None
        return max(given_s if self.budget_s is None else self.budget_s, self.minimum_s)

    @property
    def estimated_s(self) -> float:
        """The seconds of all blocks, or of the blocks within the suite's time; a sequential design
        may take less."""
        all_s = self.blocks * self.block_s
        return all_s if self.within_s is None else min(all_s, self.within_s)

    @property
    def minimum_s(self) -> float:
        """The time of the suite's minimum of blocks, which is the smallest budget."""
        return self.suite.blocks.minimum * self.block_s

    def cell(self, number: int) -> Cell:
        return self.cells[number - 1]

    @property
    def supported(self) -> Sequence[Cell]:
        """The cells that have trials."""
        return [cell for cell in self.cells if cell.number not in self.unsupported]

    @cached_property
    def levels(self) -> Sequence[JudgedLevels]:
        """The comparisons of each arm with itself at other levels, among the cells that will
        run."""
        return judged_parts.judged_levels(self.supported)

    @property
    def compared(self) -> int:
        """The number of comparisons that will be judged: of arms with each other and of levels, in
        each topic and for each reader that is judged separately."""
        between_arms = sum(
            comparison.rivalries * max(len(comparison.topics), 1) for comparison in self.comparisons
        )
        return between_arms + sum(levels.compared for levels in self.levels)

    def document(self) -> dict[str, Any]:
        """Return the plan as JSON (docs/formats/plan.md)."""
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
            "levels": [_levels_document(levels) for levels in self.levels],
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
    unsupported: Mapping[int, str] = NOTHING,
    most_blocks: int | None = None,
) -> Plan:
    """Return the plan of a suite's cells: blocks, order and time.

    `unsupported` cells have no trials. `most_blocks` limits the blocks within a budget. Raises
    UserError if the budget is too small for the minimum of blocks.
    """
    cost_s = costs_s(cells, unsupported)
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


def costs_s(cells: Sequence[Cell], unsupported: Mapping[int, str]) -> dict[int, float]:
    """Return cell → the time of a trial, without the `unsupported` cells."""
    return {
        cell.number: cell.timeline.duration_s
        + FIXED_COST_S
        + (NETWORK_COST_S if cell.links is not None else 0.0)
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
    # imported here, because its scipy takes half a second: too long for `--help`
    from rmwbench.analysis.verdicts.sequential import planned_looks

    return planned_looks(minimum, maximum)


def blocks_within(budget_s: float, block_s: float, minimum: int, suite: str) -> int:
    """Return the number of whole blocks that fit into the budget. Raises UserError if they are
    fewer than `minimum` or too many."""
    # a budget typed from a printed estimate must not lose a block to the last binary digit
    blocks = math.floor(budget_s / block_s + 1e-9)
    if blocks < minimum:
        needed_s = minimum * block_s
        needed, given = distinct(duration_text, needed_s, budget_s)
        raise UserError(
            f"the budget is too small for suite `{suite}`",
            expected=f"at least {needed}: {counted(minimum, 'block')} of {duration_text(block_s)}",
            actual=given,
            fix=f"give it --budget {budget_text(needed_s)} or more; less is enough with "
            "--short, --workload NAME or --arm NAME",
        )
    if blocks > MAX_BLOCKS:
        raise UserError(
            f"the budget is too large for suite `{suite}`",
            expected=f"at most {duration_text(MAX_BLOCKS * block_s)}: {MAX_BLOCKS} blocks of "
            f"{duration_text(block_s)}",
            actual=duration_text(budget_s),
            fix="choose a smaller budget: more than a few dozen blocks decide nothing more",
        )
    return blocks


MAX_BLOCKS = 10_000
"""The most blocks, as in a suite file. More are a typing mistake, and their plan alone would fill
the memory."""


def duration_text(seconds: float, digits: int = 3) -> str:
    """Return `48 s`, `4.8 min`, `1.5 h`."""
    if seconds < 90:
        return f"{concise(seconds, digits)} s"
    minutes = seconds / 60
    return (
        f"{concise(minutes, digits)} min" if minutes < 90 else f"{concise(minutes / 60, digits)} h"
    )


def budget_text(seconds: float) -> str:
    """Return the next longer time in the form of `--budget`: `48s`, `5m`, `1.6h`."""
    if seconds < 90:
        return f"{math.ceil(seconds)}s"
    if seconds < 5400:
        return f"{math.ceil(seconds / 60)}m"
    return f"{math.ceil(seconds / 360) / 10:g}h"


def _trials(
    grouped: Mapping[str, Sequence[Cell]], seed: int, blocks: int, costs_s: Mapping[int, float]
) -> tuple[Trial, ...]:
    """Return the trials block after block: the comparisons in random order, and the arms of each in
    random order, back to back.

    Sorting by a keyed hash is a uniform random permutation that is the same in all Python versions.
    """
    trials: list[Trial] = []
    for block in range(blocks):
        position = itertools.count()
        for key in sorted(
            grouped, key=lambda key: derive_seed(seed, "comparison order", block, key)
        ):
            schedule_seed = derive_seed(seed, "schedule", block, key)
            for cell in sorted(
                grouped[key],
                key=lambda cell: derive_seed(seed, "arm order", block, key, cell.arm.name),
            ):
                number, cost_s = len(trials) + 1, costs_s[cell.number]
                trials.append(
                    Trial(number, cell.number, block, next(position), schedule_seed, cost_s)
                )
    return tuple(trials)


def _comparison(
    key: str,
    group: Sequence[Cell],
    families: Sequence[int],
    topics: tuple[str, ...],
    in_report: int,
    looks: Sequence[int],
) -> ComparedCells:
    """Return a comparison. `families` has the number of contenders of each family, `in_report` the
    number of all. A percentile of pooled blocks is promised only for the blocks until the first
    look; the look of a fixed design is its end."""
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
    """Return the ratio that the last look can resolve with its share of alpha; infinite if no arm
    has a rival."""
    # imported here, because their scipy takes half a second: too long for `--help`
    from rmwbench.analysis.stats import resolution
    from rmwbench.analysis.verdicts import sequential

    if looks[-1] < DECIDABLE_BLOCKS or contenders < 2:
        return math.inf
    tests = resolution.comparisons(contenders, in_report)
    threshold = resolution.Threshold(alpha=sequential.alpha_at(looks, looks[-1]))
    return resolution.resolvable_ratio(looks[-1], tests, sd, threshold)


def _levels_document(judged_levels: JudgedLevels) -> dict[str, Any]:
    ladder = judged_levels.ladder
    pairs = [(ladder.levels[at], ladder.levels[step]) for at, step in steps(len(ladder.levels))]
    return {
        "factor": ladder.factor,
        "workload": ladder.workload,
        "arm": ladder.arm,
        "levels": list(ladder.levels),
        "cells": list(ladder.cells),
        "topics": list(judged_levels.topics),
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
