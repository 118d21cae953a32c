"""Whole blocks are left out on a slow machine, by the clock alone and never below the minimum."""

from pathlib import Path

from rmwbench.campaign.pace import TOLERANCE, has_time
from rmwbench.campaign.plan import make_plan
from rmwbench.suite.cells import cells
from rmwbench.suite.load import parse

SUITE = """
suite: mini
title: a test
blocks: {planned: 6, minimum: 5}
arms:
  - {name: one, middleware: floor}
workloads:
  - {name: small, message: Bytes(100), rate_hz: 100, timeline: {steady_s: 1.0}}
"""


def plan(budget_s: float | None = None):
    suite = parse(SUITE, where=str(Path("mini.yaml")))
    return make_plan(suite, cells(suite), seed=1, budget_s=budget_s)


def test_a_machine_as_fast_as_planned_gets_all_blocks():
    p = plan()
    assert all(has_time(p, done, done * p.block_s) for done in range(p.blocks))


def test_a_slow_machine_keeps_the_minimum_and_loses_the_rest():
    p = plan()
    slow_s = 2 * TOLERANCE * p.block_s
    assert [has_time(p, done, done * slow_s) for done in range(6)] == [True] * 5 + [False]


def test_a_budget_is_a_budget():
    p = plan(budget_s=plan().block_s * 8.5)
    assert p.blocks == 8
    assert has_time(p, 7, 7 * p.block_s)
    assert not has_time(p, 7, 7 * p.block_s * 1.07)
