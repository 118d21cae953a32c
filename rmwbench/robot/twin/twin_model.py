"""A twin: nodes with the sizes, rates and readers of their messages. It is made of the traffic of a
bag and of a graph, where there is one; all other properties are assumed. Topics that are sent in
the same instant, such as an image and its camera_info, keep their phases, since these determine
the lengths of queues.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rmwbench.errors import UserError
from rmwbench.robot.twin.graph import GraphEndpoint, GraphNode
from rmwbench.robot.twin.qos_offer import BEST_EFFORT, KEEP_ALL, RELIABLE, TRANSIENT_LOCAL, QosOffer
from rmwbench.robot.twin.traffic import BagTraffic, TopicTraffic
from rmwbench.suite.fault import Fault
from rmwbench.suite.timeline import DRAIN_MOST_S
from rmwbench.suite.workload.arrival import MAX_RATE_HZ
from rmwbench.suite.workload.message_type import (
    HEADER_BYTES,
    MessageType,
    message_type,
    message_type_names,
)
from rmwbench.suite.workload.qos import DEFAULT_DEPTH, Qos, incompatibility

LEFT_OUT_TYPES = ("rcl_interfaces/msg/Log", "rcl_interfaces/msg/ParameterEvent")
LEFT_OUT_PACKAGES = ("rosbag2_interfaces",)
"""Types of messages that every node of ROS 2, or rosbag2, sends by itself, also the nodes of a
twin."""
MOST_BYTES_SHARE = 0.98
"""The topics with most of the bytes, up to this share, have nodes of their own."""
OTHERS = "others"
NAME_LENGTH = 80
"""The most characters of a name in a bag that are in the name of a node, which takes 100."""
UNSIZED_BYTES = 1024
"""The assumed size of a message with metadata alone."""
SAME_PERIOD = 0.01
SAME_INSTANT, STEADY = 0.1, 0.1
"""The largest distance between two topics of the same instant, and its largest scatter (from the
5th to the 95th percentile), as shares of the period."""
FEWEST_TIMES = 16


@dataclass(frozen=True, kw_only=True)
class TwinTopic:
    """A topic of the suite. `rate_hz` is the rate of all its publishers together, `qos` that of each.
    `together` is the largest topic that is sent in the same instant, which may be itself, and has
    the same rate; `phase_ns` is its phase, None for a drawn one. `heavy`: it is among the topics
    with most of the bytes."""

    name: str
    traffic: TopicTraffic
    message: MessageType
    rate_hz: float
    qos: Qos
    together: str
    phase_ns: int | None
    heavy: bool


@dataclass(frozen=True)
class TwinReader:
    topic: str
    qos: Qos


@dataclass(frozen=True, kw_only=True)
class TwinNode:
    """`publishes` has the topic of each of its publishers. `assumed`: the node is not in a
    graph."""

    name: str
    publishes: tuple[str, ...] = ()
    reads: tuple[TwinReader, ...] = ()
    assumed: bool = True


@dataclass(frozen=True, kw_only=True)
class Twin:
    """`topics` are in order, those with the most bytes first. `notes` are sentences for its
    user."""

    topics: tuple[TwinTopic, ...]
    nodes: tuple[TwinNode, ...]
    traffic: BagTraffic
    notes: tuple[str, ...]

    @property
    def topics_read(self) -> tuple[TwinTopic, ...]:
        """The topics with a reader."""
        names = {reader.topic for node in self.nodes for reader in node.reads}
        return tuple(topic for topic in self.topics if topic.name in names)

    @property
    def read_traffic(self) -> BagTraffic:
        """The traffic of the topics with a reader."""
        names = {topic.traffic.name for topic in self.topics_read}
        topics = tuple(topic for topic in self.traffic.topics if topic.name in names)
        return replace(self.traffic, topics=topics)

    def topic(self, name: str) -> TwinTopic:
        return next(topic for topic in self.topics if topic.name == name)


def make_twin(traffic: BagTraffic, graph: Sequence[GraphNode]) -> Twin:
    """The twin of a bag's traffic and a graph, which may be empty. Raises UserError where a twin
    would send nothing."""
    sent = [topic for topic in traffic.topics if not _is_left_out(topic.type)]
    if not sent:
        raise UserError(
            "this bag has no topic of a robot",
            expected="a topic besides /rosout, /parameter_events and those of rosbag2",
            actual=", ".join(topic.name for topic in traffic.topics),
        )
    _check_times(sent)
    topics = _topics([_offered_in_graph(topic, graph) for topic in sent])
    by_name = {topic.traffic.name: topic for topic in topics}
    nodes, notes = _graph_nodes(graph, by_name) if graph else (_assumed_nodes(topics), [])
    left_out = [topic.name for topic in traffic.topics if _is_left_out(topic.type)]
    if left_out:
        notes.append(f"Left out, since every node has its own: {', '.join(sorted(left_out))}.")
    return Twin(topics=topics, nodes=tuple(nodes), traffic=traffic, notes=tuple(notes))


def _check_times(sent: Iterable[TopicTraffic]) -> None:
    for topic in sent:
        if topic.arrivals.kind != "once" and topic.arrivals.rate_hz > MAX_RATE_HZ:
            raise UserError(
                f"the messages of {topic.name} are too close for a suite",
                expected=f"at most {MAX_RATE_HZ} Hz",
                actual=f"{topic.arrivals.rate_hz:.3g} Hz",
            )


def _offered_in_graph(topic: TopicTraffic, graph: Iterable[GraphNode]) -> TopicTraffic:
    """The topic with the offers of the graph's publishers, which have a depth if the middleware
    reports it."""
    offers = tuple(
        publisher.qos
        for node in graph
        for publisher in node.publishers
        if publisher.topic == topic.name and not node.is_tool
    )
    return replace(topic, offers=offers) if offers else topic


def _is_left_out(ros_type: str) -> bool:
    return ros_type in LEFT_OUT_TYPES or ros_type.startswith(LEFT_OUT_PACKAGES)


def _topics(sent: Sequence[TopicTraffic]) -> tuple[TwinTopic, ...]:
    ordered = sorted(sent, key=lambda topic: (-topic.bytes_per_s, topic.name))
    total = sum(topic.bytes_per_s for topic in ordered)
    heavy: set[str] = set()
    carried = 0.0
    for topic in ordered:
        if carried < MOST_BYTES_SHARE * total:
            heavy.add(topic.name)
        carried += topic.bytes_per_s
    names = _suite_names(topic.name for topic in ordered)
    phases = {topic.name: _Phase(topic.name, None) for topic in ordered} | _phases(ordered)
    rates_hz = {topic.name: topic.arrivals.rate_hz for topic in ordered}
    return tuple(
        TwinTopic(
            name=names[topic.name],
            traffic=topic,
            message=message_for(topic.type, topic.sizes.mean if topic.sizes else UNSIZED_BYTES),
            rate_hz=rates_hz[phases[topic.name].leader],
            qos=_offered_qos(topic),
            together=names[phases[topic.name].leader],
            phase_ns=phases[topic.name].ns,
            heavy=topic.name in heavy,
        )
        for topic in ordered
    )


def _suite_names(names: Iterable[str]) -> dict[str, str]:
    """Name in ROS -> name in a suite, without a leading slash."""
    suite_names: dict[str, str] = {}
    for name in names:
        plain = "/".join(_identifier(part) for part in name.split("/") if part) or "topic"
        suite_names[name] = _free(plain, suite_names.values())
    return suite_names


def _identifier(text: str) -> str:
    """The text with letters, digits and underscores alone, which is a text in YAML as well."""
    plain = re.sub(r"\W", "_", text, flags=re.ASCII)
    is_text = plain and not plain[0].isdigit() and plain.lower() not in ("null", "true", "false")
    return plain if is_text else f"_{plain}"


@dataclass(frozen=True)
class _Phase:
    leader: str
    ns: int | None


def _phases(topics: Sequence[TopicTraffic]) -> dict[str, _Phase]:
    """Topic that is sent together with others -> its phase in the bag, where periods begin with the
    first message of all topics."""
    periodic = [
        topic for topic in topics if topic.arrivals.kind == "periodic" and topic.publishers == 1
    ]
    begin = min((int(topic.times_ns[0]) for topic in periodic if len(topic.times_ns)), default=0)
    phases: dict[str, _Phase] = {}
    for group in _groups(periodic):
        if len(group) == 1:
            continue
        first, first_ns = min(group, key=lambda member: member[1])
        base = (int(first.times_ns[0]) - begin) % round(first.arrivals.period_ns or 1)
        leader, _ = group[0]
        phases |= {
            topic.name: _Phase(leader.name, base + after_ns - first_ns) for topic, after_ns in group
        }
    return phases


def _groups(topics: Sequence[TopicTraffic]) -> list[list[tuple[TopicTraffic, int]]]:
    """The groups of topics that are sent in the same instant, each topic with its delay in ns after
    the first one of the list; most topics are alone."""
    groups: list[list[tuple[TopicTraffic, int]]] = []
    for topic in topics:
        for group in groups:
            leader, _ = group[0]
            if (after_ns := distance_ns(leader, topic)) is not None:
                group.append((topic, after_ns))
                break
        else:
            groups.append([(topic, 0)])
    return groups


def distance_ns(first: TopicTraffic, second: TopicTraffic) -> int | None:
    """The median delay of `second` after `first`, within half a period; None if it is not steady,
    or too long for the same instant. Topics with different stamps are not compared, since the
    clocks differ."""
    period_ns, second_period_ns = first.arrivals.period_ns, second.arrivals.period_ns
    if period_ns is None or second_period_ns is None or first.stamp != second.stamp:
        return None
    if min(len(first.times_ns), len(second.times_ns)) < FEWEST_TIMES:
        return None
    if abs(second_period_ns / period_ns - 1) > SAME_PERIOD:
        return None
    distances_ns = _distances(first.times_ns, second.times_ns)
    distances_ns = distances_ns[np.abs(distances_ns) < period_ns / 2]
    if len(distances_ns) < FEWEST_TIMES:
        return None
    low, middle, high = np.quantile(distances_ns, (0.05, 0.5, 0.95))
    if high - low > STEADY * period_ns or abs(middle) > SAME_INSTANT * period_ns:
        return None
    return int(middle)


def _distances(first_ns: np.ndarray, second_ns: np.ndarray) -> np.ndarray:
    """The distances in ns from the nearest time of the first topic to each of the second, while
    both were sent."""
    second_ns = second_ns[(second_ns >= first_ns[0]) & (second_ns <= first_ns[-1])]
    right = np.clip(np.searchsorted(first_ns, second_ns), 1, len(first_ns) - 1)
    left = right - 1
    is_left = second_ns - first_ns[left] <= first_ns[right] - second_ns
    distances: np.ndarray = second_ns - first_ns[np.where(is_left, left, right)]
    return distances


def _offered_qos(topic: TopicTraffic) -> Qos:
    """The strictest QoS that all publishers of the topic offer, with defaults for unknown
    values."""
    offers = topic.offers or (QosOffer(),)
    reliable = all(offer.reliability != BEST_EFFORT for offer in offers)
    durable = all(offer.durability == TRANSIENT_LOCAL for offer in offers)
    if any(offer.history == KEEP_ALL for offer in offers):
        history, depth = KEEP_ALL, None
    else:
        depths = [offer.depth for offer in offers if offer.depth is not None]
        # The bag has whole bursts, so the history kept at least one.
        assumed = max(DEFAULT_DEPTH, round(topic.arrivals.per_burst))
        history, depth = (
            "keep_last",
            _drainable_depth(max(depths, default=assumed), topic, reliable),
        )
    return Qos.model_validate(
        {
            "reliability": RELIABLE if reliable else BEST_EFFORT,
            "durability": TRANSIENT_LOCAL if durable else "volatile",
            "history": history,
            "depth": depth,
        }
    )


def _drainable_depth(depth: int, topic: TopicTraffic, reliable: bool) -> int:
    """The depth, limited to the messages of a periodic, reliable publisher within a trial's drain,
    since a suite with more is refused."""
    if not reliable or topic.arrivals.kind not in ("periodic", "mixed"):
        return depth
    own_hz = topic.arrivals.rate_hz / topic.publishers
    return min(depth, math.floor(DRAIN_MOST_S * own_hz) + 1)


def _assumed_nodes(topics: Sequence[TwinTopic]) -> list[TwinNode]:
    """A node for each namespace with heavy topics, one for all other topics, and a reader for each
    of these nodes. Topics that are sent together are on one node."""
    heavy = {topic.name for topic in topics if topic.heavy}
    namespace = _namespaces([topic.name for topic in topics])
    topics_of_owner: dict[str, list[TwinTopic]] = {}
    for topic in topics:
        owner = namespace[topic.together][:NAME_LENGTH] if topic.together in heavy else OTHERS
        topics_of_owner.setdefault(owner, []).append(topic)
    nodes = []
    for owner, owned in topics_of_owner.items():
        publishes = tuple(topic.name for topic in owned for _ in range(topic.traffic.publishers))
        reads = tuple(TwinReader(topic.name, topic.qos) for topic in owned)
        nodes.append(TwinNode(name=owner, publishes=publishes))
        nodes.append(TwinNode(name=_free(f"{owner}_reader", topics_of_owner), reads=reads))
    return nodes


def _namespaces(names: Sequence[str]) -> dict[str, str]:
    """Topic -> the first part of its name that differs between topics."""
    parts = [name.split("/") for name in names]
    common = 0
    while all(len(part) > common + 1 and part[common] == parts[0][common] for part in parts):
        common += 1
    return {name: part[common] for name, part in zip(names, parts, strict=True)}


def _free(name: str, used_names: Iterable[str]) -> str:
    names = set(used_names)
    while name in names:
        name += "_"
    return name


def _graph_nodes(
    graph: Sequence[GraphNode], topics: Mapping[str, TwinTopic]
) -> tuple[list[TwinNode], list[str]]:
    """The nodes of the graph with topics of the bag, and notes about them. One assumed node has the
    topics without a publisher in the graph."""
    notes: list[str] = []
    nodes: list[TwinNode] = []
    for node in (node for node in graph if not node.is_tool):
        publishes = tuple(topics[e.topic].name for e in node.publishers if e.topic in topics)
        reads = []
        for subscription in node.subscriptions:
            if (topic := topics.get(subscription.topic)) is None:
                continue
            qos = _subscription_qos(subscription.qos, topic.qos)
            if why := incompatibility(topic.qos, qos):
                notes.append(f"{node.name} never matches {topic.name}: {why}")
            else:
                reads.append(TwinReader(topic.name, qos))
        if publishes or reads:
            plain = _identifier(node.name.strip("/"))[:NAME_LENGTH]
            name = _free(plain, (n.name for n in nodes))
            nodes.append(
                TwinNode(name=name, publishes=publishes, reads=tuple(reads), assumed=False)
            )
    published = {name for node in nodes for name in node.publishes}
    missing = [
        topic.name
        for topic in topics.values()
        if topic.name not in published
        for _ in range(topic.traffic.publishers)
    ]
    if missing:
        name = _free(OTHERS, (n.name for n in nodes))
        nodes.append(TwinNode(name=name, publishes=tuple(missing)))
    silent = len(graph) - sum(not node.assumed for node in nodes)
    if silent:
        notes.append(f"Nodes of the graph without a topic of the bag, or tools: {silent}.")
    return nodes, notes


def _subscription_qos(offer: QosOffer, offered: Qos) -> Qos:
    """The QoS that a subscription requests, with the publishers' values for unknown ones."""
    settings = {
        "reliability": offer.reliability or offered.reliability,
        "durability": offer.durability or offered.durability,
        "history": offer.history or offered.history,
    }
    depth = (
        None if settings["history"] == KEEP_ALL else offer.depth or offered.depth or DEFAULT_DEPTH
    )
    return Qos.model_validate(settings | {"depth": depth})


