"""Shorthands for nodes: a talker with listeners and relays, a service with clients, a graph of many
nodes, and lifecycle nodes with their manager."""

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from rmwbench.suite.fault import Fault, Strict
from rmwbench.suite.timeline import Span
from rmwbench.suite.workload.topology import BringUp, Node, Placement
from rmwbench.words.numbers import counted

SHARED = "robot"
"""The process of a shorthand with `processes: one`."""
LAUNCH_S = 0.2
"""The start of the nodes of a bring-up, after each process has noted the resources that it used
before the steady state."""

Hosts = Sequence[str]
"""Names of hosts, over which nodes are distributed."""


# A large suite needs the same nodes thousands of times, and nodes never change.
@lru_cache(maxsize=256)
def chain_nodes(
    topic: str,
    subscribers: int,
    relays: int,
    processes: Placement,
    hosts: Hosts,
    relays_host: str | None,
) -> tuple[Node, ...]:
    """The nodes talker → relay_1 → … → relay_n → listener_1 … listener_m. The first topic is
    `topic`, and the relays publish `topic_1` … `topic_n`. With relays node i is on host i mod n.
    Without relays, or with `relays_host`, the talker is on the first host and the listeners are on
    the others in turn."""
    shared = SHARED if processes == "one" else None
    topics = [topic, *(f"{topic}_{hop}" for hop in range(1, relays + 1))]
    nodes = [_node("talker", shared, publishers=[{"topic": topic}])]
    for hop, (source, target) in enumerate(itertools.pairwise(topics), start=1):
        publisher = {"topic": target, "arrival": {"kind": "relay", "from": source}}
        nodes.append(
            _node(f"relay_{hop}", shared, subscriptions=[{"topic": source}], publishers=[publisher])
        )
    for name in _numbered_names("listener", subscribers):
        nodes.append(_node(name, shared, subscriptions=[{"topic": topics[-1]}]))
    if not relays:
        return _first_and_others(nodes, hosts)
    if relays_host is None:
        return _dealt_out(nodes, hosts)
    talker, *listeners = _first_and_others([nodes[0], *nodes[1 + relays :]], hosts)
    return (talker, *_dealt_out(nodes[1 : 1 + relays], [relays_host]), *listeners)


@lru_cache(maxsize=256)
def service_nodes(
    service: str, clients: int, processes: Placement, hosts: Hosts
) -> tuple[Node, ...]:
    """The nodes client_1 … client_n ⇄ service, each client at the workload's rate. The service is
    on the first host, and the clients are on the others in turn."""
    shared = SHARED if processes == "one" else None
    nodes = [_node("service", shared, services=[{"service": service}])]
    nodes += [
        _node(name, shared, clients=[{"service": service}])
        for name in _numbered_names("client", clients)
    ]
    return _first_and_others(nodes, hosts)


@lru_cache(maxsize=256)
def bring_up_nodes(bring_up: BringUp) -> tuple[Node, ...]:
    """The lifecycle nodes node_1 … node_N, and their manager."""
    times = {"configure_s": bring_up.configure_s, "activate_s": bring_up.activate_s}
    timeout = {"service_timeout_s": bring_up.service_timeout_s}
    names = [f"node_{number}" for number in range(1, bring_up.nodes + 1)]
    nodes = [_node(name, None, joins_s=LAUNCH_S, lifecycle=times) for name in names]
    return (*nodes, _node("manager", None, joins_s=LAUNCH_S, manages=timeout))


def check_hosts(hosts: Hosts, nodes: Sequence[Node], *, one_process: bool) -> None:
    """Raises Fault, counted from the workload, for impossible `hosts` of a shorthand."""
    if not hosts:
        raise Fault("the list is empty", expected="at least one host", at=("hosts",))
    for index, host in enumerate(hosts):
        if host in hosts[:index]:
            raise Fault(
                f"host `{host}` is listed twice", expected="each host once", at=("hosts", index)
            )
        if not any(node.host == host for node in nodes) and not (one_process and len(hosts) > 1):
            raise Fault(
                f"host `{host}` has no node",
                expected=f"at most {counted(len({node.host for node in nodes}), 'host')}, or more nodes",
                actual=len(hosts),
                at=("hosts", index),
            )
    if one_process and len(hosts) > 1:
        raise Fault(
            "one process cannot be on several hosts",
            expected="`processes: per_node`, or one host",
            actual=f"processes one, hosts {', '.join(hosts)}",
            at=("hosts",),
        )


