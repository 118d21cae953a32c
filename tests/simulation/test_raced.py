"""A short version of what docs/formulas.md quotes about campaigns by the clock: few false claims, the
time kept, and more found than in as much time without racing."""

import math

import pytest

from tests.simulation.raced import DESIGNS, simulate

pytestmark = pytest.mark.long

TODAY, FIXED, _, CLOCK, *_ = DESIGNS
CAMPAIGNS = 40
MOST_FALSE = 0.05 + 3 * math.sqrt(0.05 * 0.95 / CAMPAIGNS)


@pytest.mark.parametrize("law", ["normal", "two states (×2 in 30 %)"])
def test_a_campaign_by_the_clock_keeps_its_error_and_its_time(law):
    design_run = simulate(CLOCK, law, campaigns=CAMPAIGNS)
    assert CLOCK.looks == (5, 8, 10)
    assert max(design_run.false) <= MOST_FALSE
    assert 5 <= design_run.time <= CLOCK.within


def test_racing_turns_the_time_of_decided_arms_into_blocks_for_the_others():
    raced, today = (simulate(design, "normal", campaigns=CAMPAIGNS) for design in (CLOCK, TODAY))
    assert raced.blocks > FIXED.maximum + 1 and raced.time < FIXED.maximum + 0.5
    assert raced.found > today.found
