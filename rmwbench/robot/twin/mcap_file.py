"""Reads the messages of an MCAP file from its first byte on, without an index or a summary, which
`fastwrite` files do not have."""

import io
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, McapRecord, Schema
from mcap.records import Message as McapMessage
from mcap.stream_reader import StreamReader

from rmwbench.errors import UserError
from rmwbench.robot.twin import compression
from rmwbench.robot.twin.qos_offer import offers
from rmwbench.robot.twin.stream import BagTopic, Message

_MESSAGE = struct.Struct("<HIQQ")
"""Channel, sequence number, log time and publish time, before the data."""
_RECORD = struct.Struct("<BQ")
_BROKEN = (McapError, struct.error, EOFError, ValueError, UnicodeDecodeError, *compression.BROKEN)


def mcap_messages(file: BinaryIO, where: Path, progress: Callable[[], None]) -> Iterator[Message]:
    """The messages of a file. Raises UserError for a damaged or truncated one. Calls `progress` now
    and then."""
    topics = _Topics()
    try:
        for record in StreamReader(file, emit_chunks=True).records:
            if isinstance(record, Chunk):
                progress()
                data = compression.chunk_data(
                    record.compression, record.data, record.uncompressed_size, where
                )
                yield from _chunk_messages(data, topics)
            elif isinstance(record, McapMessage):
                progress()
                data = record.data
                size = compression.message_bytes(data, len(data), lambda data=data: data)  # type: ignore[misc]
                topic = topics.topic_of(record.channel_id)
                yield Message(topic, record.log_time, record.publish_time or None, size)
            else:
                topics.add(record)
    except _BROKEN as error:
        raise UserError(
            "this MCAP file is damaged, or ends before its end",
            where=str(where),
            actual=f"{type(error).__name__} {error}".strip(),
            fix="`mcap recover` saves its undamaged part",
        ) from None


class _Topics:
    """Types and topics by the numbers of their schemas and channels, which a file defines before
    their messages."""

    def __init__(self) -> None:
        self._types: dict[int, str] = {}
        self._topics: dict[int, BagTopic] = {}

    def add(self, record: McapRecord) -> None:
        if isinstance(record, Schema):
            self._types[record.id] = record.name
        elif isinstance(record, Channel) and record.id not in self._topics:
            self._topics[record.id] = BagTopic(
                name=record.topic,
                type=self._types.get(record.schema_id, "unknown"),
                offers=offers(record.metadata.get("offered_qos_profiles")),
            )

    def read(self, opcode: int, data: bytes) -> None:
        """Adds a schema or a channel of a chunk."""
        kind = Schema if opcode == Opcode.SCHEMA else Channel
        self.add(kind.read(ReadDataStream(io.BytesIO(data))))

    def topic_of(self, channel: int) -> BagTopic:
        if channel not in self._topics:
            raise ValueError(f"a message of channel {channel}, which the file does not define")
        return self._topics[channel]


def _chunk_messages(data: bytes, topics: _Topics) -> Iterator[Message]:
    """The messages of a chunk. No payload is copied, since a bag has millions of messages."""
    at, end = 0, len(data)
    head = compression.HEAD_BYTES
    while at < end:
        opcode, length = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        following = at + length
        if following > end:
            raise ValueError("a record reaches beyond its chunk")
        if opcode == Opcode.MESSAGE:
            channel, _, log_ns, publish_ns = _MESSAGE.unpack_from(data, at)
            begin = at + _MESSAGE.size
            size = compression.message_bytes(
                data[begin : min(begin + head, following)],
                following - begin,
                lambda begin=begin, following=following: data[begin:following],  # type: ignore[misc]
            )
            yield Message(topics.topic_of(channel), log_ns, publish_ns or None, size)
        elif opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
            topics.read(opcode, data[at:following])
        at = following
