"""A twin: which node sends what, how large, how often, and who reads it. Made of the traffic of a
bag and, where there is one, of a graph; what neither knows is assumed."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rmwbench.errors import UserError
from rmwbench.robot.twin.graph import GraphNode
from rmwbench.robot.twin.message import message_for
from rmwbench.robot.twin.qos_offer import BEST_EFFORT, KEEP_ALL, RELIABLE, TRANSIENT_LOCAL, QosOffer
from rmwbench.robot.twin.topic_phase import groups
from rmwbench.robot.twin.traffic import BagTraffic, TopicTraffic
from rmwbench.suite.timeline import DRAIN_MOST_S
from rmwbench.suite.workload.arrival import MAX_RATE_HZ
from rmwbench.suite.workload.message_type import MessageType
from rmwbench.suite.workload.qos import DEFAULT_DEPTH, Qos, incompatibility

LEFT_OUT_TYPES = ("rcl_interfaces/msg/Log", "rcl_interfaces/msg/ParameterEvent")
LEFT_OUT_PACKAGES = ("rosbag2_interfaces",)
"""What every node of ROS 2 sends by itself, and rosbag2 about its own work: a twin has them by
having nodes."""
MOST_BYTES_SHARE = 0.98
"""Topics that carry this share of the bytes have nodes of their own."""
OTHERS = "others"
UNSIZED_BYTES = 1024
"""Of a message where only metadata were read."""


@dataclass(frozen=True, kw_only=True)
class TwinTopic:
    """`qos`: what its publishers offer. `together`: the largest topic of those that are sent in the
    same instant, itself where it is alone; `phase_ns`: when in its period, None where that is
    drawn. `heavy`: one of those that carry most bytes."""

    name: str
    traffic: TopicTraffic
    message: MessageType
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
    """`publishes`: names of topics, as often as it has a publisher of one. `assumed`: the graph
    does not know it."""

    name: str
    publishes: tuple[str, ...] = ()
    reads: tuple[TwinReader, ...] = ()
    assumed: bool = True


@dataclass(frozen=True, kw_only=True)
class Twin:
    """`topics` with the most bytes first. `notes`: what is to be known of it, in sentences."""

    topics: tuple[TwinTopic, ...]
    nodes: tuple[TwinNode, ...]
    traffic: BagTraffic
    notes: tuple[str, ...]

    @property
    def read(self) -> frozenset[str]:
        return frozenset(reader.topic for node in self.nodes for reader in node.reads)

    @property
    def read_traffic(self) -> BagTraffic:
        """Of the bag, what somebody reads here."""
        names = {topic.traffic.name for topic in self.topics if topic.name in self.read}
        kept = tuple(one for one in self.traffic.topics if one.name in names)
        return replace(self.traffic, topics=kept)

    def topic(self, name: str) -> TwinTopic:
        return next(topic for topic in self.topics if topic.name == name)


def make_twin(traffic: BagTraffic, graph: Sequence[GraphNode]) -> Twin:
    """Raises UserError where nothing of it can be sent."""
    sent = [one for one in traffic.topics if not _is_left_out(one.type)]
    if not sent:
        raise UserError(
            "nothing in this bag was sent by a robot",
            expected="a topic besides /rosout, /parameter_events and those of rosbag2",
            actual=", ".join(one.name for one in traffic.topics),
        )
    _check_times(sent)
    topics = _topics([_offered_in_graph(one, graph) for one in sent])
    by_name = {one.traffic.name: one for one in topics}
    nodes, notes = _graph_nodes(graph, by_name) if graph else (_assumed_nodes(topics), [])
    left = [one.name for one in traffic.topics if _is_left_out(one.type)]
    if left:
        notes.append(f"Left out, since every node has its own: {', '.join(sorted(left))}.")
    return Twin(topics=topics, nodes=tuple(nodes), traffic=traffic, notes=tuple(notes))


def _check_times(sent: Iterable[TopicTraffic]) -> None:
    for one in sent:
        if one.arrivals.rate_hz > MAX_RATE_HZ:
            raise UserError(
                f"the times of {one.name} are not those of messages",
                expected=f"at most {MAX_RATE_HZ} Hz",
                actual=f"{one.arrivals.rate_hz:.3g} Hz",
            )


def _offered_in_graph(topic: TopicTraffic, graph: Iterable[GraphNode]) -> TopicTraffic:
    """With what the graph's publishers offer, which has a depth where the middleware tells it."""
    offers = tuple(
        one.qos
        for node in graph
        for one in node.publishers
        if one.topic == topic.name and not node.is_tool
    )
    return replace(topic, offers=offers) if offers else topic


