"""One import: recognise the data, read it into DIRECTORY.partial, rename that. An error leaves
nothing behind.

A user who wants to draw the figures of published data, without the values of each second, collects
them without a bundle: the same readers apply the same rules and report the same errors, but what
they say about trials and windows is only counted.
"""

import hashlib
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rmwbench.bundle.pack import PackedWriter
from rmwbench.errors import UserError
from rmwbench.input_file import name_of
from rmwbench.published.importers.data_source import Source, shown
from rmwbench.published.importers.kinds import KINDS, Kind, NotRecognised, kind_named, recognise
from rmwbench.published.importers.published import Published
from rmwbench.whole_file import is_full

PARSER = 2
"""This version rises when the same data gives another bundle."""


@dataclass(frozen=True)
class Imported:
    directory: Path
    kind: Kind
    files: int
    trials: int
    windows: int
    figures: int


def import_published(path: Path | str, out: Path | str, kind: str | None = None) -> Imported:
    """Read published data into a new bundle at `out`. If no kind is named, the content decides it.

    Raise UserError for data that is not as its format says (file, line, expected, found), an
    unknown kind, an existing `out` or a full disk; then nothing is left at `out`.
    """
    named_kind = kind_named(kind) if kind else None
    source = Source(path)
    try:
        return _import(source, Path(os.path.normpath(out)), named_kind)
    except OSError as error:
        # What cannot be read is told by the source: this is writing.
        reason = error.strerror or str(error)
        raise UserError(
            f"cannot write the bundle: {reason}",
            where=shown(out),
            fix=("make room, or " if is_full(error) else "") + "choose another place with --out",
        ) from None


def _import(source: Source, out: Path, named_kind: Kind | None) -> Imported:
    with PackedWriter(out) as writer:
        kind = named_kind or recognise(source)
        published = Published(writer)
        kind.reader().read(source, published)
        published.flush()
        source.must_have_files()
        whole: dict[str, list[dict[str, Any]]] = {"figures": published.figures}
        if published.cells:
            whole["cells"] = published.cells
        writer.finish(_campaign(kind, source, published, out), whole)
        return Imported(
            out, kind, source.files, published.trials, published.windows, len(published.figures)
        )


def _campaign(kind: Kind, source: Source, published: Published, out: Path) -> dict[str, Any]:
    return {
        "campaign": shown(out.name),
        "tool_version": version("rmwbench"),
        "created_utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seed": None,
        "suite": {"name": kind.name, "text": "", "sha256": hashlib.sha256(b"").hexdigest()},
        "imported": {
            "kind": kind.name,
            "title": kind.title,
            "parser": PARSER,
            "source": {
                "name": shown(name_of(source.path)),
                "files": source.files,
                "sha256": source.sha256,
                "skipped": source.skipped,
                "checked": source.checked,
            },
            "limits": [
                {"metric": metric, "no_data": reason} for metric, reason in published.limits.items()
            ],
            "errors": [{"name": name, **error} for name, error in published.errors.items()],
        },
        "machine": {"summary": "imported: see the original for its machine"},
        "middlewares": [],
    }


ARCHIVE_SUFFIXES = (".tar.gz", ".tar.xz", ".tar")
DEEPEST = 3
"""How many levels of folders below a path are searched for data."""

Rows = list[dict[str, Any]]


class _TrialCounter:
    """Stands in for the writer of a bundle: the part of it that a reader needs."""

    def __init__(self) -> None:
        self.trials = 0

    def trial(self, **_: object) -> int:
        self.trials += 1
        return self.trials - 1


class FiguresOnly(Published):
    """Keeps figures, limits and errors, and drops windows."""

    def __init__(self) -> None:
        super().__init__(_TrialCounter())  # type: ignore[arg-type]

    def window(self, *_: object, **__: object) -> None:
        """Do nothing: windows are not kept."""

    def flush(self) -> None:
        """Do nothing: nothing goes to disk."""


def collect(path: Path | str, kinds: Iterable[str] = ()) -> dict[str, Rows]:
    """Return the figures of all published data at or below a path, by kind; only of `kinds` if
    given. If one kind has several sources (raw logs and their summary), the first value that is not
    absent stands.

    Raise UserError if nothing there is of a known kind, or if data is not as its format says.
    """
    names = set(kinds) or set(KINDS)
    by_kind: dict[str, dict[tuple[str, str, str], dict[str, Any]]] = {}
    refused: list[NotRecognised] = []
    for place in _places(Path(path), 0):
        source = Source(place)
        try:
            kind = recognise(source)
        except NotRecognised as error:
            refused.append(error)
            continue
        if kind.name not in names:
            continue
        out = FiguresOnly()
        kind.reader().read(source, out)
        source.must_have_files()
        merged = by_kind.setdefault(kind.name, {})
        for row in out.figures:
            _merge(merged, row)
    if not by_kind:
        raise (
            refused[0]
            if len(refused) == 1
            else UserError(
                "no published data of a wanted kind",
                where=str(path),
                expected=", ".join(sorted(names)),
                fix="`rmwbench published import --list` says what can be read",
            )
        )
    return {kind: list(rows.values()) for kind, rows in by_kind.items()}


def _merge(merged: dict[tuple[str, str, str], dict[str, Any]], row: dict[str, Any]) -> None:
    key = (row["figure"], row["series"], row["x"])
    earlier = merged.setdefault(key, row)
    for value in ("as_published", "as_corrected"):
        if earlier[value] is None and row[value] is not None:
            changes = {name: row[name] for name in (value, "note", "count")}
            merged[key] = earlier = earlier | changes


def _places(path: Path, depth: int) -> list[Path]:
    """Return the path itself if it holds data of one kind, else what lies in it."""
    if not path.exists():
        raise UserError("no such file or directory", where=str(path))
    if path.is_file() or depth >= DEEPEST:
        return [path]
    entries = sorted(path.iterdir())
    archives = [x for x in entries if x.is_file() and x.name.endswith(ARCHIVE_SUFFIXES)]
    try:
        recognise(Source(path))
        return [*archives, path]
    except NotRecognised:
        inner = [x for x in entries if not x.name.startswith(".") and (x.is_dir() or x in archives)]
        return [place for x in inner for place in _places(x, depth + 1)] or [path]
