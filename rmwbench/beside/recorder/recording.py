"""The recording of a trial without judgement: its bag, and what rosbag2 printed about itself.

A bag is read from its first byte on, message by message, and never by its index: a killed recorder
leaves no index, and the messages that it has written count. The harness's header in each message
(docs/formats/records.md) has its writer; it is somewhere behind the CDR of the type.

rosbag2 prints the topics that it subscribed to, the messages that its cache lost and that its RMW
reported as lost, and whether it ended in order. It prints losses only if there are any: a missing
line means zero if the recorder ended in order, and nothing otherwise.
"""

import re
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rmwbench.beside.recorder.keys import NAME
from rmwbench.suite.workload.endpoints import Endpoint

SUFFIX = ".mcap"
METADATA = "metadata.yaml"
MAGIC = b"RMWB"
PROBE = 0
_HEADER = struct.Struct("<4sIQQqQIIIIQ")
_MULTIPLIER, _MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


@dataclass
class BagContents:
    """The messages in a bag. `messages`: writer → sequence numbers in the order of the bag, without
    probes; `probes`: writer → their number. `count_by_topic`: topic → the number of all messages.
    `foreign`: the number of messages of no writer of this trial. `damaged`: why a file cannot be
    read to its end."""

    messages: dict[int, list[int]] = field(default_factory=dict)
    probes: Counter[int] = field(default_factory=Counter)
    count_by_topic: Counter[str] = field(default_factory=Counter)
    foreign: int = 0
    file_bytes: int = 0
    damaged: str | None = None


@dataclass(frozen=True)
class Metadata:
    """rosbag2's metadata. `handed`: topic → messages that rosbag2 handed to its storage; `reached`:
    messages of all topics that reached its writer, including those that its cache dropped, or None
    if that count has another meaning."""

    handed: dict[str, int]
    reached: int | None


def read_bag(directory: Path, nonce: int) -> BagContents:
    """Read the messages of the trial `nonce` in the bag's files. The messages in front of a damage
    count."""
    contents = BagContents()
    for path in sorted(directory.glob("*" + SUFFIX), key=_number):
        contents.file_bytes += path.stat().st_size
        _read_file(path, nonce, contents)
    return contents


def _number(path: Path) -> tuple[int, str]:
    tail = path.stem.rpartition("_")[2]
    return (int(tail) if tail.isdigit() else 0), path.name


def _read_file(path: Path, nonce: int, contents: BagContents) -> None:
    from mcap.exceptions import McapError
    from mcap.records import Channel, Message
    from mcap.stream_reader import StreamReader

    topics: dict[int, str] = {}
    with path.open("rb") as file:
        try:
            # Without checks of whole chunks: the messages in front of the first damage count.
            for record in StreamReader(file, validate_crcs=False).records:
                if isinstance(record, Channel):
                    topics[record.id] = record.topic
                elif isinstance(record, Message):
                    contents.count_by_topic[topics.get(record.channel_id, "")] += 1
                    _count(record.data, nonce, contents)
        except (McapError, struct.error, EOFError, ValueError) as error:
            contents.damaged = (
                contents.damaged or f"{path.name}: {type(error).__name__}: {error}".rstrip(": ")
            )


def _count(data: bytes, nonce: int, contents: BagContents) -> None:
    message_identity = identity(data, nonce)
    if message_identity is None:
        contents.foreign += 1
        return
    writer, seq, phase = message_identity
    if phase == PROBE:
        contents.probes[writer] += 1
    else:
        contents.messages.setdefault(writer, []).append(seq)


def identity(data: bytes, nonce: int) -> tuple[int, int, int] | None:
    """Return (writer, sequence number, phase) of a serialised message of the trial, None for any
    other."""
    begin = data.find(MAGIC)
    while begin >= 0 and len(data) >= (end := begin + _HEADER.size):
        _, writer, message_nonce, seq, *_, phase, _, check = _HEADER.unpack_from(data, begin)
        if message_nonce == nonce and check == header_check(data[begin:end]):
            return writer, seq, phase
        begin = data.find(MAGIC, begin + 1)
    return None


def header_check(header: bytes) -> int:
    """Return the check of the first 56 bytes (docs/formats/records.md)."""
    words = struct.unpack("<7Q", header[:56])
    total: int = sum(
        word * pow(_MULTIPLIER, index, 1 << 64) for index, word in enumerate(words, start=1)
    )
    return total & _MASK


