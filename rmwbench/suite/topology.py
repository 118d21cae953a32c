"""Nodes and topics as a graph: who publishes and subscribes what, in which process, on which host.

Most workloads are one of two shapes, so those have a shorthand: a talker with n listeners, and a chain of relays in
between. Both expand into the same nodes that a file can also spell out, and everything behind this module knows only
nodes. Services and clients are kinds of the worker protocol that no suite uses yet.
"""

import itertools
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from rmwbench.suite.arrival import Arrival, RateHz, Relay
from rmwbench.suite.fault import Fault, Strict
from rmwbench.suite.message_type import message_type
from rmwbench.suite.names import NodeName, TopicName
from rmwbench.suite.qos import Qos

Touch = Literal["none", "header", "all"]
Placement = Literal["per_node", "one"]

LOCAL_HOST = "local"
"""The host of everything that names none: namespaces on this machine."""


def _known_message(name: str) -> str:
    return message_type(name).name


MessageName = Annotated[str, AfterValidator(_known_message)]


class Publisher(Strict):
    """What is left out is taken from the workload."""

    topic: TopicName
    message: MessageName | None = None
    rate_hz: RateHz | None = None
    arrival: Arrival | None = None
    qos: Qos | None = None
    touch: Touch | None = None


class Subscription(Strict):
    """Its message type is that of the topic."""

    topic: TopicName
    qos: Qos | None = None
    touch: Touch | None = None


class Node(Strict):
    """A ROS node. `process` is its own by default; nodes that name the same process share it (the intra-process
    case)."""

    name: NodeName
    process: NodeName | None = None
    host: NodeName = LOCAL_HOST
    publishers: Annotated[tuple[Publisher, ...], Field(strict=False)] = ()
    subscriptions: Annotated[tuple[Subscription, ...], Field(strict=False)] = ()

    @property
    def process_name(self) -> str:
        return self.process or self.name


def chain(topic: str, subscribers: int, relays: int, processes: Placement) -> tuple[Node, ...]:
    """talker → relay_1 → … → relay_n → listener_1 … listener_m; the first topic is `topic`, the relays publish
    `topic_1` … `topic_n`."""
    shared = "robot" if processes == "one" else None
    topics = [topic, *(f"{topic}_{hop}" for hop in range(1, relays + 1))]
    nodes = [Node.model_validate({"name": "talker", "process": shared, "publishers": [{"topic": topic}]})]
    for hop, (source, target) in enumerate(itertools.pairwise(topics), start=1):
        publisher = {"topic": target, "arrival": {"kind": "relay", "from": source}}
        nodes.append(
            Node.model_validate(
                {
                    "name": f"relay_{hop}",
                    "process": shared,
                    "subscriptions": [{"topic": source}],
                    "publishers": [publisher],
                }
            )
        )
    for number in range(1, subscribers + 1):
        name = "listener" if subscribers == 1 else f"listener_{number}"
        nodes.append(Node.model_validate({"name": name, "process": shared, "subscriptions": [{"topic": topics[-1]}]}))
    return tuple(nodes)


def check_graph(nodes: Sequence[Node]) -> None:
    """Raises Fault (with `at` counted from the list of nodes) for a graph that cannot run: doubled names, orphans,
    relays in a circle."""
    if not nodes:
        raise Fault("a workload needs nodes", expected="at least one", actual="an empty list")
    _check_names(nodes)
    published = {publisher.topic for node in nodes for publisher in node.publishers}
    for index, node in enumerate(nodes):
        if not node.publishers and not node.subscriptions:
            raise Fault(
                f"node `{node.name}` neither publishes nor subscribes",
                fix="give it an endpoint or remove it",
                at=(index,),
            )
        for place, subscription in enumerate(node.subscriptions):
            if subscription.topic not in published:
                raise Fault(
                    f"nobody publishes topic `{subscription.topic}`",
                    expected="one of " + (", ".join(sorted(published)) or "(no topic is published)"),
                    actual=subscription.topic,
                    at=(index, "subscriptions", place, "topic"),
                )
        for place, publisher in enumerate(node.publishers):
            here = {subscription.topic for subscription in node.subscriptions}
            if isinstance(publisher.arrival, Relay) and publisher.arrival.source not in here:
                raise Fault(
                    f"node `{node.name}` relays topic `{publisher.arrival.source}`, to which it does not subscribe",
                    expected="one of " + (", ".join(sorted(here)) or "(it has no subscription)"),
                    actual=publisher.arrival.source,
                    at=(index, "publishers", place, "arrival", "from"),
                )
    _check_no_circle(nodes)


def _check_names(nodes: Sequence[Node]) -> None:
    names: set[str] = set()
    host_of: dict[str, str] = {}
    for index, node in enumerate(nodes):
        if node.name in names:
            raise Fault(
                f"two nodes are called `{node.name}`",
                expected="a name of its own for each",
                actual=node.name,
                at=(index, "name"),
            )
        names.add(node.name)
        if host_of.setdefault(node.process_name, node.host) != node.host:
            raise Fault(
                f"process `{node.process_name}` is on two hosts",
                expected=f"host `{host_of[node.process_name]}`, as its first node says",
                actual=node.host,
                at=(index, "host") if "host" in node.model_fields_set else (index, "name"),
            )


def _check_no_circle(nodes: Sequence[Node]) -> None:
    hops: dict[str, set[str]] = {}
    for node in nodes:
        for publisher in node.publishers:
            if isinstance(publisher.arrival, Relay):
                hops.setdefault(publisher.arrival.source, set()).add(publisher.topic)
    for index, node in enumerate(nodes):
        for place, publisher in enumerate(node.publishers):
            if isinstance(publisher.arrival, Relay) and _reaches(hops, publisher.topic, publisher.arrival.source):
                raise Fault(
                    f"relays go in a circle through topic `{publisher.topic}`",
                    expected="a chain with an end",
                    actual=f"`{publisher.arrival.source}` → `{publisher.topic}` → … → `{publisher.arrival.source}`",
                    at=(index, "publishers", place, "arrival", "from"),
                )


def _reaches(hops: dict[str, set[str]], start: str, goal: str) -> bool:
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        topic = ahead.pop()
        if topic == goal:
            return True
        if topic not in seen:
            seen.add(topic)
            ahead.extend(hops.get(topic, ()))
    return False
