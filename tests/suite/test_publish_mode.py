"""The publish mode of an arm as workers are told it: of each publisher, and on rclcpp before the
session opens."""

import pytest

from rmwbench.campaign.plan.profile import publish_mode_option

from .suite_text import cells_of

WORKLOAD = "primary_metric: rss, nodes: [{name: a}], timeline: {steady_s: 3.0}"


@pytest.mark.parametrize(
    ("arm", "option"),
    [
        ("rclcpp/rmw_fastrtps_cpp, publish_mode: async", {"publish_mode": "async"}),
        ("rclcpp/rmw_fastrtps_cpp, publish_mode: sync", {"publish_mode": "sync"}),
        ("rclcpp/rmw_fastrtps_cpp", {}),
        ("fastdds, publish_mode: async", {}),
    ],
)
def test_a_process_without_publishers_has_the_mode_too_where_an_rmw_takes_it(arm, option):
    """rmw_fastrtps has it per participant: a node that publishes /rosout alone is asynchronous."""
    (cell,) = cells_of(WORKLOAD, f"middleware: {arm}")
    assert publish_mode_option(cell, cell.sides["a"]) == option
