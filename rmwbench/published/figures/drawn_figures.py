"""The figures of published evaluations, drawn again: the points of each as published, as corrected
and as measured, and why there are none (docs/formats/figures.md)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from rmwbench.published.figures.figures_file import (
    Figure,
    FigurePart,
    Figures,
    MeasuredFigure,
    Points,
    fill,
)
from rmwbench.results.model import document as plain
from rmwbench.words.fields import absent, exact

VERSIONS = ("published", "corrected", "measured")


class Place(NamedTuple):
    """The place of a point in a part."""

    series: str
    x: str
    panel: str | None = None

    def named(self, names: Mapping[str, str]) -> "Place":
        """Return the place in the words that the source's file uses."""
        panel = None if self.panel is None else names.get(self.panel, self.panel)
        return Place(names.get(self.series, self.series), names.get(self.x, self.x), panel)


def place_in(templates: Points | MeasuredFigure, values: Mapping[str, Any]) -> Place:
    """Return the place that the templates of `points` make of these values. Raise UserError if a
    template names a value that is not among them."""
    panel = fill(templates.panel, values) if templates.panel else None
    return Place(fill(templates.series, values), fill(templates.x, values), panel)


@dataclass(frozen=True, kw_only=True)
class FigurePoint:
    """`y` is None where there is no value. `low` and `high`: the ends of its interval, if any."""

    series: str
    x: str
    panel: str | None = absent()
    y: float | None = exact()
    low: float | None = absent(exact=True)
    high: float | None = absent(exact=True)
    note: str | None = absent()


@dataclass(frozen=True, kw_only=True)
class MeasuredPoint(FigurePoint):
    """`machine_bound`: True, or None. `from_`: the place of its campaign among those of its part."""

    blocks: int | None = None
    arm: str
    middleware: str
    layer: str
    machine_bound: bool | None = absent()
    from_: int = 0


@dataclass(frozen=True, kw_only=True)
class PublishedPoints:
    points: Sequence[FigurePoint]
    read_from: str
    absent: str | None


@dataclass(frozen=True, kw_only=True)
class CorrectedPoints:
    """`changed`: how many differ from those published."""

    points: Sequence[FigurePoint]
    changed: int
    absent: str | None


@dataclass(frozen=True, kw_only=True)
class CampaignSource:
    """The campaign that points come from."""

    campaign: str
    suite: str | None
    date: str | None
    machine: str | None
    shipped: bool


@dataclass(frozen=True, kw_only=True)
class CellCounts:
    """How many cells have a value (`measured`), of how many that the whole suites have (`total`).
    `at`: the places of the x axis with a value, of `places` altogether."""

    measured: int
    total: int
    at: Sequence[str]
    places: int


@dataclass(frozen=True, kw_only=True)
class MeasuredPoints:
    points: Sequence[MeasuredPoint] = ()
    from_: Sequence[CampaignSource] = ()
    cells: CellCounts | None = None
    absent: str | None = None


@dataclass(frozen=True, kw_only=True)
class DrawnPart:
    original: FigurePart
    published: PublishedPoints
    corrected: CorrectedPoints
    measured: MeasuredPoints

    @property
    def versions(self) -> dict[str, PublishedPoints | CorrectedPoints | MeasuredPoints]:
        return {
            "published": self.published,
            "corrected": self.corrected,
            "measured": self.measured,
        }

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many points of each version have a value."""
        return {
            name: sum(point.y is not None for point in version.points)
            for name, version in self.versions.items()
        }

    def document(self) -> dict[str, Any]:
        part = self.original
        return {
            "title": part.title,
            "chart": part.chart,
            "x": part.x.model_dump(exclude_none=True),
            "y": part.y.model_dump(exclude_none=True),
            "series": list(part.series) if part.series else None,
            "columns": part.columns,
            "note": part.note,
            **plain(self.versions),
        }


@dataclass(frozen=True, kw_only=True)
class DrawnFigure:
    original: Figure
    parts: Sequence[DrawnPart]

    def document(self) -> dict[str, Any]:
        figure = self.original
        return {
            "id": figure.id,
            "place": figure.place,
            "title": figure.title,
            "images": list(figure.images),
            "note": figure.note,
            "not_drawn": figure.not_drawn,
            "parts": [part.document() for part in self.parts],
        }


@dataclass(frozen=True, kw_only=True)
class DrawnSource:
    """`data` says in words where its numbers come from."""

    file: Figures
    data: str
    figures: Sequence[DrawnFigure]

    def document(self) -> dict[str, Any]:
        return {
            "source": self.file.figures,
            "title": self.file.title,
            "published": self.file.published,
            "data": self.data,
            "figures": [figure.document() for figure in self.figures],
        }


@dataclass(frozen=True, kw_only=True)
class DrawnFigures:
    """`campaigns`: the names of the given campaigns; `shipped`: machine and date of the shipped
    summaries that points come from."""

    campaigns: Sequence[str]
    shipped: Sequence[tuple[str | None, str | None]]
    sources: Sequence[DrawnSource]

    def filter(self, is_chosen: Callable[[DrawnFigure], bool]) -> "DrawnFigures":
        """Keep these figures alone; a source that has none of them stays, without figures."""
        sources = [
            replace(source, figures=[x for x in source.figures if is_chosen(x)])
            for source in self.sources
        ]
        return replace(self, sources=sources)

    def document(self) -> dict[str, Any]:
        return {
            "schema": "rmwbench/figures",
            "version": 1,
            "campaigns": list(self.campaigns),
            "shipped": [{"machine": machine, "date": date} for machine, date in self.shipped],
            "sources": [source.document() for source in self.sources],
        }
