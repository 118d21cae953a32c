"""No reader is told to choose a middleware that does not carry the traffic; the others are told as
in every report."""

import pytest

from rmwbench.analysis.verdicts.best import MOST_LOST
from rmwbench.published.committee.answers import answer
from rmwbench.results.answer.headline import headline
from rmwbench.results.show_model import WorkloadAnswer
from rmwbench.suite.file.limits_file import read_limits
from rmwbench.suite.file.suite_files import limits_directory
from tests.support.typed import exact, typed

P90 = "response_latency_p90"
RMWS = ("rclcpp/cyclonedds", "rclcpp/fastrtps", "rclcpp/zenoh")
NEVER = "inf"


def arm(name, verdict, p90, lost=0.0, against=None, by=None, ratio=None, **more):
    """Return an RMW as installed, of five trials."""
    told = {"verdict": verdict, "against": against, "by": by}
    if ratio:
        told["ratio"] = {"value": ratio, "low": ratio, "high": ratio, "blocks": 5}
    return {
        "arm": name,
        "layer": "rclcpp",
        "as_installed": True,
        "role": "contender",
        "trials": {"done": 5},
        "metrics": {"loss": exact(lost), P90: exact(p90, "ns")},
        "verdict": told,
    } | more


def dead(name, against):
    failures = [{"block": n, "status": "failed", "failed_by": "worker"} for n in range(5)]
    trials = {"failed": 5, "failures": failures}
    return arm(name, "worse", None, None, against, "failure", trials=trials)


def workload(*arms, **more):
    floor = arm("floor", "reference", 1e3, role="floor", layer="floor")
    return typed(WorkloadAnswer, {"primary_metric": P90, "arms": [floor, *arms]} | more)


def flood(**more):
    """Return commands beside a camera that does not fit, as measured."""
    first, second, third = RMWS
    return workload(
        arm(first, "undecided", NEVER, 0.28, **more),
        arm(second, "undecided", NEVER, 0.28, first, **more),
        arm(third, "worse", NEVER, 0.82, first, "delivery", **more),
    )


def test_where_every_arm_loses_its_messages_none_carries_them():
    assert "Take" not in headline(flood()).answer
    told = answer(flood())
    assert told.answer == (
        "No RMW as installed carries this: rclcpp/cyclonedds loses 28 % of its messages, "
        "rclcpp/fastrtps 28 %, rclcpp/zenoh 82 %."
    )
    assert told.detail == (
        "Which of rclcpp/cyclonedds and rclcpp/fastrtps has the shortest p90 response latency is "
        "not decided, but rclcpp/cyclonedds loses 28 % of its messages and rclcpp/fastrtps loses "
        "28 % of its messages; rclcpp/zenoh loses 82 % of its messages."
    )


@pytest.mark.parametrize("lost", [0.0, 0.02, MOST_LOST])
def test_whoever_carries_the_traffic_is_told_as_in_every_report(lost):
    part = workload(
        arm("a", "best", 2e6, lost, "b"), arm("b", "worse", NEVER, 0.5, "a", "delivery")
    )
    assert answer(part) == headline(part)
    assert answer(part).answer.startswith("Take a: ")


def test_one_that_may_be_the_best_and_loses_much_is_not_advised():
    part = workload(
        arm("a", "undecided", NEVER, 0.3),
        arm("b", "undecided", 2e6, 0.0, "a"),
        arm("c", "worse", 6e6, 0.0, "b", "primary", 3.0),
    )
    assert not headline(part).answer.startswith("Take")
    assert answer(part).answer == (
        "Which of a and b has the shortest p90 response latency is not decided, but a loses 30 % "
        "of its messages; c takes 3.00× as long as b."
    )


def test_a_metric_that_few_lost_messages_make_infinite_is_not_carried_either():
    part = workload(
        arm("a", "best", NEVER, 0.02, "b"), arm("b", "worse", NEVER, 0.05, "a", "delivery")
    )
    told = answer(part).answer
    assert told.startswith("No RMW as installed carries this: a loses 2 % of its messages, b 5 %;")
    assert "; with a and b messages that did not arrive reach the " in told


def test_who_does_not_work_and_who_was_not_run_stand_behind_it():
    unable = arm("c", "no data", None, None, not_supported="c has no inter_host")
    part = workload(arm("a", "alone", 2e6, 0.3), dead("b", "a"), unable)
    assert "take" not in headline(part).answer.casefold()
    assert answer(part).answer == (
        "No RMW as installed carries this: a loses 30 % of its messages; b does not work here: it "
        "failed in each of 5 trials; c is not supported."
    )


def test_of_several_topics_the_one_in_which_an_arm_loses_most_counts():
    def topic(name, *shares):
        first, second = shares
        return {
            "topic": name,
            "judged": True,
            "primary_metric": P90,
            "arms": [
                of_topic("a", "undecided", first),
                of_topic("b", "worse", second, "a", "delivery"),
            ],
        }

    def of_topic(name, verdict, lost, against=None, by=None):
        whole = arm(name, verdict, 2e6, lost, against, by)
        return {key: whole[key] for key in ("arm", "role", "trials", "metrics", "verdict")}

    b = arm("b", "worse", None, 0.1, "a", "delivery")
    b["verdict"]["topic"] = "front"
    part = workload(
        arm("a", "undecided", None, 0.05),
        b,
        topics=[topic("imu", 0.01, 0.02), topic("front", 0.3, 0.6)],
    )
    assert headline(part).answer.startswith("In front no arm carries this: a loses 30 % of its")
    assert answer(part).answer == "No RMW as installed carries this: a loses 30 % of front, b 60 %."


def test_no_shipped_limit_allows_more_than_what_is_called_carried():
    for path in limits_directory().glob("*.yaml"):
        limits = read_limits(path)
        each = [limits.acceptable, *limits.topics.values()]
        assert all(one.get("undelivered", 0.0) <= MOST_LOST for one in each), path
