"""The figures of a published evaluation, as data that anyone can extend (docs/formats/figures.md):
where each figure stands in its source, what its axes are, which imported points it shows, and which
cells of which suite measure the same today.

Each source has one file, `suites/published/SOURCE/figures.yaml`. This module checks what its words
mean; `published/figures/figure_points.py` makes their points.

The points are in a small CSV file beside it, so that the figures can be drawn without the archive
that they come from. It has one line per series, `kind, figure, series, unit, x, as_published,
as_corrected, count, why`, numbers only. x and the values are lists joined by `|`; an empty entry
means `no data`, and `=` means the same values as published. `count` and `why` (why points have no
corrected value) stand once if they are the same for the whole line. Numbers have five digits: more
than any figure shows.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, model_validator

from rmwbench.errors import UserError
from rmwbench.published.campaign import OVER_TIME
from rmwbench.published.sources import require_distinct_ids
from rmwbench.suite.fault import Fault, Strict
from rmwbench.suite.file.suite_files import (
    FIGURES_FILE,
    path_text,
    read,
    source_directory,
    source_file,
    sources_with,
)
from rmwbench.suite.file.tree import validated
from rmwbench.suite.predicate import Scalar, Text

Texts = Annotated[tuple[Text, ...], Field(strict=False)]
Chart = Literal["lines", "steps", "bars", "stacked", "heat"]
PUBLISHED_FILE = "published.csv"
"""The file beside it with the points of its figures, for those who have no archive."""


class FigureAxis(Strict):
    """An axis as the original has it. `order` lists the categories that are shown, in order;
    `positions` puts categories on a numeric axis."""

    title: Text
    unit: str = ""
    scale: Literal["linear", "log", "category"] = "linear"
    limits: Annotated[tuple[float, float], Field(strict=False)] | None = None
    order: Texts | None = None
    positions: dict[str, float] | None = None


class Points(Strict):
    """The points of an importer's figure. `match` is a regular expression that the whole series
    must fit; its named groups, `series` and `x` of the point may be used in `{…}` in the templates
    for `x`, `series` and `panel`. `low` and `high` are figures with the ends of an error bar at the
    same series and x; `spread` is one with half its length. `mislabelled` maps a series to the one
    that the original shows under its name: the version as published takes that one's values."""

    figure: Text
    match: str | None = None
    x: Text = "{x}"
    series: Text = "{series}"
    panel: str | None = None
    low: Text | None = None
    high: Text | None = None
    spread: Text | None = None
    mislabelled: dict[Text, Text] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _require_patterns(self) -> "Points":
        try:
            re.compile(self.match or "")
        except re.error as error:
            raise Fault(
                "not a regular expression",
                expected="Python's syntax",
                actual=str(error),
                at=("match",),
            ) from None
        return self


class Printed(Strict):
    """Numbers that the source prints itself although it publishes no data for them: in its text or
    a table, or read off a plot by eye. `points` are (series, x, value); the value is null if that
    bar or point is missing."""

    read_from: Literal["text", "table", "plot"]
    points: Annotated[
        tuple[Annotated[tuple[str, Scalar, float | int | None], Field(strict=False)], ...],
        Field(strict=False, min_length=1),
    ]


class MeasuredFigure(Strict):
    """What is measured today: `metric` of the cells of `suite`, times `factor`. `workload` and `at`
    choose cells (a level, or a list of levels); templates may use factors, `workload` and `arm`.

    Four more operations can follow. `times` multiplies by another metric of the cell. `per` divides
    by a factor of it (what all `subscribers` receive together, for each of them). `inverse` divides
    by the metric (a period from a rate). `of_machine` makes a share of all hardware threads of the
    machine that measured it.
    """

    suite: Text
    metric: Text
    workload: Texts | None = None
    at: dict[
        str, Annotated[Scalar | Annotated[tuple[Scalar, ...], Field(strict=False)], Field()]
    ] = Field(default_factory=dict)
    factor: float = 1.0
    times: Text | None = None
    per: Text | None = None
    inverse: Annotated[float, Field(gt=0)] | None = None
    of_machine: bool = False
    x: Text
    series: Text = "{arm}"
    panel: str | None = None

    @model_validator(mode="after")
    def _require_one_operation(self) -> "MeasuredFigure":
        arithmetic = self.times or self.per or self.of_machine
        if self.inverse is not None and (arithmetic or self.factor != 1.0):
            raise Fault(
                "an inverse stands alone",
                expected="no `factor`, `times`, `per` or `of_machine`",
                at=("inverse",),
            )
        if self.metric in OVER_TIME and (self.inverse is not None or arithmetic):
            raise Fault(
                "what arrives over time is not a metric", expected="`factor` alone", at=("metric",)
            )
        return self

    @property
    def metrics(self) -> tuple[str, ...]:
        """All metrics that are read from a cell."""
        return (self.metric, self.times) if self.times else (self.metric,)


