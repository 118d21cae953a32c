"""Published data at a path: a file, a directory or a tar archive (gz, bz2, xz), read one file at a
time.

Nothing is unpacked and an archive is read once, front to back, so memory holds one file whatever
the size of the whole. Links and devices are skipped and named: data files are plain files. If a
list of checksums (`SHA256SUMS`, as sha256sum writes it) comes with the data, in a folder, above it
or in an archive, every file that it names is checked and must be there.

An archive is read wholly: one that is cut or damaged anywhere is an error. `tarfile` ends without an
error at a header that it cannot read, and never reads the check value of a compressed stream, which
comes last. So the stream is read to its end, and the end mark must stand where the members end.
"""

import bz2
import csv
import errno
import gzip
import hashlib
import lzma
import os
import re
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from pydantic import ValidationError

from rmwbench.errors import UserError

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


def shown(path: Path | str) -> str:
    """Return a path for a message: unprintable characters are escaped, so that a message keeps its
    lines."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode()
        for c in str(path)
    )


CHECKSUMS = "SHA256SUMS"
CHECKSUM_LINE = re.compile(r"(?P<sha256>[0-9a-fA-F]{64}) [ *](?P<name>.+)")
HIGHEST = 6
"""How many folders above the data are searched for a list."""


@dataclass
class Checksums:
    """What one list says, as path relative to the list's folder → SHA-256; `checked` are the files
    that were met."""

    where: str
    wanted: dict[str, str]
    checked: set[str] = field(default_factory=set)

    def check(self, name: str, sha256: str, where: str) -> None:
        """Raise UserError if the list has another value for this name; ignore a name that it does
        not have."""
        if name not in self.wanted:
            return
        if self.wanted[name] != sha256:
            raise UserError(
                f"this file is not the one in {self.where}",
                where=where,
                expected=f"SHA-256 {self.wanted[name]}",
                actual=sha256,
                fix="fetch the data again, or remove the list if you changed the file yourself",
            )
        self.checked.add(name)

    def must_be_whole(self, below: str) -> None:
        """Raise UserError unless every name below this folder (`""`: all) was checked."""
        prefix = f"{below}/" if below else ""
        missing = [n for n in self.wanted if n.startswith(prefix) and n not in self.checked]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise UserError(
                "files that the list of checksums names are not here",
                where=self.where,
                expected=f"{len(self.wanted)} files",
                actual=f"no {shown(missing[0])}{more}",
                fix="fetch the data again, or remove the list if you want a part of it",
            )


def checksums_in(text: bytes, where: str) -> Checksums:
    """Return the content of a list. Raise UserError for a line that is not an entry of a list."""
    wanted: dict[str, str] = {}
    for number, line in enumerate(text.decode("utf-8", "surrogateescape").splitlines(), start=1):
        if not line.strip():
            continue
        match = CHECKSUM_LINE.fullmatch(line)
        name = "" if match is None else str(PurePosixPath(match["name"]))
        digest = None if match is None else match["sha256"].lower()
        if digest is None or wanted.get(name, digest) != digest:
            raise UserError(
                "not a list of checksums",
                where=f"{where}:{number}",
                expected="64 hexadecimal digits, two blanks, a name; each name once",
                actual=repr(line[:80]),
            )
        wanted[name] = digest
    return Checksums(where, wanted)


def checksums_above(path: Path) -> tuple[Checksums, str] | None:
    """Return the nearest list in the folder of a path or above it that names something at or below
    the path, and the path relative to the list's folder (`""`: that folder itself)."""
    resolved = path.resolve()
    for folder in _folders_above(resolved):
        place = folder / CHECKSUMS
        try:
            text = place.read_bytes()
        except OSError:
            continue
        checksums = checksums_in(text, shown(place))
        relative = "" if folder == resolved else resolved.relative_to(folder).as_posix()
        if not relative or any(
            n == relative or n.startswith(f"{relative}/") for n in checksums.wanted
        ):
            return checksums, relative
    return None


