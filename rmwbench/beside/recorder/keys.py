"""rosbag2's recorder beside the readers of a workload, as `ros2 bag record` runs on a robot: which
of the published messages does it keep, and where are the others lost (docs/features.md, A
recorder)?

    recorder: {place: disk, cache_mib: 100}

`place` is where the bag is written: `tmpfs` is the host's /tmp in memory, `disk` the campaign's
directory.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from rmwbench.suite.fault import Fault, Strict, unknown
from rmwbench.suite.name_rules import NodeName, TopicName

KEY = "recorder"
"""The workload's key."""
NAME = "recorder"
"""The name of rosbag2's process in a trial, and its role."""
DEFAULT_CACHE_MIB = 100
"""The default of rosbag2."""


class Recorder(Strict):
    """A recorder: without `topics` of all published topics, without `host` on the first host.
    `cache_mib` is rosbag2's `max_cache_size`; with 0 each message is written by the thread that
    takes it. A bag is deleted after it has been read, unless `keep`."""

    topics: Annotated[tuple[TopicName, ...], Field(strict=False)] = ()
    host: NodeName | None = None
    storage: Literal["mcap"] = "mcap"
    cache_mib: int = Field(default=DEFAULT_CACHE_MIB, ge=0, le=1 << 20)
    place: Literal["tmpfs", "disk"] = "tmpfs"
    keep: bool = False


KIND = Recorder | None


def check(recorder: Recorder | None, workload: Any) -> None:
    """Raises Fault if the recorder cannot run beside the nodes of this workload."""
    if recorder is None:
        return
    nodes, hosts = workload.all_nodes, workload.host_names
    if recorder.host is not None and recorder.host not in hosts:
        raise unknown("host", recorder.host, list(hosts), at=("recorder", "host"))
    if any(node.process_name == NAME for node in nodes):
        raise Fault(
            f"a process of the workload is called `{NAME}`, as rosbag2's is",
            expected="another name",
            actual=NAME,
            at=("recorder",),
        )
    topics = dict.fromkeys(publisher.topic for node in nodes for publisher in node.publishers)
    for index, topic in enumerate(recorder.topics):
        if topic not in topics:
            raise unknown("published topic", topic, list(topics), at=("recorder", "topics", index))
    if not topics:
        raise Fault(
            "nothing is published for the recorder", expected="a publisher", at=("recorder",)
        )
    if recorder.keep and recorder.place != "disk":
        raise Fault(
            "a bag in memory ends with its host and cannot be kept",
            expected="`place: disk` beside `keep: true`",
            actual=f"place: {recorder.place}",
            at=("recorder", "keep"),
        )
    for name in ("containers", "ros_variables"):
        contradicting = getattr(workload, name, None) or getattr(workload.beside, name, None)
        if contradicting not in (None, "none"):
            raise Fault(
                f"`recorder` cannot be combined with `{name}`: the recorder has what a process of "
                "its host has",
                expected="one of them",
                actual=f"both, {name}: {contradicting}",
                at=("recorder",),
            )
