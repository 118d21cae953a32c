"""The interval holds the capacity: simulated by the thousand with the code that steers real
searches, without a clock.

The boundaries include what the model does not contain: heavy tails, skewed ones (a machine takes
away and never gives), more and fewer failing trials than it considers, boundaries sharper than a
level and blunter than ten. The truth is always the level that half of the trials hold.
"""

import numpy as np
import pytest
from scipy import special

from rmwbench.analysis.capacity.arm_capacity import Search

LEVELS, STEP, CAMPAIGNS = 90, np.log(1.05), 300
MOST_TRIALS = 40


def simulate(
    search: Search, hold_probability: np.ndarray, rng: np.random.Generator, most_trials: int
) -> np.ndarray:
    """Runs a search against simulated arms, without a clock; `hold_probability` has shape
    (campaigns, levels). Gives whether each was resolved, shape (campaigns,)."""
    rows = np.arange(search.campaigns)
    for _ in range(most_trials):
        active = ~search.resolved
        if not active.any():
            break
        level = search.next()
        search.record(level, rng.random(search.campaigns) < hold_probability[rows, level], active)
    return search.resolved


def _skewed(z):
    return 1 - np.exp(-np.maximum(z + np.log(2), 0))


def _ogive(z):
    return special.ndtr(z)


def _heavy(z):
    return special.stdtr(2, z)


BOUNDARIES = {
    "sharp": (_ogive, 0.02, 0.0),
    "one percent": (_ogive, 0.2, 0.0),
    "five percent": (_ogive, 1.0, 0.0),
    "twenty percent": (_ogive, 4.0, 0.0),
    "half": (_ogive, 9.0, 0.0),
    "every tenth fails anyway": (_ogive, 1.0, 0.1),
    "every third fails anyway": (_ogive, 1.0, 0.33),
    "heavy tails": (_heavy, 1.5, 0.05),
    "skewed": (_skewed, 2.0, 0.0),
    "skewed and blunt": (_skewed, 5.0, 0.02),
}


def _arms(name, rng, campaigns=CAMPAIGNS):
    """(hold probability by campaign and level, the true boundary in levels): where half of the
    trials hold."""
    shape, spread, lapse = BOUNDARIES[name]
    place = rng.uniform(4, LEVELS - 8, campaigns)
    grid = np.linspace(-60, 60, 120_001)
    half = grid[np.searchsorted((1 - lapse) * shape(grid / spread), 0.5)]
    distance = place[:, None] - np.arange(LEVELS)[None, :]
    return (1 - lapse) * shape(distance / spread), place - half


@pytest.mark.long
@pytest.mark.parametrize("name", BOUNDARIES)
def test_the_interval_holds_the_truth_whatever_the_boundary_and_whenever_one_stops(name):
    rng = np.random.default_rng(1)
    probability, truth = _arms(name, rng)
    search = Search(np.arange(LEVELS) * STEP, 30, campaigns=CAMPAIGNS)
    for more_trials in (16, MOST_TRIALS - 16):
        simulate(search, probability, rng, more_trials)
        bounds = search.bounds
        covered = ((bounds.low <= truth) & (truth <= bounds.high)).mean()
        print(f"{name}, after {search.trials.mean():.0f} trials: {covered:.1%}")
        assert covered >= 0.93
        assert (bounds.low < bounds.high).all()
        assert ((bounds.low <= bounds.estimate) & (bounds.estimate <= bounds.high)).all()
    if name == "every tenth fails anyway":
        assert abs(np.median(search.bounds.estimate - truth)) < 0.5, "for reasons of their own"


def test_an_arm_that_holds_everything_and_one_that_holds_nothing_end_soon_and_say_so():
    for holds in (True, False):
        search = Search(np.arange(40) * STEP, 20, campaigns=50)
        simulate(search, np.full((50, 40), 1.0 if holds else 0.0), np.random.default_rng(0), 40)
        bounds = search.bounds
        assert search.resolved.all() and search.trials.max() <= 16
        assert (bounds.low == (39 if holds else -1)).all()
        assert (bounds.high == (40 if holds else 0)).all()


def test_no_end_of_the_interval_lies_beyond_what_trials_did():
    """After one trial that held, a flat prior alone would claim levels that nobody tried."""

    def bounds_after(held):
        search = Search(np.arange(200) * STEP, 50)
        search.record(np.array([50]), np.array([held]))
        return search.bounds.low[0], search.bounds.high[0]

    assert bounds_after(True)[0] <= 50 and bounds_after(True)[1] == 200
    assert bounds_after(False)[0] == -1 and bounds_after(False)[1] >= 50


def test_bracketing_doubles_and_halves_and_the_test_stays_near_what_was_tried():
    hardness = np.arange(200) * STEP
    search = Search(hardness, 50)
    seen = []
    for held in (True, True, False, False):
        level = int(search.next()[0])
        seen.append(level)
        search.record(np.array([level]), np.array([held]))
    assert np.allclose(np.diff(hardness[seen[:3]]), np.log(2), atol=STEP)
    tried = set(seen)
    for _ in range(20):
        level = int(search.next()[0])
        assert hardness[min(tried)] - 0.75 <= hardness[level] <= hardness[max(tried)] + 0.75
        tried.add(level)
        search.record(np.array([level]), np.array([bool(level % 2)]))


@pytest.mark.long
def test_drift_of_the_machine_widens_or_shifts_but_does_not_break():
    """A boundary that wanders by a fifth during the search: the interval holds its mean in most
    campaigns."""
    rng = np.random.default_rng(3)
    place = rng.uniform(20, 70, CAMPAIGNS)
    walk = np.cumsum(rng.normal(0, 0.7, (MOST_TRIALS, CAMPAIGNS)), axis=0)
    search = Search(np.arange(LEVELS) * STEP, 30, campaigns=CAMPAIGNS)
    rows = np.arange(CAMPAIGNS)
    for trial in range(MOST_TRIALS):
        level = search.next()
        held = rng.random(CAMPAIGNS) < special.ndtr((place + walk[trial] - level)[rows])
        search.record(level, held, ~search.resolved)
    bounds, mean = search.bounds, place + walk.mean(axis=0)
    assert ((bounds.low <= mean) & (mean <= bounds.high)).mean() >= 0.6


def test_expectations_are_the_model_summed_by_hand():
    search = Search(np.arange(7) * STEP, 3, campaigns=2)
    for level, held in ((3, True), (5, False), (4, True)):
        search.record(np.array([level, level]), np.array([held, not held]))
    places = np.arange(8)
    for campaign in range(2):
        for level in range(7):
            by_hand = sum(
                search._posterior[campaign, kind, t] * search._ogive[kind, t - level + 6]
                for kind in range(search._ogive.shape[0])
                for t in places
            )
            assert search._expected()[campaign, level] == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("hardness, start", [([], 0), ([0.0, 0.0], 0), ([0.0, 1.0], 2)])
def test_levels_that_do_not_rise_are_refused(hardness, start):
    with pytest.raises(ValueError):
        Search(np.array(hardness), start)