def _folders_above(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield path
    yield from list(path.parents)[:HIGHEST]


MOST_BYTES = 256 * 1024 * 1024
"""The most bytes of one file. Published logs have kilobytes; a larger file is something else."""

_IMPORTED = "a file, a directory or a tar archive"
_SPECIAL = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def malformed(
    where: str, what: str, expected: str, actual: object = None, fix: str | None = None
) -> UserError:
    """Return the error for data that is not as its format says; `where` is FILE or FILE:LINE."""
    text = None if actual is None else repr(actual) if isinstance(actual, str) else str(actual)
    return UserError(what, where=where, expected=expected, actual=text and text[:200], fix=fix)


class Placed:
    """Something that an error can point at: `where` is FILE or FILE:LINE."""

    where: str

    def wrong(
        self, what: str, expected: str, actual: object = None, fix: str | None = None
    ) -> UserError:
        """Return the error for data here that is not as its format says."""
        return malformed(self.where, what, expected, actual, fix)

    def unlike_its_type(self, error: ValidationError, whole: str) -> UserError:
        """Return the error for data here that its type refused; `whole` describes the data if no
        part of it is named."""
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or whole
        actual = None if first["type"] == "missing" else first["input"]
        return self.wrong(f"{name} is missing or of another kind", first["msg"], actual)


@dataclass(frozen=True)
class SourceFile(Placed):
    """One file: `name` relative to the source, `where` for errors, and its content; `above` are the
    folders that the source itself lies in."""

    name: str
    where: str
    data: bytes
    above: tuple[str, ...] = ()

    @property
    def directory(self) -> str:
        """The directory that contains the file, relative to the source."""
        return self.name.rpartition("/")[0]

    @property
    def file_name(self) -> str:
        return self.name.rpartition("/")[2]

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that contain the file, the nearest last: in some formats they say what was
        run."""
        return (*self.above, *self.name.split("/")[:-1])

    @property
    def header(self) -> list[str]:
        """The cells of the first line, for recognising a format; [] if it is not the first line of
        a table. The reader of the rows reports bytes that are not UTF-8."""
        first = self.data[:65536].partition(b"\n")[0].decode("utf-8-sig", errors="replace")
        try:
            return next(csv.reader([first]), [])
        except csv.Error:
            return []

    def text(self) -> str:
        """Return the content as UTF-8 without a byte order mark. Raise UserError with the line of
        the first wrong byte."""
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
    """Return the most likely encoding of bytes that are not UTF-8."""
    if (
        data.startswith((b"\xff\xfe", b"\xfe\xff"))
        or b"\0" in data[:200:2]
        or b"\0" in data[1:200:2]
    ):
        return "UTF-16, or binary"
    return "another encoding, such as Latin-1"


class Source:
    """The files at a path, which can be iterated several times. `files`, `sha256`, `skipped` and
    `checked` (the number of files that a list of checksums vouches for) are known after a whole
    pass. An archive within a directory is skipped: it is a source of its own; a bundle there is no
    published data."""

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
        """Yield every file in a fixed order: by name in a directory, as stored in an archive."""
        digest, files = hashlib.sha256(), 0
        self.skipped = []
        try:
            for item in self._items():
                digest.update(f"{item.name}\0{len(item.data)}\0".encode())
                digest.update(item.data)
                files += 1
                yield item
        except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise self._damage_error(error, files) from None
        except OSError as error:
            # The compressed formats say damage with an OSError that has no number.
            if error.errno is None:
                raise self._damage_error(error, files) from None
            where = shown(os.fsdecode(error.filename)) if error.filename else shown(self.path)
            raise UserError(f"cannot read: {error.strerror or error}", where=where) from None
        self.files, self.sha256 = files, digest.hexdigest()

    def must_have_files(self) -> None:
        """Raise UserError unless a pass found at least one file."""
        if not self.files:
            raise UserError(
                "no data files here", where=shown(self.path), expected="files to import"
            )

    def _damage_error(self, error: Exception, files: int) -> UserError:
        return UserError(
            "the archive is damaged",
            where=shown(self.path),
            expected="a whole tar file",
            actual=f"{str(error) or type(error).__name__} after {files} files",
            fix="fetch it again",
        )

    def _items(self) -> Iterator[SourceFile]:
        self.checked = 0
        above = checksums_above(self.path)
        listed, relative = above if above else (None, "")
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
        entries = sorted(_walk(self.path, self.skipped), key=lambda entry: entry[0])
        bundles = tuple(
            name.removesuffix("campaign.json")
            for _, name in entries
            if name.endswith("/campaign.json")
        )
        for path, name in entries:
            is_data = _is_data(name) and not name.startswith(bundles)
            if listed is None and not is_data:
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
            if is_data:
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
            if Path(name).name == CHECKSUMS:
                inside[os.path.dirname(name)] = checksums_in(data, where)
            if _is_data(name):
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
        if not name.isprintable():
            raise UserError(
                "the name of this file is not text",
                where=where,
                expected="UTF-8 without control characters",
                actual=repr(os.fsencode(name)[:200]),
                fix="rename it",
            )
        return SourceFile(name, where, data, self._above)


def _mode(path: Path) -> int:
    """Return what kind of thing lies at a path. Raise UserError if it cannot be read as data."""
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
    """Yield every plain file below a directory, with its name relative to it. A directory that
    cannot be read is an error."""

    def fail(error: OSError) -> None:
        raise error

    for folder, folders, files in os.walk(top, onerror=fail):
        for name in (*files, *folders):
            path = Path(folder) / name
            relative = path.relative_to(top).as_posix()
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode):
                yield path, relative
            elif not stat.S_ISDIR(mode) and _is_data(relative):
                skipped.append(shown(relative))


def _is_data(name: str) -> bool:
    """Whether a file, by its name relative to the source, is none of those that people and programs
    put beside data: hidden ones, and whatever lies in a hidden folder."""
    path = PurePosixPath(name)
    is_hidden = any(part.startswith(".") and part != ".." for part in path.parts)
    return not is_hidden and path.name.upper().split(".")[0] not in ("README", "LICENSE", CHECKSUMS)


def _check_size(size: int, where: str) -> None:
    if size > MOST_BYTES:
        raise UserError(
            "this file is too large for published data",
            where=where,
            expected=f"at most {MOST_BYTES} bytes",
            actual=f"{size} bytes",
        )
