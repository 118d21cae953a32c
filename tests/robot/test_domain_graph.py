"""`--graph domain:N`: the worker on rclcpp joins that domain and prints its graph. Here it is a
program of the test's; tests/ros2 has the real one."""

import json

import pytest

from rmwbench.errors import UserError
from rmwbench.robot.twin.graph import read_graph
from tests.support.program import script

GRAPH = {
    "nodes": [
        {
            "name": "/arm/driver",
            "publishers": [
                {
                    "name": "/joint_states",
                    "type": {"name": "sensor_msgs/msg/JointState"},
                    "qos": {"history": 3, "depth": 0, "reliability": 2, "durability": 2},
                }
            ],
            "subscriptions": [],
        }
    ]
}
DESCRIBED = {
    "middleware": "rclcpp/rmw_a",
    "layer": "rclcpp",
    "version": "1",
    "release_date": "",
    "build": {},
    "capabilities": {},
    "profiles": [],
    "protocol": 1,
}


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """Makes a worker that answers `--graph 42` like this."""
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "jazzy"))
    monkeypatch.setenv("RMWBENCH_WORKERS", str(tmp_path))
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_a")
    monkeypatch.delenv("ROS_LOCALHOST_ONLY", raising=False)

    def make(answer: str) -> None:
        script(
            tmp_path / "rmwbench-rclcpp",
            f"[ $1 = --describe ] && exec echo '{json.dumps(DESCRIBED)}'\n"
            f'[ "$*" = "--graph 42" ] || exit 2\n{answer}',
        )

    return make


def refused(source: str) -> str:
    with pytest.raises(UserError) as caught:
        read_graph(source)
    return caught.value.render()


def test_the_nodes_of_a_domain_are_read_as_those_of_a_file(worker, tmp_path):
    text = json.dumps(GRAPH)
    worker(f"echo '{text}'")
    (tmp_path / "graph.yaml").write_text(text)
    assert read_graph("domain:42") == read_graph(str(tmp_path / "graph.yaml"))
    (node,) = read_graph("domain:42")
    assert (node.name, node.publishers[0].qos.reliability) == ("/arm/driver", "best_effort")


def test_a_domain_without_anybody_says_where_it_looked(worker):
    worker("exit 3")
    error = refused("domain:42")
    assert "domain 42 has no nodes" in error and "nodes that rmw_a discovers" in error
    assert "ROS_LOCALHOST_ONLY is not set" in error


def test_what_the_rmw_says_is_told(worker):
    worker("echo no such interface >&2; exit 2")
    assert "the graph could not be read" in refused("domain:42")
    assert "no such interface" in refused("domain:42")


@pytest.mark.parametrize("name", ["", "x", "-1", "233", "4 2", "²"])
def test_a_domain_has_a_number(worker, name):
    assert "this is not a domain" in refused(f"domain:{name}")


def test_without_ros_or_its_worker_it_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    assert "no ROS 2 is sourced" in refused("domain:42")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    assert "rmwbench middlewares build rclcpp" in refused("domain:42")
