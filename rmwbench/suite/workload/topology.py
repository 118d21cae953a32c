"""Nodes and topics as a graph: the endpoints of each node, its process, its host and its life;
lifecycle nodes and the manager that brings them up; and the checks whether a graph can run.

Most workloads have one of a few shapes, for which there is a shorthand (`shapes.py`). It expands
into the same nodes that a file can also list, so all other modules know only nodes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from rmwbench.suite.fault import (
    Fault,
    ListOf,
    Strict,
    check_distinct,
    elsewhere,
    in_range,
    not_one_of,
)
from rmwbench.suite.name_rules import NodeName, TopicName
from rmwbench.suite.timeline import Span
from rmwbench.suite.workload.arrival import Arrival, RateHz, Relay
from rmwbench.suite.workload.camera import Source
from rmwbench.suite.workload.message_type import message_type, service_type
from rmwbench.suite.workload.qos import Qos
from rmwbench.words.numbered_names import common_names

SERVICE_TIMEOUT_S = 5.0
"""The default of Nav2's parameter `service_timeout`."""

Timeout = Annotated[float, in_range("a time-out is between a millisecond and an hour", 0.001, 3600)]


class Lifecycle(Strict):
    """The duration of the node's own callbacks, such as a driver's that waits for its device. A
    callback that takes longer than the manager waits stands for a node that hangs."""

    configure_s: Span = 0.0
    activate_s: Span = 0.0


class Manages(Strict):
    """The manager brings up all lifecycle nodes of the workload, in their order. It waits for
    `service_timeout_s` for a node's service, and for each answer."""

    service_timeout_s: Timeout = SERVICE_TIMEOUT_S


class BringUp(Lifecycle):
    """The nodes node_1 … node_N and their manager, each in a process of its own. All start as with
    a launch file: their sessions are opened and their nodes created at once, at the beginning of
    the steady state, and the manager begins when it is ready."""

    nodes: int = Field(ge=1, le=1000)
    service_timeout_s: Timeout = SERVICE_TIMEOUT_S


Touch = Literal["none", "header", "all"]
Placement = Literal["per_node", "one"]

SUCCESSOR = " again"
"""The end of the name of the process that replaces a killed one. No name of a suite has a space."""

LOCAL_HOST = "local"
"""The default host: namespaces on this machine."""


MessageName = Annotated[str, AfterValidator(lambda name: message_type(name).name)]
CallName = Annotated[str, AfterValidator(lambda name: service_type(name, "request").name)]

QOS_KEY_PLACES = elsewhere("`qos: {KEY: …}`", Qos.model_fields)


class Publisher(Strict):
    """A publisher; an absent value is the workload's."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = QOS_KEY_PLACES

    topic: TopicName
    message: MessageName | None = None
    rate_hz: RateHz | None = None
    arrival: Arrival | None = None
    qos: Qos | None = None
    touch: Touch | None = None
    frames: Source | None = None


MOST_HOLD_MS = 10_000.0


class Subscription(Strict):
    """A subscription with the message type of its topic. The consumer keeps each message for
    `hold_ms`, also its memory where that is the middleware's, before it gives it back."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = QOS_KEY_PLACES

    topic: TopicName
    qos: Qos | None = None
    touch: Touch | None = None
    hold_ms: float = Field(default=0.0, ge=0.0, le=MOST_HOLD_MS)


class Service(Strict):
    """A service that answers each request within its callback; an absent value is the
    workload's."""

    service: TopicName
    request: CallName | None = None
    reply: CallName | None = None
    qos: Qos | None = None
    touch: Touch | None = None


class Client(Strict):
    """A client that sends requests by its arrival, whether earlier ones are answered or not. Their
    types are the service's."""

    service: TopicName
    rate_hz: RateHz | None = None
    arrival: Arrival | None = None
    qos: Qos | None = None
    touch: Touch | None = None

    @model_validator(mode="after")
    def _no_relay(self) -> "Client":
        if isinstance(self.arrival, Relay):
            raise Fault(
                "a client does not relay",
                expected="any kind of arrival but relay",
                actual="relay",
                at=("arrival", "kind"),
            )
        return self


@dataclass(frozen=True)
class NodeLife:
    """The life of a node, in seconds from the start of the steady state. `begin_s` None: it begins
    with the trial, and the barrier waits for it. `end_s` None: it ends with the trial. `killed`:
    the life ends with a kill of the process."""

    begin_s: float | None = None
    end_s: float | None = None
    killed: bool = False

    @property
    def whole(self) -> bool:
        return self.begin_s is None and self.end_s is None

    @property
    def _begin(self) -> float:
        return -math.inf if self.begin_s is None else self.begin_s

    @property
    def _end(self) -> float:
        return math.inf if self.end_s is None else self.end_s

    def meets(self, other: "NodeLife") -> bool:
        """Whether the two lives overlap."""
        return self._begin < other._end and other._begin < self._end

    def includes_begin_of(self, other: "NodeLife") -> bool:
        """Whether the other life begins with or within this one."""
        return self._begin <= other._begin < self._end


