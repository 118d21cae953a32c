"""What a search is said to have found, from answers made by hand."""

import pytest

from rmwbench.results.capacity import capacity_words
from rmwbench.results.capacity.capacity_model import CapacityArm, RaisedFactor
from tests.support.typed import typed


def bracketed(name, low, value, high):
    capacity = {"state": "bracketed", "unit": "", "value": value, "low": low, "high": high}
    return typed(CapacityArm, {"arm": name, "capacity": capacity, "role": "contender"})


def said(arms, **about):
    return [
        one.text
        for one in capacity_words.conclusions(
            typed(RaisedFactor, about | {"curve": ("p50", "p99")}), arms
        )
    ]


@pytest.mark.parametrize("second", [(4, 4, 4), (2, 3, 4)])
def test_arms_that_may_hold_the_same_number_of_subscribers_are_not_told_apart(second):
    arms = (bracketed("a", 4, 4, 6), bracketed("b", *second))
    conclusions = said(arms, title="subscribers", unit="", whole=True)
    assert any("not told apart" in text and "a and b" in text for text in conclusions)
    assert not any("than b" in text for text in conclusions)


def test_arms_that_cannot_hold_the_same_number_of_subscribers_are_told_apart():
    arms = (bracketed("a", 5, 5, 5), bracketed("b", 4, 4, 4))
    conclusions = said(arms, title="subscribers", unit="", whole=True)
    assert (
        "a holds the limit with more subscribers than b: their intervals do not overlap"
        in conclusions
    )


def test_a_search_that_saw_failures_is_not_said_to_have_ended_before_any():
    arm = {"capacity": {"state": "at least", "low": 800.0}, "wide": True}
    assert "before anything failed" in capacity_words.beyond(typed(CapacityArm, arm))
    arm |= {"breaks": {"cause": "p99 response 7.2 ms"}}
    assert (
        capacity_words.beyond(typed(CapacityArm, arm))
        == "too few trials failed to say where it breaks"
    )