def anonymous(
    traffic: BagTraffic, graph: Sequence[GraphNode]
) -> tuple[BagTraffic, tuple[GraphNode, ...]]:
    """The traffic and the graph without the names of topics, nodes, and types of other packages
    than PUBLIC_PACKAGES."""
    ordered = sorted(traffic.topics, key=lambda topic: (-topic.bytes_per_s, topic.name))
    names = {topic.name: f"/topic_{number}" for number, topic in enumerate(ordered, start=1)}
    topics = tuple(
        replace(topic, name=names[topic.name], type=_public_type(topic.type)) for topic in ordered
    )
    nodes = tuple(
        GraphNode(
            name=node.name if node.is_tool else f"/node_{number}",
            publishers=_renamed_topics(node.publishers, names),
            subscriptions=_renamed_topics(node.subscriptions, names),
        )
        for number, node in enumerate(graph, start=1)
    )
    return replace(traffic, topics=topics, began_ns=0), nodes


def _renamed_topics(
    endpoints: Iterable[GraphEndpoint], names: Mapping[str, str]
) -> tuple[GraphEndpoint, ...]:
    """The endpoints of the topics in `names`, with the new names."""
    return tuple(replace(e, topic=names[e.topic]) for e in endpoints if e.topic in names)


PUBLIC_PACKAGES = (
    *("std_msgs", "sensor_msgs", "geometry_msgs", "nav_msgs", "tf2_msgs", "diagnostic_msgs"),
    *("visualization_msgs", "trajectory_msgs", "shape_msgs", "stereo_msgs", "action_msgs"),
    *("rcl_interfaces", "rosgraph_msgs", "rosbag2_interfaces", "builtin_interfaces"),
)


