"""What a file holds, in pieces that travel: without its holes and zeros, the rest compressed. A
records file is mostly zeros before a trial and in what was not used of it."""

import errno
import os
import zlib
from collections.abc import Iterator

PIECE_BYTES = 1 << 20
_ZEROS = bytes(PIECE_BYTES)


def pieces(fd: int) -> Iterator[tuple[int, bytes]]:
    """(offset, compressed content)."""
    size = os.fstat(fd).st_size
    place = 0
    while place < size:
        try:
            place = os.lseek(fd, place, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # no data from here on
                return
            raise
        data = os.pread(fd, PIECE_BYTES, place)
        if data and data != _ZEROS[: len(data)]:
            yield place, zlib.compress(data, 1)
        place += max(1, len(data))


def put(fd: int, offset: int, piece: bytes) -> None:
    """Writes a piece. Raises zlib.error where it is not one, or is too large when it is
    unpacked."""
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(piece, PIECE_BYTES)
    if not unpacking.eof or unpacking.unused_data:
        raise zlib.error(f"not one piece of at most {PIECE_BYTES} bytes")
    while data:
        written = os.pwrite(fd, data, offset)
        data, offset = data[written:], offset + written