def _is_left_out(ros_type: str) -> bool:
    return ros_type in LEFT_OUT_TYPES or ros_type.startswith(LEFT_OUT_PACKAGES)


def _topics(sent: Sequence[TopicTraffic]) -> tuple[TwinTopic, ...]:
    ordered = sorted(sent, key=lambda one: (-one.bytes_per_s, one.name))
    total = sum(one.bytes_per_s for one in ordered)
    heavy: set[str] = set()
    carried = 0.0
    for one in ordered:
        if carried < MOST_BYTES_SHARE * total:
            heavy.add(one.name)
        carried += one.bytes_per_s
    names = _suite_names(one.name for one in ordered)
    phases = _phases(ordered)
    leaders = {name: names[phase.leader] for name, phase in phases.items()}
    return tuple(
        TwinTopic(
            name=names[one.name],
            traffic=one,
            message=message_for(one.type, one.sizes.mean if one.sizes else UNSIZED_BYTES),
            qos=_offered(one),
            together=leaders.get(one.name, names[one.name]),
            phase_ns=phases[one.name].ns if one.name in phases else None,
            heavy=one.name in heavy,
        )
        for one in ordered
    )


def _suite_names(names: Iterable[str]) -> dict[str, str]:
    """Name in ROS -> in a suite, which has no leading slash."""
    found: dict[str, str] = {}
    for name in names:
        parts = [re.sub(r"\W", "_", part, flags=re.ASCII) for part in name.split("/") if part]
        plain = "/".join(f"_{part}" if part[0].isdigit() else part for part in parts) or "topic"
        while plain in found.values():
            plain += "_"
        found[name] = plain
    return found


@dataclass(frozen=True)
class _Phase:
    leader: str
    ns: int


def _phases(topics: Sequence[TopicTraffic]) -> dict[str, _Phase]:
    """Of topics that are sent together with others, as in the bag: from the period's begin, which
    is counted from the first message of all."""
    periodic = [one for one in topics if one.arrivals.kind == "periodic" and one.publishers == 1]
    begin = min((int(one.times_ns[0]) for one in periodic if len(one.times_ns)), default=0)
    found: dict[str, _Phase] = {}
    for group in groups(periodic):
        if len(group) == 1:
            continue
        first = next(phase.topic for phase in group if phase.after_ns == 0)
        base = (int(first.times_ns[0]) - begin) % round(first.arrivals.period_ns or 1)
        leader = group[0].topic.name
        found |= {one.topic.name: _Phase(leader, base + one.after_ns) for one in group}
    return found


def _offered(topic: TopicTraffic) -> Qos:
    """The strictest that all its publishers offer, with what is not known assumed."""
    offers = topic.offers or (QosOffer(),)
    reliable = all(one.reliability != BEST_EFFORT for one in offers)
    durable = all(one.durability == TRANSIENT_LOCAL for one in offers)
    if any(one.history == KEEP_ALL for one in offers):
        history, depth = KEEP_ALL, None
    else:
        known = [one.depth for one in offers if one.depth is not None]
        history, depth = "keep_last", _drained(max(known, default=DEFAULT_DEPTH), topic, reliable)
    return Qos.model_validate(
        {
            "reliability": RELIABLE if reliable else BEST_EFFORT,
            "durability": TRANSIENT_LOCAL if durable else "volatile",
            "history": history,
            "depth": depth,
        }
    )


def _drained(depth: int, topic: TopicTraffic, reliable: bool) -> int:
    """No more than a trial's drain holds of a reliable history."""
    if not reliable or topic.arrivals.period_ns is None:
        return depth
    return min(depth, math.floor(DRAIN_MOST_S * 1e9 / topic.arrivals.period_ns) + 1)


def _assumed_nodes(topics: Sequence[TwinTopic]) -> list[TwinNode]:
    """A node for each namespace that carries much, one for all others, and for each of them one
    that reads it. Topics that are sent together are of one node."""
    heavy = {one.name for one in topics if one.heavy}
    namespace = _namespaces([one.name for one in topics])
    found: dict[str, list[TwinTopic]] = {}
    for one in topics:
        owner = namespace[one.together] if one.together in heavy else OTHERS
        found.setdefault(owner, []).append(one)
    nodes = []
    for owner, held in found.items():
        publishes = tuple(one.name for one in held for _ in range(one.traffic.publishers))
        reads = tuple(TwinReader(one.name, one.qos) for one in held)
        nodes.append(TwinNode(name=owner, publishes=publishes))
        nodes.append(TwinNode(name=_free(f"{owner}_reader", found), reads=reads))
    return nodes


