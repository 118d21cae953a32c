"""One import: recognise, read into DIRECTORY.partial, rename. An error leaves nothing behind."""

import hashlib
import os
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rmwbench.bundle.pack import PackedWriter
from rmwbench.errors import UserError
from rmwbench.published.importers.kinds import Kind, named, recognise
from rmwbench.published.importers.published import Published
from rmwbench.published.importers.source.data_source import Source
from rmwbench.published.importers.source.file_names import shown

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
