"""What an imported bundle says: where it comes from, what its original could not tell, which errors
that has, and its figures as published beside as corrected; and how all this is shown.

An imported bundle has no records, so every metric of a campaign would be `no data`; such metrics
are named with the reason instead.

python -m rmwbench.published.imported imported prints the JSON Schema of its document
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter

from rmwbench.bundle import Bundle
from rmwbench.report.view import Block, Items, On, Section, Table, Text, View
from rmwbench.words.fields import absent, exact
from rmwbench.words.numbers import counted


@dataclass(frozen=True, kw_only=True)
class ImportedCampaign:
    """Where the bundle lies."""

    name: str | None
    directory: str


@dataclass(frozen=True, kw_only=True)
class ImportedSource:
    """What was read. The digest covers names, lengths and contents in order. `checked`: the number
    of files that agree with a list of checksums."""

    name: str
    files: int
    sha256: str | None = absent()
    skipped: tuple[str, ...] | None = absent()
    checked: int | None = absent()


@dataclass(frozen=True, kw_only=True)
class MissingMetric:
    """A metric that the original has no data for, and why."""

    metric: str
    no_data: str


@dataclass(frozen=True, kw_only=True)
class KnownError:
    """What the original did wrong; the names of the figures that it affects begin with
    `figures`."""

    name: str
    text: str
    figures: str | None = absent()


@dataclass(frozen=True, kw_only=True)
class Original:
    """What was imported, as which kind, by which version of its parser."""

    kind: str
    title: str
    parser: int | None = absent()
    source: ImportedSource
    limits: tuple[MissingMetric, ...]
    errors: tuple[KnownError, ...]


@dataclass(frozen=True, kw_only=True)
class FigureSummary:
    """Numbers of points of a figure: those that were `published`, those whose corrected value
    differs (`changed`), and those without one (`no_data`)."""

    figure: str
    unit: str
    points: int
    published: int
    changed: int
    no_data: int


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point of a published figure. A value is null if the original never showed it, or if the
    data cannot tell; `note` then says why."""

    figure: str
    series: str
    x: str
    unit: str
    as_published: float | None = exact()
    as_corrected: float | None = exact()
    count: int | None
    note: str | None


@dataclass(frozen=True, kw_only=True)
class ImportedBundle:
    """What was imported, and its figures point by point."""

    schema: Literal["rmwbench/imported"] = "rmwbench/imported"
    version: Literal[1] = 1
    campaign: ImportedCampaign
    imported: Original
    cells: int
    trials: int
    windows: int
    summary: tuple[FigureSummary, ...]
    figures: tuple[Point, ...]


def summarise(bundle: Bundle) -> ImportedBundle:
    """Return what an imported bundle says (docs/importers.md)."""
    points = tuple(Point(**row) for row in bundle.rows("figures"))
    return ImportedBundle(
        campaign=ImportedCampaign(name=bundle.campaign.campaign, directory=str(bundle.directory)),
        imported=TypeAdapter(Original).validate_python(bundle.campaign.imported),
        cells=len(bundle.rows("cells")),
        trials=len(bundle.trials()),
        windows=bundle.table("windows", columns=["trial"]).num_rows,
        summary=_summary(points),
        figures=points,
    )


def _summary(points: Iterable[Point]) -> tuple[FigureSummary, ...]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for point in points:
        count = counts.setdefault((point.figure, point.unit), Counter())
        published, corrected = point.as_published, point.as_corrected
        count["points"] += 1
        count["published"] += published is not None
        count["no_data"] += corrected is None
        if published is not None and corrected is not None:
            count["changed"] += not math.isclose(published, corrected)
    names = ("points", "published", "changed", "no_data")
    return tuple(
        FigureSummary(figure=figure, unit=unit, **{name: count[name] for name in names})
        for (figure, unit), count in counts.items()
    )


def view(answer: ImportedBundle, *, figures: bool = False) -> View:
    """Return the view of the document. `figures`: it has every point instead of one line per
    figure."""
    imported, source = answer.imported, answer.imported.source
    counts = (
        f"{counted(answer.cells, 'cell')}, {counted(answer.trials, 'trial')}, "
        f"{counted(answer.windows, 'window')}, {len(answer.figures)} figure points"
    )
    about: list[Block] = [
        Text(
            f"{imported.kind}, imported from {source.name} ({counted(source.files, 'file')}): {counts}"
        )
    ]
    if source.skipped:
        why = "an archive is imported by itself, links and pipes are not read"
        about.append(Text(f"skipped ({why}): {', '.join(source.skipped)}"))
    if source.checked:
        about.append(
            Text(f"{source.checked} files agree with the list of checksums that comes with them")
        )
    about.append(Text(f"bundle: {answer.campaign.directory}", "muted"))
    table = _points_table(answer.figures) if figures else _figures_table(answer.summary)
    lists = (
        ("Known errors of the original", [f"{x.name}: {x.text}" for x in imported.errors]),
        ("No data", [f"{x.metric}: {x.no_data}" for x in imported.limits]),
    )
    return View(
        title=imported.title,
        about=about,
        sections=[
            Section("Figures", [table]),
            *(Section(title, [Items(texts)]) for title, texts in lists if texts),
        ],
    )


def _figures_table(summary: Iterable[FigureSummary]) -> Table:
    rows = [
        [x.figure, x.unit, str(x.points), str(x.changed or ""), str(x.no_data or "")]
        for x in summary
    ]
    heads = ("figure", "unit", ("points", True), ("changed", True), ("no data", True))
    return Table(heads, rows)


def _points_table(points: Iterable[Point]) -> Table:
    """Return the table of all points. There are thousands, which people search line by line."""
    rows = [
        [
            point.figure,
            point.series,
            point.x,
            point.unit,
            "–" if point.as_published is None else f"{point.as_published:.6g}",
            "no data" if point.as_corrected is None else f"{point.as_corrected:.6g}",
            "" if point.count is None else str(point.count),
            point.note or "",
        ]
        for point in points
    ]
    numbers = (("as published", True), ("as corrected", True), ("n", True))
    heads = ("figure", "series", "x", "unit", *numbers, "note")
    return Table(heads, rows, wide=True, on=On.TERMINAL)


DOCUMENTS: Mapping[str, Any] = {"imported": ImportedBundle}

if __name__ == "__main__":
    from rmwbench.results.answer_schema import main

    main(DOCUMENTS)
