"""No number without what it rests on."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmwbench.analysis.stats.estimate import (
    AtLeast,
    Measured,
    NoData,
    allowed,
    finite,
    finites,
    needed,
    rank,
)
from rmwbench.results.model import document

M = Measured("ns", 12.0, 11.0, 13.0, 180, 6, "95 % t interval")


@pytest.mark.parametrize(
    "metric",
    [
        M,
        AtLeast("ns", at_least=5.0, count=18, trials=2, interval="bound"),
        NoData("ns", no_data="why"),
    ],
)
def test_a_bare_number_cannot_be_formatted(metric):
    with pytest.raises(TypeError):
        f"{metric:.1f}"
    with pytest.raises(TypeError):
        float(metric)


def test_infinity_is_written_as_a_word():
    written = document(Measured("ns", math.inf, 5.0, math.inf, 30, 6, "range"))
    assert (written["value"], written["low"], written["high"]) == ("inf", 5, "inf")


@given(st.lists(st.floats(allow_nan=False)))
def test_many_numbers_are_rounded_as_each_would_be(values):
    assert [repr(x) for x in finites(values)] == [repr(finite(v)) for v in values]


@pytest.mark.parametrize("q", [0.5, 0.9, 0.99, 0.999, 0.9999])
def test_rule_five_does_not_fall_over_binary_fractions(q):
    n = needed(q)
    assert n == round(10 / (1 - q))
    assert allowed(n, q)
    assert not allowed(n - 1, q)


@pytest.mark.parametrize(
    ("n", "q", "place"),
    [(20, 0.5, 9), (21, 0.5, 10), (100, 0.99, 98), (1000, 0.999, 998), (1, 0.5, 0)],
)
def test_a_percentile_is_the_smallest_value_that_reaches_it(n, q, place):
    assert rank(n, q) == place


def test_text_has_count_and_interval():
    assert f"{M}" == "12 ns [11, 13] (n=180 in 6 trials; 95 % t interval)"


def test_not_a_number_is_refused():
    with pytest.raises(ValueError, match="NoData"):
        Measured("ns", math.nan, 0.0, 1.0, 1, 1, "")
    with pytest.raises(ValueError, match="does not hold"):
        Measured("ns", 2.0, 0.0, 1.0, 1, 1, "")