class Node(Strict):
    """A ROS node. By default it has a process of its own; nodes with the same `process` share it
    (the intra-process case).

    `joins_s`, `leaves_s`, `killed_s` and `restarts_s` count from the start of the steady state: a
    late joiner is created then and the barrier does not wait for it, a leaver is destroyed, and a
    node that restarts comes back under the same name. With `killed_s` the node's whole process gets
    SIGKILL, and a restart is a new process.

    `lifecycle` makes it a lifecycle node, `manages` the manager of all of these.
    """

    name: NodeName
    process: NodeName | None = None
    host: NodeName = LOCAL_HOST
    joins_s: Span | None = None
    leaves_s: Span | None = None
    killed_s: Span | None = None
    restarts_s: Span | None = None
    publishers: ListOf[Publisher] = ()
    subscriptions: ListOf[Subscription] = ()
    services: ListOf[Service] = ()
    clients: ListOf[Client] = ()
    lifecycle: Lifecycle | None = None
    manages: Manages | None = None

    @model_validator(mode="after")
    def _in_order(self) -> "Node":
        joins_s = 0.0 if self.joins_s is None else self.joins_s
        if self.leaves_s is not None and self.killed_s is not None:
            raise Fault(
                f"node `{self.name}` has two ends",
                expected="`leaves_s`, in order, or `killed_s`",
                actual="both",
                at=("killed_s",),
            )
        for key, ending in (("leaves_s", "leaves"), ("killed_s", "is killed")):
            at_s = getattr(self, key)
            if at_s is not None and at_s <= joins_s:
                raise Fault(
                    f"node `{self.name}` {ending} before it joins",
                    expected=f"{key} after {joins_s:g}",
                    actual=f"{at_s:g}",
                    at=(key,),
                )
        if self.restarts_s is not None and (self.ends_s is None or self.restarts_s <= self.ends_s):
            key = "leaves_s" if self.killed_s is None else "killed_s"
            raise Fault(
                f"node `{self.name}` restarts before it leaves",
                expected="`leaves_s` or `killed_s`, and restarts_s after it",
                actual=f"{key} {'absent' if self.ends_s is None else f'{self.ends_s:g}'}, "
                f"restarts_s {self.restarts_s:g}",
                at=("restarts_s",),
            )
        return self

    @property
    def ends_s(self) -> float | None:
        """The end of its first life."""
        return self.leaves_s if self.killed_s is None else self.killed_s

    @property
    def process_name(self) -> str:
        return self.process or self.name

    def process_of(self, life: NodeLife) -> str:
        """The process of a life; after a kill it is another one."""
        again = (
            self.killed_s is not None
            and life.begin_s is not None
            and life.begin_s == self.restarts_s
        )
        return self.process_name + SUCCESSOR if again else self.process_name

    @property
    def lives(self) -> tuple[NodeLife, ...]:
        """The lives: two of a node that restarts, else one."""
        first = NodeLife(self.joins_s, self.ends_s, self.killed_s is not None)
        return (first,) if self.restarts_s is None else (first, NodeLife(self.restarts_s))

    def on(self, host: str) -> "Node":
        return self if host == self.host else self.model_copy(update={"host": host})

    @property
    def topics(self) -> tuple[str, ...]:
        """The topic or service of each of its endpoints."""
        return (
            *(publisher.topic for publisher in self.publishers),
            *(subscription.topic for subscription in self.subscriptions),
            *(service.service for service in self.services),
            *(client.service for client in self.clients),
        )

    @property
    def is_empty(self) -> bool:
        return not (self.publishers or self.subscriptions or self.services or self.clients)


def topics_and_readers(nodes: Sequence[Node]) -> list[str]:
    """The names of topics and services, then of nodes with subscriptions, each once."""
    topics = [topic for node in nodes for topic in node.topics]
    return [*dict.fromkeys([*topics, *(node.name for node in nodes if node.subscriptions)])]


