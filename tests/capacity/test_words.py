"""What a search is said to have found, from answers made by hand."""

import pytest

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.report.capacity import capacity_view
from rmwbench.results.capacity import capacity_words
from rmwbench.results.capacity.capacity_document import steady
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


SUBSCRIBERS = {"title": "subscribers", "unit": "", "whole": True}
RATE = {"title": "rate", "unit": "hz", "whole": False}


@pytest.mark.parametrize(
    ("search", "first", "second", "apart"),
    [
        (SUBSCRIBERS, (4, 4, 6), (4, 4, 4), False),
        (SUBSCRIBERS, (4, 4, 6), (2, 3, 4), False),
        (SUBSCRIBERS, (5, 5, 5), (4, 4, 4), True),
        (RATE, (990.0, 1005.0, 1020.0), (980.0, 990.0, 1000.0), False),
        (RATE, (1000.0, 1010.0, 1020.0), (980.0, 990.0, 1000.0), True),
    ],
)
def test_arms_are_told_apart_where_their_intervals_do_not_overlap(search, first, second, apart):
    conclusions = said((bracketed("a", *first), bracketed("b", *second)), **search)
    more = "with more subscribers" if search["whole"] else "at a higher rate"
    told = f"a holds the limit {more} than b: their intervals do not overlap"
    assert (told in conclusions) == any("than b" in text for text in conclusions) == apart
    assert any("not told apart" in text and "a and b" in text for text in conclusions) != apart


@pytest.mark.parametrize(
    ("arm", "why"),
    [
        ({"ended": "budget"}, "the budget ended before a trial could be judged"),
        ({"ended": "stopped"}, "the search was stopped before a trial could be judged"),
        ({"ended": "4 trials in a row said nothing: steal"}, None),
        (
            {"ended": "budget", "breaks": {"cause": "exit status 3"}},
            "every trial failed: exit status 3",
        ),
        (
            {"bound": "above 7 the machine has too few cores"},
            "above 7 the machine has too few cores",
        ),
        ({}, "no trial could be judged"),
    ],
)
def test_an_arm_without_data_has_its_reason_in_words(arm, why):
    """`no data: budget`."""
    without = typed(CapacityArm, arm | {"arm": "a", "capacity": {"state": "no data"}})
    search = typed(RaisedFactor, SUBSCRIBERS | {"curve": ("p50", "p99")})
    assert capacity_words.answer(without, search) == f"no data: {why or arm['ended']}"


def test_arms_that_hold_at_the_highest_level_have_no_intervals_that_overlap():
    held = {"state": "at least", "unit": "hz", "value": 2e5, "low": 2e5}
    arms = [typed(CapacityArm, {"arm": a, "capacity": held, "role": "contender"}) for a in "ab"]
    (text,) = (text for text in said(arms, **RATE) if "not told apart" in text)
    assert text.endswith("overlap or have no upper end: a and b")


def test_a_search_that_saw_failures_is_not_said_to_have_ended_before_any():
    arm = {"capacity": {"state": "at least", "low": 800.0}, "wide": True}
    assert "before anything failed" in capacity_words.beyond(typed(CapacityArm, arm))
    arm |= {"breaks": {"cause": "p99 response 7.2 ms"}}
    assert (
        capacity_words.beyond(typed(CapacityArm, arm))
        == "too few trials failed to say where it breaks"
    )


def test_one_unstable_trial_is_counted_in_the_singular():
    median = GLOSSARY["response_latency_p50"]
    assert steady(median, [None], [True]).no_data == "unstable in 1 of 1 trial: the queue grows"


def test_a_percentile_of_a_curve_has_its_point():
    """`p999 response`."""
    assert capacity_view._title("response_latency_p999") == "p99.9 response"
    assert capacity_view._title("response_latency_p50") == "p50 response"
