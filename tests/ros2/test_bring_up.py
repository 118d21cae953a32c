"""Lifecycle nodes over real RMWs, brought up by a real manager, in the campaign of a user."""

import pytest

from tests.ros2 import sourced

pytestmark = [sourced.needed, pytest.mark.timing, pytest.mark.own_host]
HEAD = """
suite: bring
title: a few nodes
blocks: {planned: 1, minimum: 1}
timeline: {warmup_s: 0.2, drain_s: 0.1}
arms:
  - {name: arm, middleware: rclcpp/RMW, wait: callback}
workloads:
"""
FEW = (
    "  - {name: few, primary_metric: bring_up_time, bring_up: {nodes: 4}, timeline: {steady_s: "
    "8}}\n"
)
HANGS = """
  - name: hangs
    primary_metric: bring_up_time
    timeline: {steady_s: 8}
    nodes:
      - {name: first, joins_s: 0.2, lifecycle: {}}
      - {name: hung, joins_s: 0.2, lifecycle: {configure_s: 60}}
      - {name: slow, joins_s: 0.2, lifecycle: {activate_s: 0.5}}
      - {name: boss, joins_s: 0.2, manages: {service_timeout_s: 1.5}}
"""


def brought_up(rmw, workload, tmp_path):
    """(the arm's row of `bring_up`, its metrics)"""
    if sourced.worker(rmw).description["lifecycle"] != "yes":
        pytest.skip(
            f"the worker has no lifecycle nodes: {sourced.worker(rmw).description['lifecycle']}"
        )
    _, document = sourced.measured(tmp_path, HEAD.replace("RMW", rmw) + workload)
    (row,), (there,) = document["bring_up"]["rows"], document["workloads"]
    if there["arms"][0]["trials"]["void"] and not row["arms"][0]["trials"]:
        pytest.skip("the machine disturbed the trial each time that it was run")
    assert row["arms"][0]["trials"] == 1, there["arms"][0]["trials"]
    return row["arms"][0], there["arms"][0]["metrics"]


@pytest.mark.parametrize("rmw", sourced.ONE_OF_EACH)
def test_a_few_nodes_come_up_whole(rmw, tmp_path):
    arm, metrics = brought_up(rmw, FEW, tmp_path)
    assert arm["complete"] == 1 and arm["stopped"] == [], arm
    assert arm["up"][-1]["nodes"] == 4
    assert 0 < metrics["half_up_time"]["value"] <= metrics["bring_up_time"]["value"] < 8e9
    assert metrics["never_active"]["value"] == 0
    assert metrics["pss_per_node"]["value"] > 1e6 and metrics["cpu_per_node"]["value"] > 0


def test_a_node_that_hangs_in_configuring_is_never_active_and_the_others_are(tmp_path):
    arm, metrics = brought_up("rmw_cyclonedds_cpp", HANGS, tmp_path)
    assert arm["complete"] == 0
    assert [(one["place"], one["nodes"]) for one in arm["stopped"]] == [("configure.timed_out", 1)]
    assert (
        metrics["never_active"]["value"]
        == metrics["stopped_at_configure"]["value"]
        == pytest.approx(1 / 3)
    )
    assert metrics["bring_up_time"]["value"] == "inf" == metrics["longest_change"]["value"]
    # The last of the two others is up after the hung one was given up, and after its own half
    # second.
    assert arm["up"][-1]["nodes"] == 2
    assert metrics["half_up_time"]["value"] >= 2e9
