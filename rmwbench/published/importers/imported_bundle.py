"""One import: recognise, read into DIRECTORY.partial, rename. An error leaves nothing behind.

Those who want to draw the figures of published data and not to keep the seconds collect them
without a bundle: the same readers, the same rules and errors; what they say of trials and windows
is counted and dropped."""

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
from rmwbench.published.importers.data_source import Source, shown
from rmwbench.published.importers.kinds import KINDS, Kind, NotRecognised, named, recognise
from rmwbench.published.importers.published import Published

PARSER = 2
"""Raised when the same data gives another bundle."""


@dataclass(frozen=True)
class Imported:
    """What an import made."""

    directory: Path
    kind: Kind
    files: int
    trials: int
    windows: int
    figures: int


def import_published(path: Path | str, out: Path | str, kind: str | None = None) -> Imported:
    """Reads published data into a new bundle at `out`. The kind is recognised by content where none
    is named.

    UserError for data that is not as its format says (file, line, expected, found), an unknown
    kind, a place that is taken or a full disk; then nothing is left at `out`.
    """
    chosen = named(kind) if kind else None
    source = Source(path)
    try:
        return _import(source, Path(os.path.normpath(out)), chosen)
    except OSError as error:
        # What cannot be read is told by the source: this is writing.
        reason = error.strerror or str(error)
        raise UserError(
            f"cannot write the bundle: {reason}", where=shown(out), fix="make room, or use --out"
        ) from None


def _import(source: Source, out: Path, chosen: Kind | None) -> Imported:
    with PackedWriter(out) as writer:
        chosen = chosen or recognise(source)
        published = Published(writer)
        chosen.reader().read(source, published)
        published.flush()
        source.must_have_files()
        whole: dict[str, list[dict[str, Any]]] = {"figures": published.figures}
        if published.cells:
            whole["cells"] = published.cells
        writer.finish(_campaign(chosen, source, published, out), whole)
        return Imported(
            out, chosen, source.files, published.trials, published.windows, len(published.figures)
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
                "name": shown(source.path.name),
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


DEEPEST = 3
"""Folders below a path that are looked through for data."""

Rows = list[dict[str, Any]]


class _Counted:
    """What a reader needs of the writer of a bundle."""

    def __init__(self) -> None:
        self.trials = 0

    def trial(self, **_: object) -> int:
        self.trials += 1
        return self.trials - 1


class Collected(Published):
    """Keeps figures, limits and errors; windows are dropped."""

    def __init__(self) -> None:
        super().__init__(_Counted())  # type: ignore[arg-type]

    def window(self, *_: object, **__: object) -> None:
        """Not kept."""

    def flush(self) -> None:
        """Nothing goes to disk."""


def collect(path: Path | str, kinds: Iterable[str] = ()) -> dict[str, Rows]:
    """The figures of all published data at or below a path, by kind; with `kinds`, of these alone.
    Several sources of one kind (raw logs and their summary): the first value that says something
    stands.

    UserError where nothing there is of a known kind, or data is not as its format says.
    """
    wanted = set(kinds) or set(KINDS)
    by_kind: dict[str, dict[tuple[str, str, str], dict[str, Any]]] = {}
    refused: list[NotRecognised] = []
    for place in _places(Path(path), 0):
        source = Source(place)
        try:
            kind = recognise(source)
        except NotRecognised as error:
            refused.append(error)
            continue
        if kind.name not in wanted:
            continue
        out = Collected()
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
                expected=", ".join(sorted(wanted)),
                fix="`rmwbench published import --list` says what can be read",
            )
        )
    return {kind: list(rows.values()) for kind, rows in by_kind.items()}


def _merge(merged: dict[tuple[str, str, str], dict[str, Any]], row: dict[str, Any]) -> None:
    key = (row["figure"], row["series"], row["x"])
    if key not in merged:
        merged[key] = row
        return
    known = merged[key]
    for value in ("as_published", "as_corrected"):
        if known[value] is None and row[value] is not None:
            merged[key] = known = known | {
                value: row[value],
                "note": row["note"],
                "count": row["count"],
            }


def _places(path: Path, depth: int) -> list[Path]:
    """The path itself where it is data of one kind, else what lies in it."""
    if not path.exists():
        raise UserError("no such file or directory", where=str(path))
    if path.is_file() or depth >= DEEPEST:
        return [path]
    archives = [
        p
        for p in sorted(path.iterdir())
        if p.is_file() and p.name.endswith((".tar.gz", ".tar.xz", ".tar"))
    ]
    try:
        recognise(Source(path))
        return [*archives, path]
    except NotRecognised:
        inner = [
            p
            for p in sorted(path.iterdir())
            if not p.name.startswith(".") and (p.is_dir() or p in archives)
        ]
        return [place for p in inner for place in _places(p, depth + 1)] or [path]
