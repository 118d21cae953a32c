"""Reads a tar archive once, front to back, and wholly: an archive that is cut or damaged anywhere
is an error.

`tarfile` ends without an error at a header that it cannot read, and never reads the check value of
a compressed stream, which comes last. This module therefore reads the stream to its end, and
requires the end mark at the place where the members end.
"""

import bz2
import gzip
import hashlib
import lzma
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

BLOCK = 512
MOST_HEADER_BYTES = 65_536
"""The most bytes of a long name or of attributes before a member; these are read into memory
whole."""
ZEROS = bytes(BLOCK)
_ATTRIBUTES = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)
_OPENERS: dict[bytes, Callable[[BinaryIO], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}


def is_archive(path: Path) -> bool:
    """Whether the content is that of an archive: a compressed stream, or a bare tar header."""
    with open(path, "rb") as file:
        head = file.read(BLOCK)
    return head[257:262] == b"ustar" or head.startswith(tuple(_OPENERS))


class _Member(tarfile.TarInfo):
    """A member that refuses attributes that would fill the memory before they are read."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _ATTRIBUTES and self.size > MOST_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {self.size} bytes")
        member: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]
        return member


class _Stream:
    """The uncompressed bytes, with the last block that was read."""

    def __init__(self, file: BinaryIO):
        self._file = file
        self.last = b""

    def read(self, size: int) -> bytes:
        self.last = self._file.read(size)
        return self.last


class Archive:
    """The members of an archive. `sha256` is that of the file itself, known after a whole pass."""

    def __init__(self, path: Path):
        self.path = path
        self.sha256 = ""

    def members(self) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
        """Yield every member, in order, with the archive from which its content must be read at
        once. Damage raises what the libraries raise for it: tarfile.TarError, EOFError, zlib.error,
        lzma.LZMAError, OSError."""
        with open(self.path, "rb") as file:
            self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            file.seek(0)
            stream = _Stream(self._plain(file))
            # Blocks of 512 bytes: the last one read is then the header at which reading ended.
            with tarfile.open(
                fileobj=cast(BinaryIO, stream), mode="r|", bufsize=BLOCK, tarinfo=_Member
            ) as archive:
                for member in archive:
                    yield member, archive
            if stream.last != ZEROS:
                raise tarfile.ReadError(
                    "no end mark after the last file: cut, or a header that cannot be read"
                )
            while rest := stream.read(1 << 16):
                if rest.strip(b"\0"):
                    raise tarfile.ReadError("data after the end mark")

    def _plain(self, file: BinaryIO) -> BinaryIO:
        head = file.read(6)
        file.seek(0)
        opener = next((o for begin, o in _OPENERS.items() if head.startswith(begin)), None)
        return file if opener is None else opener(file)