def _dealt_out(nodes: Sequence[Node], hosts: Hosts) -> tuple[Node, ...]:
    return tuple(node.on(hosts[index % len(hosts)]) for index, node in enumerate(nodes))


def _first_and_others(nodes: Sequence[Node], hosts: Hosts) -> tuple[Node, ...]:
    other_hosts = hosts[1:] or hosts
    return (nodes[0].on(hosts[0]), *_dealt_out(nodes[1:], other_hosts))


def _processes(value: Any) -> Any:
    if value != "per_node" and (
        isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1000
    ):
        raise Fault(
            "this is not a valid number of processes",
            expected="per_node, or 1 to 1000",
            actual=value,
        )
    return value


Processes = Annotated[Any, AfterValidator(_processes)]


class Graph(Strict):
    """A graph of `nodes` nodes and `topics` topics (by default as many as nodes). Publisher k of
    topic t is on node t + k and its subscription k on node t + 1 + k, so that a topic crosses nodes
    wherever there are two.

    `processes` is `per_node`, or the number of processes over which the nodes are distributed in
    turn; the processes are distributed over the hosts in the same way. With `joins_s` node k joins
    k · `stagger_s` after that time, or all at once (a storm); with `leaves_s` nodes leave likewise.
    """

    nodes: int = Field(ge=2, le=1000)
    topics: int | None = Field(default=None, ge=1, le=10_000)
    publishers_per_topic: int = Field(default=1, ge=1, le=1000)
    subscriptions_per_topic: int = Field(default=1, ge=0, le=1000)
    processes: Processes = "per_node"
    joins_s: Span | None = None
    leaves_s: Span | None = None
    stagger_s: Span = 0.0

    @model_validator(mode="after")
    def _consistent(self) -> "Graph":
        for name in ("publishers_per_topic", "subscriptions_per_topic"):
            if getattr(self, name) > self.nodes:
                raise Fault(
                    "more endpoints of a topic than nodes: a node would have two of them",
                    expected=f"{name} of at most {self.nodes}",
                    actual=getattr(self, name),
                    at=(name,),
                )
        if self.processes != "per_node" and self.processes > self.nodes:
            raise Fault(
                "more processes than nodes",
                expected=f"at most {self.nodes}",
                actual=self.processes,
                at=("processes",),
            )
        if self.stagger_s and self.joins_s is None and self.leaves_s is None:
            raise Fault(
                "`stagger_s` alone does nothing",
                expected="`joins_s` or `leaves_s` beside it",
                actual="neither",
                at=("stagger_s",),
            )
        return self

    def node_list(self, topic: str, hosts: Hosts) -> tuple[Node, ...]:
        """The nodes node_1 … node_N with topics topic_1 … topic_T. Raises Fault where a node would
        have no topic."""
        publishers: list[list[dict[str, str]]] = [[] for _ in range(self.nodes)]
        subscriptions: list[list[dict[str, str]]] = [[] for _ in range(self.nodes)]
        for number in range(self.topics or self.nodes):
            name = {"topic": f"{topic}_{number + 1}"}
            for k in range(self.publishers_per_topic):
                publishers[(number + k) % self.nodes].append(name)
            for k in range(self.subscriptions_per_topic):
                subscriptions[(number + 1 + k) % self.nodes].append(name)
        nodes = []
        for index in range(self.nodes):
            if not publishers[index] and not subscriptions[index]:
                raise Fault(
                    f"{self.topics} topics leave node {index + 1} of {self.nodes} without a topic",
                    expected="more topics, more publishers or subscriptions of each, or fewer "
                    "nodes",
                    actual=self.topics,
                    at=("graph", "topics"),
                )
            group = index if self.processes == "per_node" else index % self.processes
            process = None if self.processes == "per_node" else f"process_{group + 1}"
            times = {
                key: round(value + index * self.stagger_s, 9)
                for key, value in (("joins_s", self.joins_s), ("leaves_s", self.leaves_s))
                if value is not None
            }
            ends = {"publishers": publishers[index], "subscriptions": subscriptions[index]}
            nodes.append(
                _node(f"node_{index + 1}", process, **ends, **times).on(hosts[group % len(hosts)])
            )
        return tuple(nodes)


def _numbered_names(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}_{number}" for number in range(1, count + 1)]


def _node(name: str, process: str | None, **ends: Any) -> Node:
    return Node.model_validate({"name": name, "process": process, **ends})
