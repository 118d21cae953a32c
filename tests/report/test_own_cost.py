"""What of a number is the instrument's, at the size of the workload: never that of a header under
an image."""

from dataclasses import replace

import pytest

from rmwbench.results.answer.conclusions import conclusions
from rmwbench.results.machine.machine_model import OwnCosts
from rmwbench.results.model import document
from rmwbench.results.show_model import SuiteAnswer, TopicAnswer, WorkloadArm
from rmwbench.results.workload import arm_own_cost
from tests.support.typed import typed


def own_share(own, payload_bytes, workload):
    arms = [typed(WorkloadArm, one) for one in workload["arms"]]
    return document(arm_own_cost.own_share(typed(OwnCosts, own), payload_bytes, arms))


def of(size, response, cpu):
    return {
        "payload_bytes": size,
        "response_latency": {"unit": "ns", "value": response},
        "cpu_per_message": {"unit": "s", "value": cpu},
    }


OWN = {"sizes": [of(64, 1e3, 1e-6), of(1_000_000, 201e3, 4e-4), of(6_000_000, 1201e3, 24e-4)]}


def workload(response=4e6, cpu=8e-3, touch="all"):
    metrics = {"response_latency_p50": {"value": response}, "cpu_per_message": {"value": cpu}}
    worse = {"response_latency_p50": {"value": 10 * response}, "cpu_per_message": {"value": "inf"}}
    arms = [{"role": "contender", "touch": touch, "metrics": one} for one in (metrics, worse)]
    return {"arms": [*arms, {"role": "floor", "touch": "none", "metrics": {}}]}


@pytest.mark.parametrize(
    ("size", "response"),
    [
        (10, 1e3),
        (64, 1e3),
        (500_032, 101e3),
        (1_000_000, 201e3),
        (3_500_000, 701e3),
        (8_000_000, 1601e3),
    ],
)
def test_it_is_told_at_the_size_of_the_workload(size, response):
    assert own_share(OWN, size, workload())["response_latency"]["value"] == pytest.approx(
        response, rel=1e-6
    )


def test_its_share_of_the_least_of_any_arm_is_said_and_what_a_large_one_does():
    small, large = (own_share(OWN, size, workload())["text"] for size in (64, 6_000_000))
    assert "takes 1.00 µs here" in small and "draws ratios" not in small
    assert "a message of 6.00 MB takes 1.20 ms here" in large
    assert "(30.0 % of the least of any arm)" in large
    assert "2.40 ms of processor time (30.0 %" in large
    assert large.endswith("look at the service latency too.")


def test_a_small_part_is_one_line_for_all_workloads_and_a_large_one_is_told_where_it_is():
    def cautions(*sizes):
        named = [
            workload() | {"workload": f"w{n}", "own_cost": own_share(OWN, size, workload())}
            for n, size in enumerate(sizes)
        ]
        for one in named:
            one |= {"primary_metric": "response_latency_p50", "arms": []}
        shown = typed(
            SuiteAnswer,
            {"workloads": named, "campaign": {"finished": True, "blocks_complete": 10}},
        )
        lines = conclusions(shown, calibrated=True, margin=0.05, one_host=False)
        return [(line.workload, line.text) for line in lines if "no middleware at all" in line.text]

    ((of, small),) = cautions(64, 500_032)
    assert of is None
    assert "at most 2.5 % of the least latency or processor time of any arm, in w1" in small
    assert [of for of, _ in cautions(64, 6_000_000)] == ["w1", None]


def test_of_unlike_topics_the_share_is_that_of_each_message_at_its_own_size():
    """An arm's processor time is a mean over all messages: that of the largest alone was 2.4 times
    the mean of a robot whose small messages are many."""
    arm = {"arm": "a", "role": "contender", "touch": "all"}
    arms = [typed(WorkloadArm, arm | {"metrics": {"cpu_per_message": {"value": 1e-3}}})]
    topics = [
        typed(TopicAnswer, {"topic": name, "payload_bytes": size, "arms": [of_topic]})
        for name, size, of_topic in (
            ("imu", 64, {"arm": "a", "metrics": {"undelivered": {"count": 1000}}, "missing": 10}),
            (
                "camera",
                6_000_000,
                {"arm": "a", "metrics": {"undelivered": {"count": 20}}, "under_way": 10},
            ),
        )
    ]
    share = arm_own_cost.own_share(typed(OwnCosts, OWN), 6_000_000, arms, topics)
    assert share.largest_share == pytest.approx((990 * 1e-6 + 10 * 24e-4) / 1000 / 1e-3)
    assert "is 2.5 % of an arm's at most." in share.text
    assert "2.40 ms of processor time: that is" in share.text
    varies = [*topics, replace(topics[0], topic="bag", payload_bytes=None)]
    unknown = arm_own_cost.own_share(typed(OwnCosts, OWN), 6_000_000, arms, varies)
    assert unknown.largest_share is None
