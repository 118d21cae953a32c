"""`ros2 topic hz` and `ros2 topic bw` beside our ledger, where a ROS 2 is sourced: our Cyclone DDS
worker publishes std_msgs/msg/UInt8MultiArray under ROS 2's names, and both tools subscribe to it.

Both subscribe best effort with a history of 5 (rclpy's qos_profile_sensor_data), so what they print
is what reached them, and a topic that is faster than Python looks slower than it is.
"""

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.others.errors import Reading
from bench.others.evidence import Seen
from bench.others.traffic import Stream, Tool, Trial, run

NOT_HERE = "no ROS 2 is sourced: `ros2` is not on PATH"
TOPIC = "others"
SECONDS = 4.0
CDR_BYTES = 16
_RATE = re.compile(r"average rate: ([\d.]+)")
_BANDWIDTH = re.compile(r"([\d.]+) (B|KB|MB)/s from (\d+) messages")
_FACTOR = {"B": 1.0, "KB": 1e3, "MB": 1e6}
_ENVIRONMENT = (
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "AMENT_PREFIX_PATH",
    "COLCON_PREFIX_PATH",
    "ROS_DISTRO",
)
_ENVIRONMENT += ("ROS_VERSION", "ROS_PYTHON_VERSION", "RMW_IMPLEMENTATION")


@dataclass(frozen=True)
class Scenario:
    name: str
    about: str
    payload_bytes: int
    rate_hz: float


SCENARIOS = (
    Scenario("clean", "500 messages/s of 1 kB, nothing goes wrong", 1000, 500.0),
    Scenario("fast", "5 000 messages/s of 1 kB", 1000, 5000.0),
    Scenario("large", "100 messages/s of 1 MB", 1_000_000, 100.0),
)


def missing() -> str | None:
    """Why the comparison cannot be made here, None where it can."""
    return NOT_HERE if shutil.which("ros2") is None else None


def rate_hz(text: str) -> float | None:
    """The last rate that `ros2 topic hz` printed."""
    found = _RATE.findall(text)
    return float(found[-1]) if found else None


def bytes_per_s(text: str) -> float | None:
    """The last bandwidth that `ros2 topic bw` printed."""
    found = _BANDWIDTH.findall(text)
    return float(found[-1][0]) * _FACTOR[found[-1][1]] if found else None


def trial(verb: str, scenario: Scenario, worker: Path, profile: dict[str, Any]) -> Seen:
    """One trial beside `ros2 topic VERB`."""
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    environment |= {"ROS_DOMAIN_ID": "0", "ROS_LOG_DIR": "/tmp", "PYTHONUNBUFFERED": "1"}
    # `env` finds the script's interpreter; a host opens programs, and a script is not one.
    words = ["ros2", "topic", verb, f"/{TOPIC}"]
    tool = Tool(f"ros2 topic {verb}", Path("/usr/bin/env"), words, False, environment)
    stream = Stream(1, scenario.payload_bytes, scenario.rate_hz)
    return run(Trial(worker, profile, [stream], SECONDS, (2, 1), [tool], topic=TOPIC))


def readings(verb: str, seen: Seen) -> list[Reading]:
    messages = seen.messages()
    seconds = seen.window.length_ns / 1e9
    rate = messages.arrived_in_window / seconds
    if verb == "hz":
        return [Reading("rate", "1/s", rate_hz(seen.printed), rate)]
    size = (messages.bytes_in_window + CDR_BYTES * messages.arrived_in_window) / seconds
    return [Reading("bandwidth", "byte/s", bytes_per_s(seen.printed), size)]


VERBS: Sequence[str] = ("hz", "bw")
