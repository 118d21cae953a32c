"""Which topics are judged apart, and what an arm's verdict over them rests on."""

import json

import pytest

from rmwbench.analysis.metrics.comparisons import is_reliable
from rmwbench.analysis.metrics.glossary import METRICS
from rmwbench.analysis.metrics.judged_topics import POOLED, judged_topics
from rmwbench.analysis.verdicts.best import decisive, over_topics
from rmwbench.analysis.verdicts.verdict import (
    BlockRatio,
    JudgedArm,
    NoRatio,
    Verdict,
    undelivered_shares,
)


def endpoint(
    number,
    topic,
    kind="publisher",
    rate_hz=10.0,
    message="Array1k",
    size=1024,
    reliability="reliable",
    **more,
):
    arrival = (
        {"kind": "periodic", "period_ns": int(1e9 / rate_hz), "phase_ns": number}
        if rate_hz
        else None
    )
    asked = {"qos": {"reliability": reliability, "history": "keep_last", "depth": 5}}
    asked |= {"arrival": more.pop("arrival", arrival)} if kind in ("publisher", "client") else {}
    row = {"endpoint": number, "topic": topic, "kind": kind, "type": message, "payload_bytes": size}
    row |= {"node": f"node_{number}", "process": f"node_{number}", "host": "local"}
    return row | {"asked": json.dumps(asked), "granted": None} | more


def names(*rows, focus=()):
    return [
        (one.name, len(one.members)) for one in judged_topics(rows, {"workload": {"focus": focus}})
    ]


def test_one_topic_and_topics_that_are_alike_have_one_number():
    assert names(endpoint(1, "imu"), endpoint(2, "imu", "subscription")) == []
    assert names(*(endpoint(n, f"topic_{n}") for n in range(1, 101))) == []


def test_unlike_topics_are_apart_whatever_makes_them_unlike():
    assert names(endpoint(1, "imu"), endpoint(2, "front")) == [("imu", 1), ("front", 1)]
    for other in (
        {"rate_hz": 20.0},
        {"size": 4096},
        {"message": "Image"},
        {"reliability": "best_effort"},
    ):
        assert len(names(endpoint(1, "camera_1"), endpoint(2, "camera_2", **other))) == 2, other


def test_alike_ones_stay_together_beside_others():
    rows = [endpoint(n, f"scan_{n}") for n in (1, 2, 3)] + [endpoint(4, "map", rate_hz=1.0)]
    assert names(*rows) == [("scan_*", 3), ("map", 1)]


def test_a_phase_that_is_drawn_per_trial_makes_nothing_unlike():
    rows = [endpoint(n, f"scan_{n}") for n in (1, 2)] + [endpoint(9, "map")]
    again = [row | {"asked": row["asked"].replace('"phase_ns": ', '"phase_ns": 7')} for row in rows]
    assert names(*rows) == names(*again)


def test_hops_of_a_chain_are_alike_because_a_relay_has_the_rate_of_its_source():
    rows = [
        endpoint(1, "way"),
        endpoint(2, "way", "subscription"),
        endpoint(3, "way_1", arrival={"kind": "relay", "from": 2}),
        endpoint(4, "way_1", "subscription"),
    ]
    assert names(*rows) == []


def test_what_is_out_of_focus_is_not_judged():
    rows = [endpoint(1, "control"), endpoint(2, "camera"), endpoint(3, "flood")]
    assert names(*rows, focus=("control",)) == []
    assert names(*rows, focus=("control", "camera")) == [("control", 1), ("camera", 1)]


def test_a_stream_is_reliable_where_both_of_its_ends_are():
    """A map beside a best-effort scan made the loss of the scan a broken promise."""
    sensor = {"reliability": "best_effort"}
    pair = [endpoint(1, "scan", **sensor), endpoint(2, "scan", "subscription", **sensor)]
    mixed = [endpoint(1, "scan"), endpoint(2, "scan", "subscription", **sensor)]
    whole = [endpoint(3, "map"), endpoint(4, "map", "subscription")]
    assert is_reliable(whole) and not is_reliable([])
    assert not any(map(is_reliable, (pair, mixed, whole + pair)))
    reliable = {one.name: one.reliable for one in judged_topics(whole + mixed)}
    assert reliable == {"map": True, "scan": False}


def verdict(name, ratio=None, by=None, minutes=None):
    shown = NoRatio(no_data="few") if ratio == "none" else None
    if isinstance(ratio, float):
        shown = BlockRatio(ratio, ratio / 2, ratio * 2, 6)
    return Verdict(name, "a", shown, "why", minutes, by)


