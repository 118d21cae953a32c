"""rosbag2's recorder beside the readers of a workload, as `ros2 bag record` is started on a robot:
what of all that is published does it keep, and where is the rest lost (docs/features.md, A
recorder)?

    recorder: {place: disk, cache_mib: 100}

`place` is where the bag is written: `tmpfs` is the host's /tmp in memory, `disk` the campaign's
directory.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from rmwbench.suite.fault import Fault, Strict, unknown
from rmwbench.suite.names import NodeName, TopicName
from rmwbench.suite.workload.topology import Node

NAME = "recorder"
"""Of rosbag2's process in a trial, and its role."""
DEFAULT_CACHE_MIB = 100
"""rosbag2's own."""


class Recorder(Strict):
    """Without `topics` all that is published; without `host` the first one. `cache_mib` is
    rosbag2's `max_cache_size`; with 0 each message is written by the thread that takes it. A bag is
    deleted once it has been read unless `keep`."""

    topics: Annotated[tuple[TopicName, ...], Field(strict=False)] = ()
    host: NodeName | None = None
    storage: Literal["mcap"] = "mcap"
    cache_mib: int = Field(default=DEFAULT_CACHE_MIB, ge=0, le=1 << 20)
    place: Literal["tmpfs", "disk"] = "tmpfs"
    keep: bool = False

    def check(self, nodes: Sequence[Node], hosts: Sequence[str]) -> None:
        """Raises Fault where it cannot be put beside these nodes."""
        if self.host is not None and self.host not in hosts:
            raise unknown("host", self.host, list(hosts), at=("recorder", "host"))
        if any(node.process_name == NAME for node in nodes):
            raise Fault(
                f"a process of the workload is called `{NAME}`, as rosbag2's is",
                expected="another name",
                actual=NAME,
                at=("recorder",),
            )
        published = dict.fromkeys(
            publisher.topic for node in nodes for publisher in node.publishers
        )
        for index, topic in enumerate(self.topics):
            if topic not in published:
                raise unknown(
                    "published topic", topic, list(published), at=("recorder", "topics", index)
                )
        if not published:
            raise Fault(
                "nothing is published for the recorder", expected="a publisher", at=("recorder",)
            )
        if self.keep and self.place != "disk":
            raise Fault(
                "a bag in memory ends with its host and cannot be kept",
                expected="`place: disk` beside `keep: true`",
                actual=f"place: {self.place}",
                at=("recorder", "keep"),
            )
