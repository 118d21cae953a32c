"""A bag as a user names it (a directory, one of its files, or its metadata alone), read into a
stream of messages without payloads.

A bag is read in one pass with bounded memory. Its files are MCAP or db3, compressed as a whole
(`bag_0.mcap.zstd`), by chunk, or by message. An MCAP file is read from its first byte on, without
an index or a summary, which `fastwrite` files do not have. SQLite knows the length of a message
from the header of its row, so large payloads are not read. A compressed message begins with bytes
that no serialised message has, and most frames have the uncompressed size, so most messages are not
decompressed. All versions of metadata.yaml are read.

Bags of ROS 1 are not read, since `rosbags-convert` converts them to ROS 2 and ROS 1 is no longer
maintained.
"""

import io
import re
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import lz4.frame
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, McapRecord, Schema
from mcap.records import Message as McapMessage
from mcap.stream_reader import StreamReader

from rmwbench.errors import UserError
from rmwbench.input_file import read_text
from rmwbench.robot.twin.qos_offer import QosOffer, load_yaml, offers


@dataclass(frozen=True, kw_only=True)
class BagTopic:
    """`offers` has the QoS of each publisher; empty if the bag does not have it."""

    name: str
    type: str
    offers: tuple[QosOffer, ...] = ()


class Message(NamedTuple):
    """`log_ns` is the time at which the recorder got the message, `publish_ns` the other stamp of
    the bag, or None. `size_bytes` is the size of the serialised message with its encapsulation."""

    topic: BagTopic
    log_ns: int
    publish_ns: int | None
    size_bytes: int


ZSTD, LZ4 = b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18"
HEAD_BYTES = 19
"""The longest header of a frame of either kind, which has the size."""


def _zstd(file: BinaryIO) -> BinaryIO:
    reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, reader)))


def _lz4(file: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, lz4.frame.open(file))


OPENERS: dict[str, Callable[[BinaryIO], BinaryIO]] = {".zstd": _zstd, ".zst": _zstd, ".lz4": _lz4}
"""Suffix of a compressed file -> the function from its stream to the decompressed one."""
BROKEN = (zstandard.ZstdError, RuntimeError, EOFError)
"""The errors of both libraries for damaged data."""


def message_bytes(head: bytes, stored_bytes: int, all_bytes: Callable[[], bytes]) -> int:
    """The size in bytes of a message whose stored bytes begin with `head`; `all_bytes` reads all of
    them, for a frame without a size."""
    if head[:4] == ZSTD:
        size = zstandard.frame_content_size(head)
        return (
            size
            if size >= 0
            else len(zstandard.ZstdDecompressor().decompressobj().decompress(all_bytes()))
        )
    if head[:4] == LZ4:
        size = lz4.frame.get_frame_info(head)["content_size"] if len(head) >= 15 else 0
        return size or len(lz4.frame.decompress(all_bytes()))
    return stored_bytes


def chunk_data(compression: str, data: bytes, size_bytes: int, where: Path) -> bytes:
    """The decompressed data of a chunk of an MCAP file. Raises UserError for an unknown
    compression."""
    match compression:
        case "":
            return data
        case "zstd":
            return zstandard.ZstdDecompressor().decompress(data, max_output_size=size_bytes)
        case "lz4":
            return cast(bytes, lz4.frame.decompress(data))
    raise UserError(
        f"compression `{compression}` is not known",
        where=str(where),
        expected="zstd, lz4 or none",
        actual=compression,
        fix="`ros2 bag convert` writes it with one of these",
    )


_MESSAGE = struct.Struct("<HIQQ")
"""Channel, sequence number, log time and publish time, before the data."""
_RECORD = struct.Struct("<BQ")
_BROKEN_MCAP = (McapError, struct.error, EOFError, ValueError, UnicodeDecodeError, *BROKEN)


def mcap_messages(file: BinaryIO, where: Path, progress: Callable[[], None]) -> Iterator[Message]:
    """The messages of a file. Raises UserError for a damaged or truncated one. Calls `progress` now
    and then."""
    topics = _Topics()
    try:
        for record in StreamReader(file, emit_chunks=True).records:
            if isinstance(record, Chunk):
                progress()
                data = chunk_data(record.compression, record.data, record.uncompressed_size, where)
                yield from _chunk_messages(data, topics)
            elif isinstance(record, McapMessage):
                progress()
                data = record.data
                size = message_bytes(data, len(data), lambda data=data: data)  # type: ignore[misc]
                topic = topics.topic_of(record.channel_id)
                yield Message(topic, record.log_time, record.publish_time or None, size)
            else:
                topics.add(record)
    except _BROKEN_MCAP as error:
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
    head = HEAD_BYTES
    while at < end:
        opcode, length = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        following = at + length
        if following > end:
            raise ValueError("a record reaches beyond its chunk")
        if opcode == Opcode.MESSAGE:
            channel, _, log_ns, publish_ns = _MESSAGE.unpack_from(data, at)
            begin = at + _MESSAGE.size
            size = message_bytes(
                data[begin : min(begin + head, following)],
                following - begin,
                lambda begin=begin, following=following: data[begin:following],  # type: ignore[misc]
            )
            yield Message(topics.topic_of(channel), log_ns, publish_ns or None, size)
        elif opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
            topics.read(opcode, data[at:following])
        at = following