def limited_names(nodes: Sequence[Node], focus: Sequence[str]) -> list[str]:
    """The names under which topics and readers may have limits of their own, of those in `focus` or,
    without one, of all: the topic, the node of a reader, both as `image → control`, and `scan_*` for
    names that differ by a number alone."""
    topics = dict.fromkeys(topic for node in nodes for topic in node.topics)
    reads = [(s.topic, node.name) for node in nodes for s in node.subscriptions]
    if focus:
        read = {topic for topic, name in reads if name in focus}
        topics = dict.fromkeys(topic for topic in topics if topic in focus or topic in read)
        reads = [(topic, name) for topic, name in reads if topic in focus or name in focus]
    readers_of: dict[str, list[str]] = {}
    for topic, name in reads:
        readers_of.setdefault(topic, []).append(name)
    readers = dict.fromkeys(name for _, name in reads)
    pairs = [
        f"{topic} → {name}"
        for topic, names in readers_of.items()
        for name in (*names, *common_names(names))
    ]
    return [*topics, *common_names(topics), *readers, *common_names(readers), *pairs]


def check_graph(nodes: Sequence[Node]) -> None:
    """Raises Fault, counted from the list of nodes, for a graph that cannot run: repeated names,
    topics without a publisher, relays in a circle. A node without endpoints is allowed: it costs
    processor time and memory, too."""
    if not nodes:
        raise Fault("a workload needs nodes", expected="at least one", actual="an empty list")
    check_distinct("nodes", (node.name for node in nodes))
    _check_hosts(nodes)
    published = {publisher.topic for node in nodes for publisher in node.publishers}
    served = {service.service for node in nodes for service in node.services}
    for index, node in enumerate(nodes):
        for position, subscription in enumerate(node.subscriptions):
            if subscription.topic not in published:
                raise not_one_of(
                    f"no node publishes topic `{subscription.topic}`",
                    subscription.topic,
                    sorted(published) or ["(no topic is published)"],
                    at=(index, "subscriptions", position, "topic"),
                )
        for position, client in enumerate(node.clients):
            if client.service not in served:
                raise not_one_of(
                    f"no node serves `{client.service}`",
                    client.service,
                    sorted(served) or ["(there is no service)"],
                    at=(index, "clients", position, "service"),
                )
        for position, publisher in enumerate(node.publishers):
            subscribed = {subscription.topic for subscription in node.subscriptions}
            if isinstance(publisher.arrival, Relay) and publisher.arrival.source not in subscribed:
                raise not_one_of(
                    f"node `{node.name}` relays topic `{publisher.arrival.source}`, to which it "
                    "does not subscribe",
                    publisher.arrival.source,
                    sorted(subscribed) or ["(it has no subscription)"],
                    at=(index, "publishers", position, "arrival", "from"),
                )
    _check_killed_together(nodes)
    _check_no_circle(nodes)


def _check_killed_together(nodes: Sequence[Node]) -> None:
    """Checks that nodes of one process are killed together: SIGKILL ends the whole process."""
    first_nodes: dict[str, Node] = {}
    for index, node in enumerate(nodes):
        first_node = first_nodes.setdefault(node.process_name, node)
        if node.killed_s != first_node.killed_s:
            expected, actual = (
                "absent" if pair_node.killed_s is None else f"{pair_node.killed_s:g}"
                for pair_node in (first_node, node)
            )
            raise Fault(
                f"process `{node.process_name}` is killed as a whole, with all of its nodes",
                expected=f"killed_s {expected}, as node `{first_node.name}` says",
                actual=actual,
                fix="the same `killed_s` at all nodes of the process, or another process",
                at=(index, "killed_s") if node.killed_s is not None else (index, "name"),
            )


def _check_hosts(nodes: Sequence[Node]) -> None:
    host_of: dict[str, str] = {}
    for index, node in enumerate(nodes):
        if host_of.setdefault(node.process_name, node.host) != node.host:
            raise Fault(
                f"process `{node.process_name}` is on two hosts",
                expected=f"host `{host_of[node.process_name]}`, as its first node says",
                actual=node.host,
                at=(index, "host") if "host" in node.model_fields_set else (index, "name"),
            )


def _check_no_circle(nodes: Sequence[Node]) -> None:
    relays = [
        (publisher.arrival.source, publisher.topic, (index, "publishers", position))
        for index, node in enumerate(nodes)
        for position, publisher in enumerate(node.publishers)
        if isinstance(publisher.arrival, Relay)
    ]
    topics = TopologicalSorter[str]()
    for source, topic, _ in relays:
        topics.add(topic, source)
    try:
        topics.prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        hops = set(pairwise(circle))
        topic, at = next((topic, at) for source, topic, at in relays if (source, topic) in hops)
        raise Fault(
            f"relays go in a circle through topic `{topic}`",
            expected="a chain with an end",
            actual=" → ".join(f"`{name}`" for name in circle),
            at=(*at, "arrival", "from"),
        ) from None
