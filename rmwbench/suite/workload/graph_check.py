"""Whether a graph of nodes can run: names, orphans, relays in a circle. What is wrong is told with
its place in the list of nodes. A node without any endpoint may stand there: an empty node costs
processor time and memory, too."""

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from rmwbench.suite.fault import Fault, not_one_of
from rmwbench.suite.workload.arrival import Relay
from rmwbench.suite.workload.topology import Node


def check_graph(nodes: Sequence[Node]) -> None:
    """Raises Fault (with `at` counted from the list of nodes) for a graph that cannot run: doubled
    names, orphans, relays in a circle."""
    if not nodes:
        raise Fault("a workload needs nodes", expected="at least one", actual="an empty list")
    _check_names(nodes)
    published = {publisher.topic for node in nodes for publisher in node.publishers}
    served = {service.service for node in nodes for service in node.services}
    for index, node in enumerate(nodes):
        for position, subscription in enumerate(node.subscriptions):
            if subscription.topic not in published:
                raise not_one_of(
                    f"nobody publishes topic `{subscription.topic}`",
                    subscription.topic,
                    sorted(published) or ["(no topic is published)"],
                    at=(index, "subscriptions", position, "topic"),
                )
        for position, client in enumerate(node.clients):
            if client.service not in served:
                raise not_one_of(
                    f"nobody serves `{client.service}`",
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
    """Checks that nodes of one process are killed together, since SIGKILL ends the whole
    process."""
    first: dict[str, Node] = {}
    for index, node in enumerate(nodes):
        first_node = first.setdefault(node.process_name, node)
        if node.killed_s != first_node.killed_s:
            raise Fault(
                f"process `{node.process_name}` is killed as a whole, with all of its nodes",
                expected=f"killed_s {'absent' if first_node.killed_s is None else f'{first_node.killed_s:g}'}, "
                f"as node `{first_node.name}` says",
                actual="absent" if node.killed_s is None else f"{node.killed_s:g}",
                fix="the same `killed_s` at all nodes of the process, or another process",
                at=(index, "killed_s") if node.killed_s is not None else (index, "name"),
            )


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
