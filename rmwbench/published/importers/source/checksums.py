"""Lists of checksums (`SHA256SUMS`, as sha256sum writes them) that come with data: in a folder,
above it, or in an archive. What a list names is checked, and must be there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from rmwbench.errors import UserError
from rmwbench.published.importers.source.file_names import shown

NAME = "SHA256SUMS"
LINE = re.compile(r"(?P<sha256>[0-9a-fA-F]{64}) [ *](?P<name>.+)")
HIGHEST = 6
"""Folders above the data that are looked at for a list."""


@dataclass
class Checksums:
    """What one list says: path relative to the list's folder → SHA-256; `checked` are those that
    were met."""

    where: str
    wanted: dict[str, str]
    checked: set[str] = field(default_factory=set)

    def check(self, name: str, sha256: str, where: str) -> None:
        """UserError where the list has another value for this name; a name that it does not have is
        passed over."""
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
        """Raises UserError unless every name below this folder (`""`: all) was checked."""
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


def parsed(text: bytes, where: str) -> Checksums:
    """The content of a list. Raises UserError for a line that is not an entry of it."""
    wanted: dict[str, str] = {}
    for number, line in enumerate(text.decode("utf-8", "surrogateescape").splitlines(), start=1):
        if not line.strip():
            continue
        match = LINE.fullmatch(line)
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


def above(path: Path) -> tuple[Checksums, str] | None:
    """The nearest list in the folder of a path or above it that names something at or below the
    path, and the path relative to the list's folder (`""`: that folder itself).
    """
    resolved = path.resolve()
    for folder in _folders(resolved):
        place = folder / NAME
        try:
            text = place.read_bytes()
        except OSError:
            continue
        found = parsed(text, shown(place))
        relative = "" if folder == resolved else resolved.relative_to(folder).as_posix()
        if not relative or any(n == relative or n.startswith(f"{relative}/") for n in found.wanted):
            return found, relative
    return None


def _folders(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield path
    yield from list(path.parents)[:HIGHEST]
