"""The type hashes that the worker on hiroz carries, against what the sourced ROS 2's rosidl made of
the same types."""

import json
from pathlib import Path

import pytest

from rmwbench.lab.middleware import ros2
from rmwbench.suite.workload.message_type import message_type, message_type_names
from tests.ros2 import sourced

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "native" / "rare" / "hiroz" / "src" / "type_hashes.txt"
HASHES = dict(line.split(" ") for line in LIST.read_text().splitlines())


def test_every_type_of_the_suites_has_a_hash():
    assert {message_type(name).ros_type for name in [*message_type_names(), "Bytes(64)"]} <= set(
        HASHES
    )


@sourced.needed
def test_the_hashes_are_those_of_this_ros_2():
    """Of a distribution that makes them, from Iron on; skips below."""
    prefixes = ros2.prefixes()
    if directory := ros2.worker_directory():
        prefixes.append(directory.parent.parent)
    found = {}
    for ros_type in HASHES:
        package, kind, name = ros_type.split("/")
        base = name.removesuffix("_Request").removesuffix("_Response")
        for prefix in prefixes:
            path = prefix / "share" / package / kind / f"{base}.json"
            if path.is_file():
                made = {
                    one["type_name"]: one["hash_string"]
                    for one in json.loads(path.read_text())["type_hashes"]
                }
                found.setdefault(ros_type, made[ros_type])
    if not found:
        pytest.skip("the sourced ROS 2 has no type hashes")
    assert found == {name: HASHES[name] for name in found}
    assert "std_msgs/msg/UInt8MultiArray" in found
