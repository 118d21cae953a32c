"""Families are recovered with their parameters, none is forced on data that follow none, and
dependence is told."""

import json

import numpy as np
import pytest

from rmwbench.analysis.stats.fit import CLOSE, FAMILIES, FEWEST, correlation, fit

N = 4000
DRAWS = {
    "normal": (lambda r: r.normal(4e6, 5e5, N), {"mean_ns": 4e6, "sd_ns": 5e5}),
    "lognormal": (
        lambda r: 5e4 + r.lognormal(10, 0.5, N),
        {"median_above_shift_ns": np.exp(10), "sigma_log": 0.5},
    ),
    "gamma": (lambda r: 2e4 + r.gamma(3, 2e4, N), {"shape": 3, "scale_ns": 2e4}),
    "weibull": (lambda r: 1e4 + 2e4 * r.weibull(1.7, N), {"shape": 1.7, "scale_ns": 2e4}),
    "skew normal": (
        lambda r: (
            1e6 + 3e5 * (0.97 * np.abs(r.normal(size=N)) + np.sqrt(1 - 0.97**2) * r.normal(size=N))
        ),
        {"location_ns": 1e6, "scale_ns": 3e5},
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_family_is_found_among_the_others_with_its_parameters(name):
    draw, truth = DRAWS[name]
    found = fit([draw(np.random.default_rng(3))])
    families = {family.name: family for family in found.families}
    assert set(families) == set(FAMILIES)
    assert families[name].distance <= CLOSE and families[name].aic - found.families[0].aic < 5
    for parameter, value in truth.items():
        assert families[name].parameters[parameter] == pytest.approx(value, rel=0.15)
    assert abs(families[name].quantile_errors["p95"]) < 0.05
    json.dumps(found.document(), allow_nan=False)


def test_what_follows_no_family_is_said_so():
    rng = np.random.default_rng(1)
    found = fit(
        [np.concatenate([rng.normal(1e5, 1e3, N), rng.normal(5e5, 1e3, N)])[rng.permutation(2 * N)]]
    )
    assert found.verdict.startswith("None of these fits")


def test_lost_messages_are_in_no_family_and_too_few_are_not_fitted():
    values = np.random.default_rng(2).normal(1e6, 1e4, 500)
    values[::10] = np.inf
    found = fit([values])
    assert (found.messages, found.lost) == (450, 50) and "50 messages that had not" in found.verdict
    assert not fit([values[: FEWEST // 2]]).families
    assert not fit([np.full(500, 7.0)]).families and not fit([]).families


def test_messages_that_all_took_the_same_time_are_not_called_too_few():
    assert "all 500 messages took the same time" in fit([np.full(500, 7.0)]).verdict
    assert fit([np.full(FEWEST - 1, 7.0)]).verdict.startswith("Too few messages")


def test_neighbours_that_resemble_each_other_are_worth_less():
    rng = np.random.default_rng(4)
    noise, slow = rng.normal(size=N), np.zeros(N)
    for i in range(1, N):
        slow[i] = 0.9 * slow[i - 1] + noise[i]
    first, effective = correlation([noise])
    assert abs(first) < 0.06 and effective > N / 2
    first, effective = correlation([slow])
    assert first == pytest.approx(0.9, abs=0.05)
    assert N / 60 < effective < N / 8  # (1 − 0.9) / (1 + 0.9) of them, for a normal AR(1)
    assert "independent" in fit([1e6 + 1e4 * slow]).verdict
