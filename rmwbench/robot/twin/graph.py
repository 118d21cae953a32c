"""The nodes of a running system as in `rosgraph_msgs/Graph`: their publishers and subscriptions
with quality of service. A bag does not have the subscriptions.

The nodes come from a file, in the YAML that `ros2 topic echo --once /rosgraph` prints, or from a
domain that the worker on rclcpp joins with a node without endpoints.
"""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError
from rmwbench.input_file import read_text
from rmwbench.lab.middleware import ros2
from rmwbench.lab.middleware.find import find_workers
from rmwbench.robot.twin.qos_offer import QosOffer, load_yaml, offer

MOST_BYTES = 64 << 20
END = "---"
"""The line that `ros2 topic echo` prints after each message."""
DOMAIN = "domain:"
"""The prefix of a domain's number, in place of a file's name."""
LAST_DOMAIN = 232
"""The next domain would have ports above 65535 (DDSI-RTPS 2.5, 9.6.1.1)."""
MOST_S = 60.0
"""The time limit of the worker, which reads for ten seconds after its session is open."""
EMPTY = 3
"""The exit status of the worker for a domain without nodes (worker/graph.hpp)."""
RMW = "RMW_IMPLEMENTATION"
TOOL_NODES = ("rosbag2_recorder", "ros2cli")
"""Prefixes of the names of nodes that do not belong to the robot: its recorder and the reader of
this graph."""


@dataclass(frozen=True)
class GraphEndpoint:
    topic: str
    qos: QosOffer


@dataclass(frozen=True, kw_only=True)
class GraphNode:
    """`name` includes the namespace."""

    name: str
    publishers: tuple[GraphEndpoint, ...]
    subscriptions: tuple[GraphEndpoint, ...]

    @property
    def is_tool(self) -> bool:
        base_name = self.name.rpartition("/")[2]
        return base_name.lstrip("_").startswith(TOOL_NODES)


def read_graph(source: str) -> tuple[GraphNode, ...]:
    """The nodes of a file, or of `domain:N`. Raises UserError for an invalid file or domain, and
    for one without nodes."""
    if source.startswith(DOMAIN):
        return parse_graph(_domain_graph(source.removeprefix(DOMAIN)), source)
    try:
        text = read_text(Path(source), MOST_BYTES)
    except (OSError, ValueError) as error:
        raise _no_graph(source, str(error)) from None
    return parse_graph(text.partition(f"\n{END}")[0], source)


def parse_graph(text: str, source: str) -> tuple[GraphNode, ...]:
    """The nodes of a message in YAML; `source` names it in errors. Raises UserError for invalid
    text and for a graph without nodes."""
    try:
        nodes = tuple(map(_node, load_yaml(text)["nodes"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        missing = f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error)
        raise _no_graph(source, missing) from None
    if not nodes:
        raise UserError("there is no node in this graph", where=source)
    return nodes


def _no_graph(source: str, actual: str) -> UserError:
    return UserError(
        "this is not a graph",
        where=source,
        expected="a rosgraph_msgs/Graph as `ros2 topic echo --once /rosgraph` prints it, or "
        f"{DOMAIN}N",
        actual=actual,
    )


def _domain_graph(domain: str) -> str:
    """The graph of a domain as the worker on rclcpp prints it, with the RMW and the discovery of
    this process's environment."""
    if not re.fullmatch("[0-9]{1,3}", domain) or int(domain) > LAST_DOMAIN:
        raise UserError(
            "this is not a domain",
            where=f"{DOMAIN}{domain}",
            expected=f"the ROS_DOMAIN_ID of the robot, 0 to {LAST_DOMAIN}",
        )
    rmw = os.environ.get(RMW)
    try:
        worker = subprocess.run(
            [_program(), "--graph", domain],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=MOST_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError("the graph could not be read", actual=str(error)) from None
    if worker.returncode == EMPTY:
        raise UserError(
            f"domain {domain} has no nodes",
            expected=f"nodes that {rmw or 'the default RMW of this ROS 2'} discovers",
            actual=f"none within ten seconds; {_discovery()}",
            fix=f"set {RMW}, the discovery range and the RMW's own file as on the robot; "
            "rmw_zenoh_cpp needs the robot's router",
        )
    if worker.returncode:
        status = f"it ended with status {worker.returncode}"
        errors = worker.stderr.strip().splitlines() or [status]
        raise UserError("the graph could not be read", where=rmw, actual=errors[-1])
    return worker.stdout


def _program() -> Path:
    """The worker on rclcpp. Raises UserError without a ROS 2, or where it is not built."""
    if not ros2.prefixes():
        raise UserError(
            f"a domain is read with ROS 2: {ros2.NOT_SOURCED}",
            fix=f"{ros2.SOURCE_FIX}, or use a file: --graph FILE",
        )
    workers = find_workers([ros2.NAME]).values()
    program = next((w.executable for w in workers if w.description is not None), None)
    if program is None:
        raise UserError(
            "a domain is read with the worker on rclcpp, which is not built",
            fix=f"rmwbench middlewares build {ros2.NAME}",
        )
    return program


def _discovery() -> str:
    names = (RMW, "ROS_LOCALHOST_ONLY", "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS")
    return ", ".join(f"{name} is {os.environ.get(name) or 'not set'}" for name in names)


def _node(node: Mapping[str, Any]) -> GraphNode:
    return GraphNode(
        name=str(node["name"]),
        publishers=tuple(map(_endpoint, node.get("publishers") or ())),
        subscriptions=tuple(map(_endpoint, node.get("subscriptions") or ())),
    )


def _endpoint(topic: Mapping[str, Any]) -> GraphEndpoint:
    return GraphEndpoint(str(topic["name"]), offer(topic.get("qos") or {}))