def _public_type(ros_type: str) -> str:
    return ros_type if ros_type.partition("/")[0] in PUBLIC_PACKAGES else "custom"


NEAR, NEAR_BYTES = 0.02, 32
"""The largest difference between the sizes of a type and the recorded message: a share, or a number
of bytes, for the name of a frame."""

_ARRAYS = {
    "sensor_msgs/msg/LaserScan": ("LaserScan({n})", 4),
    "sensor_msgs/msg/PointCloud2": ("PointCloud2({n})", 16),
    "nav_msgs/msg/OccupancyGrid": ("OccupancyGrid({n}x1)", 1),
    "sensor_msgs/msg/Image": ("Image({n}x1)", 3),
}
"""ROS type -> the suite's type of `n` elements, and the bytes of one."""
_IMAGES = (
    *((160, 120), (320, 240), (424, 240), (640, 360), (640, 480), (672, 376), (800, 600)),
    *((848, 480), (960, 540), (1024, 768), (1280, 720), (1280, 800), (1280, 960), (1280, 1024)),
    *((1600, 1200), (1920, 1080), (1920, 1200), (2048, 1536), (2448, 2048), (3840, 2160)),
)
"""Usual sizes of images: a bag has the number of pixels, and not width and height."""
SMALLEST = message_type(f"Bytes({HEADER_BYTES})")


