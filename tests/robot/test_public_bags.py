"""Bags that the test suites of rosbag2 ship, as they are: each is read whole, by both storages, split
or not, with the metadata of before and of now. Nothing of them lies in this repository: a checkout of
https://github.com/ros2/rosbag2 is named by a variable, else the tests are skipped and say so."""

import os
from pathlib import Path

import pytest

from rmwbench.errors import UserError
from rmwbench.robot.twin.bag import METADATA_NAME, read_metadata
from rmwbench.robot.twin.traffic import BagTraffic, read_traffic
from tests.support.command import rmwbench

VARIABLE = "RMWBENCH_ROSBAG2"
CHECKOUT = Path(os.environ.get(VARIABLE, "/nonexistent"))
pytestmark = pytest.mark.skipif(
    not CHECKOUT.is_dir(), reason=f"{VARIABLE} NAMES NO CHECKOUT OF rosbag2: no public bag is read"
)
RESOURCES = CHECKOUT / "rosbag2_py/test/resources"
BAGS = [
    path.parent
    for path in sorted(CHECKOUT.glob(f"**/{METADATA_NAME}"))
    if any(file.suffix in (".mcap", ".db3") for file in path.parent.iterdir())
]


def read(path: Path) -> BagTraffic:
    return read_traffic(path, lambda share: None)


@pytest.mark.parametrize("bag", BAGS, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_every_message_of_a_bag_is_read(bag):
    """As many of each topic as its metadata count."""
    counts = {name: n for name, n in read_metadata(bag / METADATA_NAME).counts.items() if n}
    try:
        bag_traffic = read(bag)
    except UserError as error:
        assert not counts, error.render()
    else:
        assert {topic.name: topic.messages for topic in bag_traffic.topics} == counts


def test_there_are_bags_of_either_storage():
    assert len(BAGS) >= 12
    assert {file.suffix for bag in BAGS for file in bag.iterdir()} >= {".mcap", ".db3"}


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_the_talker_talks_twice_a_second(storage, tmp_path):
    """What demo_nodes_cpp's talker says, of which ten messages were recorded by either storage."""
    bag = RESOURCES / storage / "talker"
    talker = read(bag).topic("/topic")
    assert (talker.messages, talker.type) == (10, "std_msgs/msg/String")
    assert talker.arrivals.kind == "periodic"
    assert talker.arrivals.rate_hz == pytest.approx(2, rel=0.01)
    assert [offer.reliability for offer in talker.offers] == ["reliable"]
    verb = rmwbench("twin", bag, "-o", tmp_path / "talker.yaml")
    assert verb.returncode == 0, verb.stderr


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_a_bag_of_five_parts_that_no_robot_wrote_is_read_and_refused(storage, tmp_path):
    """Its 6074 messages have times of 411 ns together."""
    bag = RESOURCES / storage / "wbag"
    assert read(bag).messages == 6074
    verb = rmwbench("twin", bag, "-o", tmp_path / "suite.yaml")
    assert verb.returncode == 2 and "are too close for a suite" in verb.stderr