def read_metadata(directory: Path, cached: bool) -> Metadata | None:
    """Read the metadata that rosbag2 wrote when it closed the bag, None if it did not close it.
    Without a cache rosbag2 counts each message that reached its writer twice, so `reached` is None
    then."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        document = YAML(typ="safe", pure=True).load((directory / METADATA).read_text())
        info: dict[str, Any] = document["rosbag2_bagfile_information"]
        topics = info["topics_with_message_count"]
        handed = {entry["topic_metadata"]["name"]: int(entry["message_count"]) for entry in topics}
        reached = sum(int(file["message_count"]) for file in info["files"])
    except (OSError, YAMLError, KeyError, TypeError, ValueError, AttributeError):
        return None
    return Metadata(handed, reached if cached else None)


_SUBSCRIBED = re.compile(r"Subscribed to topic '([^']+)'")
_CACHE = re.compile(
    r"Cache buffers lost messages per topic: ((?:\n\t\S+: \d+)*)\nTotal lost: (\d+)"
)
_OF_TOPIC = re.compile(r"\t(\S+): (\d+)")
_UNFLUSHED = re.compile(r"Cache buffers were unflushed with (\d+) remaining messages")
_TRANSPORT = re.compile(r"Number of messages lost on the transport layer: (\d+)")
_STOPPED = "Recording stopped"
TRANSPORT_SINCE = (0, 26, 10)
"""The first version of rosbag2 in Jazzy that counts the message-lost events of its RMW and prints
their sum."""


@dataclass(frozen=True)
class RecorderLog:
    """rosbag2's own account. `cache_lost`: topic → messages that the cache lost, None if rosbag2
    did not end in order. `transport_lost`: the lost messages of all topics together by its RMW,
    None if this rosbag2 does not count them."""

    subscribed: frozenset[str]
    stopped: bool
    cache_lost: dict[str, int] | None
    unflushed: int
    transport_lost: int | None


def parse_log(text: str, version: tuple[int, ...] = ()) -> RecorderLog:
    """Parse the text that the recorder printed; `version` is rosbag2's."""
    stopped = _STOPPED in text
    cache_lost: dict[str, int] = {}
    # A bag that is split prints its cache's account again; the later one includes the earlier one.
    for match in _CACHE.finditer(text):
        cache_lost |= {topic: int(count) for topic, count in _OF_TOPIC.findall(match[1])}
    transport = _TRANSPORT.search(text)
    counts = version[:2] == TRANSPORT_SINCE[:2] and version >= TRANSPORT_SINCE
    return RecorderLog(
        frozenset(_SUBSCRIBED.findall(text)),
        stopped,
        cache_lost if stopped else None,
        sum(int(count) for count in _UNFLUSHED.findall(text)),
        int(transport[1]) if transport else 0 if stopped and counts else None,
    )


def ending_text(exit_code: int) -> str:
    """Return a text such as `ended with exit code 1` or `was ended by signal 11`."""
    by_signal = exit_code < 0
    return f"was ended by signal {-exit_code}" if by_signal else f"ended with exit code {exit_code}"


@dataclass(frozen=True, kw_only=True)
class Recording:
    """A bag and the end of its recorder. `publishers`: those whose messages it should have kept;
    `metadata`: None if rosbag2 did not write it; `stopped_s`: the time from SIGINT to its end;
    `exit_code`: None if it was killed."""

    publishers: tuple[Endpoint, ...]
    contents: BagContents
    metadata: Metadata | None
    log: RecorderLog
    stopped_s: float | None
    exit_code: int | None

    @property
    def in_order(self) -> bool:
        """Whether the recorder ended as it should, so that its counts are complete."""
        return self.exit_code == 0 and self.log.stopped and self.metadata is not None

    def problems(self) -> Iterator[str]:
        """Yield the faults of the bag and of rosbag2's own account, in words."""
        if not self.in_order:
            ending = "was killed" if self.exit_code is None else ending_text(self.exit_code)
            yield (
                f"the recorder {ending}: where messages were lost behind its subscriptions is not "
                "known"
            )
        if self.contents.damaged:
            yield f"the bag is damaged: {self.contents.damaged}"
        if self.log.unflushed:
            yield f"rosbag2's cache was left with {self.log.unflushed} messages"
        metadata, log = self.metadata, self.log
        if metadata is not None and metadata.reached is not None and log.cache_lost is not None:
            total = sum(metadata.handed.values()) + sum(log.cache_lost.values()) + log.unflushed
            if metadata.reached != total:
                yield (
                    f"rosbag2 counts {metadata.reached} messages that reached it and {total} that "
                    "it wrote or dropped"
                )

    def columns(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the columns of the table `recorded`: the messages in the bag, in their order."""
        for writer, numbers in sorted(self.contents.messages.items()):
            rows = len(numbers)
            yield (
                "recorded",
                {
                    "process": np.full(rows, NAME, object),
                    "endpoint": np.full(rows, writer, np.uint32),
                    "seq": np.array(numbers, np.uint64),
                },
            )

    def counters(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of the table `counters` that are known: for a topic at its first writer,
        for all topics together at no endpoint."""
        contents, metadata, log = self.contents, self.metadata, self.log
        first_writers: dict[str, int] = {}
        for publisher in self.publishers:
            first_writers.setdefault(publisher.topic, publisher.endpoint)
            yield _row("bag.probes", contents.probes[publisher.endpoint], publisher.endpoint)
        for topic, writer in first_writers.items():
            name = f"/{topic}"
            yield _row("bag.messages", contents.count_by_topic[name], writer)
            if self.in_order and metadata is not None and log.cache_lost is not None:
                yield _row("rosbag2.handed_to_storage", metadata.handed.get(name, 0), writer)
                yield _row("rosbag2.lost_in_cache", log.cache_lost.get(name, 0), writer)
        yield _row("bag.size", contents.file_bytes, unit="bytes")
        yield _row("bag.foreign", contents.foreign)
        if log.transport_lost is not None:
            yield _row("rosbag2.lost_in_transport", log.transport_lost)
        if self.stopped_s is not None:
            yield _row("rosbag2.stop", 1e9 * self.stopped_s, unit="ns")


def _row(
    counter: str, value: float, endpoint: int | None = None, unit: str = "count"
) -> dict[str, Any]:
    source = {"process": NAME, "role": NAME, "endpoint": endpoint}
    return source | {"counter": counter, "unit": unit, "at": "end", "value": float(value)}
