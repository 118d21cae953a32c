"""rosbag2's own recorder beside a reader, over each RMW: what it kept and what it lost is what was
sent."""

import pytest

from rmwbench.beside.recorder import process
from rmwbench.beside.recorder.answer import PLACES
from tests.ros2 import sourced

needs_rosbag2 = pytest.mark.skipif(
    process.find() is None, reason="THE SOURCED ROS 2 HAS NO rosbag2_transport"
)
pytestmark = [sourced.needed, needs_rosbag2, pytest.mark.timing, pytest.mark.own_host]
SUITE = """
suite: recorded
title: a bag
blocks: {{planned: 1, minimum: 1}}
timeline: {{warmup_s: 0.3, drain_s: 0.3, steady_s: 0.7}}
arms:
  - {{name: arm, middleware: rclcpp/{rmw}}}
workloads:
  - name: w
    message: {message}
    {arrival}
    qos: {{reliability: reliable, history: keep_last, depth: 50}}
    recorder: {recorder}
    nodes:
      - {{name: left, publishers: [{{topic: image_1}}, {{topic: not_recorded}}]}}
      - {{name: right, publishers: [{{topic: image_2}}]}}
      - {{name: eyes, subscriptions: [{{topic: image_1}}, {{topic: image_2}}]}}
"""
BOTH = "topics: [image_1, image_2]"
STEADILY, IN_BURSTS = "rate_hz: 50", "arrival: {kind: burst, rate_hz: 2, count: 20}"


def run(directory, rmw, asked, message="Image(64x48)", arrival=STEADILY):
    """The bundle, and the account of its arm, in which every message sent has exactly one fate."""
    sourced.worker(rmw)
    suite = SUITE.format(rmw=rmw, recorder=asked, message=message, arrival=arrival)
    bundle, document = sourced.measured(directory, suite)
    for line in bundle.trials():
        if line.status == "void":
            pytest.skip(f"the machine disturbed the trial: {line.reason}")
        assert line.status == "done", line.reason
    ((arm,),) = (row["arms"] for row in document["recordings"]["rows"])
    assert arm["sent"] == arm["kept"] + sum(arm[name] for name in PLACES)
    return bundle, arm


def problems(bundle):
    return [
        row["text"]
        for row in bundle.rows("events")
        if row["event"] == "problem" and row["process"] == "recorder"
    ]


@pytest.mark.parametrize("rmw", sourced.ONE_OF_EACH)
@pytest.mark.parametrize(
    "asked", [f"{{place: tmpfs, {BOTH}}}", f"{{place: disk, cache_mib: 0, {BOTH}}}"]
)
def test_what_is_kept_and_what_is_lost_is_what_was_sent(tmp_path, rmw, asked):
    bundle, arm = run(tmp_path, rmw, asked)
    assert arm["sent"] == 2 * 50
    assert arm["kept"] > 50, "a recorder beside small pictures keeps most of them"
    assert problems(bundle) == []
    assert (
        arm["cpu_cores"] > 0
        and arm["peak_rss_bytes"] > 1e6
        and arm["bag_bytes"] > arm["kept"] * 64 * 48 * 3
    )
    assert [topic["topic"] for topic in arm["topics"]] == ["image_1", "image_2"]
    assert not list((tmp_path / "out").glob("bag-*")), "its bag is deleted once it has been read"


def test_messages_of_another_message_package_are_recorded_and_a_bag_may_be_kept(tmp_path):
    _, arm = run(tmp_path, "rmw_fastrtps_cpp", f"{{place: disk, keep: true, {BOTH}}}", "Array4k")
    assert arm["kept"] > 50
    (kept,) = (tmp_path / "out").glob("bag-*")
    assert kept.name == "bag-000001"
    assert (kept / "metadata.yaml").is_file() and list(kept.glob("*.mcap"))


def test_a_cache_that_is_too_small_says_so_itself(tmp_path):
    """Bursts of 20 pictures of 0.9 MB each into a cache of 1 MiB: rosbag2's own account is what
    places the loss."""
    asked = f"{{place: tmpfs, cache_mib: 1, {BOTH}}}"
    bundle, arm = run(tmp_path, "rmw_cyclonedds_cpp", asked, "Image(640x480)", IN_BURSTS)
    assert problems(bundle) == []
    assert arm["cache"] > 0, arm
