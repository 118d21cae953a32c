"""A running system's nodes as `rosgraph_msgs/Graph` has them: who publishes and who subscribes, with
which quality of service. No bag knows the latter.

They come from a file, in the YAML that `ros2 topic echo --once /rosgraph` prints, or from a domain
that the worker on rclcpp joins, with a node that has no endpoint of its own.
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
"""`ros2 topic echo` prints this line behind each message."""
DOMAIN = "domain:"
"""What stands before the number of a domain where a file is named otherwise."""
LAST_DOMAIN = 232
"""The ports of the next one end above 65535 (DDSI-RTPS 2.5, 9.6.1.1)."""
MOST_S = 60.0
"""The worker ends by itself after ten seconds; opening a session may take some more."""
EMPTY = 3
"""How the worker ends where nobody is in the domain (worker/graph.hpp)."""
RMW = "RMW_IMPLEMENTATION"
OF_TOOLS = ("rosbag2_recorder", "ros2cli")
"""Names of nodes that are not of the robot: those that record it or ask for this graph."""


@dataclass(frozen=True)
class GraphEndpoint:
    topic: str
    qos: QosOffer


@dataclass(frozen=True, kw_only=True)
class GraphNode:
    """`name` with its namespace."""

    name: str
    publishers: tuple[GraphEndpoint, ...]
    subscriptions: tuple[GraphEndpoint, ...]

    @property
    def is_tool(self) -> bool:
        base_name = self.name.rpartition("/")[2]
        return base_name.lstrip("_").startswith(OF_TOOLS)


def read_graph(source: str) -> tuple[GraphNode, ...]:
    """The nodes of a file, or of `domain:N`. Raises UserError where there are none."""
    if source.startswith(DOMAIN):
        return parse_graph(_printed(source.removeprefix(DOMAIN)), source)
    try:
        text = read_text(Path(source), MOST_BYTES)
    except (OSError, ValueError) as error:
        raise _no_graph(source, str(error)) from None
    return parse_graph(text.partition(f"\n{END}")[0], source)


def parse_graph(text: str, source: str) -> tuple[GraphNode, ...]:
    """The nodes of one such message; `source` names it. Raises UserError for anything else."""
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


def _printed(domain: str) -> str:
    """The graph that the worker on rclcpp prints of that domain, with the RMW and the discovery of
    our own environment."""
    if not re.fullmatch("[0-9]{1,3}", domain) or int(domain) > LAST_DOMAIN:
        raise UserError(
            "this names no domain",
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
            f"nobody is in domain {domain}",
            expected=f"nodes that {rmw or 'the RMW that this ROS 2 takes by itself'} discovers",
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
            fix=f"{ros2.SOURCE_FIX}, or take a file: --graph FILE",
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
