"""A bag becomes a suite that loads and is planned; what nobody knows is marked in it."""

import json
import re
import shlex

import numpy as np
import pytest

from rmwbench.errors import UserError
from rmwbench.robot.twin.graph import parse_graph, read_graph
from rmwbench.robot.twin.likeness_view import sentence, view
from rmwbench.robot.twin.suite_text import SuiteStyle, _jitter_ms, suite_text
from rmwbench.robot.twin.traffic import BagTraffic, read_traffic
from rmwbench.robot.twin.twin_likeness import (
    TopicDifference,
    TwinLikeness,
    TwinTopicLikeness,
    likeness,
)
from rmwbench.robot.twin.twin_model import anonymous, make_twin, message_for
from rmwbench.suite.file.candidate_list import Choice
from rmwbench.suite.file.load import parse
from rmwbench.suite.workload.arrival import Periodic
from tests.support import robot_bag
from tests.support.command import rmwbench
from tests.support.robot_bag import Planted

S = 1e9
LONG = "n" * 150
IMAGE = np.arange(300) * S / 30
ROBOT = [
    Planted("/front/image_raw", IMAGE, 921_648, "sensor_msgs/msg/Image", reliable=False),
    Planted("/front/camera_info", IMAGE + 1e5, 400, "sensor_msgs/msg/CameraInfo", reliable=False),
    Planted("/scan", np.arange(100) * S / 10 + 3e7, 3000, "sensor_msgs/msg/LaserScan"),
    Planted("/tf", np.arange(1000) * S / 100, 300, "tf2_msgs/msg/TFMessage", publishers=2),
    Planted("/map", np.array([0.0]), 10_000, "nav_msgs/msg/OccupancyGrid", latched=True),
    Planted("/battery", np.arange(10) * S, 60, "acme_msgs/msg/Battery"),
    Planted("/rosout", np.arange(10) * S, 100, "rcl_interfaces/msg/Log"),
]
GRAPH = """\
nodes:
- name: /front/driver
  publishers:
  - {name: /front/image_raw, type: {name: sensor_msgs/msg/Image}, qos: {history: 3, reliability: 2, durability: 2}}
  - {name: /front/camera_info, qos: {depth: 0, history: 3, reliability: 2, durability: 2}}
- name: /lidar
  publishers:
  - {name: /scan, qos: {depth: 7, history: 1, reliability: 1, durability: 2}}
- name: /nav
  subscriptions:
  - {name: /scan, qos: {depth: 3, history: 1, reliability: 2, durability: 2}}
  - {name: /front/image_raw, qos: {depth: 1, history: 1, reliability: 2, durability: 2}}
- name: /viewer
  subscriptions:
  - {name: /front/image_raw, qos: {depth: 1, history: 1, reliability: 1, durability: 2}}
  - {name: /scan, qos: {depth: 1, history: 1, reliability: 1, durability: 2}}
- name: /rosbag2_recorder
  subscriptions:
  - {name: /scan, qos: {depth: 1, history: 1, reliability: 1, durability: 2}}
---
"""


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    return robot_bag.mcap(tmp_path_factory.mktemp("robot") / "run.mcap", ROBOT)


@pytest.fixture(scope="module")
def traffic(bag):
    return read_traffic(bag, lambda share: None)


@pytest.fixture
def graph(tmp_path):
    path = tmp_path / "graph.yaml"
    path.write_text(GRAPH)
    return path


def suite_of(twin):
    text = suite_text(twin, SuiteStyle(name="twin", source="run.mcap"))
    return parse(text, where="twin.yaml", choice=Choice(("native",))), text


def test_a_twin_loads_with_every_topic_at_its_rate_and_size(traffic):
    suite, text = suite_of(make_twin(traffic, ()))
    (workload,) = suite.workloads
    sent = {p.topic: p for node in workload.nodes for p in node.publishers}
    assert set(sent) == {topic.name[1:] for topic in ROBOT[:-1]}
    image, info = sent["front/image_raw"], sent["front/camera_info"]
    assert image.message == "Image(640x480)" and image.arrival.rate_hz == pytest.approx(30)
    assert info.arrival.phase_ns - image.arrival.phase_ns == pytest.approx(1e5, abs=10)
    assert (
        image.qos.reliability == "best_effort" and sent["map"].qos.durability == "transient_local"
    )
    assert sent["map"].arrival.kind == "trace" and sent["scan"].rate_hz == pytest.approx(10)
    publishers = [p for node in workload.nodes for p in node.publishers if p.topic == "tf"]
    assert [publisher.rate_hz for publisher in publishers] == pytest.approx([50, 50], rel=0.01)
    assert set(workload.focus) == set(sent) - {"map", "battery"}
    limits = suite.outcomes.topics
    assert limits["scan"] == {"response_latency_p90_ms": 100, "undelivered": 0.1}
    assert limits["tf"]["undelivered"] == 0.01
    assert text.index("front/image_raw, message") < text.index("topic: scan, message")