def test_a_robot_needs_all_of_its_topics():
    best = verdict("best")
    slower, slow = (verdict("worse", ratio, "latency") for ratio in (1.3, 1.2))
    imu = {"a": best, "b": slow, "c": slower}
    front = {
        "a": verdict("worse", 3.0, "latency"),
        "b": best,
        "c": verdict("worse", 9.0, "loss"),
    }
    overall = over_topics({"imu": imu, "front": front})
    assert {arm: (one.verdict.verdict, one.topic) for arm, one in overall.items()} == {
        "a": ("worse", "front"),
        "b": ("worse", "imu"),
        "c": ("worse", "front"),
    }
    assert overall["c"].verdict.by == "loss"


def test_who_is_worse_nowhere_is_best_only_where_all_others_are_worse_somewhere():
    one = {
        "a": verdict("equivalent", 1.0),
        "b": verdict("worse", 2.0, "latency"),
        "c": verdict("equivalent", 1.01),
    }
    two = {
        "a": verdict("best", 0.5),
        "b": verdict("worse", 2.0, "latency"),
        "c": verdict("worse", 2.1, "latency"),
    }
    assert over_topics({"x": one, "y": two})["a"].verdict.verdict == "best"
    assert over_topics({"x": one, "y": one})["a"].verdict.verdict == "equivalent"
    assert "any other arm that delivers as much" in over_topics({"x": one})["a"].verdict.reason


def test_one_open_topic_leaves_the_arm_open_for_the_longest_time():
    one = {"a": verdict("equivalent"), "b": verdict("undecided", 1.1, minutes=5.0)}
    two = {"a": verdict("equivalent"), "b": verdict("undecided", 1.5, minutes=9.0)}
    overall = over_topics({"x": one, "y": two})["b"]
    assert (overall.verdict.verdict, overall.topic) == ("undecided", "y")
    assert overall.verdict.minutes_to_decide == 9.0
    three = two | {"b": verdict("undecided", 1.5, minutes=None)}
    assert over_topics({"x": one, "y": three})["b"].verdict.minutes_to_decide is None


def test_the_worst_topic_of_an_open_arm_is_the_one_that_loses_most():
    few = {"a": verdict("undecided", "none"), "b": verdict("undecided", "none")}
    overall = over_topics({"imu": few, "rear": few}, {"imu": {"a": 0.0}, "rear": {"a": 1.0}})
    assert overall["a"].topic == "rear"


def test_no_data_in_one_topic_is_open_and_in_all_no_data():
    one, none = (
        {"a": verdict("best"), "b": verdict("worse", 2.0, "latency")},
        {"a": verdict("no data")},
    )
    assert over_topics({"x": one, "y": none})["a"].verdict.verdict == "undecided"
    assert over_topics({"x": none, "y": none})["a"].verdict.verdict == "no data"


@pytest.mark.parametrize(
    "stem", ["response_latency", "service_latency", "request_leg", "reply_leg"]
)
def test_over_unlike_topics_together_there_is_no_latency(stem):
    assert not [m.name for m in METRICS if m.source == stem and m.name not in POOLED]


def test_an_arm_that_fails_in_every_trial_carries_no_topic():
    """It left a topic that nobody carries decisive, and with it the arm that is best in the others
    undecided."""
    blocks = range(5)
    lossy = [
        JudgedArm(name, dict.fromkeys(blocks, 1e6), dict.fromkeys(blocks, (500, 1000)))
        for name in "ab"
    ]
    lost = undelivered_shares([*lossy, JudgedArm("c", {}, failed=frozenset(blocks))])
    assert lost == {"a": 0.5, "b": 0.5, "c": 1.0}
    fails = verdict("worse", by="failure")
    verdicts = {
        "imu": {"a": verdict("best"), "b": verdict("worse", 2.0, "latency"), "c": fails},
        "camera": {"a": verdict("undecided"), "b": verdict("undecided"), "c": fails},
    }
    of_topics = {"imu": dict.fromkeys("ab", 0.0) | {"c": 1.0}, "camera": lost}
    overall = over_topics(decisive(verdicts, of_topics, "response_latency_p50"), of_topics)
    words = {arm: one.verdict.verdict for arm, one in overall.items()}
    assert words == {"a": "best", "b": "worse", "c": "worse"}


def test_the_blocks_that_an_arm_lost_are_in_its_undelivered_share():
    some = JudgedArm(
        "some", {0: 1.0, 1: 1.0}, {0: (0, 90), 1: (0, 90)}, failed=frozenset({2, 3, 4})
    )
    assert undelivered_shares([some]) == {"some": 0.6}
