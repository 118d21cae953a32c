"""What was planted in a bag is recovered from it: by each format, by each process of arrivals, by
either of its clocks."""

import shutil
from pathlib import Path

import lz4.frame
import numpy as np
import pytest
import zstandard
from mcap.writer import CompressionType

from rmwbench.errors import UserError
from rmwbench.robot.twin.bag import find_bag
from rmwbench.robot.twin.traffic import BagTraffic, is_latched, read_traffic
from rmwbench.robot.twin.twin_model import distance_ns
from tests.support import robot_bag
from tests.support.robot_bag import Planted

S = 1e9
RNG = np.random.default_rng(3)


def read(path: Path) -> BagTraffic:
    return read_traffic(path, lambda share: None)


def periodic(rate_hz, seconds=30.0, jitter=0.0, lost=0.0, phase=0.0):
    """`jitter`: of a message's time, as a share of the period."""
    count = int(rate_hz * seconds)
    times = (np.arange(count) + 2 + phase + RNG.normal(0, jitter, count)) * S / rate_hz
    return times[RNG.random(count) >= lost]


def one_topic(tmp_path, planted: Planted):
    (topic,) = read(robot_bag.mcap(tmp_path / "bag.mcap", [planted])).topics
    return topic


@pytest.mark.parametrize("rate_hz", [1, 30, 400])
@pytest.mark.parametrize("jitter", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("lost", [0.0, 0.2])
def test_period_jitter_and_loss_are_recovered(tmp_path, rate_hz, jitter, lost):
    """The period within 0.5 %, though a fifth of the messages is missing; jitter within a
    twentieth of the period, the missing share within 4 points of what was drawn."""
    times = periodic(rate_hz, max(10, 200 / rate_hz), jitter, lost)
    arrivals = one_topic(tmp_path, Planted("/t", times)).arrivals
    assert arrivals.kind == "periodic"
    assert arrivals.rate_hz == pytest.approx(rate_hz, rel=0.005)
    assert arrivals.jitter_ns * rate_hz / S == pytest.approx(jitter, abs=0.02)
    assert arrivals.missing_share == pytest.approx(lost, abs=0.07 if lost else 0.01)
    assert (arrivals.gaps.long_share > 0.1) == bool(lost)


def test_a_recorder_that_halted_and_then_wrote_a_batch_does_not_spoil_the_period(tmp_path):
    times = periodic(100, 30)
    for begin in range(200, 2800, 400):  # 30 messages are taken together, 0.3 s late
        times[begin : begin + 30] = times[begin + 30] + np.arange(30) * 1e4
    arrivals = one_topic(tmp_path, Planted("/t", np.sort(times))).arrivals
    assert arrivals.kind == "periodic"
    assert arrivals.rate_hz == pytest.approx(100, rel=0.005)
    assert arrivals.gaps.longest_ns > 0.25 * S
    assert arrivals.missing_share < 0.005  # what came late is not missing


def test_bursts_are_their_period_and_their_length(tmp_path):
    times = (np.arange(60)[:, None] * 0.5 * S + np.arange(7) * 2e5).ravel()
    arrivals = one_topic(tmp_path, Planted("/t", times)).arrivals
    assert arrivals.kind == "burst"
    assert arrivals.per_burst == pytest.approx(7, rel=0.01)
    assert arrivals.period_ns == pytest.approx(0.5 * S, rel=0.01)


@pytest.mark.parametrize("times_driven", [2, 12])
def test_a_pause_does_not_make_bursts_of_what_has_a_period(tmp_path, times_driven):
    """A joystick: 20 Hz for 5 s, and then nothing for two minutes."""
    once = np.arange(100) * S / 20
    times = np.concatenate([once + start * 125 * S for start in range(times_driven)])
    arrivals = one_topic(tmp_path, Planted("/cmd_vel", times)).arrivals
    assert arrivals.kind == "periodic" and arrivals.jitter_ns < 0.001 * S / 20
    assert arrivals.rate_hz == pytest.approx(20, rel=0.005)
    assert arrivals.gaps.longest_ns == pytest.approx(120.05 * S) and arrivals.missing_share > 0.9


def test_what_is_sent_on_change_has_a_mean_rate(tmp_path):
    times = np.cumsum(RNG.exponential(S / 20, 2000))
    arrivals = one_topic(tmp_path, Planted("/t", times)).arrivals
    assert arrivals.kind == "on_change" and arrivals.period_ns is None
    assert arrivals.rate_hz == pytest.approx(20, rel=0.08)


def test_latched_once_is_no_rate(tmp_path):
    topics = [Planted("/map", np.array([0.0]), latched=True), Planted("/t", periodic(10))]
    bag_traffic = read(robot_bag.mcap(tmp_path / "bag.mcap", topics))
    assert bag_traffic.topic("/map").arrivals.kind == "once" and is_latched(
        bag_traffic.topic("/map").offers
    )
    assert bag_traffic.topic("/map").bytes_per_s == 0


def test_several_publishers_are_a_rate_together(tmp_path):
    times = np.sort(np.concatenate([periodic(50, 30, phase=phase) for phase in (0, 0.3, 0.71)]))
    topic = one_topic(tmp_path, Planted("/tf", times, publishers=3))
    assert topic.publishers == 3 and topic.arrivals.kind == "mixed"
    assert topic.arrivals.rate_hz == pytest.approx(150, rel=0.01)


def test_sizes_are_a_distribution(tmp_path):
    sizes = RNG.integers(500, 1500, 900)
    measured = one_topic(tmp_path, Planted("/t", periodic(30), sizes)).sizes
    assert (measured.least, measured.most) == (sizes.min(), sizes.max())
    assert measured.mean == pytest.approx(sizes.mean(), rel=1e-9)
    assert measured.p95 == pytest.approx(np.quantile(sizes, 0.95), rel=0.01)


def test_a_senders_stamp_is_preferred_to_the_recorders(tmp_path):
    sent = periodic(30)
    late = sent + RNG.exponential(0.02 * S, len(sent))  # the way to the recorder
    topic = one_topic(tmp_path, Planted("/t", np.sort(late), published=sent))
    assert topic.stamp == "publish_time"
    assert topic.arrivals.jitter_ns < 0.001 * S / 30


def test_a_copy_of_the_recorders_stamp_is_not_a_senders(tmp_path):
    assert one_topic(tmp_path, Planted("/t", periodic(30))).stamp == "log_time"


@pytest.mark.parametrize("hours", [-3, 2])
def test_a_stamp_by_another_clock_is_not_used(tmp_path, hours):
    sent = periodic(30)
    planted = Planted(
        "/t", sent, published=sent, published_origin_ns=robot_bag.BEGAN_NS + hours * 3600 * 10**9
    )
    bag_traffic = read(robot_bag.mcap(tmp_path / "bag.mcap", [planted]))
    assert bag_traffic.topics[0].stamp == "log_time" and bag_traffic.other_clock == 1


def test_simulated_time_is_recognised_and_never_mixed_with_the_other(tmp_path):
    """A simulation at half speed: the recorder's stamp is simulated, the sender's is a clock's."""
    sent = periodic(30)
    planted = Planted("/t", sent / 2, published=sent, origin_ns=10**9)
    clock = Planted("/clock", periodic(100) / 2, type="rosgraph_msgs/msg/Clock", origin_ns=10**9)
    bag_traffic = read(robot_bag.mcap(tmp_path / "bag.mcap", [planted, clock]))
    assert bag_traffic.simulated and bag_traffic.other_clock == 1
    assert {topic.stamp for topic in bag_traffic.topics} == {"log_time"}
    assert bag_traffic.topic("/t").arrivals.rate_hz == pytest.approx(60, rel=0.005)


def test_topics_of_one_instant_are_found_with_their_phase(tmp_path):
    image = periodic(30, jitter=0.03)
    topics = [
        Planted("/camera/image", image),
        Planted("/camera/camera_info", image + 2e5),
        Planted("/rear/image", periodic(30, jitter=0.03, phase=0.4)),
        Planted("/odom", periodic(50)),
    ]
    bag_traffic = read(robot_bag.mcap(tmp_path / "bag.mcap", topics))
    image, info, rear, odom = (bag_traffic.topic(topic.name) for topic in topics)
    assert distance_ns(image, info) == pytest.approx(2e5, abs=1e4)
    assert distance_ns(image, rear) is None and distance_ns(image, odom) is None


FORMATS = {
    "zstd chunks": lambda d, t: robot_bag.mcap(d / "bag.mcap", t),
    "lz4 chunks": lambda d, t: robot_bag.mcap(d / "b.mcap", t, compression=CompressionType.LZ4),
    "no chunks": lambda d, t: robot_bag.mcap(d / "bag.mcap", t, chunked=False),
    "no index": lambda d, t: robot_bag.mcap(d / "bag.mcap", t, indexed=False),
    "messages in zstd": lambda d, t: robot_bag.mcap(d / "bag.mcap", t, zstd_messages=True),
    "integers": lambda d, t: robot_bag.mcap(d / "bag.mcap", t, version=8),
    "split": lambda d, t: robot_bag.split(d / "bag", t),
    "split, without metadata": lambda d, t: without_metadata(robot_bag.split(d / "bag", t)),
    "db3": lambda d, t: robot_bag.db3(d / "bag.db3", t),
    "db3 with words": lambda d, t: robot_bag.db3(d / "bag.db3", t, version=9),
    "db3, messages in zstd": lambda d, t: robot_bag.db3(d / "bag.db3", t, zstd_messages=True),
    "db3.zstd": lambda d, t: compressed(robot_bag.db3(d / "bag.db3", t), ".zstd"),
    "mcap.zstd": lambda d, t: compressed(robot_bag.mcap(d / "bag.mcap", t), ".zstd"),
    "mcap.lz4": lambda d, t: compressed(robot_bag.mcap(d / "bag.mcap", t), ".lz4"),
}


def without_metadata(directory: Path) -> Path:
    (directory / "metadata.yaml").unlink()
    return directory


def compressed(path: Path, suffix: str) -> Path:
    pack = zstandard.compress if suffix == ".zstd" else lz4.frame.compress
    packed = path.with_name(path.name + suffix)
    packed.write_bytes(pack(path.read_bytes()))
    path.unlink()
    return packed


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_the_same_traffic(tmp_path, name):
    topics = [
        Planted(
            "/scan", np.arange(300) * 0.1 * S, 3000, "sensor_msgs/msg/LaserScan", reliable=False
        ),
        Planted("/map", np.array([1.0]), 5000, "nav_msgs/msg/OccupancyGrid", latched=True),
    ]
    bag_traffic = read(FORMATS[name](tmp_path, topics))
    scan, map_ = bag_traffic.topic("/scan"), bag_traffic.topic("/map")
    assert (scan.messages, scan.type, scan.sizes.mean) == (300, "sensor_msgs/msg/LaserScan", 3000)
    assert scan.arrivals.rate_hz == pytest.approx(10)
    assert [offer.reliability for offer in scan.offers] == ["best_effort"]
    assert [offer.durability for offer in map_.offers] == ["transient_local"]
    assert {offer.depth for offer in (*scan.offers, *map_.offers)} == {None}
    assert bag_traffic.duration_s == pytest.approx(29.9)


@pytest.mark.parametrize("name", ["bag_{}.mcap", "drive_2024.06_{}.mcap", "v_1.db3_{}.db3.zstd"])
def test_files_without_metadata_are_in_the_order_of_their_last_number(tmp_path, name):
    for part in (10, 9, 0):
        (tmp_path / name.format(part)).touch()
    files = [file.name for file in find_bag(tmp_path).files]
    assert files == [name.format(part) for part in (0, 9, 10)]


@pytest.mark.parametrize("version", [4, 8, 9])
def test_metadata_alone_give_rates_and_offers(tmp_path, version):
    topics = [
        Planted("/scan", np.arange(301) * 0.1 * S, reliable=False),
        Planted("/map", np.array([1.0]), latched=True, publishers=2),
    ]
    bag_traffic = read(robot_bag.metadata(tmp_path, topics, ["bag_0.mcap"], version))
    assert read(tmp_path).messages == bag_traffic.messages == 302
    assert bag_traffic.topic("/scan").arrivals.rate_hz == pytest.approx(10, rel=0.01)
    assert bag_traffic.topic("/scan").sizes is None and bag_traffic.topic("/map").publishers == 2
    assert bag_traffic.topic("/map").arrivals.kind == "once" and is_latched(
        bag_traffic.topic("/map").offers
    )
    assert bag_traffic.topic("/scan").offers[0].reliability == "best_effort"


def test_a_bag_of_before_foxy_offers_nothing(tmp_path):
    bag = robot_bag.db3(tmp_path / "b.db3", [Planted("/t", periodic(10))], offers=False)
    assert read(bag).topics[0].offers == ()


def truncated(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    return path


def unknown_chunks(path: Path) -> Path:
    path.write_bytes(path.read_bytes().replace(b"\x04\0\0\0zstd", b"\x04\0\0\0zpaq"))
    return path


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def without_a_file(directory: Path) -> Path:
    (directory / "bag_1.mcap").unlink()
    return directory


BIG = [Planted("/t", np.arange(3000) * 0.01 * S)]
INFINITE = (
    "rosbag2_bagfile_information: {topics_with_message_count: [], duration: {nanoseconds: .inf}}"
)
BAD = {
    "no such": lambda d: d / "nothing",
    "no bag here": lambda d: d,
    "text": lambda d: written(d / "notes.txt", "hello"),
    "text called a bag": lambda d: written(d / "bag.mcap", "hello" * 99),
    "text called db3": lambda d: written(d / "bag.db3", "hello" * 99),
    "ROS 1": lambda d: written(d / "old.bag", "#ROSBAG V2.0\n"),
    "truncated": lambda d: truncated(robot_bag.mcap(d / "bag.mcap", BIG)),
    "truncated, no chunks": lambda d: truncated(robot_bag.mcap(d / "b.mcap", BIG, chunked=False)),
    "truncated db3": lambda d: truncated(robot_bag.db3(d / "bag.db3", BIG)),
    "truncated zstd": lambda d: truncated(compressed(robot_bag.mcap(d / "b.mcap", BIG), ".zstd")),
    "truncated db3.zstd": lambda d: truncated(compressed(robot_bag.db3(d / "b.db3", BIG), ".zstd")),
    "unknown compression": lambda d: unknown_chunks(robot_bag.mcap(d / "bag.mcap", BIG)),
    "empty": lambda d: robot_bag.mcap(d / "bag.mcap", [Planted("/t", np.array([]))]),
    "metadata of nothing": lambda d: written(d / "metadata.yaml", "a: 1\n"),
    "empty metadata": lambda d: written(d / "metadata.yaml", ""),
    "an infinite duration": lambda d: written(d / "metadata.yaml", INFINITE),
    "no YAML": lambda d: written(d / "metadata.yaml", "{"),
    "a missing part": lambda d: without_a_file(robot_bag.split(d / "bag", BIG)),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_clear_error(tmp_path, name):
    with pytest.raises(UserError) as caught:
        read(BAD[name](tmp_path))
    assert caught.value.where and str(tmp_path) in caught.value.where


def test_metadata_that_name_an_unknown_compression_say_so(tmp_path):
    bag = robot_bag.mcap(tmp_path / "bag_0.mcap", BIG)
    shutil.move(bag, tmp_path / "bag_0.mcap.bz2")
    robot_bag.metadata(tmp_path, BIG, ["bag_0.mcap.bz2"])
    with pytest.raises(UserError, match="compression of this file is not known"):
        read(tmp_path)


def test_memory_does_not_grow_with_the_bag(tmp_path):
    """What is held of a topic after a hundred times as many messages."""
    from rmwbench.robot.twin.bag import BagTopic, Message
    from rmwbench.robot.twin.traffic import MOST_TIMES, traffic

    topic = BagTopic(name="/t", type="t")
    bag_traffic = traffic(
        Message(topic, robot_bag.BEGAN_NS + n * 10**6, None, 100) for n in range(200_000)
    )
    assert bag_traffic.messages == 200_000 and len(bag_traffic.topics[0].times_ns) == MOST_TIMES
