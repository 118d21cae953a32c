"""A claim of one topic: decided by that topic's values alone, of a campaign, of one under way, and
of a summary."""

import dataclasses
import json

import pytest

from rmwbench.bundle import Bundle
from rmwbench.published.campaign import Values, of_shown
from rmwbench.published.claims.amounts import title_of
from rmwbench.published.claims.claim_items import item
from rmwbench.published.claims.claims_ledger import ledger
from rmwbench.published.claims.derived_suite import LEAST_BLOCKS, longer_steady_s, place_of
from rmwbench.published.claims.summary import json_text, machine_summary
from rmwbench.published.summaries import campaigns_of
from rmwbench.results.model import Estimate
from rmwbench.results.show_document import summarise
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import load
from rmwbench.words.numbers import with_interval
from tests.published.claims.asking import one_claim, today
from tests.published.claims.test_hold import EACH_S, hold
from tests.published.claims.test_predicates import (
    BASE,
    FAST,
    arm,
    campaign,
    metric,
    only_answer,
    renamed,
)
from tests.support import topics_bundle

LATENCY = "response_latency_p50"
SIDES = {"cyclone": ["cyclonedds"], "zenoh": ["zenoh"]}


def claims_with(sides=SIDES, layer="native", **test):
    usual = {"suite": "fixture", "metric": LATENCY, "left": "cyclone", "relation": "less"}
    return one_claim({**BASE, "layer": layer, "sides": sides}, {**usual, **test})


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return Bundle(topics_bundle.write(tmp_path_factory.mktemp("topics") / "c", seed=4))


@pytest.fixture(scope="module")
def shown(bundle):
    return of_shown(summarise(bundle))


@pytest.mark.parametrize(
    ("test", "answer"),
    [
        ({"right": "zenoh", "topic": "imu"}, "holds"),
        ({"right": "zenoh", "topic": "front"}, "does not hold"),
        ({"right": "zenoh"}, "no data"),
        (
            {"level": 0.03, "metric": "undelivered", "topic": "front", "relation": "greater"},
            "holds",
        ),
        ({"right": "cyclone", "topic": "imu", "right_topic": "front", "factor": 0.1}, "holds"),
        ({"right": "cyclone", "topic": "front", "right_topic": "imu"}, "does not hold"),
    ],
)
def test_it_is_decided_by_the_topics_own_values(shown, test, answer):
    """Cyclone DDS is faster with the IMU and slower with the camera, of which it loses a ninth."""
    judged = only_answer(claims_with(**test), shown)
    assert judged.answer == answer, judged.cells
    if "topic" in test:
        assert judged.cells[0].blocks == 8 and judged.cells[0].left_topic == test["topic"]


def test_a_topic_that_the_campaign_lacks_is_no_data_and_never_the_whole(shown):
    (cell,) = only_answer(claims_with(level=1e9, topic="rear"), shown).cells
    assert (cell.answer, cell.code) == ("no data", "absent")
    assert f"no {title_of(LATENCY)} of topic rear" in cell.reason


def test_a_summary_keeps_that_topic_alone_and_says_the_same(shown):
    claims = claims_with(right="zenoh", topic="front")
    summary = json.loads(json_text(machine_summary(claims, [shown])))
    arms = summary["campaigns"][0]["workloads"][0]["arms"]
    assert [arm["arm"] for arm in arms] == ["cyclonedds", "zenoh"]
    assert all(arm["metrics"] == arm["per_trial"] == {} for arm in arms)
    assert [list(arm["topics"]) for arm in arms] == [["front"], ["front"]]
    assert list(arms[0]["topics"]["front"]["metrics"]) == [LATENCY, "undelivered"]
    (again,) = campaigns_of(summary)
    (before,), (after,) = (today(claims, campaign) for campaign in (shown, again))
    assert after.answer == before.answer == "does not hold"
    (mine,), (theirs,) = after.cells, before.cells
    # A file keeps six digits.
    for name in ("value", "low", "high"):
        assert getattr(mine, name) == pytest.approx(getattr(theirs, name), rel=1e-4)
    assert (mine.code, mine.blocks, mine.left_topic) == (theirs.code, theirs.blocks, "front")
    assert sum(line.startswith('{"arm": ') for line in json_text(summary).splitlines()) == 2, (
        "a line per arm"
    )


def test_a_summary_without_the_topic_has_no_data(shown):
    """Summaries that were saved before any claim asked for the topic have none."""
    (old,) = campaigns_of(
        machine_summary(claims_with(right="zenoh", metric="undelivered"), [shown])
    )
    assert only_answer(claims_with(right="zenoh", topic="front"), old).answer == "no data"


def test_what_never_happened_on_a_topic_is_given_up_whatever_the_others_do():
    zero = metric(0.0, 0.0, 0.01, unit="fraction", count=900, trials=5)
    sides = {"cyclone": ["rclcpp/a"], "zenoh": ["rclcpp/b"]}
    front = Values(
        metrics={"undelivered": Estimate.of(zero)},
        per_trial={"undelivered": dict.fromkeys(range(5), 0.0)},
    )
    arms = [
        dataclasses.replace(renamed(arm(name, FAST[:5]), "undelivered"), topics={"front": front})
        for name in ("rclcpp/a", "rclcpp/b")
    ]
    held = hold(
        (claims_with(sides, "rclcpp", right="zenoh", metric="undelivered", topic="front"), {1, 2}),
        doc=campaign(("w", *arms), suite="fixture"),
    )
    held(LEAST_BLOCKS, 1.0, EACH_S)
    assert held.given_up == {"c": "undelivered: 0 on both sides, in every block"}


def test_a_percentile_gets_the_messages_of_its_topic():
    made = cells(load("robot"))
    places = {place_of(cell) for cell in made}

    def longer_of(topic):
        more = {"topic": topic} if topic else {}
        (claim,) = claims_with(
            suite="robot", metric="response_latency_p99", level=1e9, **more
        ).items
        return longer_steady_s(made, dict.fromkeys(places, claim.tests), error=0.005)

    assert longer_of("imu") == {}
    more = longer_of("front")
    assert 1000 <= LEAST_BLOCKS * 30 * more["whole"] < 1200
    slowest = longer_of(None)
    assert slowest["whole"] > 2.9 * more["whole"], "of all topics the one at 10 Hz has the fewest"


def test_a_report_has_no_trials_of_a_topic_so_the_claim_shows_them(shown):
    def shows(**test):
        made = ledger([claims_with(**test)], [shown]).sources[0]
        return item(made, made.claims[0], lambda *where: "#there")["measured"][0]

    front = shows(right="zenoh", topic="front")
    assert [(x["arm"], x["workload"], x["href"]) for x in front["evidence"]] == [
        ("cyclonedds", "whole · front", None),
        ("zenoh", "whole · front", None),
    ]
    (trials,) = front["trials"]
    assert trials["heads"] == ["cyclonedds", "zenoh"] and len(trials["rows"]) == 8
    two = shows(right="cyclone", topic="imu", right_topic="front")
    assert two["trials"][0]["heads"] == ["cyclonedds, whole · imu", "cyclonedds, whole · front"]
    whole = shows(right="zenoh", metric="undelivered", by="difference", level=0.0)
    assert {x["href"] for x in whole["evidence"]} == {"#there"} and whole["trials"] == []


def test_too_few_blocks_have_a_value_without_an_interval():
    inf = float("inf")
    assert with_interval(1.0, -inf, inf, "fraction") == "100 %, without an interval"
    assert with_interval(0.05, -inf, 0.1, "fraction") == "5 % [−∞ to 10.0]"
