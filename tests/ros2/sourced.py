"""What the tests of the worker on rclcpp need: a sourced ROS 2, and the worker built in it.

Without a ROS 2 they are skipped, and say so: nothing of ROS 2 can be tested without it. With one, a missing worker
fails them: a skip would then hide everything that they are for.
"""

import os

import pytest

from rmwbench.lab.middleware import Worker, find_workers, ros2

REASON = (
    "NO ROS 2 IS SOURCED: nothing of rclcpp is tested. Source one (. /opt/ros/jazzy/setup.sh), "
    "build the worker (rmwbench middlewares build rclcpp), and run again"
)
needed = pytest.mark.skipif(not os.environ.get("AMENT_PREFIX_PATH"), reason=REASON)
RMWS = ("rmw_cyclonedds_cpp", "rmw_fastrtps_cpp", "rmw_fastrtps_dynamic_cpp", "rmw_zenoh_cpp")


def worker(rmw: str) -> Worker:
    """The worker for that RMW. Skips where the sourced ROS 2 lacks the RMW, fails where it was not built."""
    name = f"{ros2.NAME}/{rmw}"
    found = find_workers()
    if name in found and found[name].description:
        return found[name]
    if not any((prefix / "lib" / f"lib{rmw}.so").is_file() for prefix in ros2.prefixes()):
        pytest.skip(f"the sourced ROS 2 has no {rmw}")
    pytest.fail(f"the worker for {name} is not built: rmwbench middlewares build {ros2.NAME}")


def has_package(name: str) -> bool:
    """Whether the sourced ROS 2 has a package of that name."""
    return any((prefix / "share" / name / "package.xml").is_file() for prefix in ros2.prefixes())
