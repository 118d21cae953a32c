"""Whole reports: false claims in at most 5 %, promised differences found in at least 95 %, looks
cost no error.

Limits allow for the simulation's own chance: a true rate of exactly 5 % exceeds them once in a
thousand tests. Campaigns end early where Wald's sequential test (Ann. Math. Stat. 16, 1945) is sure
of it: with 5 % against 10 %, either error once in a thousand. So a row whose true rate is 10 % is
found in 999 of 1000 tests, or by the limit at its last campaign.
"""

import math

import pytest
from scipy.stats import binom

from tests.simulation import claims

pytestmark = pytest.mark.long

ALPHA = 0.05
POWER = 0.95
SURE = 0.999
INFLATED = 0.1
SCALE = 0.6
"""Of the campaigns of `python -m tests.simulation`, whose figures docs/formulas.md quotes."""


def surely_rare(happened: int, campaigns: int) -> bool:
    """Whether it is settled that it happens in 5 %, and not in 10 %, of campaigns."""
    often = happened * math.log(INFLATED / ALPHA)
    seldom = (campaigns - happened) * math.log((1 - INFLATED) / (1 - ALPHA))
    return often + seldom <= math.log((1 - SURE) / SURE)


def surely_found(happened: int, campaigns: int) -> bool:
    return surely_rare(campaigns - happened, campaigns)


def at_most(rate: claims.Rate) -> bool:
    return round(rate.rate * rate.campaigns) <= binom.ppf(SURE, rate.campaigns, ALPHA)


def at_least(rate: claims.Rate) -> bool:
    return round(rate.rate * rate.campaigns) >= binom.ppf(1 - SURE, rate.campaigns, POWER)


@pytest.mark.parametrize("reports", [claims.EQUAL, claims.DIFFERENT], ids=["equal", "different"])
def test_false_claims_are_rare(reports):
    rates = claims.false_claims(reports, SCALE, surely_rare)
    assert [str(r) for r in rates if not at_most(r)] == []


@pytest.mark.parametrize(
    "promises",
    [claims.power_of_promised_ratios, claims.power_of_proposed_blocks, claims.power_after_pilots],
)
def test_what_is_promised_is_found(promises):
    assert [str(r) for r in promises(SCALE, surely_found) if not at_least(r)] == []


def test_an_interval_that_only_clears_one_is_not_what_is_promised():
    """Half of the interval's width, the former promise, is found in about half of the campaigns."""
    report = claims.Report("", [1, 1.132], blocks=5, sd=0.1)  # exp(t(4, 97.5 %)·0.1/√5)
    power = claims.power(report, 500, 1)
    assert 0.3 < power.rate < 0.6
    assert not at_least(power)


@pytest.mark.parametrize(
    "looked",
    [claims.false_claims_of_looks, claims.false_claims_of_budgets, claims.false_claims_of_filled],
)
def test_looks_do_not_inflate_the_error(looked):
    assert [str(r) for r in looked(SCALE, surely_rare) if not at_most(r)] == []


def test_without_shares_of_alpha_looks_would_inflate_it():
    """The simulation can see what it is to rule out."""
    (worst,) = claims.false_claims_of_naive_looks(schedules=[claims.OFTENEST])
    assert not at_most(worst)


def test_looks_save_blocks_where_there_is_a_difference_and_intervals_still_hold():
    rows = list(claims.saved_by_looks(SCALE))
    assert all(
        row.covered * row.campaigns >= binom.ppf(1 - SURE, row.campaigns, 0.95) for row in rows
    )
    same, promised, *larger = rows
    assert same.decided * same.campaigns <= binom.ppf(SURE, same.campaigns, ALPHA)
    assert promised.decided * promised.campaigns >= binom.ppf(1 - SURE, promised.campaigns, POWER)
    assert promised.blocks < 0.85 * promised.maximum
    assert larger[-1].blocks < 0.4 * larger[-1].maximum
