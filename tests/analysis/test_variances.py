"""Variances that comparisons share, and blocks that resemble their neighbours."""

import math

import numpy as np
import pytest
from scipy import stats

from rmwbench.analysis.verdicts.variances import (
    MOST,
    NO_LIKENESS,
    NO_PRIOR,
    TRUST,
    Prior,
    Variances,
    likeness,
    likenesses,
    prior_of,
    priors,
)

RNG = np.random.default_rng(5)


def scattered(variances, freedom, rng=RNG):
    """Estimates of these variances with so many degrees of freedom."""
    return np.asarray(variances) * rng.chisquare(freedom, len(variances)) / freedom


def test_prior_finds_the_variance_and_the_freedom_that_made_it():
    rng = np.random.default_rng(1)
    true = 0.04 * 3 / rng.chisquare(3, 5000)  # scaled inverse chi square: s0² = 0.04, d0 = 3
    prior = prior_of(scattered(true, 4, rng), np.full(5000, 4))
    assert prior.variance == pytest.approx(0.04, rel=0.1)
    assert prior.freedom == pytest.approx(TRUST * 3, rel=0.15)


def test_prior_of_equal_variances_is_worth_no_more_than_its_bound():
    prior = prior_of(scattered(np.full(300, 0.04), 4), np.full(300, 4))
    assert prior.freedom == MOST * 4


def test_moderated_variance_lies_between_and_has_the_freedom_of_both():
    variance, freedom = Prior(1.0, 4.0).moderated(np.array([0.25, 4.0]), np.array([4.0, 4.0]))
    assert variance == pytest.approx([0.625, 2.5])
    assert freedom == pytest.approx([8, 8])


def test_two_arms_alone_share_nothing():
    assert priors([Variances(np.array([0.04]), np.array([4]), 2)]) == [NO_PRIOR]


def test_many_small_workloads_share_one_level_and_large_ones_have_their_own():
    small = [Variances(scattered([0.04], 4), np.array([4]), 2) for _ in range(12)]
    large = [Variances(scattered(np.full(21, v), 4), np.full(21, 4), 7) for v in (0.01, 1.0)]
    shared = priors([*small, *large])
    assert len({p.variance for p in shared[:12]}) == 1
    assert shared[12].variance == pytest.approx(0.01, rel=0.6)
    assert shared[13].variance == pytest.approx(1.0, rel=0.6)


def test_equal_values_and_missing_pairs_give_no_prior_and_no_error():
    assert priors([Variances(np.zeros(21), np.full(21, 4), 7)]) == [NO_PRIOR]
    holes = Variances(np.full(21, np.inf), np.zeros(21), 7)
    assert priors([holes]) == [NO_PRIOR]


def correlated(rho, shape, rng):
    x = rng.standard_normal(shape)
    for b in range(1, shape[-1]):
        x[..., b] = rho * x[..., b - 1] + np.sqrt(1 - rho**2) * x[..., b]
    return x


@pytest.mark.parametrize("blocks", [5, 10, 30])
@pytest.mark.parametrize("rho", [0.0, 0.4, 0.7])
def test_likeness_finds_the_correlation(blocks, rho):
    rng = np.random.default_rng(blocks)
    alike = likeness(
        [correlated(rho, (30, blocks), rng) + 3 * rng.standard_normal(blocks) for _ in range(20)]
    )
    assert alike.correlation == pytest.approx(rho, abs=0.15)


def test_inflated_variance_is_that_of_the_mean():
    """The factor makes E[s²]/n the variance of the mean of an autoregression."""
    rng = np.random.default_rng(3)
    alike = likeness([correlated(0.5, (40, 10), rng) for _ in range(20)])
    x = correlated(0.5, (20_000, 10), rng)
    true = x.mean(1).var() / (x.var(1, ddof=1).mean() / 10)
    assert alike.inflates
    assert alike.variance_factor(10) == pytest.approx(true, rel=0.15)
    assert 0.5 < alike.freedom_factor() < 0.75


def test_independent_blocks_are_seldom_inflated():
    rng = np.random.default_rng(4)
    inflated = sum(
        likeness([rng.standard_normal((7, 8)) for _ in range(3)]).inflates for _ in range(400)
    )
    assert inflated <= stats.binom.ppf(0.999, 400, 0.12)


def test_what_two_arms_look_alike_by_chance_leaves_their_interval_of_some_use():
    """How much wider a t interval of eight blocks becomes: the worst of two thousand campaigns
    without any likeness."""
    rng = np.random.default_rng(6)
    alike = [likeness([rng.standard_normal((2, 8))]) for _ in range(2000)]
    usual = stats.t.ppf(0.975, 7)
    wider = [
        math.sqrt(one.variance_factor(8))
        * stats.t.ppf(0.975, max(7 * one.freedom_factor(), 1.0))
        / usual
        for one in alike
    ]
    assert sum(w > 1 for w in wider) > 50 and max(wider) < 10


def test_what_many_arms_tell_is_hardly_shrunk():
    rng = np.random.default_rng(7)
    alike = likeness([correlated(0.5, (40, 10), rng) for _ in range(20)])
    assert alike.used == pytest.approx(alike.correlation, rel=0.01)


def test_too_few_blocks_tell_no_likeness():
    assert likeness([RNG.standard_normal((7, 4))]) == NO_LIKENESS
    assert NO_LIKENESS.variance_factor(8) == 1.0
    assert not likeness([correlated(0.9, (2, 5), RNG)]).inflates


def independent(rng: np.random.Generator, arms: int, blocks: int) -> np.ndarray:
    return 0.2 * rng.standard_normal((arms, blocks))


def drifting(rng: np.random.Generator, arms: int, blocks: int) -> np.ndarray:
    """Each arm by itself, in its own direction."""
    slopes = rng.standard_normal((arms, 1))
    return slopes * np.linspace(-1, 1, blocks) + 0.05 * rng.standard_normal((arms, blocks))


def test_a_workload_whose_blocks_are_independent_is_not_inflated_by_the_drift_of_another():
    """Seen: five blocks of a camera left all eleven of an IMU undecided."""
    rng = np.random.default_rng(3)
    camera, imu = drifting(rng, 7, 5), independent(rng, 7, 11)
    assert likeness([camera, imu]).inflates
    of_camera, of_imu = likenesses([camera, imu], likeness([camera, imu]))
    assert of_camera == likeness([camera, imu])
    assert of_imu.used < of_camera.used / 2 and of_imu.variance_factor(11) < 1.2


def test_what_all_workloads_share_is_used_in_each():
    rng = np.random.default_rng(5)
    workloads = [drifting(rng, 7, 10) for _ in range(3)]
    assert likenesses(workloads, likeness(workloads)) == [likeness(workloads)] * 3


def test_an_arm_that_left_early_takes_no_block_from_those_that_stayed():
    """Only the five blocks of the first look told how alike blocks are, and these were too few to
    use: two arms that drift were judged at 20 blocks as if all were independent."""
    rng = np.random.default_rng(6)
    arms = drifting(rng, 4, 20)
    arms[3, 5:] = np.nan
    assert likeness([arms]) == likeness([arms[:3]])
    assert likeness([arms]).inflates and likeness([arms]).blocks == 20
    lossy = drifting(rng, 3, 12)
    lossy[1, ::2] = np.inf  # its messages did not arrive
    assert likeness([lossy]) == likeness([lossy[[0, 2]]])
    lossy[1:, 4:] = np.nan
    assert likeness([lossy]).lag_one is None, "no two arms have five blocks"
