"""The one sentence must not claim more than the verdicts."""

from rmwbench.results.answer import facts
from rmwbench.results.answer import headline as answer
from rmwbench.results.show_model import LevelsOutcome, WorkloadAnswer
from tests.support.typed import exact, typed


def headline(workload, condition=None):
    return answer.headline(
        typed(WorkloadAnswer, workload),
        None if condition is None else typed(LevelsOutcome, condition),
    )


def leader(workload):
    first = facts.leader(typed(WorkloadAnswer, workload))
    return None if first is None else first.arm


def arm(name, verdict, p50, against=None, ratio=None, role="contender", minutes=None, by=None):
    ratio = {"value": ratio, "low": ratio, "high": ratio, "blocks": 6} if ratio else None
    return {
        "arm": name,
        "role": role,
        "metrics": {"response_latency_p50": exact(p50, "ns")},
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


def with_loss(losing_arm, lost):
    losing_arm["trials"] = {"done": 6}
    losing_arm["metrics"]["loss"] = exact(lost)
    return losing_arm


def workload(*arms):
    floor = arm("floor futex", "reference", 1e3, role="floor")
    return {"primary_metric": "response_latency_p50", "arms": [floor, *arms]}


def test_equivalent_names_all_and_crowns_none():
    said = headline(
        workload(
            arm("a", "equivalent", 2e4),
            arm("b", "equivalent", 2.1e4, "a"),
            arm("c", "worse", 9e4, "a", 4.5),
        )
    )
    assert (
        said.answer
        == "Take a or b: they are equally fast, within the margin; c takes 4.50× as long."
    )
    assert said.tone == "shared"


def test_an_undecided_arm_forbids_a_winner():
    said = headline(workload(arm("a", "undecided", 2e4), arm("b", "undecided", 2.1e4, "a", 1.05)))
    assert said.answer == "Nothing is decided yet between a and b."
    assert said.tone == "open"


def test_what_is_decided_is_said_before_what_is_open():
    three = arm("c", "worse", 6e4, "a", 3.0), arm("d", "worse", 6.1e4, "a", 3.05)
    said = headline(
        workload(arm("a", "equivalent", 2e4), arm("b", "undecided", 2.1e4, "a", 1.05), *three)
    )
    assert said.answer == (
        "Take a: it is not slower than any other by more than the margin; c takes 3.00× as long, d "
        "3.05×; b is open."
    )
    assert said.tone == "shared"
    said = headline(
        workload(arm("a", "undecided", 2e4), arm("b", "undecided", 2.1e4, "a", 1.05), *three)
    )
    assert said.answer == (
        "Take a or b: which of the two is the fastest is not decided; c takes 3.00× as long as a, d 3.05×."
    )
    assert said.lead == "Take a or b: which of the two is the fastest is not decided."
    assert said.rest == "c takes 3.00× as long as a, d 3.05×."


def test_the_only_arm_that_works_was_not_measured_alone():
    failures = [{"block": n, "status": "failed", "failed_by": "worker"} for n in range(5)]
    dead = arm("b", "worse", None, "a", by="failure") | {
        "trials": {"failed": 5, "failures": failures}
    }
    said = headline(workload(arm("a", "alone", 2e4), dead))
    assert said.answer == (
        "Take a: it is the only arm that works here; b does not work here: it failed in each of 5 "
        "trials."
    )
    assert said.tone == "decided"
    said = headline(workload(arm("a", "alone", 2e4), arm("b", "undecided", None, "a")))
    assert said.answer == (
        "Only a has data, and b has failed in every trial so far: there is nothing to compare it "
        "with."
    )
    assert said.tone == "none"


def test_what_was_never_tried_did_not_deliver_too_little():
    refused = arm("a", "no data", None) | {"not_supported": "it has no services"}
    also = arm("b", "no data", None) | {"not_supported": "it has no services"}
    assert headline(workload(refused, also)).answer == "a and b are not supported."
    assert (
        headline(workload()).answer == "Only the floor was measured: there is nothing to compare."
    )
    for done, text in ((0, "came to the end of a trial"), (5, "delivered enough to compare")):
        tried = arm("c", "no data", None) | {"trials": {"done": done}}
        assert headline(workload(refused, tried)).answer == f"No arm {text}."


def test_arms_that_fail_or_lose_alike_are_told_together():
    by = ["worker"] * 5 + ["host"]
    failures = [{"block": n, "status": "failed", "failed_by": who} for n, who in enumerate(by)]
    trials = {"trials": {"failed": 6, "failures": failures}}
    dead = [arm(name, "worse", None, "a", by="failure") | trials for name in "bcd"]
    said = headline(workload(arm("a", "best", 2e4), losing("x", 3e4), losing("y", 3e4), *dead))
    assert (
        "x loses 12 % of its messages, y 12 %; b, c and d do not work here: they failed in each of "
        "5" in said.answer
    )


def test_limits_stand_beside_the_verdicts():
    condition = {
        "arms": [
            {"arm": "a", "outcome": "meets"},
            {"arm": "b", "outcome": "misses", "topic": "front"},
            {"arm": "c", "outcome": "open"},
        ]
    }
    said = headline(workload(arm("a", "best", 2e4), arm("b", "worse", 4e4, "a", 2.0)), condition)
    assert said.limits == "a meets your limits; b (in front) misses them; c may or may not."


def test_the_leader_is_what_the_verdicts_point_to_not_the_smallest_number():
    # loss is judged first: b is faster but loses messages, and is worse than a
    judged = workload(
        arm("a", "equivalent", 3e4), arm("c", "equivalent", 3.1e4, "a"), losing("b", 2e4)
    )
    assert leader(judged) == "a"
    assert "take b" not in headline(judged).answer.lower()


def test_who_loses_much_is_not_praised_without_that():
    """Of whose messages the best loses some, and one that is faster for what it loses."""
    said = headline(workload(with_loss(arm("a", "best", 2e4), 0.09), losing("b", 3e4)))
    assert said.lead == "Take a: it is the fastest, although it loses 9 % of its messages."
    assert said.rest == "b loses 12 % of its messages."
    alike = with_loss(arm("a", "equivalent", 3e4), 0.079)
    said = headline(workload(alike, losing("b", 2e4), arm("c", "undecided", 4e4, "a", 1.2)))
    assert said.lead == (
        "Take a: it is not slower than any other that delivers as much by more than the margin, "
        "although it loses 7.9 % of its messages."
    )
    two = with_loss(arm("b", "equivalent", 2.1e4, "a"), 0.02), arm("c", "worse", 9e4, "a", 4.5)
    said = headline(workload(with_loss(arm("a", "equivalent", 2e4), 0.012), *two))
    assert said.lead == (
        "Take a or b: they are equally fast, within the margin, although a loses 1.2 % of its "
        "messages and b loses 2 % of its messages."
    )
    little = headline(workload(with_loss(arm("a", "best", 2e4), 0.002), losing("b", 3e4)))
    assert little.lead == "Take a: it is the fastest, although it loses 0.2 % of its messages."


def test_who_loses_more_than_can_be_carried_is_not_taken():
    """Beyond the capacity of a link all lose much: who is the best is a detail. Where another one
    delivers, the best of those that lose is named without advice."""
    said = headline(workload(with_loss(arm("a", "best", 2e4), 0.3), losing("b", 3e4)))
    assert isinstance(said.facts[0], facts.NoneCarries)
    assert said.tone == "none"
    assert said.answer == ("No arm carries this: b loses 12 % of its messages, a 30 %.")
    assert said.detail == "a is the fastest."
    alone = headline(workload(with_loss(arm("a", "alone", 2e4), 0.9)))
    assert alone.is_alone
    assert [type(fact) for fact in alone.facts] == [facts.NoneCarries, facts.Alone]
    two = with_loss(arm("a", "undecided", 2e4), 0.3), arm("b", "undecided", 3e4, "a", 1.2)
    assert headline(workload(*two)).answer.startswith("Nothing is decided yet between a and b")
    worse = arm("b", "worse", 9e4, "a", 3.0)
    said = headline(workload(with_loss(arm("a", "best", 2e4), 0.3), worse))
    assert not any(isinstance(fact, facts.NoneCarries) for fact in said.facts)
    assert "Take a" not in said.answer


def test_worse_by_loss_is_not_told_by_a_ratio_below_one():
    """`worse 0.44×` reads like a contradiction: who loses more may be faster."""
    by_loss = losing("b", 2e4)
    by_loss["verdict"]["ratio"] = {"value": 0.44, "low": 0.4, "high": 0.5, "blocks": 6}
    slower, open_ = arm("c", "worse", 9e4, "a", 4.5), arm("d", "undecided", 4e4, "a", 1.2)
    best = arm("a", "best", 3e4, "b", 0.9)
    arms = typed(WorkloadAnswer, workload(best, by_loss, slower, open_)).arms[1:]
    assert [facts.verdict_basis(one) for one in arms] == ["", "by delivery", "4.50×", ""]
    for fates, told in (
        ({"lost": 0.1, "never_sent": 0.05}, "by loss"),
        ({"lost": 0.1, "never_sent": 0.28, "held_by": "call"}, "by what it never sent"),
        ({"failed": 2, "trials": 5}, "by failed trials"),
    ):
        by_loss["verdict"]["fates"] = fates
        assert facts.verdict_basis(typed(WorkloadAnswer, workload(by_loss)).arms[1]) == told
    assert [facts.verdict_basis(one, whole=True) for one in arms] == [
        "",
        "by delivery",
        "4.50× [4.50–4.50]",
        "1.20× [1.20–1.20]",
    ]


def test_nothing_is_the_fastest_where_allocations_were_counted():
    untimed = arm("a", "no data", 2e4) | {"untimed": True}
    said = headline(workload(untimed))
    assert said.answer == "Not timed: allocations were counted here." and said.tone == "none"
