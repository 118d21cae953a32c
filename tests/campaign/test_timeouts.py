"""How long the steps of a trial wait."""

import pytest

from rmwbench.campaign.trial import timeouts


@pytest.mark.parametrize(
    ("middleware", "seconds"),
    [
        ("fastdds", 3.0),
        ("fastdds-2.9", 3.0),
        ("rclcpp/rmw_fastrtps_cpp", 3.0),
        ("rclpy/rmw_fastrtps_dynamic_cpp", 3.0),
        ("rclcpp/rmw_cyclonedds_cpp", 0.0),
        ("zenoh", 0.0),
    ],
)
def test_a_drain_awaits_fast_dds_heartbeat_natively_and_through_ros(middleware, seconds):
    """A lost tail that is repeated only then counted as lost through rclcpp, and not natively."""
    assert timeouts.heartbeat_s(middleware) == seconds
