"""What a table calls an arm."""

import pytest

from rmwbench.results.shown import Arm
from tests.support.typed import typed

OLD = {"arm": "fastdds tuned", "middleware": "fastdds", "version": "2.9.1", "outdated": True}


@pytest.mark.parametrize(
    ("changed", "label"),
    [
        ({}, "fastdds 2.9 tuned"),
        ({"outdated": False}, "fastdds tuned"),
        ({"arm": "fastdds"}, "fastdds 2.9"),
        ({"arm": "fastdds 2.9", "middleware": "fastdds-2.9"}, "fastdds 2.9"),
        ({"arm": "rclcpp/fastrtps", "middleware": "rclcpp/rmw_fastrtps_cpp"}, "rclcpp/fastrtps"),
        ({"arm": "mine"}, "mine"),
        ({"version": None}, "fastdds tuned"),
    ],
)
def test_an_outdated_middleware_has_its_series_in_the_name_of_its_arm(changed, label):
    assert typed(Arm, OLD | changed).label == label
