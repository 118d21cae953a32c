"""A view as one HTML file that opens offline, in the frame of the report's page
(rmwbench/report/html.py)."""

from pathlib import Path
from typing import Any

from rmwbench.report.html import render_page
from rmwbench.report.view import View
from rmwbench.whole_file import write_whole


def write_page(view: View, path: Path | str) -> None:
    """Write the page to `path`."""
    write_whole(path, render(view))


def render(view: View) -> str:
    """The page as text; everything that others wrote is escaped by the template."""
    specs: list[dict[str, Any]] = []
    places: dict[str, int] = {}
    for section in view.sections:
        for picture in section.pictures:
            places[picture.key] = len(specs)
            bare = {key: value for key, value in picture.spec.items() if key != "datasets"}
            specs.append({"datasets": picture.spec["datasets"], "wide": bare, "narrow": None})
    return render_page("community.html.j2", specs, view=view, places=places)
