"""Intervals hold the truth as often as they say, also with 5 or 6 trials, skewed latencies and
restless machines. Fixed seeds.
"""

import math

import numpy as np
import pytest

from rmwbench.analysis.stats import intervals

CAMPAIGNS = 2000

SHAPES = {
    "lognormal": lambda rng, size: np.exp(0.3 * rng.standard_normal(size)),
    "tight": lambda rng, size: np.exp(0.05 * rng.standard_normal(size)),
    "heavy": lambda rng, size: 1 + rng.pareto(1.5, size),
}


def messages(rng, shape, sd, campaigns, trials, n):
    """Latencies of shape (campaigns, trials, n): trials' levels are log-normal with `sd`, messages
    scatter around."""
    return np.exp(sd * rng.standard_normal((campaigns, trials, 1))) * SHAPES[shape](
        rng, (campaigns, trials, n)
    )


@pytest.mark.parametrize("trials", [5, 6])
@pytest.mark.parametrize("sd", [0.1, 0.6])
@pytest.mark.parametrize("shape", SHAPES)
def test_t_interval_of_trial_medians_covers(shape, sd, trials):
    rng = np.random.default_rng(11)
    medians = lambda x: np.sort(x, axis=-1)[..., 14]  # noqa: E731 (the p50 of 30)
    truth = math.exp(np.log(medians(messages(rng, shape, sd, 20_000, 5, 30))).mean())
    covered = 0
    for campaign in medians(messages(rng, shape, sd, CAMPAIGNS, trials, 30)):
        _, low, high = intervals.log_t(campaign)
        covered += low <= truth <= high
    assert 0.93 <= covered / CAMPAIGNS <= 0.975


@pytest.mark.parametrize(("trials", "n"), [(6, 30), (5, 21)])
@pytest.mark.parametrize("sd", [0.0, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("shape", SHAPES)
def test_clustered_p90_covers(shape, sd, trials, n):
    rng = np.random.default_rng(13)
    campaigns = 500
    truth = np.quantile(messages(rng, shape, sd, 20_000, 1, 50), 0.9)
    covered = finite = 0
    for campaign in messages(rng, shape, sd, campaigns, trials, n):
        value, low, high = intervals.pooled_quantile(list(campaign), 0.9)
        assert low <= value <= high
        covered += low <= truth <= high
        finite += math.isfinite(high)
    assert covered / campaigns >= 0.94
    assert finite == campaigns


def test_ignoring_the_clusters_would_not_cover():
    """Why the interval is clustered: the textbook one, as if 180 messages were independent, is far
    too short."""
    rng = np.random.default_rng(14)
    truth = np.quantile(messages(rng, "lognormal", 0.3, 20_000, 1, 50), 0.9)
    covered = 0
    for campaign in messages(rng, "lognormal", 0.3, 300, 6, 30):
        ordered = np.sort(campaign.ravel())
        low, high = intervals.order_statistic(lambda k, o=ordered: o[k], 180, 0.9)
        covered += low <= truth <= high
    assert covered / 300 < 0.8


def test_lost_messages_reach_the_upper_end_of_a_pooled_percentile():
    samples = [np.append(np.arange(1.0, 27.0), [np.inf] * 4) for _ in range(6)]
    value, low, high = intervals.pooled_quantile(samples, 0.9)
    assert value == math.inf
    assert high == math.inf
    assert math.isfinite(low)


def test_trials_that_are_too_far_apart_leave_the_tail_without_an_upper_bound():
    """Microseconds in one trial and seconds in the other, as of an arm near overload."""
    fast = np.linspace(15e3, 25e3, 6_000)
    value, low, high = intervals.pooled_quantile([fast, fast * 2.5e5], 0.999)
    assert 0 < low <= value < high == math.inf


def test_order_statistics_cover_within_one_trial():
    rng = np.random.default_rng(15)
    covered = 0
    for _ in range(CAMPAIGNS):
        ordered = np.sort(rng.exponential(size=100))
        low, high = intervals.order_statistic(lambda k, o=ordered: o[k], 100, 0.9)
        covered += low <= -math.log(0.1) <= high
    assert 0.945 <= covered / CAMPAIGNS <= 0.985


def test_clopper_pearson_against_published_values():
    # Brownlee, Statistical Theory and Methodology, 1965: 2 of 10 gives (0.0252, 0.5561)
    assert intervals.clopper_pearson(2, 10) == pytest.approx((0.0252, 0.5561), abs=5e-5)
    assert intervals.clopper_pearson(0, 300)[1] == pytest.approx(3 / 300, rel=0.01)


@pytest.mark.parametrize("bursty", [False, True])
def test_loss_fraction_covers_bursts(bursty):
    """Losses that come in bursts differ from trial to trial: the interval must be wider, not
    wrong."""
    rng = np.random.default_rng(16)
    truth, covered, widths = 0.05, 0, []
    for _ in range(CAMPAIGNS):
        rate = rng.beta(2, 38, 6) if bursty else np.full(6, truth)
        (p, low, high), _ = intervals.clustered_fraction(rng.binomial(200, rate), np.full(6, 200))
        assert low <= p <= high
        covered += low <= truth <= high
        widths.append(high - low)
    assert covered / CAMPAIGNS >= 0.94
    assert (np.mean(widths) > 0.05) == bursty


def test_no_loss_is_a_bound_and_total_loss_too():
    (p, low, high), method = intervals.clustered_fraction(np.zeros(6), np.full(6, 50))
    assert (p, low) == (0, 0)
    assert high == pytest.approx(1 - 0.05 ** (10 / 300))
    assert "bursts of up to 10 messages (rule of three)" in method
    assert "a fault of whole trials, seen in none of 6, may be in up to 39 % of them" in method
    (p, low, high), _ = intervals.clustered_fraction(np.full(6, 50), np.full(6, 50))
    assert (p, high) == (1, 1)
    assert 0.9 < low < 1


def test_the_range_of_trials_covers_the_median_as_it_says():
    (value, low, high), coverage = intervals.median_range(
        np.array([3.0, 1.0, np.inf, 2.0, 5.0, 4.0])
    )
    assert (value, low, high) == (3, 1, math.inf)
    assert coverage == 1 - 2 / 64


def test_an_interval_needs_two_trials():
    with pytest.raises(ValueError, match="at least two"):
        intervals.log_t(np.array([1.0]))


def test_what_no_trial_showed_may_be_in_many_trials():
    """A fault of every third trial is in none of three in 30 % of campaigns, and inside the
    bound."""
    assert intervals.wrong_trials(3) == pytest.approx(0.6316, abs=1e-4)
    assert all((1 - intervals.wrong_trials(n)) ** n == pytest.approx(0.05) for n in (1, 5, 11))
    assert intervals.wrong_trials(5, 0.99) == pytest.approx(0.6019, abs=1e-4)
    _, text = intervals.clustered_fraction(np.zeros(5), np.full(5, 50), 0.99)
    assert text.startswith("99 %") and "up to 60 % of them" in text
