"""What `ros2 bag record` keeps of the suite `robot`, made into a twin: its rates, sizes and offers
are those of the suite."""

import pytest
import yaml

from rmwbench.beside.recorder import process
from rmwbench.robot.twin.traffic import read_traffic
from rmwbench.suite.file.load import load
from rmwbench.suite.file.suite_files import suite_file
from rmwbench.suite.workload.message_type import message_type
from tests.ros2 import sourced
from tests.support.command import rmwbench

needs_rosbag2 = pytest.mark.skipif(
    process.find() is None, reason="THE SOURCED ROS 2 HAS NO rosbag2_transport: no bag is made"
)
pytestmark = [sourced.needed, needs_rosbag2, pytest.mark.timing, pytest.mark.own_host]


def recorded_robot(rmw: str) -> str:
    """The suite `robot` with this RMW alone, once, beside a recorder whose bag stays."""
    suite = yaml.safe_load(suite_file("robot").read_text())
    suite.pop("short")
    suite["arms"] = [{"name": "arm", "middleware": f"rclcpp/{rmw}", "wait": "callback"}]
    suite["blocks"] = {"planned": 1, "minimum": 1}
    suite["workloads"][0] |= {
        "recorder": {"place": "disk", "keep": True},
        "timeline": {"steady_s": 5.0},
    }
    return yaml.safe_dump(suite)


@pytest.mark.parametrize("rmw", sourced.ONE_OF_EACH)
def test_a_bag_of_the_suite_robot_becomes_a_twin_of_it(tmp_path, rmw):
    sourced.worker(rmw)
    bundle, _ = sourced.measured(tmp_path, recorded_robot(rmw))
    for line in bundle.trials():
        if line.status == "void":
            pytest.skip(f"the machine disturbed the trial: {line.reason}")
    (bag,) = (tmp_path / "out").glob("bag-*")
    found = read_traffic(bag, lambda share: None)
    (workload,) = load("robot").workloads
    for node in workload.nodes:
        for publisher in node.publishers:
            topic = found.topic(f"/{publisher.topic}")
            size = message_type(publisher.message).cdr_bytes
            assert topic.sizes.p50 == pytest.approx(size, rel=0.02, abs=8), publisher.topic
            assert topic.arrivals.rate_hz == pytest.approx(publisher.rate_hz, rel=0.05)
            offered = (publisher.qos or workload.qos).reliability
            assert {one.reliability for one in topic.offers} == {offered}
    twin = tmp_path / "twin.yaml"
    assert rmwbench("twin", bag, "-o", twin).returncode == 0
    assert rmwbench("twin", bag, "--against", bag).returncode == 0
    assert rmwbench("plan", twin, "--json").returncode == 0
