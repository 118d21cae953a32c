"""A running system's nodes as `rosgraph_msgs/Graph` has them, in the YAML that `ros2 topic echo
--once /rosgraph` prints: who publishes and who subscribes, with which quality of service. No bag
knows the latter."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError
from rmwbench.input_file import read_text
from rmwbench.robot.twin.qos_offer import QosOffer, load_yaml, offer

MOST_BYTES = 64 << 20
END = "---"
"""`ros2 topic echo` prints this line behind each message."""
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


def read_graph(path: Path) -> tuple[GraphNode, ...]:
    """Raises UserError where the file is not such a message."""
    try:
        text = read_text(path, MOST_BYTES)
        document = load_yaml(text.partition(f"\n{END}")[0])
        nodes = tuple(map(_node, document["nodes"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            "this is not a graph",
            where=str(path),
            expected="a rosgraph_msgs/Graph as `ros2 topic echo --once /rosgraph` prints it",
            actual=f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error),
        ) from None
    if not nodes:
        raise UserError("there is no node in this graph", where=str(path))
    return nodes


def _node(node: Mapping[str, Any]) -> GraphNode:
    return GraphNode(
        name=str(node["name"]),
        publishers=tuple(map(_endpoint, node.get("publishers") or ())),
        subscriptions=tuple(map(_endpoint, node.get("subscriptions") or ())),
    )


def _endpoint(topic: Mapping[str, Any]) -> GraphEndpoint:
    return GraphEndpoint(str(topic["name"]), offer(topic.get("qos") or {}))
