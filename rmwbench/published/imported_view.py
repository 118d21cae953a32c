"""What is shown of an imported bundle: where it comes from, its figures in numbers of points, the
known errors of the original, and what it has no data for."""

from collections.abc import Iterable

from rmwbench.published.imported import FigureSummary, ImportedBundle, Point
from rmwbench.report.view import Block, Items, On, Section, Table, TableColumn, Text, View

POINT = (
    TableColumn("figure"),
    TableColumn("series"),
    TableColumn("x"),
    TableColumn("unit"),
    TableColumn("as published", right=True),
    TableColumn("as corrected", right=True),
    TableColumn("n", right=True),
    TableColumn("note"),
)
SUMMARY = (
    TableColumn("figure"),
    TableColumn("unit"),
    TableColumn("points", right=True),
    TableColumn("changed", right=True),
    TableColumn("no data", right=True),
)


def view(answer: ImportedBundle, *, figures: bool = False) -> View:
    """With `figures` every point instead of a line per figure."""
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
    table = _points(answer.figures) if figures else _summary(answer.summary)
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


def _summary(found: Iterable[FigureSummary]) -> Table:
    rows = [
        [
            line.figure,
            line.unit,
            str(line.points),
            str(line.changed or ""),
            str(line.no_data or ""),
        ]
        for line in found
    ]
    return Table(SUMMARY, rows)


def _points(points: Iterable[Point]) -> Table:
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
    return Table(POINT, rows, wide=True, on=On.TERMINAL)