def test_what_nobody_knows_is_marked_and_what_every_node_has_is_left_out(traffic):
    _, text = suite_of(make_twin(traffic, ()))
    assert (
        "depth: 10}  # assumed" in text
        and "the depth of 6 of 6 topics" in text
        and "# proposed" in text
    )
    assert "Left out, since every node has its own: /rosout." in text
    assert "topic: rosout" not in text
    assert (
        text.count("- name:")
        == len([line for line in text.splitlines() if "# assumed" in line][2:]) + 1
    )


def test_sizes_that_vary_have_their_mean_and_say_how_far_that_is_from_them(tmp_path):
    """One size stands for a little scatter, and not for a topic of which a tenth is far larger."""
    little = np.linspace(900, 1100, 300).astype(int)
    far = np.where(np.arange(300) % 10, 100, 9000)
    topics = [Planted("/little", IMAGE, little), Planted("/far", IMAGE, far)]
    bag = robot_bag.mcap(tmp_path / "run.mcap", topics)
    suite, text = suite_of(make_twin(read_traffic(bag, lambda share: None), ()))
    sent = {p.topic: p.message for node in suite.workloads[0].nodes for p in node.publishers}
    assert sent == {"little": "Bytes(984)", "far": "Bytes(974)"}
    assert "sizes from 100 B to 9.00 kB, median 100 B, 95 % below 9.00 kB" in text
    assert "The sizes of far vary too much for one size" in text


def test_a_graph_brings_nodes_and_readers_as_they_are(traffic, graph):
    twin = make_twin(traffic, read_graph(str(graph)))
    suite, text = suite_of(twin)
    nodes = {node.name: node for node in suite.workloads[0].nodes}
    assert set(nodes) == {"front_driver", "lidar", "nav", "viewer", "others"}
    assert {reader.topic: reader.qos.depth for reader in nodes["nav"].subscriptions} == {
        "scan": 3,
        "front/image_raw": 1,
    }
    assert nodes["lidar"].publishers[0].qos.depth == 7
    assert [reader.topic for reader in nodes["viewer"].subscriptions] == ["scan"]
    assert "/viewer never matches front/image_raw" in text
    assert {publisher.topic for publisher in nodes["others"].publishers} == {"tf", "map", "battery"}
    assert set(suite.workloads[0].focus) == {"front/image_raw", "scan"}


def test_all_publishers_of_a_topic_have_its_recorded_rate_together(traffic, tmp_path):
    """Also of a topic that the graph does not publish, and of one that a tool publishes too."""
    path = tmp_path / "graph.yaml"
    tool = "- name: /_ros2cli_4711\n  publishers:\n  - {name: /scan, qos: {history: 1, depth: 1}}\n"
    path.write_text(GRAPH.replace("- name: /nav\n", f"{tool}- name: /nav\n"))
    twin = make_twin(traffic, read_graph(str(path)))
    suite, _ = suite_of(twin)
    rates = {"tf": [], "scan": []}
    for node in suite.workloads[0].nodes:
        for publisher in node.publishers:
            rates.setdefault(publisher.topic, []).append(publisher.rate_hz)
    assert rates["tf"] == pytest.approx([50, 50], rel=0.01)
    assert rates["scan"] == pytest.approx([10], rel=0.01)
    assert len(rates["tf"]) == twin.topic("tf").traffic.publishers


@pytest.mark.parametrize("lengths", [(1, 2), (2, 3), (3, 3)])
def test_bursts_of_a_whole_number_of_messages_have_the_recorded_rate(tmp_path, lengths):
    bursts = [n * S / 2 + np.arange(lengths[n % 2]) * 2e5 for n in range(60)]
    bag = robot_bag.mcap(tmp_path / "run.mcap", [Planted("/markers", np.concatenate(bursts))])
    suite, _ = suite_of(make_twin(read_traffic(bag, lambda share: None), ()))
    (publisher,) = [p for node in suite.workloads[0].nodes for p in node.publishers]
    assert publisher.arrival.kind == "burst"
    recorded_hz = sum(lengths)  # of two bursts, in one second
    rate_hz = publisher.arrival.rate_hz * publisher.arrival.messages
    assert rate_hz == pytest.approx(recorded_hz, rel=0.01)


