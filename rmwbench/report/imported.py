"""An imported bundle in the terminal."""

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rmwbench.results.imported import ImportedBundle, Point, Summary
from rmwbench.words.printable import printable


def print_imported(answer: ImportedBundle, console: Console, *, figures: bool = False) -> None:
    """Print it; with `figures` every point instead of a line per figure."""
    answer = printable(answer)
    imported, source = answer.imported, answer.imported.source
    console.print()
    console.print(Text(imported.title, style="bold"))
    counts = (
        f"{answer.cells} cells, {answer.trials} trials, {answer.windows} windows, "
        f"{len(answer.figures)} figure points"
    )
    console.print(
        Text(f"{imported.kind}, imported from {source.name} ({source.files} files): {counts}")
    )
    if source.skipped:
        why = "an archive is imported by itself, links and pipes are not read"
        console.print(Text(f"skipped ({why}): {', '.join(source.skipped)}"))
    if source.checked:
        console.print(
            Text(f"{source.checked} files agree with the list of checksums that comes with them")
        )
    console.print(Text(f"bundle: {answer.campaign.directory}", style="dim"))
    console.print()
    if figures:
        console.out("\n".join(_points(answer.figures)), highlight=False)
        console.print()
    else:
        console.print(_lines(answer.summary))
    _list(
        console,
        "Known errors of the original",
        [(e.name, e.text) for e in imported.errors],
    )
    _list(console, "No data", [(x.metric, x.no_data) for x in imported.limits])


def _lines(summary: Iterable[Summary]) -> Table:
    table = _table(
        ("figure", False), ("unit", False), ("points", True), ("changed", True), ("no data", True)
    )
    for line in summary:
        changed = str(line.changed) if line.changed else ""
        missing = str(line.no_data) if line.no_data else ""
        table.add_row(
            *(Text(x) for x in (line.figure, line.unit, str(line.points), changed, missing))
        )
    return table


POINT = ("figure", "series", "x", "unit", "as published", "as corrected", "n", "note")
NUMBERS = ("as published", "as corrected", "n")


def _points(points: Iterable[Point]) -> list[str]:
    """A line per point, however narrow the terminal is: there are thousands, and they are searched
    by the line."""
    lines: list[tuple[str, ...]] = [POINT]
    for point in points:
        published = "–" if point.as_published is None else f"{point.as_published:.6g}"
        corrected = "no data" if point.as_corrected is None else f"{point.as_corrected:.6g}"
        count = "" if point.count is None else str(point.count)
        cells = (
            point.figure,
            point.series,
            point.x,
            point.unit,
            published,
            corrected,
            count,
            point.note or "",
        )
        lines.append(tuple(" ".join(cell.split()) for cell in cells))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = [">" if name in NUMBERS else "<" for name in POINT]
    return [
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(line, sides, widths, strict=True)
        ).rstrip()
        for line in lines
    ]


def _table(*columns: tuple[str, bool]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, right in columns:
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    return table


def _list(console: Console, title: str, entries: list[tuple[str, str]]) -> None:
    if entries:
        console.print(Text(title, style="bold"))
        for name, text in entries:
            console.print(Text(f"  – {name}: {text}"))
        console.print()
