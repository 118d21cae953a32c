"""Where published data lies: a file, a directory or a tar archive (gz, bz2, xz), read one file at a
time.

Nothing is unpacked and an archive is read once, front to back, so that memory is one file whatever
the size of the whole. Links and devices are skipped and named: data files are plain files. Where a
list of checksums comes with the data, every file of it is checked.
"""

import errno
import hashlib
import lzma
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rmwbench.errors import UserError
from rmwbench.published.importers.source import checksums
from rmwbench.published.importers.source.archive import Archive, is_archive
from rmwbench.published.importers.source.checksums import Checksums
from rmwbench.published.importers.source.file_names import is_text, shown

MOST_BYTES = 256 * 1024 * 1024
"""The most bytes of one file. Published logs are kilobytes; what is larger is something else."""

_IMPORTED = "a file, a directory or a tar archive"
_SPECIAL = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True)
class SourceFile:
    """One file: `name` relative to the source, `where` for errors, its content; `above` are the
    folders that the source itself lies in.
    """

    name: str
    where: str
    data: bytes
    above: tuple[str, ...] = ()

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that the file is in, the nearest last: some formats keep in them what was
        run."""
        return (*self.above, *self.name.split("/")[:-1])

    def text(self) -> str:
        """The content as UTF-8 without a byte order mark. Raises UserError with the line of the
        first wrong byte."""
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            raise UserError(
                "not a text file in UTF-8",
                where=f"{self.where}:{line}",
                expected="UTF-8",
                actual=f"{encoding_of(self.data)}: byte 0x{self.data[error.start]:02x}",
                fix="convert it: iconv -f ENCODING -t UTF-8",
            ) from None


def encoding_of(data: bytes) -> str:
    """What bytes that are not UTF-8 most likely are."""
    if (
        data.startswith((b"\xff\xfe", b"\xfe\xff"))
        or b"\0" in data[:200:2]
        or b"\0" in data[1:200:2]
    ):
        return "UTF-16, or binary"
    return "another encoding, such as Latin-1"


class Source:
    """The files at a path. Iterate it (once or several times); `files`, `sha256`, `skipped` and
    `checked` (files that a list of checksums vouches for) are known after a whole pass. An archive
    within a directory is skipped: it is a source of its own.
    """

    def __init__(self, path: Path | str):
        if not str(path):
            raise UserError("no path to import", expected=_IMPORTED, actual="an empty text")
        self.path = Path(path)
        self._is_directory = stat.S_ISDIR(_mode(self.path))
        self.files = 0
        self.sha256 = ""
        self.skipped: list[str] = []
        self.checked = 0
        resolved = self.path.resolve()
        self._above = (resolved if self._is_directory else resolved.parent).parts[1:]

    def __iter__(self) -> Iterator[SourceFile]:
        """Every file in a fixed order: by name in a directory, as stored in an archive."""
        digest, files = hashlib.sha256(), 0
        self.skipped = []
        try:
            for item in self._items():
                digest.update(f"{item.name}\0{len(item.data)}\0".encode())
                digest.update(item.data)
                files += 1
                yield item
        except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise self._damaged(error, files) from None
        except OSError as error:
            # The compressed formats say damage with an OSError that has no number.
            if error.errno is None:
                raise self._damaged(error, files) from None
            where = shown(os.fsdecode(error.filename)) if error.filename else shown(self.path)
            raise UserError(f"cannot read: {error.strerror or error}", where=where) from None
        self.files, self.sha256 = files, digest.hexdigest()

    def must_have_files(self) -> None:
        """Raises UserError unless a pass found at least one file."""
        if not self.files:
            raise UserError(
                "no data files here", where=shown(self.path), expected="files to import"
            )

    def _damaged(self, error: Exception, files: int) -> UserError:
        return UserError(
            "the archive is damaged",
            where=shown(self.path),
            expected="a whole tar file",
            actual=f"{str(error) or type(error).__name__} after {files} files",
            fix="fetch it again",
        )

    def _items(self) -> Iterator[SourceFile]:
        self.checked = 0
        found = checksums.above(self.path)
        listed, relative = found if found else (None, "")
        if self._is_directory:
            yield from self._of_directory(listed, relative)
        elif is_archive(self.path):
            yield from self._of_archive(listed, relative)
        else:
            _check_size(self.path.stat().st_size, shown(self.path))
            item = self._item(self.path.name, shown(self.path), self.path.read_bytes())
            if listed is not None:
                listed.check(relative, hashlib.sha256(item.data).hexdigest(), item.where)
            yield item
        self.checked += len(listed.checked) if listed is not None else 0

    def _of_directory(self, listed: Checksums | None, relative: str) -> Iterator[SourceFile]:
        prefix = f"{relative}/" if relative else ""
        for path, name in sorted(_walk(self.path, self.skipped), key=lambda found: found[0]):
            if listed is None and not _is_data(path):
                continue
            if is_archive(path):
                self.skipped.append(name)
                if listed is not None and f"{prefix}{name}" in listed.wanted:
                    with open(path, "rb") as file:
                        listed.check(
                            f"{prefix}{name}",
                            hashlib.file_digest(file, "sha256").hexdigest(),
                            shown(path),
                        )
                continue
            _check_size(path.stat().st_size, shown(path))
            data = path.read_bytes()
            if listed is not None:
                listed.check(f"{prefix}{name}", hashlib.sha256(data).hexdigest(), shown(path))
            if _is_data(path):
                yield self._item(name, shown(path), data)
        if listed is not None:
            listed.must_be_whole(relative)

    def _of_archive(self, listed: Checksums | None, relative: str) -> Iterator[SourceFile]:
        archive = Archive(self.path)
        digests: dict[str, str] = {}
        inside: dict[str, Checksums] = {}
        for member, stored in archive.members():
            where = f"{shown(self.path)}:{shown(member.name)}"
            if not member.isfile():
                if not member.isdir():
                    self.skipped.append(shown(member.name))
                continue
            _check_size(member.size, where)
            name = os.path.normpath(member.name)
            content = stored.extractfile(member)
            assert content is not None, "a file has content"
            data = content.read()
            if len(data) != member.size:
                raise EOFError(f"{shown(member.name)} is cut")
            if name in digests:
                raise UserError(
                    "the same file twice in an archive", where=where, expected="every name once"
                )
            digests[name] = hashlib.sha256(data).hexdigest()
            if Path(name).name == checksums.NAME:
                inside[os.path.dirname(name)] = checksums.parsed(data, where)
            if _is_data(Path(name)):
                yield self._item(member.name, where, data)
        if listed is not None:
            listed.check(relative, archive.sha256, shown(self.path))
        for folder, own in inside.items():
            prefix = f"{folder}/" if folder else ""
            for name, sha256 in digests.items():
                if name.startswith(prefix):
                    own.check(
                        name.removeprefix(prefix), sha256, f"{shown(self.path)}:{shown(name)}"
                    )
            own.must_be_whole("")
            self.checked += len(own.checked)

    def _item(self, name: str, where: str, data: bytes) -> SourceFile:
        if not is_text(name):
            raise UserError(
                "the name of this file is not text",
                where=where,
                expected="UTF-8 without control characters",
                actual=repr(os.fsencode(name)[:200]),
                fix="rename it",
            )
        return SourceFile(name, where, data, self._above)


def _mode(path: Path) -> int:
    """The kind of what lies at a path. Raises UserError where there is nothing that can be read as
    data."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise UserError("no such file or directory", where=shown(path)) from None
        what = (
            "a loop of symbolic links"
            if error.errno == errno.ELOOP
            else f"cannot read: {error.strerror}"
        )
        raise UserError(what, where=shown(path), expected=_IMPORTED) from None
    except ValueError:
        raise UserError(
            "not a path", where=shown(path), expected="a path without a zero byte"
        ) from None
    kind = _SPECIAL.get(stat.S_IFMT(mode))
    if kind is not None:
        raise UserError(
            f"{kind} is read only once",
            where=shown(path),
            expected=f"{_IMPORTED}: the format is recognised first, then the whole is read",
            fix="save it into a file, and import that",
        )
    return mode


def _walk(top: Path, skipped: list[str]) -> Iterator[tuple[Path, str]]:
    """Every plain file below a directory that is not hidden, with its name relative to it. A
    directory that cannot be read is an error.
    """

    def fail(error: OSError) -> None:
        raise error

    for folder, folders, files in os.walk(top, onerror=fail):
        for name in (*files, *folders):
            path = Path(folder) / name
            relative = path.relative_to(top).as_posix()
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode):
                yield path, relative
            elif not stat.S_ISDIR(mode) and _is_data(path):
                skipped.append(shown(relative))


def _is_data(path: Path) -> bool:
    """Not what people and file managers put beside data."""
    stem = path.name.upper().split(".")[0]
    return not path.name.startswith(".") and stem not in ("README", "LICENSE", checksums.NAME)


def _check_size(size: int, where: str) -> None:
    if size > MOST_BYTES:
        raise UserError(
            "this file is too large for published data",
            where=where,
            expected=f"at most {MOST_BYTES} bytes",
            actual=f"{size} bytes",
        )