@pytest.mark.parametrize(("length", "depth"), [(3, 10), (10, 10), (25, 25)])
def test_a_burst_that_was_recorded_whole_fits_into_its_history(tmp_path, length, depth):
    """One each second: neither a depth that is assumed nor the drain of a trial may cut it."""
    bursts = [n * S + np.arange(length) * 1e5 for n in range(20)]
    bag = robot_bag.mcap(tmp_path / "run.mcap", [Planted("/can", np.concatenate(bursts))])
    suite, text = suite_of(make_twin(read_traffic(bag, lambda share: None), ()))
    assert re.search(r"can: {response_latency_p9\d_ms: 1000, ", text)
    ends = [e for n in suite.workloads[0].nodes for e in (*n.publishers, *n.subscriptions)]
    assert [end.qos.depth if end.qos else 10 for end in ends] == [depth, depth]


def test_only_what_is_smaller_than_any_message_is_told_as_such(tmp_path):
    """A message of transforms has whole transforms here, so it may be a few bytes larger."""
    small = Planted("/small", np.arange(300) * S / 30, 40)
    frames = Planted("/frames", np.arange(300) * S / 30, 3160, "tf2_msgs/msg/TFMessage")
    bag = robot_bag.mcap(tmp_path / "run.mcap", [small, frames])
    _, text = suite_of(make_twin(read_traffic(bag, lambda share: None), ()))
    assert "TFMessage(33)" in text
    assert re.findall(r"recorded with (.*), less than the smallest type", text) == ["40 B"]


@pytest.mark.parametrize("publishers", [1, 2])
def test_a_history_is_no_deeper_than_the_drain_holds_of_each_publisher(tmp_path, publishers):
    """As rclcpp's broadcaster of /tf offers it, 100 messages, and slower than 20 Hz."""
    times = np.arange(300) * S / (10 * publishers)
    planted = Planted("/tf", times, publishers=publishers, depth=100)
    bag = robot_bag.mcap(tmp_path / "run.mcap", [planted])
    suite, _ = suite_of(make_twin(read_traffic(bag, lambda share: None), ()))
    sent = [p for node in suite.workloads[0].nodes for p in node.publishers]
    assert [(p.rate_hz, p.qos.depth) for p in sent] == [(pytest.approx(10), 51)] * publishers


def test_an_anonymous_twin_has_no_name_of_the_robot(traffic, graph):
    twin = make_twin(*anonymous(traffic, read_graph(str(graph))))
    _, text = suite_of(twin)
    for name in ("front", "scan", "battery", "acme", "lidar", "nav:", "viewer", "1790"):
        assert name not in text.replace("nav_msgs", "").replace("LaserScan", ""), name
    assert "topic_1" in text and "sensor_msgs/msg/Image" in text


def test_names_of_others_cannot_end_a_comment_or_a_name(tmp_path):
    planted = Planted("/a/ü b/1", np.arange(300) * S / 30, 500, "x\n  - evil: [")
    bag = robot_bag.mcap(tmp_path / "run.mcap", [planted])
    suite, _ = suite_of(make_twin(read_traffic(bag, lambda share: None), ()))
    assert suite.workloads[0].nodes[0].publishers[0].topic == "a/__b/_1"


LONG_GRAPH = """\
nodes:
- {name: /FALSE, publishers: [{name: /null}]}
- {name: /LONG, subscriptions: [{name: /null}]}
""".replace("LONG", LONG)


@pytest.mark.parametrize("nodes", [(), parse_graph(LONG_GRAPH, "graph")])
def test_names_that_a_suite_does_not_take_are_changed(tmp_path, nodes):
    planted = Planted("/null", IMAGE), Planted(f"/{LONG}/image", IMAGE)
    suite, _ = suite_of(make_twin(read_bag(tmp_path / "run.mcap", *planted), nodes))
    assert {p.topic for n in suite.workloads[0].nodes for p in n.publishers} == {
        "_null",
        f"{LONG}/image",
    }


@pytest.mark.parametrize("source", ["a\nb.mcap", "a\udcff.mcap"])
def test_a_bag_with_any_name_has_a_twin(traffic, source):
    text = suite_text(make_twin(traffic, ()), SuiteStyle(name="twin", source=source))
    suite = parse(text, where="twin.yaml", choice=Choice(("native",)))
    assert suite.title.startswith("Twin of a ")


