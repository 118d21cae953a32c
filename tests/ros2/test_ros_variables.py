"""ROS variables over a real RMW: one case that must be heard, one that must not, as a user's
campaign answers them."""

import pytest

from tests.ros2 import sourced

pytestmark = [sourced.needed, pytest.mark.timing, pytest.mark.own_host]
RMW = "rmw_fastrtps_cpp"
SUITE = f"""
suite: variables
title: two cases and their control
blocks: {{planned: 5, minimum: 5}}
timeline: {{warmup_s: 0.2, drain_s: 0.3, match_s: 4, steady_s: 0.5}}
arms:
  - {{name: arm, middleware: rclcpp/{RMW}}}
factors: {{ros_variables: [none, same_domain, other_domain]}}
workloads:
  - {{name: w, message: Array1k, rate_hz: 50}}
"""


def test_domains_that_differ_are_silent_and_equal_ones_are_heard(tmp_path):
    sourced.worker(RMW)
    _, document = sourced.measured(tmp_path, SUITE)
    assert document["workloads"] == [], "what silence may be right in is not compared"
    rows = document["ros_variables"]["rows"]
    if any(arm["trials"] == 0 and " void" in arm["reason"] for row in rows for arm in row["arms"]):
        pytest.skip("the machine disturbed a trial each time that it was run")
    answers = {row["case"]: row["arms"][0]["answer"] for row in rows}
    assert answers == {"none": "control", "same_domain": "obeyed", "other_domain": "obeyed"}, rows
    heard = {row["case"]: row["arms"][0]["heard"] for row in rows}
    assert heard["other_domain"] == 0 < heard["same_domain"]
