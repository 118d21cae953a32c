"""Decompression of rosbag2's files (`bag_0.mcap.zstd`) and messages.

A compressed message begins with bytes that no serialised message has. Most frames also have the
uncompressed size, so most messages are not decompressed.
"""

import io
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

import lz4.frame
import zstandard

from rmwbench.errors import UserError

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
