"""Shorthands for nodes: a talker with listeners and relays, a service with clients, and a graph of many nodes."""

import itertools
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from rmwbench.suite.fault import Fault, Strict
from rmwbench.suite.timeline import Span
from rmwbench.suite.topology import Node, Placement

SHARED = "robot"
"""The process of a shorthand with `processes: one`."""


def chain(topic: str, subscribers: int, relays: int, processes: Placement) -> tuple[Node, ...]:
    """talker → relay_1 → … → relay_n → listener_1 … listener_m; the first topic is `topic`, the relays publish
    `topic_1` … `topic_n`."""
    shared = SHARED if processes == "one" else None
    topics = [topic, *(f"{topic}_{hop}" for hop in range(1, relays + 1))]
    nodes = [_node("talker", shared, publishers=[{"topic": topic}])]
    for hop, (source, target) in enumerate(itertools.pairwise(topics), start=1):
        publisher = {"topic": target, "arrival": {"kind": "relay", "from": source}}
        nodes.append(_node(f"relay_{hop}", shared, subscriptions=[{"topic": source}], publishers=[publisher]))
    for name in _numbered("listener", subscribers):
        nodes.append(_node(name, shared, subscriptions=[{"topic": topics[-1]}]))
    return tuple(nodes)


def calls(service: str, clients: int, processes: Placement) -> tuple[Node, ...]:
    """client_1 … client_n ⇄ service, each client at the workload's rate."""
    shared = SHARED if processes == "one" else None
    nodes = [_node("service", shared, services=[{"service": service}])]
    nodes += [_node(name, shared, clients=[{"service": service}]) for name in _numbered("client", clients)]
    return tuple(nodes)


def _processes(value: Any) -> Any:
    if value != "per_node" and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1000):
        raise Fault("this is no number of processes", expected="per_node, or 1 to 1000", actual=value)
    return value


Processes = Annotated[Any, AfterValidator(_processes)]


class Graph(Strict):
    """`nodes` nodes with `topics` topics (as many as nodes where absent), dealt out in turn: publisher k of topic t is
    on node t + k, subscription k on node t + 1 + k, so that a topic crosses nodes wherever there are two.

    `processes` is `per_node`, or how many processes hold the nodes, in turn as well. `joins_s` makes all of them late,
    node k by another k · `stagger_s`: a storm where that is 0; `leaves_s` ends them in the same way.
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
                    "more endpoints of a topic than nodes: a node would have two of the same",
                    expected=f"{name} of at most {self.nodes}",
                    actual=getattr(self, name),
                    at=(name,),
                )
        if self.processes != "per_node" and self.processes > self.nodes:
            raise Fault(
                "more processes than nodes", expected=f"at most {self.nodes}", actual=self.processes, at=("processes",)
            )
        if self.stagger_s and self.joins_s is None and self.leaves_s is None:
            raise Fault(
                "`stagger_s` spreads what happens within the steady state",
                expected="`joins_s` or `leaves_s` beside it",
                actual="neither",
                at=("stagger_s",),
            )
        return self

    def expanded(self, topic: str) -> tuple[Node, ...]:
        """node_1 … node_N with topics topic_1 … topic_T. Raises Fault where a node would be left without any."""
        publishers: list[list[dict[str, str]]] = [[] for _ in range(self.nodes)]
        subscriptions: list[list[dict[str, str]]] = [[] for _ in range(self.nodes)]
        for number in range(self.topics or self.nodes):
            name = {"topic": f"{topic}_{number + 1}"}
            for k in range(self.publishers_per_topic):
                publishers[(number + k) % self.nodes].append(name)
            for k in range(self.subscriptions_per_topic):
                subscriptions[(number + 1 + k) % self.nodes].append(name)
        made = []
        for index in range(self.nodes):
            if not publishers[index] and not subscriptions[index]:
                raise Fault(
                    f"{self.topics} topics leave node {index + 1} of {self.nodes} without any",
                    expected="more topics, more publishers or subscriptions of each, or fewer nodes",
                    actual=self.topics,
                    at=("graph", "topics"),
                )
            process = None if self.processes == "per_node" else f"process_{index % self.processes + 1}"
            late = {
                key: round(value + index * self.stagger_s, 9)
                for key, value in (("joins_s", self.joins_s), ("leaves_s", self.leaves_s))
                if value is not None
            }
            ends = {"publishers": publishers[index], "subscriptions": subscriptions[index]}
            made.append(_node(f"node_{index + 1}", process, **ends, **late))
        return tuple(made)


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}_{number}" for number in range(1, count + 1)]


def _node(name: str, process: str | None, **ends: Any) -> Node:
    return Node.model_validate({"name": name, "process": process, **ends})
