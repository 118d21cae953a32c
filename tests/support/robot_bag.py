"""Bags of a robot, written without ROS from truths that a test states: as MCAP or db3, split,
compressed by file or by message, without index, with the metadata of any version."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import zstandard
from mcap.writer import CompressionType, IndexType, Writer

BEGAN_NS = 1_790_000_000_000_000_000
PROFILE = """\
- history: {history}
  depth: {depth}
  reliability: {reliability}
  durability: {durability}
  deadline: {{sec: 9223372036, nsec: 854775807}}
  lifespan: {{sec: 9223372036, nsec: 854775807}}
  liveliness: 1
  liveliness_lease_duration: {{sec: 9223372036, nsec: 854775807}}
  avoid_ros_namespace_conventions: false
"""


@dataclass
class Planted:
    """A topic: when its messages are recorded and, where their senders stamp them, published, in ns
    from the bag's begin; their sizes, or one of all. `depth`: 0 where the middleware tells none."""

    name: str
    times: np.ndarray
    size: int | np.ndarray = 1000
    type: str = "std_msgs/msg/UInt8MultiArray"
    published: np.ndarray | None = None
    reliable: bool = True
    latched: bool = False
    publishers: int = 1
    depth: int = 0
    origin_ns: int = BEGAN_NS
    published_origin_ns: int = BEGAN_NS

    def profiles(self, version: int) -> str:
        words = version >= 9
        one = PROFILE.format(
            history=("keep_last" if words else 1) if self.depth else ("unknown" if words else 3),
            depth=self.depth,
            reliability=("reliable" if self.reliable else "best_effort")
            if words
            else (1 if self.reliable else 2),
            durability=("transient_local" if self.latched else "volatile")
            if words
            else (1 if self.latched else 2),
        )
        return one * self.publishers

    @property
    def sizes(self) -> np.ndarray:
        return np.broadcast_to(self.size, len(self.times))


@dataclass(order=True)
class Row:
    log_ns: int
    topic: int
    published_ns: int = field(compare=False)
    data: bytes = field(compare=False)


def rows(topics: Sequence[Planted]) -> list[Row]:
    recorded = []
    for number, topic in enumerate(topics):
        logs = topic.times.astype(np.int64) + topic.origin_ns
        stamps = topic.times if topic.published is None else topic.published
        origin_ns = topic.origin_ns if topic.published is None else topic.published_origin_ns
        published = stamps.astype(np.int64) + origin_ns
        for log_ns, published_ns, size in zip(logs, published, topic.sizes, strict=True):
            data = b"\0\1\0\0" + bytes(int(size) - 4)
            recorded.append(Row(int(log_ns), number, int(published_ns), data))
    return sorted(recorded)


def mcap(
    path: Path,
    topics: Sequence[Planted],
    held: Sequence[Row] | None = None,
    *,
    compression: CompressionType = CompressionType.ZSTD,
    indexed: bool = True,
    chunked: bool = True,
    version: int = 9,
    zstd_messages: bool = False,
) -> Path:
    with path.open("wb") as file:
        writer = Writer(
            file,
            chunk_size=100_000,
            use_chunking=chunked,
            compression=compression,
            index_types=IndexType.ALL if indexed else IndexType.NONE,
            repeat_channels=indexed,
            repeat_schemas=indexed,
            use_statistics=indexed,
            use_summary_offsets=indexed,
        )
        writer.start(profile="ros2", library="planted")
        channels = {}
        for number, topic in enumerate(topics):
            schema = writer.register_schema(name=topic.type, encoding="ros2msg", data=b"")
            channels[number] = writer.register_channel(
                topic=topic.name,
                message_encoding="cdr",
                schema_id=schema,
                metadata={"offered_qos_profiles": topic.profiles(version)},
            )
        for at, row in enumerate(rows(topics) if held is None else held):
            data = zstandard.compress(row.data) if zstd_messages else row.data
            writer.add_message(
                channels[row.topic], row.log_ns, data, publish_time=row.published_ns, sequence=at
            )
        writer.finish()
    return path


def db3(
    path: Path,
    topics: Sequence[Planted],
    held: Sequence[Row] | None = None,
    *,
    version: int = 8,
    offers: bool = True,
    zstd_messages: bool = False,
) -> Path:
    """`offers`: as from Foxy on; before, topics have no such column."""
    database = sqlite3.connect(path)
    column = ", offered_qos_profiles TEXT NOT NULL" if offers else ""
    database.execute(
        "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, "
        f"serialization_format TEXT NOT NULL{column})"
    )
    database.execute(
        "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, "
        "timestamp INTEGER NOT NULL, data BLOB NOT NULL)"
    )
    for number, topic in enumerate(topics):
        values = [number, topic.name, topic.type, "cdr", *[topic.profiles(version)] * offers]
        database.execute(f"INSERT INTO topics VALUES ({', '.join('?' * len(values))})", values)
    database.executemany(
        "INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)",
        (
            (row.topic, row.log_ns, zstandard.compress(row.data) if zstd_messages else row.data)
            for row in (rows(topics) if held is None else held)
        ),
    )
    database.commit()
    database.close()
    return path


def metadata(
    directory: Path, topics: Sequence[Planted], files: Sequence[str], version: int = 9
) -> Path:
    """metadata.yaml as that version has it: the profiles as a list from 9 on, before as a string
    that contains YAML."""
    held = rows(topics)
    lines = [
        "rosbag2_bagfile_information:",
        f"  version: {version}",
        "  storage_identifier: mcap",
        f"  duration: {{nanoseconds: {held[-1].log_ns - held[0].log_ns}}}",
        f"  starting_time: {{nanoseconds_since_epoch: {held[0].log_ns}}}",
        f"  message_count: {len(held)}",
        "  topics_with_message_count:",
    ]
    for topic in topics:
        text = topic.profiles(version)
        if version >= 9:
            profiles = "\n" + "".join(f"          {line}\n" for line in text.splitlines())
        else:
            profiles = ' "' + text.replace("\n", "\\n") + '"\n'
        lines += [
            "    - topic_metadata:",
            f"        name: {topic.name}",
            f"        type: {topic.type}",
            "        serialization_format: cdr",
            f"        offered_qos_profiles:{profiles}      message_count: {len(topic.times)}",
        ]
    lines += ["  relative_file_paths:", *(f"    - {name}" for name in files)]
    path = directory / "metadata.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


def split(directory: Path, topics: Sequence[Planted], parts: int = 3) -> Path:
    """A directory with so many files, in the order in which they were recorded."""
    directory.mkdir()
    held = rows(topics)
    length = -(-len(held) // parts)
    names = [f"bag_{part}.mcap" for part in range(parts)]
    for part, name in enumerate(names):
        mcap(directory / name, topics, held[part * length : (part + 1) * length])
    metadata(directory, topics, names)
    return directory
