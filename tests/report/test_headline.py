"""The one sentence must not claim more than the verdicts."""

from rmwbench.results.answer import facts
from rmwbench.results.answer import headline as answer
from rmwbench.results.shown import LevelsOutcome, WorkloadAnswer
from tests.support.typed import typed


def headline(workload, condition=None):
    return answer.headline(
        typed(WorkloadAnswer, workload),
        None if condition is None else typed(LevelsOutcome, condition),
    )


def leader(workload):
    found = facts.leader(typed(WorkloadAnswer, workload))
    return None if found is None else found.arm


def arm(name, verdict, p50, against=None, ratio=None, role="contender", minutes=None, by=None):
    ratio = {"value": ratio, "low": ratio, "high": ratio, "blocks": 6} if ratio else None
    return {
        "arm": name,
        "role": role,
        "metrics": {"response_latency_p50": {"unit": "ns", "value": p50, "low": p50, "high": p50}},
        "times_floor": {"value": 2.0, "low": 1.9, "high": 2.1, "blocks": 6},
        "verdict": {
            "verdict": verdict,
            "against": against,
            "ratio": ratio,
            "by": by,
            "minutes_to_decide": minutes,
        },
    }


def losing(name, p50):
    return with_loss(arm(name, "worse", p50, "a", by="delivery"), 0.12)


def with_loss(found, lost):
    found["trials"] = {"done": 6}
    found["metrics"]["loss"] = {"unit": "fraction", "value": lost, "low": lost, "high": lost}
    return found


def workload(*arms):
    floor = arm("floor futex", "reference", 1e3, role="floor")
    return {"primary_metric": "response_latency_p50", "arms": [floor, *arms]}


def test_equivalent_names_all_and_crowns_none():
    found = headline(
        workload(
            arm("a", "equivalent", 2e4),
            arm("b", "equivalent", 2.1e4, "a"),
            arm("c", "worse", 9e4, "a", 4.5),
        )
    )
    assert (
        found.answer
        == "Take a or b: they are equally fast, within the margin; c takes 4.50× as long."
    )
    assert found.tone == "shared"


def test_an_undecided_arm_forbids_a_winner():
    found = headline(workload(arm("a", "undecided", 2e4), arm("b", "undecided", 2.1e4, "a", 1.05)))
    assert found.answer == "Nothing is decided yet between a and b."
    assert found.tone == "open"


def test_what_is_decided_is_said_before_what_is_open():
    three = arm("c", "worse", 6e4, "a", 3.0), arm("d", "worse", 6.1e4, "a", 3.05)
    found = headline(
        workload(arm("a", "equivalent", 2e4), arm("b", "undecided", 2.1e4, "a", 1.05), *three)
    )
    assert found.answer == (
        "Take a: it is not slower than any other by more than the margin; c takes 3.00× as long, d "
        "3.05×; b is open."
    )
    assert found.tone == "shared"
    found = headline(
        workload(arm("a", "undecided", 2e4), arm("b", "undecided", 2.1e4, "a", 1.05), *three)
    )
    assert found.answer == (
        "Take a or b: which of the two is the fastest is not decided; c takes 3.00× as long as a, d 3.05×."
    )
    assert found.lead == "Take a or b: which of the two is the fastest is not decided."
    assert found.rest == "c takes 3.00× as long as a, d 3.05×."


def test_the_only_arm_that_works_was_not_measured_alone():
    failures = [{"block": n, "status": "failed", "failed_by": "worker"} for n in range(5)]
    dead = arm("b", "worse", None, "a", by="failure") | {
        "trials": {"failed": 5, "failures": failures}
    }
    found = headline(workload(arm("a", "alone", 2e4), dead))
    assert found.answer == (
        "Take a: it is the only arm that works here; b does not work here: it failed in each of 5 "
        "trials."
    )
    assert found.tone == "decided"
    found = headline(workload(arm("a", "alone", 2e4), arm("b", "undecided", None, "a")))
    assert found.answer == (
        "Only a has data, and b has failed in every trial so far: there is nothing to compare it "
        "with."
    )
    assert found.tone == "none"


def test_arms_that_fail_or_lose_alike_are_told_together():
    by = ["worker"] * 5 + ["host"]
    failures = [{"block": n, "status": "failed", "failed_by": who} for n, who in enumerate(by)]
    trials = {"trials": {"failed": 6, "failures": failures}}
    dead = [arm(name, "worse", None, "a", by="failure") | trials for name in "bcd"]
    found = headline(workload(arm("a", "best", 2e4), losing("x", 3e4), losing("y", 3e4), *dead))
    assert (
        "x loses 12 % of its messages, y 12 %; b, c and d do not work here: they failed in each of "
        "5" in found.answer
    )