class FigurePart(Strict):
    """One pair of axes. A figure with several parts is a picture with several pairs of axes."""

    title: Text | None = None
    chart: Chart
    x: FigureAxis
    y: FigureAxis
    series: Texts | None = None
    """The series that the original draws, in its order; all series if absent."""
    columns: Annotated[int, Field(ge=1, le=8)] | None = None
    """The number of columns of small multiples, which have one panel for each `panel` of the
    points."""
    points: Annotated[tuple[Points, ...], Field(strict=False)] = ()
    printed: Printed | None = None
    not_published: Text | None = None
    measured: Annotated[tuple[MeasuredFigure, ...], Field(strict=False)] = ()
    not_measured: Text | None = None
    note: Text | None = None

    def is_on_axis(self, x: str) -> bool:
        """Whether the original's x axis has this place."""
        axis_places = self.x.order or self.x.positions
        return axis_places is None or x in axis_places

    @model_validator(mode="after")
    def _require_reasons(self) -> "FigurePart":
        origins = (self.points, self.printed, self.not_published)
        if sum(map(bool, origins)) != 1:
            raise Fault(
                "a figure has points or a reason",
                expected="`points` or `printed`, or `not_published`",
                at=("chart",),
            )
        if bool(self.measured) == bool(self.not_measured):
            raise Fault(
                "a figure is measured or has a reason",
                expected="`measured` or `not_measured`",
                at=("chart",),
            )
        panels = [*(x.panel for x in self.points), *(x.panel for x in self.measured)]
        if self.columns and (self.printed or not all(panels)):
            raise Fault(
                "small multiples without panels",
                expected="`panel` in all `points` and `measured`, and nothing `printed`",
                at=("columns",),
            )
        return self


class Figure(Strict):
    """A figure of the source. `images` are the file names of the pictures that it stands for, as
    the source names them. `each` makes one figure of every combination of its values, which replace
    `<NAME>` in all texts."""

    id: Text
    place: Text
    title: Text
    images: Texts = ()
    each: dict[str, Annotated[tuple[Scalar, ...], Field(strict=False, min_length=1)]] = Field(
        default_factory=dict
    )
    parts: Annotated[tuple[FigurePart, ...], Field(strict=False)] = ()
    not_drawn: Text | None = None
    note: Text | None = None

    @model_validator(mode="after")
    def _require_parts_or_reason(self) -> "Figure":
        if bool(self.parts) == bool(self.not_drawn):
            raise Fault(
                "a figure is drawn or has a reason", expected="`parts` or `not_drawn`", at=("id",)
            )
        return self

    def expanded(self) -> Iterator["Figure"]:
        """Yield the figures that this entry stands for."""
        if not self.each:
            yield self
            return
        raw = self.model_dump(exclude={"each"}, exclude_none=True)
        for values in product(*self.each.values()):
            by_name = dict(zip(self.each, values, strict=True))
            yield Figure.model_validate(_with_values(raw, by_name))


