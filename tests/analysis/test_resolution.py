"""What a plan promises, against the noncentral t of scipy.stats, which the analysis itself does not
import."""

import math

import pytest
from scipy import stats

from rmwbench.analysis.stats.resolution import (
    Threshold,
    blocks_for,
    blocks_for_equivalence,
    comparisons,
    power_equivalent,
    power_worse,
    resolvable_ratio,
)


@pytest.mark.parametrize(
    ("blocks", "tests", "sd"), [(5, 2, 0.1), (6, 42, 0.6), (12, 126, 0.3), (150, 42, 0.6)]
)
def test_power_is_that_of_the_noncentral_t(blocks, tests, sd):
    ratio = resolvable_ratio(blocks, tests, sd, Threshold(margin=0))
    critical = stats.t.ppf(1 - 0.05 / tests, blocks - 1)
    exact = 1 - stats.nct.cdf(critical, blocks - 1, math.log(ratio) * math.sqrt(blocks) / sd)
    assert exact == pytest.approx(0.95, abs=0.002)
    assert power_worse(ratio, blocks, sd, tests, Threshold(margin=0)) == pytest.approx(
        0.95, abs=1e-4
    )


def test_the_estimate_must_clear_the_margin_too():
    """With next to no noise, the smallest ratio found is the margin plus what the estimate's own
    noise needs."""
    assert resolvable_ratio(6, 2, 0.001, Threshold(margin=0.05)) == pytest.approx(
        1.05 * math.exp(1.645 * 0.001 / 6**0.5), rel=1e-4
    )
    assert power_worse(1.05, 6, 0.001, 2, Threshold(margin=0.05)) == pytest.approx(0.5, abs=0.01)


def test_the_interval_must_clear_the_floor():
    assert resolvable_ratio(8, 6, 0.1, Threshold(aa_floor=0.1, margin=0.1)) == pytest.approx(
        1.1 * resolvable_ratio(8, 6, 0.1, Threshold(margin=0)), rel=1e-6
    )


def test_more_blocks_resolve_more_and_more_comparisons_less():
    assert resolvable_ratio(20, 7, 0.3) < resolvable_ratio(6, 7, 0.3) < resolvable_ratio(6, 20, 0.3)
    assert resolvable_ratio(1, 1, 0.1) == math.inf
    assert resolvable_ratio(2, 1000, 5.0) == math.inf
    assert resolvable_ratio(6, 7, 0.3, Threshold(alpha=0.0)) == math.inf


@pytest.mark.parametrize("sd", [0.01, 0.1, 0.5, 2.0])
@pytest.mark.parametrize("tests", [2, 42, 1000])
@pytest.mark.parametrize("ratio", [1.1, 1.2, 3.0])
def test_blocks_are_the_fewest_that_suffice(ratio, tests, sd):
    blocks = blocks_for(ratio, sd, tests)
    assert power_worse(ratio, blocks, sd, tests) >= 0.95
    assert blocks == 2 or power_worse(ratio, blocks - 1, sd, tests) < 0.95
    assert resolvable_ratio(blocks, tests, sd) <= ratio + 1e-6


@pytest.mark.parametrize("ratio", [0.8, 1.0, 1.03])
def test_blocks_for_equivalence_are_the_fewest_that_suffice(ratio):
    blocks = blocks_for_equivalence(ratio, 0.1, 21)
    enough, few = (power_equivalent(ratio, n, 0.1, 21) for n in (blocks, blocks - 1))
    assert enough >= 0.95 > few


def test_comparisons_are_those_of_the_first_step():
    assert comparisons(7, 21) == 126
    assert comparisons(7, 21, lossy=True) == 252
    assert comparisons(2, 2) == 2
    assert comparisons(1, 1) == 1
