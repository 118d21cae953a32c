"""Whole reports: false claims in at most 5 %, promised differences found in at least 95 %, looks
cost no error.

Limits allow for the simulation's own chance: a true rate of exactly 5 % exceeds them once in a
thousand tests.
"""

import pytest
from scipy.stats import binom

from tests.simulation import claims

ALPHA = 0.05
POWER = 0.95
SURE = 0.999
SCALE = 0.6
"""Of the campaigns of `python -m tests.simulation`, whose figures docs/method.md quotes: the tests
stay below 90 s."""


def at_most(rate: claims.Rate) -> bool:
    return round(rate.rate * rate.campaigns) <= binom.ppf(SURE, rate.campaigns, ALPHA)


def at_least(rate: claims.Rate) -> bool:
    return round(rate.rate * rate.campaigns) >= binom.ppf(1 - SURE, rate.campaigns, POWER)


@pytest.mark.parametrize("reports", [claims.EQUAL, claims.DIFFERENT], ids=["equal", "different"])
def test_false_claims_are_rare(reports):
    assert [str(r) for r in claims.false_claims(reports, SCALE) if not at_most(r)] == []


@pytest.mark.parametrize(
    "promises",
    [claims.power_of_promised_ratios, claims.power_of_proposed_blocks, claims.power_after_pilots],
)
def test_what_is_promised_is_found(promises):
    assert [str(r) for r in promises(SCALE) if not at_least(r)] == []


def test_an_interval_that_only_clears_one_is_not_what_is_promised():
    """Half of the interval's width, the former promise, is found in about half of the campaigns."""
    report = claims.Report("", [1, 1.132], blocks=5, sd=0.1)  # exp(t(4, 97.5 %)·0.1/√5)
    assert 0.3 < claims.found(report, 500, 1) < 0.6


@pytest.mark.parametrize(
    "looked",
    [claims.false_claims_of_looks, claims.false_claims_of_budgets, claims.false_claims_of_filled],
)
def test_looks_do_not_inflate_the_error(looked):
    assert [str(r) for r in looked(SCALE) if not at_most(r)] == []


def test_without_shares_of_alpha_looks_would_inflate_it():
    """The simulation can see what it is to rule out."""
    worst = max(claims.false_claims_of_looks(naive=True), key=lambda r: r.rate)
    assert not at_most(worst)


def test_looks_save_blocks_where_there_is_a_difference_and_intervals_still_hold():
    rows = list(claims.saved_by_looks())
    assert all(
        row.covered * row.campaigns >= binom.ppf(1 - SURE, row.campaigns, 0.95) for row in rows
    )
    same, promised, *larger = rows
    assert same.decided * same.campaigns <= binom.ppf(SURE, same.campaigns, ALPHA)
    assert promised.decided * promised.campaigns >= binom.ppf(1 - SURE, promised.campaigns, POWER)
    assert promised.blocks < 0.85 * promised.maximum
    assert larger[-1].blocks < 0.4 * larger[-1].maximum
