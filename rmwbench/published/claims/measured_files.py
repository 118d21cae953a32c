"""The shipped summaries of measurements, `suites/published/SOURCE/measured/TIME-MACHINE.json`
(docs/formats/claims.md)."""

from pathlib import Path
from typing import Any

from rmwbench.errors import UserError
from rmwbench.input_file import parse_json, read_input
from rmwbench.suite.file.places import source_directory

FOLDER = "measured"
SCHEMA, VERSION = "rmwbench/measured", 1
METHOD = 2
"""By which method a campaign was measured; no other is judged. 1, which said none: of a short drain
that took slow messages for lost, of costs divided by what arrived after the window too, and of
single trials repeated instead of blocks."""


def shipped(source: str, directory: Path | None = None) -> list[dict[str, Any]]:
    """The summaries of a source as they are in their files, the newest first. Raises UserError for
    any other file, and for what another method measured."""
    folder = (directory / source if directory else source_directory(source)) / FOLDER
    return [_read(path) for path in sorted(folder.glob("*.json"), reverse=True)]


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = parse_json(read_input(path))
        kind = (found["schema"], found["version"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(
            "this is not a summary of a measurement", where=str(path), actual=str(error)
        ) from None
    if kind != (SCHEMA, VERSION):
        raise UserError(
            "this summary is of another kind",
            where=str(path),
            expected=f"{SCHEMA} {VERSION}",
            actual=f"{kind}",
        )
    methods = {one.get("method", 1) for one in found["campaigns"]}
    if methods != {METHOD}:
        raise UserError(
            "this was measured by another method",
            where=str(path),
            expected=f"method {METHOD}",
            actual=", ".join(f"method {number}" for number in sorted(methods)),
            fix="measure it again; `rmwbench published claims run` says what is open without it",
        )
    return found
