"""The one sentence must not claim more than the verdicts."""

import pytest

from rmwbench.report.headline import headline, leader


def arm(name, verdict, p50, against=None, ratio=None, role="contender", minutes=None):
    ratio = {"value": ratio, "low": ratio, "high": ratio, "blocks": 6} if ratio else None
    return {
        "arm": name,
        "role": role,
        "metrics": {"response_latency_p50": {"unit": "ns", "value": p50, "low": p50, "high": p50}},
        "times_floor": {"value": 2.0, "low": 1.9, "high": 2.1, "blocks": 6},
        "verdict": {"verdict": verdict, "against": against, "ratio": ratio, "minutes_to_decide": minutes},
    }


def workload(*arms):
    floor = arm("floor futex", "reference", 1e3, role="floor")
    return {"primary_metric": "response_latency_p50", "arms": [floor, *arms]}


def test_best():
    found = headline(
        workload(arm("a", "best", 2e4, "b"), arm("b", "worse", 4e4, "a", 2.0), arm("c", "worse", 8e4, "a", 4))
    )
    assert found.answer == "a is the fastest."
    assert found.tone == "decided"
    assert found.behind == "b takes 2.00× as long, c 4.00×."


def test_equivalent_names_all_and_crowns_none():
    found = headline(
        workload(arm("a", "equivalent", 2e4), arm("b", "equivalent", 2.1e4, "a"), arm("c", "worse", 9e4, "a"))
    )
    assert found.answer == "a and b are equally fast, within the margin."
    assert found.tone == "shared"


@pytest.mark.parametrize("lead", ["undecided", "equivalent"])
def test_an_undecided_arm_forbids_a_winner(lead):
    found = headline(workload(arm("a", lead, 2e4), arm("b", "undecided", 2.1e4, "a", 1.05, minutes=40.0)))
    assert found.answer == "Not decided: a leads, but b could be as fast."
    assert "40 min" in found.detail
    assert found.tone == "open"


def test_no_realistic_time_is_not_promised():
    found = headline(workload(arm("a", "equivalent", 2e4), arm("b", "undecided", 2.1e4, "a", 1.0, minutes=None)))
    assert "would decide" not in found.detail


def test_nothing_arrived():
    dead = arm("a", "no data", None)
    assert headline(workload(dead)).tone == "none"
    assert leader(workload(dead)) is None


def test_the_leader_is_what_the_verdicts_point_to_not_the_smallest_number():
    # loss is judged first: b is faster but loses messages, and is worse than a
    found = workload(arm("a", "equivalent", 3e4), arm("c", "equivalent", 3.1e4, "a"), arm("b", "worse", 2e4, "a"))
    assert leader(found)["arm"] == "a"
    assert "b" not in headline(found).answer


def test_the_floor_never_leads():
    assert leader(workload(arm("a", "undecided", 5e4)))["arm"] == "a"


def test_the_best_by_loss_is_not_called_the_fastest():
    found = headline(
        workload(arm("a", "best", 3e4, "b"), arm("b", "worse", 2e4, "a"), arm("c", "worse", 9e4, "a", 3.0))
    )
    assert found.answer == "a is the best: b may be faster, but loses more."
    assert found.behind == "c takes 3.00× as long."


def test_many_names_are_counted():
    arms = [arm(name, "undecided", 2e4, "a", 1.05) for name in "bcdefg"]
    assert "b, c, d and 3 others could be as fast" in headline(workload(arm("a", "undecided", 1e4), *arms)).answer


def test_who_never_gets_there_is_not_called_the_fastest():
    """Out of range with a new address: nobody recovers, and one loses less for it."""
    best, worse = arm("a", "best", 1.0, "b"), arm("b", "worse", 1.0, "a")
    for one in (best, worse):
        one["metrics"]["response_latency_p50"] |= {"value": "inf", "low": "inf", "high": "inf"}
    found = headline(workload(best, worse))
    assert found.answer == "a loses least, and its median response is infinite too."
    assert found.detail == ""


def test_nothing_is_the_fastest_where_allocations_were_counted():
    untimed = arm("a", "no data", 2e4) | {"flags": ["untimed: all that takes memory was counted"]}
    found = headline(workload(untimed))
    assert found.answer == "Not timed: allocations were counted here." and found.tone == "none"


def test_another_primary_metric_is_called_by_its_name():
    one = arm("a", "best", 2e4)
    one["metrics"] = {"match_time": {"unit": "ns", "value": 2e6, "low": 2e6, "high": 2e6}}
    found = headline({"primary_metric": "match_time", "arms": [one]})
    assert "time to match" in found.detail and "response" not in found.detail