@pytest.mark.parametrize(
    "ros_type, size_bytes, name",
    [
        ("sensor_msgs/msg/Image", 921_660, "Image(640x480)"),
        ("sensor_msgs/msg/Image", 307_248, "Image(102400x1)"),
        ("sensor_msgs/msg/LaserScan", 3000, "LaserScan(736)"),
        ("tf2_msgs/msg/TFMessage", 110, "Bytes(94)"),
        ("std_msgs/msg/String", 20, "Bytes(64)"),
        ("nav_msgs/msg/Odometry", 724, "Bytes(708)"),
    ],
)
def test_a_recorded_type_is_the_suites_where_it_fits(ros_type, size_bytes, name):
    message = message_for(ros_type, size_bytes)
    assert message.name == name
    assert abs(message.cdr_bytes - max(80, size_bytes)) <= max(32, 0.02 * size_bytes)


def test_the_verb_writes_a_suite_that_is_planned(bag, tmp_path):
    suite = tmp_path / "my-robot.yaml"
    verb = rmwbench("twin", bag, "-o", suite)
    assert verb.returncode == 0 and "98 % of the bytes: /front/image_raw" in verb.stdout
    assert rmwbench("twin", bag).stdout == suite.read_text()
    planned = rmwbench("plan", suite, "--json")
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["suite"]["name"] == "my-robot"


@pytest.mark.parametrize("name", ["2026-11-30", "42", "true", "site 2.1"])
def test_a_suite_has_the_name_of_its_file_also_if_that_is_no_text_to_yaml(bag, tmp_path, name):
    """The command in the comment of `site 2.1.yaml` named `site-2-1.yaml`."""
    path = tmp_path / f"{name}.yaml"
    verb = rmwbench("twin", bag, "-o", path)
    assert verb.returncode == 0, verb.stderr
    assert f"#     rmwbench run {shlex.quote(path.name)}\n" in path.read_text()


def test_a_bag_at_the_current_directory_is_named(bag):
    """The title of its suite was `Twin of `."""
    verb = rmwbench("twin", ".", cwd=bag.parent)
    assert f'title: "Twin of {bag.parent.name}"' in verb.stdout, verb.stderr


def test_a_bag_is_a_twin_of_itself_and_not_of_one_at_another_rate(bag, tmp_path):
    assert rmwbench("twin", bag, "--against", bag).returncode == 0
    slower = [Planted(topic.name, topic.times * 1.1, topic.size, topic.type) for topic in ROBOT]
    other = robot_bag.mcap(tmp_path / "slow.mcap", slower)
    verb = rmwbench("twin", bag, "--against", other)
    assert verb.returncode == 1 and "/scan (rate 10 Hz → 9.091 Hz)" in verb.stdout


def test_a_jittering_period_is_compared_within_the_error_of_few_messages(tmp_path):
    """Such as a pose at 1.5 Hz, of which 20 s have 30."""
    rng = np.random.default_rng(1)

    def recorded(count: int):
        times = (np.arange(count) + 2 + rng.normal(0, 0.12, count)) * S / 1.5
        bag = robot_bag.mcap(tmp_path / "run.mcap", [Planted("/pose", np.sort(times))])
        return read_traffic(bag, lambda share: None)

    source = recorded(150)
    for _ in range(20):
        (topic,) = likeness(source, recorded(30)).topics
        (rate,) = [difference for difference in topic.differences if difference.quantity == "rate"]
        assert rate.alike, rate


@pytest.mark.parametrize("content", [b"", b"hello", b"\x89MCAP0\r\n"])
def test_what_is_no_bag_is_one_error_and_exit_code_2(tmp_path, content):
    path = tmp_path / "bag.mcap"
    path.write_bytes(content)
    verb = rmwbench("twin", path, "-o", tmp_path / "suite.yaml")
    assert verb.returncode == 2 and verb.stderr.count("error:") == 1
    assert not (tmp_path / "suite.yaml").exists()


@pytest.mark.parametrize("text", ["", "nodes: []", "nodes: [{publishers: []}]", "nodes: 3", "{"])
def test_what_is_no_graph_is_one_error(bag, tmp_path, text):
    path = tmp_path / "graph.yaml"
    path.write_text(text)
    verb = rmwbench("twin", bag, "--graph", path)
    assert verb.returncode == 2 and str(path) in verb.stderr


@pytest.mark.parametrize(
    ("quantity", "has_hint"), [("missing messages", True), ("95 % size", False)]
)
def test_what_a_middleware_may_have_lost_is_told_beside_a_twin_that_is_none(quantity, has_hint):
    part = TopicDifference(
        quantity=quantity, source=0.0, twin=0.8, unit="fraction", off=0.8, most=0.02
    )
    twin_likeness = TwinLikeness((TwinTopicLikeness(topic="/front", differences=(part,)),))
    shown = " ".join(
        text.text for text in view(twin_likeness, "bag", "the twin", "rclcpp/fastrtps").answer
    )
    assert "Not a twin" in shown
    assert (
        "Messages that rclcpp/fastrtps does not deliver are missing here, too" in shown
    ) is has_hint


