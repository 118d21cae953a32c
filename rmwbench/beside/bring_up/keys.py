"""The checks of a workload's lifecycle nodes and their manager.

The nodes themselves are nodes of the graph (rmwbench/suite/workload/topology.py), which has their
shorthand `bring_up: {nodes: 100}` among its shapes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rmwbench.suite.fault import Fault, at_key
from rmwbench.suite.workload.topology import Node

KEY = KIND = None
"""Bring-up has no key of its own."""
METRIC = "bring_up_time"


def check(value: None, workload: Any) -> None:
    """Raises Fault with a place relative to the workload."""
    with at_key("nodes"):
        check_lifecycle(workload.all_nodes)
    if workload.primary_metric == METRIC and managed_nodes(workload.all_nodes) is None:
        raise Fault(
            f"`{METRIC}` is about lifecycle nodes that a manager brings up, and there is "
            "no manager here",
            expected="`bring_up: {nodes: 20}`, or nodes with `lifecycle` and one with `manages`",
            actual="neither",
            at=("primary_metric",),
        )


@dataclass(frozen=True)
class ManagedNodes:
    """The manager of a workload with its process, and the nodes that it brings up, in order."""

    manager: str
    process: str
    nodes: tuple[str, ...]
    service_timeout_s: float

    def definition(self) -> dict[str, Any]:
        """Return the managed nodes for the bundle."""
        return {
            "manager": self.manager,
            "nodes": list(self.nodes),
            "service_timeout_s": self.service_timeout_s,
        }


def managed_nodes(nodes: Sequence[Node]) -> ManagedNodes | None:
    """Return the nodes that a manager brings up, None if no node is a manager."""
    for node in nodes:
        if node.manages is not None:
            names = tuple(other.name for other in nodes if other.lifecycle is not None)
            return ManagedNodes(node.name, node.process_name, names, node.manages.service_timeout_s)
    return None


def check_lifecycle(nodes: Sequence[Node]) -> None:
    """Raises Fault, with a place relative to the list of nodes, for lifecycle nodes without a
    manager, and for a manager that has no nodes, is not the only one, or exists before the window
    in which it is measured."""
    managers = [index for index, node in enumerate(nodes) if node.manages is not None]
    managed = [index for index, node in enumerate(nodes) if node.lifecycle is not None]
    if not managers and not managed:
        return
    if not managers:
        raise Fault(
            f"nobody brings up lifecycle node `{nodes[managed[0]].name}`",
            expected="a node with `manages: {}`, in a process of its own",
            actual="none",
            at=(managed[0], "lifecycle"),
        )
    if not managed:
        raise Fault(
            f"manager `{nodes[managers[0]].name}` has no node to bring up",
            expected="nodes with `lifecycle: {}`",
            actual="none",
            at=(managers[0], "manages"),
        )
    if len(managers) > 1:
        raise Fault(
            "a workload has one manager of lifecycle nodes",
            expected=f"`manages` at node `{nodes[managers[0]].name}` alone",
            actual=f"at {len(managers)} nodes",
            at=(managers[1], "manages"),
        )
    for index in (*managers, *managed):
        _check_node(nodes[index], index)
    with at_key(managers[0], "manages"):
        _check_manager(nodes[managers[0]], nodes)


def _check_manager(manager: Node, nodes: Sequence[Node]) -> None:
    if manager.joins_s is None:
        raise Fault(
            f"manager `{manager.name}` would begin before the window in which it is measured",
            expected="`joins_s: 0`, or later",
            actual="no `joins_s`",
        )
    for node in nodes:
        if node.process_name == manager.process_name and node is not manager:
            raise Fault(
                f"manager `{manager.name}` shares its process with node `{node.name}`",
                expected="a process of its own",
                actual=manager.process_name,
            )
    if len({node.host for node in nodes}) > 1:
        raise Fault(
            "lifecycle nodes are brought up on one host",
            expected="the same host for all nodes",
            actual=", ".join(sorted({node.host for node in nodes})),
        )


def _check_node(node: Node, index: int) -> None:
    key_of_node = "manages" if node.manages is not None else "lifecycle"
    if node.manages is not None and node.lifecycle is not None:
        raise Fault(
            f"node `{node.name}` cannot be its own manager",
            expected="`manages` or `lifecycle`",
            actual="both",
            at=(index, "manages"),
        )
    if not node.is_empty:
        raise Fault(
            f"node `{node.name}` has `{key_of_node}` and endpoints",
            expected="one of them: its services are the lifecycle's own",
            actual=f"`{key_of_node}` beside {', '.join(node.topics)}",
            fix="put the endpoints into a node beside it",
            at=(index, key_of_node),
        )
    for key in ("leaves_s", "killed_s", "restarts_s"):
        if getattr(node, key) is not None:
            raise Fault(
                f"node `{node.name}` has `{key_of_node}` and stays until the end",
                expected=f"no `{key}`",
                actual=f"{getattr(node, key):g}",
                at=(index, key),
            )
