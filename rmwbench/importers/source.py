"""Where published data lies: a file, a directory or a tar archive (gz, bz2, xz), read one file at a time.

Nothing is unpacked and an archive is read once, front to back, so that memory is one file whatever the size of the
whole. Links and devices are skipped: data files are plain files.
"""

import hashlib
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rmwbench.errors import UserError

MOST_BYTES = 256 * 1024 * 1024
"""Of one file. Published logs are kilobytes; what is larger is something else."""


@dataclass(frozen=True)
class Item:
    """One file: `name` relative to the source, `where` for errors, its content; `above` are the folders that the source
    itself lies in.
    """

    name: str
    where: str
    data: bytes
    above: tuple[str, ...] = ()

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that the file is in, the nearest last: some formats keep in them what was run."""
        return (*self.above, *self.name.split("/")[:-1])

    def text(self) -> str:
        """The content as UTF-8 without a byte order mark. UserError with the line of the first byte that is none."""
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            raise UserError(
                "not a text file",
                where=f"{self.where}:{line}",
                expected="UTF-8",
                actual=f"byte 0x{self.data[error.start]:02x}",
            ) from None


class Source:
    """The files at a path. Iterate it (once or several times); `files`, `sha256` and `skipped` are known after a whole
    pass. An archive within a directory is skipped: it is a source of its own.
    """

    def __init__(self, path: Path | str):
        self.path = Path(path)
        if not self.path.exists():
            raise UserError("no such file or directory", where=str(self.path))
        self.files = 0
        self.sha256 = ""
        self.skipped: list[str] = []
        resolved = self.path.resolve()
        self._above = (resolved if resolved.is_dir() else resolved.parent).parts[1:]

    def __iter__(self) -> Iterator[Item]:
        """Every file in a fixed order: by name in a directory, as stored in an archive."""
        digest, files = hashlib.sha256(), 0
        self.skipped = []
        try:
            for item in self._items():
                digest.update(f"{item.name}\0{len(item.data)}\0".encode(errors="surrogateescape"))
                digest.update(item.data)
                files += 1
                yield item
        except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise UserError(
                "the archive is damaged",
                where=str(self.path),
                expected="a whole tar file",
                actual=f"{str(error) or type(error).__name__} after {files} files",
            ) from None
        except OSError as error:
            raise UserError(f"cannot read: {error.strerror or error}", where=str(self.path)) from None
        self.files, self.sha256 = files, digest.hexdigest()

    def must_have_files(self) -> None:
        """UserError unless a pass found at least one file."""
        if not self.files:
            raise UserError("no data files here", where=str(self.path), expected="files to import")

    def _items(self) -> Iterator[Item]:
        if self.path.is_dir():
            for path in sorted(p for p in self.path.rglob("*") if p.is_file() and not p.is_symlink() and _is_data(p)):
                name = str(path.relative_to(self.path))
                if _is_tar(path):
                    self.skipped.append(name)
                    continue
                _check_size(path.stat().st_size, str(path))
                yield Item(name, str(path), path.read_bytes(), self._above)
        elif _is_tar(self.path):
            with tarfile.open(self.path, "r|*") as archive:
                for member in archive:
                    if member.isfile() and _is_data(Path(member.name)):
                        where = f"{self.path}:{member.name}"
                        _check_size(member.size, where)
                        yield Item(member.name, where, archive.extractfile(member).read(), self._above)
        else:
            _check_size(self.path.stat().st_size, str(self.path))
            yield Item(self.path.name, str(self.path), self.path.read_bytes(), self._above)


def _is_tar(path: Path) -> bool:
    """By content: a compressed stream that begins with a tar header, or a bare one."""
    with open(path, "rb") as file:
        head = file.read(512)
    if head[257:262] == b"ustar":
        return True
    return head.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00"))


def _is_data(path: Path) -> bool:
    """Not what people and file managers put beside data."""
    return not path.name.startswith(".") and path.name.upper().split(".")[0] not in ("README", "LICENSE", "SHA256SUMS")


def _check_size(size: int, where: str) -> None:
    if size > MOST_BYTES:
        raise UserError(
            "this file is too large for published data",
            where=where,
            expected=f"at most {MOST_BYTES} bytes",
            actual=f"{size} bytes",
        )