def test_limits_stand_beside_the_verdicts():
    condition = {
        "arms": [
            {"arm": "a", "outcome": "meets"},
            {"arm": "b", "outcome": "misses", "topic": "front"},
            {"arm": "c", "outcome": "open"},
        ]
    }
    found = headline(workload(arm("a", "best", 2e4), arm("b", "worse", 4e4, "a", 2.0)), condition)
    assert found.limits == "a meets your limits; b (in front) misses them; c may or may not."


def test_the_leader_is_what_the_verdicts_point_to_not_the_smallest_number():
    # loss is judged first: b is faster but loses messages, and is worse than a
    found = workload(
        arm("a", "equivalent", 3e4), arm("c", "equivalent", 3.1e4, "a"), losing("b", 2e4)
    )
    assert leader(found) == "a"
    assert "take b" not in headline(found).answer.lower()


def test_who_loses_much_is_not_praised_without_that():
    """Of whose messages the best loses some, and one that is faster for what it loses."""
    found = headline(workload(with_loss(arm("a", "best", 2e4), 0.09), losing("b", 3e4)))
    assert found.lead == "Take a: it is the fastest, although it loses 9 % of its messages."
    assert found.rest == "b loses 12 % of its messages."
    alike = with_loss(arm("a", "equivalent", 3e4), 0.079)
    found = headline(workload(alike, losing("b", 2e4), arm("c", "undecided", 4e4, "a", 1.2)))
    assert found.lead == (
        "Take a: it is not slower than any other that delivers as much by more than the margin, "
        "although it loses 7.9 % of its messages."
    )
    two = with_loss(arm("b", "equivalent", 2.1e4, "a"), 0.02), arm("c", "worse", 9e4, "a", 4.5)
    found = headline(workload(with_loss(arm("a", "equivalent", 2e4), 0.012), *two))
    assert found.lead == (
        "Take a or b: they are equally fast, within the margin, although a loses 1.2 % of its "
        "messages and b loses 2 % of its messages."
    )
    little = headline(workload(with_loss(arm("a", "best", 2e4), 0.002), losing("b", 3e4)))
    assert little.lead == "Take a: it is the fastest, although it loses 0.2 % of its messages."


def test_who_loses_more_than_can_be_carried_is_not_taken():
    """Beyond the capacity of a link all lose much: who is the best is a detail. Where another one
    delivers, the best of those that lose is named without advice."""
    found = headline(workload(with_loss(arm("a", "best", 2e4), 0.3), losing("b", 3e4)))
    assert isinstance(found.facts[0], facts.NoneCarries)
    assert found.tone == "none"
    assert found.answer == ("No arm carries this: b loses 12 % of its messages, a 30 %.")
    assert found.detail == "a is the fastest."
    alone = headline(workload(with_loss(arm("a", "alone", 2e4), 0.9)))
    assert alone.is_alone and [type(fact) for fact in alone.facts] == [
        facts.NoneCarries,
        facts.Alone,
    ]
    two = with_loss(arm("a", "undecided", 2e4), 0.3), arm("b", "undecided", 3e4, "a", 1.2)
    assert headline(workload(*two)).answer.startswith("Nothing is decided yet between a and b")
    worse = arm("b", "worse", 9e4, "a", 3.0)
    found = headline(workload(with_loss(arm("a", "best", 2e4), 0.3), worse))
    assert not any(isinstance(fact, facts.NoneCarries) for fact in found.facts)
    assert "Take a" not in found.answer


def test_worse_by_loss_is_not_told_by_a_ratio_below_one():
    """`worse 0.44×` reads like a contradiction: who loses more may be faster."""
    by_loss = losing("b", 2e4)
    by_loss["verdict"]["ratio"] = {"value": 0.44, "low": 0.4, "high": 0.5, "blocks": 6}
    slower, open_ = arm("c", "worse", 9e4, "a", 4.5), arm("d", "undecided", 4e4, "a", 1.2)
    best = arm("a", "best", 3e4, "b", 0.9)
    arms = typed(WorkloadAnswer, workload(best, by_loss, slower, open_)).arms[1:]
    assert [facts.by_what(one) for one in arms] == ["", "by delivery", "4.50×", ""]
    for fates, told in (
        ({"lost": 0.1, "never_sent": 0.05}, "by loss"),
        ({"lost": 0.1, "never_sent": 0.28, "held_by": "call"}, "by what it never sent"),
        ({"failed": 2, "trials": 5}, "by failed trials"),
    ):
        by_loss["verdict"]["fates"] = fates
        assert facts.by_what(typed(WorkloadAnswer, workload(by_loss)).arms[1]) == told
    assert [facts.by_what_whole(one) for one in arms] == [
        "",
        "by delivery",
        "4.50× [4.50–4.50]",
        "1.20× [1.20–1.20]",
    ]


def test_nothing_is_the_fastest_where_allocations_were_counted():
    untimed = arm("a", "no data", 2e4) | {"untimed": True}
    found = headline(workload(untimed))
    assert found.answer == "Not timed: allocations were counted here." and found.tone == "none"
