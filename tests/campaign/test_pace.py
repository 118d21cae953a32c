"""Whole blocks are left out on a slow machine, by the clock alone and never below the minimum."""

from rmwbench.campaign.pace import TOLERANCE, has_time, limit_s
from rmwbench.campaign.plan.plan import make_plan
from rmwbench.suite.cells import cells
from tests.suite.suite_text import suite


def plan(*changes, **more):
    made = suite(*changes)
    return make_plan(made, cells(made), seed=1, **more)


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


def by_clock(within_s, **more):
    return plan(
        ("{planned: 6, minimum: 5}", f"{{minimum: 5, maximum: 12, within_s: {within_s}}}"), **more
    )


def test_a_suite_that_is_planned_by_the_clock_ends_with_it_but_never_below_the_minimum():
    block_s = plan().block_s
    p = by_clock(7.5 * block_s)
    assert (p.blocks, p.looks) == (12, (5, 8, 12)) and p.estimated_s == limit_s(p) == 7.5 * block_s
    assert [has_time(p, done, done * block_s) for done in range(9)] == [True] * 7 + [False] * 2
    # Half of the arms have left after five blocks: what is left of the time holds twice as many of
    # the others.
    halves = [
        has_time(p, done, (5 + (done - 5) / 2) * block_s, block_s / 2) for done in range(5, 12)
    ]
    assert halves == [True] * 5 + [False] * 2
    short = by_clock(0.5 * block_s)
    assert short.estimated_s == limit_s(short) == 5 * block_s and has_time(short, 4, 40 * block_s)
