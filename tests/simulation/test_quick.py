"""A short version of what docs/formulas.md quotes about quick's three minutes."""

import pytest

from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import load
from tests.simulation.quick import (
    AT_20_HZ_S,
    CLOCK,
    FIVE_MINUTES,
    TEN_HZ,
    TEN_IN_FIVE_MINUTES,
    simulate,
)

pytestmark = pytest.mark.long


def test_the_simulation_has_the_windows_of_the_suite():
    found = {cell.workload.name: cell.timeline.steady_s for cell in cells(load("quick"))}
    assert tuple(found.values()) == AT_20_HZ_S


def test_half_the_window_of_the_point_cloud_and_the_clock_decide_more_in_three_minutes():
    now, before = (simulate(design, campaigns=30) for design in (CLOCK, TEN_HZ))
    assert now.took_s <= CLOCK.within_s and before.took_s <= TEN_HZ.within_s
    assert now.total > before.total + 0.5 and now.reached > before.reached


def test_what_decided_arms_leave_free_is_worth_more_blocks_of_the_others():
    now, before = (simulate(design, campaigns=40) for design in (FIVE_MINUTES, TEN_IN_FIVE_MINUTES))
    assert now.took_s <= FIVE_MINUTES.within_s
    assert now.total > before.total + 0.5 and now.reached > before.reached


def test_the_suite_has_the_looks_that_were_simulated():
    blocks = load("quick").blocks
    assert (blocks.minimum, blocks.maximum) == (FIVE_MINUTES.minimum, FIVE_MINUTES.maximum)
    # with fifteen arms a block takes twice as long as with the seven that were simulated
    assert FIVE_MINUTES.within_s <= blocks.within_s <= 330
