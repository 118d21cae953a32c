"""Lifecycle nodes and the manager that brings them up, as Nav2's lifecycle manager does: it waits
for the services of each, configures all in order, then activates all in order, one at a time.

A workload has them as a shorthand, `bring_up: {nodes: 100}`, or written out: nodes with
`lifecycle`, and one with `manages`. Both are for workers that have lifecycle nodes (rclcpp);
nothing is sent but what bringing up sends.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field

from rmwbench.suite.fault import Fault, Strict
from rmwbench.suite.timeline import Span

if TYPE_CHECKING:
    from rmwbench.suite.workload.topology import Node

SERVICE_TIMEOUT_S = 5.0
"""Nav2's own: the default of its parameter `service_timeout`."""
MANAGER = "manager"
LAUNCH_S = 0.2
"""When the shorthand starts its nodes: after each process has noted what it used until the steady
state began."""


def _timeout(seconds: float) -> float:
    if not 0.001 <= seconds <= 3600:
        raise Fault(
            "a time-out is between a millisecond and an hour",
            expected="0.001 … 3600",
            actual=seconds,
        )
    return seconds


Timeout = Annotated[float, AfterValidator(_timeout)]


class Lifecycle(Strict):
    """How long the node's own callbacks take, as a driver's that waits for its device; one that
    takes longer than the manager waits is one that hangs."""

    configure_s: Span = 0.0
    activate_s: Span = 0.0


class Manages(Strict):
    """Brings up all lifecycle nodes of the workload, in their order. `service_timeout_s`: how long
    it waits for a node's service, and for each answer."""

    service_timeout_s: Timeout = SERVICE_TIMEOUT_S


class BringUp(Lifecycle):
    """node_1 … node_N, each a process of its own, and their manager, in the last. All are started
    as a launch file does: their sessions are opened and their nodes created at once, at the
    beginning of the steady state, and the manager begins when it is there."""

    nodes: int = Field(ge=1, le=1000)
    service_timeout_s: Timeout = SERVICE_TIMEOUT_S

    def expanded(self) -> list[dict[str, Any]]:
        times = {"configure_s": self.configure_s, "activate_s": self.activate_s}
        names = [f"node_{number}" for number in range(1, self.nodes + 1)]
        made: list[dict[str, Any]] = [
            {"name": name, "joins_s": LAUNCH_S, "lifecycle": times} for name in names
        ]
        return [
            *made,
            {
                "name": MANAGER,
                "joins_s": LAUNCH_S,
                "manages": {"service_timeout_s": self.service_timeout_s},
            },
        ]


@dataclass(frozen=True)
class Managed:
    """What a workload brings up: the node that does it, with its process, and those that it does it
    with, in order."""

    manager: str
    process: str
    nodes: tuple[str, ...]
    service_timeout_s: float

    def definition(self) -> dict[str, Any]:
        """For the bundle."""
        return {
            "manager": self.manager,
            "nodes": list(self.nodes),
            "service_timeout_s": self.service_timeout_s,
        }


def managed(nodes: Sequence["Node"]) -> Managed | None:
    """What these nodes bring up; None where no node is a manager."""
    for node in nodes:
        if node.manages is not None:
            names = tuple(other.name for other in nodes if other.lifecycle is not None)
            return Managed(node.name, node.process_name, names, node.manages.service_timeout_s)
    return None


def check_lifecycle(nodes: Sequence["Node"]) -> None:
    """Raises Fault, counted from the list of nodes, for lifecycle nodes that nobody brings up, and
    for a manager that has none, is not alone, or is there before the window in which it is
    measured."""
    managers = [index for index, node in enumerate(nodes) if node.manages is not None]
    living = [index for index, node in enumerate(nodes) if node.lifecycle is not None]
    if not managers and not living:
        return
    if not managers:
        raise Fault(
            f"nobody brings up lifecycle node `{nodes[living[0]].name}`",
            expected="a node with `manages: {}`, in a process of its own",
            actual="none",
            at=(living[0], "lifecycle"),
        )
    if not living:
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
    for index in (*managers, *living):
        _check_node(nodes[index], index)
    manager = nodes[managers[0]]
    if manager.joins_s is None:
        raise Fault(
            f"manager `{manager.name}` would begin before the window in which it is measured",
            expected="`joins_s: 0`, or later",
            actual="no `joins_s`",
            at=(managers[0], "manages"),
        )
    shared = [
        node for node in nodes if node.process_name == manager.process_name and node is not manager
    ]
    if shared:
        raise Fault(
            f"manager `{manager.name}` shares its process with node `{shared[0].name}`",
            expected="a process of its own",
            actual=manager.process_name,
            at=(managers[0], "manages"),
        )
    if len({node.host for node in nodes}) > 1:
        raise Fault(
            "lifecycle nodes are brought up on one host",
            expected="the same host for all nodes",
            actual=", ".join(sorted({node.host for node in nodes})),
            at=(managers[0], "manages"),
        )


def _check_node(node: "Node", index: int) -> None:
    what = "manages" if node.manages is not None else "lifecycle"
    if node.manages is not None and node.lifecycle is not None:
        raise Fault(
            f"node `{node.name}` cannot be its own manager",
            expected="`manages` or `lifecycle`",
            actual="both",
            at=(index, "manages"),
        )
    if not node.is_empty:
        raise Fault(
            f"node `{node.name}` has `{what}` and endpoints",
            expected="one of them: its services are the lifecycle's own",
            actual=f"`{what}` beside {', '.join(node.topics)}",
            fix="put the endpoints into a node beside it",
            at=(index, what),
        )
    for key in ("leaves_s", "killed_s", "restarts_s"):
        if getattr(node, key) is not None:
            raise Fault(
                f"node `{node.name}` has `{what}` and stays until the end",
                expected=f"no `{key}`",
                actual=f"{getattr(node, key):g}",
                at=(index, key),
            )
