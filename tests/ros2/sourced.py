"""What the tests of the worker on rclcpp need: a sourced ROS 2, the worker built in it, and which
faults of it are known.

Without a ROS 2 they are skipped, and say so: nothing of ROS 2 can be tested without it. With one, a
missing worker fails them: a skip would then hide everything that they are for.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rmwbench.beside.recorder.process import version_of
from rmwbench.bundle import Bundle
from rmwbench.lab.middleware import Worker, find_workers, ros2
from tests.support.command import rmwbench

REASON = (
    "NO ROS 2 IS SOURCED: nothing of rclcpp is tested. Source one (. /opt/ros/jazzy/setup.sh), "
    "build the worker (rmwbench middlewares build rclcpp), and run again"
)
needed = pytest.mark.skipif(not os.environ.get("AMENT_PREFIX_PATH"), reason=REASON)
ONE_OF_EACH = ("rmw_cyclonedds_cpp", "rmw_fastrtps_cpp", "rmw_zenoh_cpp")
"""One RMW for each middleware; Fast DDS has a second."""
RMWS = (*ONE_OF_EACH, "rmw_fastrtps_dynamic_cpp")


def worker(rmw: str) -> Worker:
    """The worker for that RMW. Skips where the sourced ROS 2 lacks the RMW, fails where it was not
    built."""
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


NO_ROUDI = "the sourced ROS 2 has no iceoryx (bin/iox-roudi)"


def has_roudi() -> bool:
    """Its own prefix is not ament's where colcon gave each package one, but it is on PATH."""
    return shutil.which("iox-roudi") is not None


def measured(directory: Path, suite: str) -> tuple[Bundle, dict[str, Any]]:
    """Runs a suite of this text as a user does; its bundle, and what `rmwbench show` says of it."""
    path, out = directory / "suite.yaml", directory / "out"
    path.write_text(suite)
    for words in (["run", path, "--out", out, "--no-report"], ["show", out, "--json"]):
        done = rmwbench(*words, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    return Bundle(out), json.loads(done.stdout)


class FellAsleep(AssertionError):
    """Nothing is wrong but that a process was woken no more: it heard nothing though it was
    matched, or all that it should get is missing from one moment on."""


WAKE_UPS_ARE_LOST_UNTIL = (0, 2, 10)
"""The last rmw_zenoh_cpp with ros2/rmw_zenoh#1032."""


@contextmanager
def lost_wake_ups(rmw: str, executor: str) -> Iterator[None]:
    """Of rmw_zenoh_cpp until 0.2.10 (docs/middlewares/rclcpp.md#surprises): what comes just before
    an executor waits wakes nobody. The executor `events` does not wait: the RMW calls it."""
    try:
        yield
    except FellAsleep as failed:
        versions = (version_of(prefix, rmw) for prefix in ros2.prefixes())
        version = next(filter(None, versions), ())
        known = rmw == "rmw_zenoh_cpp" and () < version <= WAKE_UPS_ARE_LOST_UNTIL
        if known and executor != "events":
            number = ".".join(map(str, version))
            pytest.xfail(f"declared fault of {rmw} {number}, ros2/rmw_zenoh#1032: {failed}")
        raise