def read_bag(path, *planted: Planted) -> BagTraffic:
    return read_traffic(robot_bag.mcap(path, planted), lambda share: None)


def test_a_bag_of_one_message_has_no_topic_to_judge(tmp_path):
    """It was refused as `too close for a suite`, at 1e+09 Hz."""
    traffic = read_bag(tmp_path / "run.mcap", Planted("/map", np.array([0.0]), latched=True))
    with pytest.raises(UserError, match="enough messages to be judged"):
        suite_of(make_twin(traffic, ()))


def test_an_offered_depth_beyond_that_of_a_suite_is_the_largest_of_a_suite(tmp_path):
    planted = Planted("/scan", np.arange(300) * S / 10, reliable=False, depth=2**31 - 1)
    suite, _ = suite_of(make_twin(read_bag(tmp_path / "run.mcap", planted), ()))
    assert [p.qos.depth for n in suite.workloads[0].nodes for p in n.publishers] == [1_000_000]


@pytest.mark.parametrize("rate_hz", [9.0, 15.0, 30.0])
def test_the_largest_jitter_is_one_that_a_suite_takes(rate_hz):
    jitter_ms = _jitter_ms(1e9, 1e9 / rate_hz)
    assert Periodic(kind="periodic", rate_hz=rate_hz, jitter_ms=jitter_ms).jitter_ms == jitter_ms


def test_topics_of_one_instant_have_one_rate(tmp_path):
    """With rates of their own they drifted apart in the trial."""
    image = IMAGE.copy()
    image[[0, -1]] += 1e6, -1e6
    planted = Planted("/image", image, 1000), Planted("/info", IMAGE + 1e5, 100)
    suite, _ = suite_of(make_twin(read_bag(tmp_path / "run.mcap", *planted), ()))
    arrivals = [p.arrival for node in suite.workloads[0].nodes for p in node.publishers]
    assert len(arrivals) == 2 and None not in [arrival.phase_ns for arrival in arrivals]
    assert len({arrival.rate_hz for arrival in arrivals}) == 1


def test_the_length_of_a_bag_has_no_exponent(tmp_path):
    traffic = read_bag(tmp_path / "run.mcap", Planted("/pose", np.arange(3601) * S))
    assert "from 60.0 min of a bag" in suite_text(
        make_twin(traffic, ()), SuiteStyle(name="twin", source="run.mcap")
    )


def test_a_topic_of_which_most_messages_were_lost_is_not_alike(tmp_path):
    """15 of 300 were too few to judge, and the other topic alone made it a twin."""
    source, played = (
        read_bag(tmp_path / name, Planted("/all", IMAGE), Planted("/lost", times))
        for name, times in (("source.mcap", IMAGE), ("played.mcap", IMAGE[::20]))
    )
    compared = likeness(source, played)
    assert [topic.topic for topic in compared.unlike] == ["/lost"] and not compared.alike
    assert sentence(compared) == "Not a twin in 1 of 2 topics: /lost (messages 300 → 15)."


def test_metadata_alone_are_not_called_too_few_messages(tmp_path):
    planted = [Planted("/pose", IMAGE)]
    source = read_bag(tmp_path / "run.mcap", *planted)
    alone = read_traffic(
        robot_bag.metadata(tmp_path, planted, ["gone.mcap"], 9), lambda share: None
    )
    for pair in ((source, alone), (alone, source)):
        (topic,) = likeness(*pair).topics
        assert topic.why_not == "metadata alone have no sizes and no gaps"


def test_by_metadata_alone_each_publisher_has_its_share_of_the_rate_and_its_own_period(tmp_path):
    planted = [Planted("/scan", np.arange(301) * S / 10, publishers=2)]
    alone = robot_bag.metadata(tmp_path, planted, ["gone.mcap"])
    suite, text = suite_of(make_twin(read_traffic(alone, lambda share: None), ()))
    assert "0 B/s" not in text and text.count("of unknown sizes") == 2
    sent = [p.rate_hz for node in suite.workloads[0].nodes for p in node.publishers]
    assert sent == pytest.approx([5, 5], rel=0.01)
    assert suite.outcomes.topics["scan"]["response_latency_p90_ms"] == pytest.approx(200, rel=0.01)
