"""The figures of the evaluation of 2020 beside ours, where the file is its survey: by its importer,
not again here."""

import tempfile
from pathlib import Path
from typing import Any

from rmwbench.importers.formats import survey as importer
from rmwbench.importers.source.source import Item

FIGURES = ("survey_mean", "survey_difference")


def figures(item: Item, path: Path) -> list[dict[str, Any]] | None:
    """Points of the published figures, as published and as corrected; None where the file is
    another survey."""
    if not importer.recognises(item):
        return None
    from rmwbench.bundle import Bundle
    from rmwbench.importers import import_published

    with tempfile.TemporaryDirectory(prefix="rmwbench-survey-") as place:
        done = import_published(path, Path(place) / "bundle", "survey")
        rows = Bundle(done.directory).rows("figures")
    wanted = ("figure", "series", "x", "as_published", "as_corrected", "count", "note")
    return [{name: row[name] for name in wanted} for row in rows if row["figure"] in FIGURES]