def message_for(ros_type: str, size_bytes: float) -> MessageType:
    """The message type of a suite for a recorded message of `size_bytes`, serialised, at least of
    the size of `SMALLEST`: the same ROS type if the suite has it in this size, else bytes."""
    candidates = [
        kind
        for name in _type_names(ros_type, size_bytes)
        if (kind := _type_or_none(name)) is not None
    ]
    if candidates:
        best = min(candidates, key=lambda kind: abs(kind.cdr_bytes - size_bytes))
        if abs(best.cdr_bytes - size_bytes) <= max(NEAR * size_bytes, NEAR_BYTES):
            return best
    around = SMALLEST.cdr_bytes - HEADER_BYTES
    return message_type(f"Bytes({max(HEADER_BYTES, round(size_bytes) - around)})")


def _type_names(ros_type: str, size_bytes: float) -> list[str]:
    if ros_type == "tf2_msgs/msg/TFMessage":
        return [
            f"TFMessage({max(2, round(size_bytes / transform_bytes))})"
            for transform_bytes in (88, 96, 104)
        ]
    if ros_type not in _ARRAYS:
        return [name for name in message_type_names() if message_type(name).ros_type == ros_type]
    form, element_bytes = _ARRAYS[ros_type]
    fewest = math.ceil(HEADER_BYTES / element_bytes)
    empty = message_type(form.format(n=fewest)).cdr_bytes - fewest * element_bytes
    elements = max(fewest, round((size_bytes - empty) / element_bytes))
    if ros_type.endswith("/Image"):
        for width, height in _IMAGES:
            if abs(width * height - elements) * element_bytes <= NEAR_BYTES:
                return [f"Image({width}x{height})"]
    return [form.format(n=elements)]


def _type_or_none(name: str) -> MessageType | None:
    try:
        return message_type(name)
    except Fault:
        return None
