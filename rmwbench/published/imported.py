"""What an imported bundle says: where it comes from, what its original could not tell, which
errors it has, and its figures as published beside as corrected; and how it is shown.

An imported bundle has no records, so the metrics of a campaign would all be `no data`; they are
named with the reason instead.

python -m rmwbench.published.imported imported      prints the JSON Schema of its document
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter

from rmwbench.bundle import Bundle
from rmwbench.report.view import Block, Items, On, Section, Table, Text, View
from rmwbench.words.fields import absent, exact


@dataclass(frozen=True, kw_only=True)
class ImportedCampaign:
    """Where the bundle lies."""

    name: str | None
    directory: str


@dataclass(frozen=True, kw_only=True)
class ImportedSource:
    """What was read: the digest is over names, lengths and contents in order. `checked`: files that
    agree with a list of checksums."""

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
    """What the original did wrong; `figures` is the prefix of the names of those that it
    touches."""

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
    """A figure in numbers of points: those that were `published`, those whose corrected value is
    another (`changed`), and those without one (`no_data`)."""

    figure: str
    unit: str
    points: int
    published: int
    changed: int
    no_data: int


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point of a published figure. A value is null where the original never showed it, or where
    the data cannot tell; `note` then says why."""

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
    """What an imported bundle says (docs/importers.md)."""
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
            count["changed"] += not _same(published, corrected)
    names = ("points", "published", "changed", "no_data")
    return tuple(
        FigureSummary(figure=figure, unit=unit, **{name: count[name] for name in names})
        for (figure, unit), count in counts.items()
    )


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b))


def view(answer: ImportedBundle, *, figures: bool = False) -> View:
    """`figures`: it has every point instead of a line per figure."""
    imported, source = answer.imported, answer.imported.source
    counts = (
        f"{answer.cells} cells, {answer.trials} trials, {answer.windows} windows, "
        f"{len(answer.figures)} figure points"
    )
    about: list[Block] = [
        Text(f"{imported.kind}, imported from {source.name} ({source.files} files): {counts}")
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
        ("Known errors of the original", [f"{one.name}: {one.text}" for one in imported.errors]),
        ("No data", [f"{one.metric}: {one.no_data}" for one in imported.limits]),
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
        [
            line.figure,
            line.unit,
            str(line.points),
            str(line.changed or ""),
            str(line.no_data or ""),
        ]
        for line in summary
    ]
    heads = ("figure", "unit", ("points", True), ("changed", True), ("no data", True))
    return Table(heads, rows)


def _points_table(points: Iterable[Point]) -> Table:
    """There are thousands, and they are searched by the line."""
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
