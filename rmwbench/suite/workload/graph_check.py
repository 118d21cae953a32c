"""Checks of a graph of nodes: repeated names, topics without a publisher, relays in a circle. A
node without endpoints is allowed: an empty node costs processor time and memory, too."""

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from rmwbench.suite.fault import Fault, check_distinct, not_one_of
from rmwbench.suite.workload.arrival import Relay
from rmwbench.suite.workload.topology import Node


def check_graph(nodes: Sequence[Node]) -> None:
    """Raises Fault, counted from the list of nodes, for a graph that cannot run."""
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
