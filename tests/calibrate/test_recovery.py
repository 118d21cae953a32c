"""The judgement itself: what counts as recovered, and that nothing wrong does."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from rmwbench.analysis.stats.intervals import log_t
from rmwbench.campaign.calibrate import recovery
from rmwbench.campaign.calibrate.recovery import FAILED, RECOVERED, UNKNOWN
from rmwbench.results.machine.machine_model import TruthCheck


def metric(low, value, high, trials=5):
    interval = "95 % t interval on the log of 5 trial medians"
    return {"low": low, "value": value, "high": high, "trials": trials, "interval": interval}


def test_an_interval_holds_its_truth_or_does_not():
    assert recovery.holds("x", metric(1.0, 2.0, 3.0), 1.0).outcome == RECOVERED
    assert recovery.holds("x", metric(1.0, 2.0, 3.0), 3.1).outcome == FAILED
    assert recovery.holds("x", metric(1.0, 2.0, 3.0), 0.9).outcome == FAILED
    assert recovery.holds("x", metric(1.0, 2.0, 3.0), 0.9, below=0.2).outcome == RECOVERED
    assert recovery.holds("x", {"no_data": "why"}, 0.9).outcome == UNKNOWN


@pytest.mark.parametrize("trials", [3, 5, 10])
def test_laws_are_held_as_often_as_promised(trials):
    """4 000 simulated arms: the reported interval holds the law's median in about 95 %, the widened
    one in 99.9 %."""
    random, n = np.random.default_rng(5), 4000
    held = reported = 0
    for logs in random.normal(0.0, 0.3, (n, trials)):
        value, low, high = log_t(np.exp(logs))
        check = recovery.holds_law("x", metric(low, value, high, trials), 1.0)
        held, reported = held + (check.outcome == RECOVERED), reported + bool(check.within_95)
    assert held / n > 0.997
    assert 0.94 < reported / n < 0.96


def test_a_law_that_is_off_is_not_held():
    value, low, high = log_t(np.exp(np.random.default_rng(6).normal(0.0, 0.02, 5)))
    assert recovery.holds_law("x", metric(low, value, high), 1.25).outcome == FAILED
    assert recovery.holds_law("x", metric(low, value, high), 0.8).outcome == FAILED
    # What the machine is known to have added excuses what lies below, and nothing that lies above.
    assert recovery.holds_law("x", metric(low, value, high), 0.8, below=0.3).outcome == RECOVERED
    assert recovery.holds_law("x", metric(low, value, high), 1.25, below=0.3).outcome == FAILED


def test_too_few_intervals_that_hold_their_law_are_a_failure():
    made = lambda within: TruthCheck("x", RECOVERED, "", "", within)  # noqa: E731
    assert (
        recovery.coverage_is_plausible([made(True)] * 18 + [made(False)] * 2).outcome == RECOVERED
    )
    assert recovery.coverage_is_plausible([made(True)] * 14 + [made(False)] * 6).outcome == FAILED
    assert recovery.coverage_is_plausible([TruthCheck("x", RECOVERED, "", "")]) is None


@pytest.mark.long
@given(
    st.lists(st.floats(1e3, 1e7), min_size=20, max_size=200),
    st.lists(st.floats(0, 1e7), min_size=200, max_size=200),
    st.sampled_from([0.5, 0.9]),
)
def test_no_lateness_of_a_mean_takes_a_quantile_beyond_the_latest(draws, lateness, q):
    drawn, late = np.array(draws), np.array(lateness[: len(draws)])
    latest = recovery.latest(drawn, float(late.mean()), q)
    assert recovery.order_statistic(drawn + late, q) <= latest * (1 + 1e-9)


def test_the_floor_is_what_a_campaign_against_itself_stays_within():
    """20 000 simulated A/A campaigns: 95 % of their ratios lie within the floor that another
    calibration gave."""
    random, blocks, sd = np.random.default_rng(7), 5, 0.3
    inside = 0
    for _ in range(2000):
        floor = recovery.aa_floor(list(random.normal(0, sd, (10, blocks))), blocks)
        ratios = np.abs(random.normal(0, sd, (10, blocks)).mean(axis=1))
        inside += np.count_nonzero(np.expm1(ratios) <= floor)
    assert 0.94 < inside / 20_000 < 0.96


def test_one_disturbed_pair_does_not_raise_the_floor_of_all():
    random = np.random.default_rng(8)
    pairs = list(random.normal(0, 0.1, (9, 5)))
    quiet = recovery.aa_floor(pairs, 5)
    assert recovery.aa_floor([*pairs, random.normal(0, 2, 5)], 5) < 1.3 * quiet


def test_an_arms_own_floor_has_an_interval_that_holds_the_truth():
    random, blocks, sd = np.random.default_rng(9), 5, 0.2
    truth = np.expm1(float(special.stdtrit(blocks, 0.975)) * sd / math.sqrt(blocks))
    floors = [recovery.aa_floor_of_pair(random.normal(0, sd, blocks), blocks) for _ in range(2000)]
    assert 0.93 < np.mean([low <= truth <= high for _, low, high in floors]) < 0.97
    assert all(low < value < high for value, low, high in floors)
    assert recovery.aa_floor_of_pair([0.1], 5) is None
    assert recovery.aa_floor_of_pair([0.0, 0.0], 5) == (0, 0, 0)


def test_digits_are_forgiven_and_no_more():
    assert recovery.equal("x", 1.0000049, 1.0).outcome == RECOVERED
    assert recovery.equal("x", 1.0001, 1.0).outcome == FAILED
    assert recovery.equal("x", math.inf, math.inf).outcome == RECOVERED
    assert recovery.between("x", math.inf, math.inf, math.inf).outcome == RECOVERED
    assert recovery.between("x", 5.0, 0.0, math.inf).outcome == RECOVERED
    assert recovery.between("x", -1.0, 0.0, math.inf).outcome == FAILED
