"""What the worker on rclcpp prints of a domain, `rmwbench twin BAG --graph domain:N`: the endpoints
of real nodes, as they were made, and none of its own."""

import os

import pytest

from rmwbench.lab.host import Exited, Spawned
from rmwbench.robot.twin.graph import EMPTY, parse_graph
from tests.ros2 import sourced
from tests.ros2.test_worker import QOS, Opened, created, endpoint

pytestmark = [sourced.needed, pytest.mark.timing]
SENT = {"topic": "scan"}
HEARD = {"topic": "commands", "qos": QOS | {"reliability": "best_effort"}}


def printed(opened: Opened, domain_id: int) -> tuple[int, str]:
    """How the program ended in that host, and what it printed."""
    worker, output = opened.worker, os.memfd_create("rmwbench-graph", os.MFD_CLOEXEC)
    environment = worker.environment | {"HOME": "/tmp", "ROS_LOG_DIR": "/tmp"}
    opened.host.spawn(
        "graph", worker.executable, ["--graph", str(domain_id)], {1: output}, environment
    )
    started, ended = opened.host.receive(10.0), opened.host.receive(60.0)
    assert isinstance(started, Spawned) and isinstance(ended, Exited), (started, ended)
    with open(output, "rb") as file:
        file.seek(0)
        return os.waitstatus_to_exitcode(ended.status), file.read().decode()


@pytest.mark.parametrize("rmw", sourced.ONE_OF_EACH)
def test_the_endpoints_of_a_domain_are_those_of_its_nodes(rmw):
    with Opened(rmw) as opened:
        created(
            opened,
            endpoint(1, "publisher", "Array1k", **SENT),
            endpoint(2, "subscription", "Array1k", **HEARD),
        )
        status, text = printed(opened, 0)
        assert status == 0
        nodes = {node.name: node for node in parse_graph(text, "domain:0")}
        assert not any("graph" in name for name in nodes)
        (scan,) = [one for one in nodes["/n"].publishers if one.topic == "/scan"]
        (commands,) = [one for one in nodes["/n"].subscriptions if one.topic == "/commands"]
        assert (scan.qos.reliability, scan.qos.durability) == ("reliable", "volatile")
        assert commands.qos.reliability == "best_effort"
        depth = None if rmw == "rmw_fastrtps_cpp" else QOS["depth"]  # it carries none to others
        assert (scan.qos.depth, commands.qos.depth) == (depth, depth)
        assert printed(opened, 1) == (EMPTY, "")