def _namespaces(names: Sequence[str]) -> dict[str, str]:
    """Topic -> the first part of its name that not all topics have."""
    parts = [name.split("/") for name in names]
    common = 0
    while all(len(one) > common + 1 and one[common] == parts[0][common] for one in parts):
        common += 1
    return {name: one[common] for name, one in zip(names, parts, strict=True)}


def _free(name: str, taken: Iterable[str]) -> str:
    held = set(taken)
    while name in held:
        name += "_"
    return name


def _graph_nodes(
    graph: Sequence[GraphNode], topics: Mapping[str, TwinTopic]
) -> tuple[list[TwinNode], list[str]]:
    """Nodes of the graph with the topics of the bag; what the graph does not publish is of one
    assumed node."""
    notes: list[str] = []
    nodes: list[TwinNode] = []
    there = [node for node in graph if not node.is_tool]
    for node in there:
        publishes = [topics[one.topic].name for one in node.publishers if one.topic in topics]
        reads = [
            TwinReader(topics[one.topic].name, _asked(one.qos, topics[one.topic].qos))
            for one in node.subscriptions
            if one.topic in topics
        ]
        unmatched = [one for one in reads if _never_matches(one, topics.values())]
        notes += [
            f"{node.name} never matches {one.topic}: {_never_matches(one, topics.values())}"
            for one in unmatched
        ]
        kept = tuple(one for one in reads if one not in unmatched)
        if publishes or kept:
            name = _free(_node_name(node.name), (one.name for one in nodes))
            nodes.append(TwinNode(name=name, publishes=tuple(publishes), reads=kept, assumed=False))
    published = {name for node in nodes for name in node.publishes}
    missing = [
        one.name
        for one in topics.values()
        if one.name not in published
        for _ in range(one.traffic.publishers)
    ]
    if missing:
        name = _free(OTHERS, (one.name for one in nodes))
        nodes.append(TwinNode(name=name, publishes=tuple(missing)))
    silent = len(graph) - sum(not node.assumed for node in nodes)
    if silent:
        notes.append(f"Nodes of the graph without a topic of the bag, or tools: {silent}.")
    return nodes, notes


def _asked(asked: QosOffer, offered: Qos) -> Qos:
    """What a subscription asks for; what is not known is as offered."""
    said = {
        "reliability": asked.reliability or offered.reliability,
        "durability": asked.durability or offered.durability,
        "history": asked.history or offered.history,
    }
    kept = None if said["history"] == KEEP_ALL else asked.depth or offered.depth or DEFAULT_DEPTH
    return Qos.model_validate(said | {"depth": kept})


def _never_matches(reader: TwinReader, topics: Iterable[TwinTopic]) -> str | None:
    offered = next(one.qos for one in topics if one.name == reader.topic)
    return incompatibility(offered, reader.qos)


def _node_name(name: str) -> str:
    plain = re.sub(r"\W", "_", name.strip("/"), flags=re.ASCII)
    return f"_{plain}" if not plain or plain[0].isdigit() else plain


def anonymous(
    traffic: BagTraffic, graph: Sequence[GraphNode]
) -> tuple[BagTraffic, tuple[GraphNode, ...]]:
    """Without the names of topics and nodes, and of types that are not of a package that everybody
    has."""
    ordered = sorted(traffic.topics, key=lambda one: (-one.bytes_per_s, one.name))
    names = {one.name: f"/topic_{number}" for number, one in enumerate(ordered, start=1)}
    topics = tuple(
        replace(one, name=names[one.name], type=_public_type(one.type)) for one in ordered
    )
    nodes = tuple(
        GraphNode(
            name=node.name if node.is_tool else f"/node_{number}",
            publishers=tuple(
                replace(one, topic=names[one.topic])
                for one in node.publishers
                if one.topic in names
            ),
            subscriptions=tuple(
                replace(one, topic=names[one.topic])
                for one in node.subscriptions
                if one.topic in names
            ),
        )
        for number, node in enumerate(graph, start=1)
    )
    return replace(traffic, topics=topics, began_ns=0), nodes


PUBLIC_PACKAGES = (
    *("std_msgs", "sensor_msgs", "geometry_msgs", "nav_msgs", "tf2_msgs", "diagnostic_msgs"),
    *("visualization_msgs", "trajectory_msgs", "shape_msgs", "stereo_msgs", "action_msgs"),
    *("rcl_interfaces", "rosgraph_msgs", "rosbag2_interfaces", "builtin_interfaces"),
)


def _public_type(ros_type: str) -> str:
    return ros_type if ros_type.partition("/")[0] in PUBLIC_PACKAGES else "custom"
