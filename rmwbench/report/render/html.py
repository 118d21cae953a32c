"""A view as one HTML file, which contains its styles, scripts, Vega and all data."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rmwbench.report import view as shown
from rmwbench.report.page import render_page
from rmwbench.report.render.markdown import pictures
from rmwbench.report.view import Block, On, Picture, Section, View
from rmwbench.whole_file import write_whole


def write_html(view: View, path: Path | str) -> None:
    """Write the page to `path`: some 3 MB where it has charts, otherwise some 100 kB."""
    write_whole(path, render_html(view))


def render_html(view: View) -> str:
    """The page as text; the template escapes all texts that others wrote."""
    charts = [
        picture
        for picture in pictures((*view.about, *view.answer, *view.sections), On.PAGE)
        if picture.spec is not None
    ]
    places = {id(picture): place for place, picture in enumerate(charts)}
    return render_page(
        "view.html.j2",
        [_spec(picture) for picture in charts],
        view=view,
        filters=FILTERS,
        place=lambda picture: places.get(id(picture)),
        named=[section for section in _sections((*view.answer, *view.sections)) if section.nav],
    )


def _spec(picture: Picture) -> dict[str, Any]:
    """A chart with both its variants, which draw the same rows: the page has the rows once."""
    wide, narrow = (
        None if chart is None else {key: value for key, value in chart.items() if key != "datasets"}
        for chart in (picture.spec, picture.narrow)
    )
    return {"datasets": (picture.spec or {})["datasets"], "wide": wide, "narrow": narrow}


def _sections(blocks: Iterable[Block]) -> list[Section]:
    sections = [block for block in blocks if isinstance(block, Section) and On.PAGE in block.on]
    return [inner for section in sections for inner in (section, *_sections(section.blocks))]


FILTERS: dict[str, Callable[..., Any]] = {
    "cell": shown.cell,
    "row": shown.row,
    "column": shown.column,
    "kind": lambda block: type(block).__name__,
    "on_page": lambda block: On.PAGE in block.on,
}
