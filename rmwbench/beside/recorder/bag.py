"""Reads a bag: the messages of one trial by writer and sequence number, and rosbag2's metadata.

A bag is read from its first byte on, message by message, and never by its index: a killed recorder
leaves no index, and the messages that it has written count. The harness's header in each message
(docs/formats/records.md) has its writer; it is somewhere behind the CDR of the type.
"""

import struct
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SUFFIX = ".mcap"
METADATA = "metadata.yaml"
MAGIC = b"RMWB"
PROBE = 0
_HEADER = struct.Struct("<4sIQQqQIIIIQ")
_MULTIPLIER, _MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


@dataclass
class BagContents:
    """The messages in a bag. `messages`: writer → sequence numbers in the order of the bag, without
    probes; `probes`: writer → their number. `in_bag`: topic → the number of all messages.
    `foreign`: the number of messages of no writer of this trial. `damaged`: why a file cannot be
    read to its end."""

    messages: dict[int, list[int]] = field(default_factory=dict)
    probes: Counter[int] = field(default_factory=Counter)
    in_bag: Counter[str] = field(default_factory=Counter)
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


def read(directory: Path, nonce: int) -> BagContents:
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
                    contents.in_bag[topics.get(record.channel_id, "")] += 1
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
    at = data.find(MAGIC)
    while at >= 0 and len(data) >= at + _HEADER.size:
        _, writer, message_nonce, seq, *_, phase, _, check = _HEADER.unpack_from(data, at)
        if message_nonce == nonce and check == header_check(data[at : at + _HEADER.size]):
            return writer, seq, phase
        at = data.find(MAGIC, at + 1)
    return None


def header_check(header: bytes) -> int:
    """Return the check of the first 56 bytes (docs/formats/records.md)."""
    words = struct.unpack("<7Q", header[:56])
    total: int = sum(
        word * pow(_MULTIPLIER, index, 1 << 64) for index, word in enumerate(words, start=1)
    )
    return total & _MASK


def metadata(directory: Path, cached: bool) -> Metadata | None:
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
