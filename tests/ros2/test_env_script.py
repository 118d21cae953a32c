"""`env.sh` of `rmwbench middlewares profile`, sourced before a node that none of us wrote: the RMW
reads the file that lies beside it."""

import json
import os
import sys

import pytest

from rmwbench.robot.deployment import write
from tests.network.laboratory import taps
from tests.ros2 import sourced
from tests.ros2.test_rclpy import needed
from tests.support.program import run_program

pytestmark = [sourced.needed, pytest.mark.timing]
NODE = """
import json, os, rclpy
rclpy.init()
node = rclpy.create_node("mine")
sizes = [os.path.getsize(f"/dev/shm/{one}") for one in os.listdir("/dev/shm")]
print(json.dumps(max(sizes)))
"""
ALONE = 'mount -t tmpfs none /dev/shm && ip link set lo up && . "$0/env.sh" && exec "$1" -c "$2"'
"""In a network and a /dev/shm of its own."""


def segment_bytes(directory, rmw_worker, profile):
    write(rmw_worker.middleware, profile, rmw_worker, directory)
    shell = ["bash", "-c", ALONE, str(directory), sys.executable, NODE]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("RMW_", "FAST"))}
    ran = run_program("unshare", "--mount", "--net", *shell, env=environment, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def test_a_node_has_the_segment_of_the_tuned_file(tmp_path):
    taps()
    needed("rmw_fastrtps_cpp")
    worker = sourced.worker("rmw_fastrtps_cpp")
    installed, tuned = (
        segment_bytes(tmp_path / profile, worker, profile) for profile in ("untouched", "tuned")
    )
    assert installed < 1 << 20 and tuned > 32 << 20