ROWS_PER_STEP = 5_000
_ROWS = f"SELECT id, topic_id, timestamp, length(data), substr(data, 1, {HEAD_BYTES}) FROM messages"


def sqlite_messages(
    path: Path, progress: Callable[[float], None], users_path: Path | None = None
) -> Iterator[Message]:
    """The messages of a db3 file. `users_path` is the path for errors, if another one. Calls
    `progress` with the share of the rows now and then. Raises UserError for a file that is damaged
    or not the storage of a bag."""
    try:
        with closing(_connection(path)) as database:
            topics = _topics(database)
            (last,) = database.execute("SELECT max(id) FROM messages").fetchone()
            for number, (row, topic, log_ns, stored, head) in enumerate(database.execute(_ROWS)):
                if number % ROWS_PER_STEP == 0:
                    progress(row / last)
                size = message_bytes(head, stored, _whole(database, row))
                yield Message(topics[topic], log_ns, None, size)
    except (sqlite3.Error, KeyError, TypeError, ValueError, *BROKEN) as error:
        raise UserError(
            "this is not the storage of a bag, or it is damaged",
            where=str(users_path or path),
            expected="a db3 file of rosbag2",
            actual=f"{type(error).__name__}: {error}",
            fix="SQLite's `.recover` saves the undamaged part",
        ) from None


def _connection(path: Path) -> sqlite3.Connection:
    """A read-only connection; in a read-only directory it ignores the log of an open writer."""
    uri = path.absolute().as_uri()
    database = sqlite3.connect(f"{uri}?mode=ro", uri=True)
    try:
        database.execute("SELECT count(*) FROM topics")
    except sqlite3.OperationalError:
        database.close()
        database = sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True)
    return database


def _topics(database: sqlite3.Connection) -> dict[int, BagTopic]:
    """Topic number -> topic. Bags of Eloquent and before have no column of offers."""
    columns = {name for _, name, *_ in database.execute("PRAGMA table_info(topics)")}
    offered = "offered_qos_profiles" if "offered_qos_profiles" in columns else "''"
    rows = database.execute(f"SELECT id, name, type, {offered} FROM topics")
    return {
        number: BagTopic(name=name, type=kind, offers=offers(profiles))
        for number, name, kind, profiles in rows
    }


def _whole(database: sqlite3.Connection, row: int) -> Callable[[], bytes]:
    def read() -> bytes:
        (data,) = database.execute("SELECT data FROM messages WHERE id = ?", (row,)).fetchone()
        return bytes(data)

    return read


METADATA_NAME = "metadata.yaml"
METADATA_ROOT = "rosbag2_bagfile_information"
MOST_METADATA_BYTES = 64 << 20


@dataclass(frozen=True, kw_only=True)
class BagMetadata:
    """`files` are the paths in the metadata. `counts`: topic -> its number of messages."""

    files: tuple[str, ...]
    topics: tuple[BagTopic, ...]
    counts: Mapping[str, int]
    duration_ns: int
    began_ns: int


def read_metadata(path: Path) -> BagMetadata:
    """The metadata of a file. Raises UserError for any other file."""
    try:
        document = load_yaml(read_text(path, MOST_METADATA_BYTES))
        return _metadata(document[METADATA_ROOT])
    except (OSError, ArithmeticError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise UserError(
            "this is not the metadata of a bag",
            where=str(path),
            expected=f"`{METADATA_ROOT}` with its topics, as rosbag2 writes it",
            actual=f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error),
            fix="`ros2 bag reindex DIR` writes it anew",
        ) from None


def _metadata(info: Mapping[str, Any]) -> BagMetadata:
    counted = [
        (entry["topic_metadata"], int(entry["message_count"]))
        for entry in info["topics_with_message_count"]
    ]
    return BagMetadata(
        files=tuple(map(str, info.get("relative_file_paths") or ())),
        topics=tuple(
            BagTopic(
                name=str(topic["name"]),
                type=str(topic["type"]),
                offers=offers(topic.get("offered_qos_profiles")),
            )
            for topic, _ in counted
        ),
        counts={str(topic["name"]): count for topic, count in counted},
        duration_ns=int(info["duration"]["nanoseconds"]),
        began_ns=int(info["starting_time"]["nanoseconds_since_epoch"]),
    )