class Figures(Strict):
    """A source and its figures. `names` are the words used here for series, categories and arms;
    `kinds` are the importers whose data it draws."""

    figures: Text
    title: Text
    published: Text
    text: Text
    kinds: Texts = ()
    names: dict[str, str] = Field(default_factory=dict)
    items: Annotated[tuple[Figure, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _require_distinct_ids(self) -> "Figures":
        ids = ((n, x.id) for n, item in enumerate(self.items) for x in item.expanded())
        require_distinct_ids("figures", ids)
        return self

    def all(self) -> list[Figure]:
        """Return every figure, with those that `each` makes one by one."""
        return [figure for item in self.items for figure in item.expanded()]

    def imported(self) -> set[str]:
        """Return the names of all figures of importers that are drawn."""
        points = [p for item in self.items for part in item.parts for p in part.points]
        return {name for p in points for name in (p.figure, p.low, p.high, p.spread) if name}


def sources() -> list[str]:
    """Return the sources that have figures, by the name of their folder."""
    return sources_with(FIGURES_FILE)


def load(source: str | Path) -> Figures:
    """Return the figures of a shipped source, or of a file by its path. Raise UserError, with file
    and line, for anything wrong."""
    path = source_file(source, FIGURES_FILE, "figures")
    return validated(read(path), where=path_text(path), model=Figures)


def measured_figures(source: str) -> list[MeasuredFigure]:
    """Return what the figures of a shipped source draw of today's measurements; an empty list if
    the source has no figures."""
    if source not in sources():
        return []
    parts = [part for figure in load(source).all() for part in figure.parts]
    return [measured for part in parts for measured in part.measured]


def published_file(source: str | Path) -> Path:
    """Return the path of a source's extracted points, whether or not the file exists."""
    path = Path(source)
    folder = path.parent if path.suffix in (".yaml", ".yml") else source_directory(source)
    return folder / PUBLISHED_FILE


def fill(template: str, values: Mapping[str, Any]) -> str:
    """Return the template with every `{NAME}` replaced. Raise UserError for an unknown name."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name not in values:
            raise UserError(
                f"nothing is called `{name}` here",
                where=template,
                expected=", ".join(sorted(values)),
            )
        return str(values[name])

    return re.sub(r"\{([^{}]+)\}", value, template)


def _with_values(tree: Any, values: Mapping[str, Scalar]) -> Any:
    """Replace every `<NAME>`. A text that is only `<NAME>` becomes the value itself, so that a
    level keeps its type."""
    if isinstance(tree, str):
        if tree.startswith("<") and tree.endswith(">") and tree[1:-1] in values:
            return values[tree[1:-1]]
        for name, value in values.items():
            tree = tree.replace(f"<{name}>", str(value))
        return tree
    if isinstance(tree, dict):
        return {key: _with_values(value, values) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_with_values(value, values) for value in tree]
    return tree


HEADER = ("kind", "figure", "series", "unit", "x", "as_published", "as_corrected", "count", "why")
SAME, JOIN = "=", "|"

Rows = list[dict[str, Any]]
T = TypeVar("T")


def points_text(rows_by_kind: dict[str, Rows], figures: Iterable[str]) -> str:
    """Return the file's text: the rows of these figures, in the importers' order."""
    figure_names = set(figures)
    rows_by_line: dict[tuple[str, str, str, str], Rows] = {}
    for kind in sorted(rows_by_kind):
        for row in rows_by_kind[kind]:
            if row["figure"] in figure_names:
                line = (kind, row["figure"], row["series"], row["unit"])
                rows_by_line.setdefault(line, []).append(row)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for line, rows in rows_by_line.items():
        published, corrected = (
            JOIN.join("" if row[name] is None else f"{row[name]:.5g}" for row in rows)
            for name in HEADER[5:7]
        )
        counts = ["" if row["count"] is None else str(row["count"]) for row in rows]
        reasons = ["" if row["as_corrected"] is not None else row["note"] or "" for row in rows]
        distinct = set(filter(None, reasons))
        writer.writerow(
            [
                *line,
                JOIN.join(row["x"] for row in rows),
                published,
                SAME if corrected == published else corrected,
                counts[0] if len(set(counts)) == 1 else JOIN.join(counts),
                JOIN.join(reasons) if len(distinct) > 1 else "".join(distinct),
            ]
        )
    return out.getvalue()


def published_points(source: str | Path) -> dict[str, Rows]:
    """Return the extracted points of a source by kind; an empty mapping if there is no file of
    them."""
    path = published_file(source)
    return points_in(path) if path.is_file() else {}


def points_in(path: Path) -> dict[str, Rows]:
    """Return the rows of such a file, by kind. Raise UserError, with the line, for a line that does
    not have this form."""
    rows_by_kind: dict[str, Rows] = {}
    with open(path, encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        header = next(lines, [])
        if tuple(header) != HEADER:
            raise UserError(
                "not a file of figures",
                where=f"{path}:1",
                expected=", ".join(HEADER),
                actual=str(header),
            )
        for line in lines:
            where = f"{path}:{lines.line_num}"
            if len(line) != len(HEADER):
                raise UserError(
                    "a line of another length",
                    where=where,
                    expected=f"{len(HEADER)} cells",
                    actual=str(len(line)),
                )
            kind, figure, series, unit, xs, published, corrected, count, reason = line
            places = xs.split(JOIN)
            shown = _entries(published, len(places), where, float)
            right = shown if corrected == SAME else _entries(corrected, len(places), where, float)
            counts = _entries(_repeated(count, len(places)), len(places), where, int)
            reasons = _entries(_repeated(reason, len(places)), len(places), where, str)
            for x, a, b, n, text in zip(places, shown, right, counts, reasons, strict=True):
                row = {
                    "figure": figure,
                    "series": series,
                    "x": x,
                    "unit": unit,
                    "as_published": a,
                    "as_corrected": b,
                    "count": n,
                    "note": text if b is None else None,
                }
                rows_by_kind.setdefault(kind, []).append(row)
    return rows_by_kind


def _repeated(text: str, count: int) -> str:
    """Return the entries of a cell that stand once if they are the same for the whole line."""
    return text if JOIN in text else JOIN.join([text] * count)


def _entries(text: str, count: int, where: str, read_entry: Callable[[str], T]) -> list[T | None]:
    """Return the entries of a cell; None for an empty one."""
    try:
        values = [read_entry(value) if value else None for value in text.split(JOIN)]
    except ValueError as error:
        raise UserError("a value is not a number", where=where, actual=str(error)) from None
    if len(values) != count:
        raise UserError(
            "the entries of a cell and of x differ in number",
            where=where,
            expected=f"{count} entries",
            actual=str(len(values)),
        )
    return values
