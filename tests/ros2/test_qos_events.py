"""Deadline, lifespan and liveliness through rclcpp: what is told to be in force, and what each RMW
counts of their events. An RMW that lacks an event says so, and its counter is absent: never 0."""

import json

import pytest

from tests.ros2 import sourced
from tests.ros2.test_campaign import campaign, finished_trials, rows

pytestmark = [sourced.needed, pytest.mark.timing]

TELLS = ("rmw_cyclonedds_cpp", "rmw_fastrtps_cpp")
"""rmw_zenoh_cpp 0.2.10 has none of these events."""

SUITE = """
suite: events
title: deadline, lifespan, liveliness
blocks: {{minimum: 1, planned: 1}}
timeline: {{warmup_s: 0.3, drain_s: 1.5, steady_s: 6}}
arms:
  - {arm}
workloads:
  - &one
    name: kept
    message: Bytes(100)
    rate_hz: 50
    qos: {{reliability: reliable, durability: volatile, history: keep_last, depth: 4}}
  - {{<<: *one, name: missed, rate_hz: 4}}
  - <<: *one
    name: killed
    nodes:
      - {{name: talker, killed_s: 2.0, publishers: [{{topic: state}}]}}
      - {{name: listener, subscriptions: [{{topic: state}}]}}
"""
OPTIONS = {"deadline_ms": 200, "lifespan_ms": 1000, "liveliness_lease_ms": 500}


def events(tmp_path, rmw, **options):
    sourced.worker(rmw)
    arm = {
        "name": "asked",
        "middleware": f"rclcpp/{rmw}",
        "wait": "callback",
        "options": {**OPTIONS, **options},
    }
    bundle = campaign(tmp_path, SUITE.format(arm=json.dumps(arm)))
    if finished_trials(bundle) < 3:
        pytest.skip("the machine disturbed a trial")
    found = rows(
        bundle,
        """select workload, counter, sum(value) from counters join trials using (trial) join cells using (cell)
           where counter like 'own.%' group by all""",
    )
    return bundle, {
        (workload, counter.removeprefix("own.")): value for workload, counter, value in found
    }


@pytest.mark.parametrize("rmw", TELLS)
def test_what_was_missed_is_counted_and_what_was_kept_is_not(tmp_path, rmw):
    bundle, counts = events(tmp_path, rmw)
    notes = "".join(note for (note,) in rows(bundle, "select granted from endpoints"))
    assert "QoS in force: deadline 200 ms, lifespan " in notes and "with a lease 500 ms" in notes
    missed = counts["missed", "requested_deadline_missed"]
    # about one per message
    assert missed >= 15 and counts["missed", "offered_deadline_missed"] >= 15, counts
    # a busy machine misses some
    assert counts["kept", "requested_deadline_missed"] < missed / 3, counts
    assert (
        counts["killed", "writers_not_alive"] == 1 and counts["kept", "writers_not_alive"] == 0
    ), counts


def test_an_event_that_an_rmw_does_not_have_is_absent_and_told(tmp_path):
    bundle, counts = events(tmp_path, "rmw_zenoh_cpp")
    notes = "".join(note for (note,) in rows(bundle, "select granted from endpoints"))
    assert "events: this RMW tells no missed deadline" in notes
    assert not any(counter.endswith("deadline_missed") for _, counter in counts), counts