MCAP, DB3 = ".mcap", ".db3"
EXPECTED = "a directory of rosbag2, a .mcap or .db3 file, or a metadata.yaml"

Progress = Callable[[float], None]
"""A function that gets the share of a bag's bytes that were read, between 0 and 1."""


@dataclass(frozen=True, kw_only=True)
class Bag:
    """`files` are in the order of their recording; a bag with `metadata` alone has none, and then
    only rates are known."""

    files: tuple[Path, ...]
    metadata: BagMetadata | None

    def messages(self, progress: Progress) -> Iterator[Message]:
        """The messages of all files. Raises UserError for a damaged file."""
        sizes = [path.stat().st_size for path in self.files]
        done_bytes, total = 0, max(1, sum(sizes))
        for path, size in zip(self.files, sizes, strict=True):
            yield from _file_messages(path, _part(progress, done_bytes / total, size / total))
            done_bytes += size
        progress(1.0)


def find_bag(path: Path) -> Bag:
    """The bag of a path. Raises UserError for any other file or directory."""
    if path.is_dir():
        return _of_directory(path)
    if not path.exists():
        raise UserError("there is no such bag", where=str(path), expected=EXPECTED)
    if path.suffix == ".yaml":
        return Bag(files=(), metadata=read_metadata(path))
    if path.suffix == ".bag":
        raise UserError(
            "this is a bag of ROS 1",
            where=str(path),
            expected=EXPECTED,
            fix="`rosbags-convert --src FILE --dst DIR` (pip install rosbags) makes one of ROS 2",
        )
    if not is_storage(path):
        raise UserError("this is not a bag", where=str(path), expected=EXPECTED)
    return Bag(files=(path,), metadata=None)


def is_storage(path: Path) -> bool:
    """Whether a file has the suffix of a bag's storage, compressed or not."""
    return _plain_path(path).suffix in (MCAP, DB3)


def _plain_path(path: Path) -> Path:
    return path.with_suffix("") if path.suffix in OPENERS else path


def _of_directory(path: Path) -> Bag:
    metadata_file = path / METADATA_NAME
    bag_metadata = read_metadata(metadata_file) if metadata_file.exists() else None
    named_files = [path / Path(name).name for name in bag_metadata.files] if bag_metadata else []
    existing_files = [file for file in named_files if file.exists()]
    if 0 < len(existing_files) < len(named_files):
        missing = next(file for file in named_files if not file.exists())
        raise UserError(
            "a file of this bag is missing",
            where=str(metadata_file),
            expected=", ".join(file.name for file in named_files),
            actual=f"without {missing.name}",
            fix="copy it to this directory, or name one of the other files alone",
        )
    files = existing_files or sorted(filter(is_storage, path.iterdir()), key=_number)
    if not files and bag_metadata is None:
        raise UserError("there is no bag in this directory", where=str(path), expected=EXPECTED)
    return Bag(files=tuple(files), metadata=bag_metadata)


def _number(path: Path) -> tuple[int, str]:
    """The sort key of a file: `bag_10.mcap` follows `bag_9.mcap`."""
    match = re.search(r"_(\d+)$", _plain_path(path).stem)
    return (int(match[1]) if match else 0), path.name


def _part(progress: Progress, begin: float, length: float) -> Progress:
    return lambda share: progress(begin + share * length)


def _file_messages(path: Path, progress: Progress) -> Iterator[Message]:
    opener = OPENERS.get(path.suffix)
    if opener is None and path.suffix not in (MCAP, DB3):
        raise UserError(
            "the compression of this file is not known",
            where=str(path),
            expected=", ".join((MCAP, DB3, *OPENERS)),
            actual=path.suffix,
        )
    if MCAP in path.suffixes:
        size = max(1, path.stat().st_size)
        with path.open("rb") as raw:
            file = raw if opener is None else opener(raw)
            yield from mcap_messages(file, path, lambda: progress(raw.tell() / size))
    elif opener is None:
        yield from sqlite_messages(path, progress)
    else:
        with _temporary_copy(path, opener) as plain:
            yield from sqlite_messages(plain, progress, path)


@contextmanager
def _temporary_copy(path: Path, opener: Callable[[BinaryIO], BinaryIO]) -> Iterator[Path]:
    """The path of a decompressed copy of a db3 file, since SQLite reads no stream; a temporary
    file."""
    with tempfile.NamedTemporaryFile(prefix="rmwbench-bag-", suffix=DB3) as plain:
        try:
            with path.open("rb") as raw:
                shutil.copyfileobj(opener(raw), plain, 1 << 20)
            plain.flush()
        except BROKEN as error:
            raise UserError(
                "this compressed file is damaged, or ends before its end",
                where=str(path),
                actual=str(error),
            ) from None
        yield Path(plain.name)
