"""A view in the terminal, and as one HTML file that opens offline, in the frame of the report's page
(rmwbench/report/html.py). The terminal has the same sentences and tables as the page, without the
pictures.

Words are never broken: a name in two pieces cannot be copied. A table whose longest words do not
fit side by side is printed in parts, each with the columns that tell its rows apart; where not even
those leave room for one more, as a paragraph per row.
"""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from rmwbench.report.view import Table, View
from rmwbench.whole_file import write_whole
from rmwbench.words.printable import printable


def print_view(view: View, console: Console) -> None:
    """Prints it. What it shows was written by others, so control characters are made visible."""
    console.print()
    console.print(Text(printable(view.title), style="bold"))
    for line in view.lead:
        console.print(Text(printable(line)))
    for section in view.sections:
        if section.table is None and not section.text:
            continue
        console.print()
        console.print(Text(printable(section.title), style="bold"))
        for line in section.text:
            console.print(Text(printable(f"– {line}" if section.list else line)))
        if section.table is not None:
            _print_table(section.table, console)


GAP = 3
"""Between two columns of a table, and at its edges."""


def _print_table(shown: Table, console: Console) -> None:
    names = [name for name, _ in shown.columns]
    rows = [[printable(cell) for cell in row] for row in shown.rows]
    needed = [
        max(_longest_word(text) for text in column) for column in zip(names, *rows, strict=True)
    ]
    keys = _keys(rows, len(names))
    parts = _parts(keys, needed, console.width)
    if parts is None:
        _print_rows(names, rows, console)
        return
    for part in parts:
        console.print(_table(shown, rows, part, needed, console.width))


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def _keys(rows: Sequence[Sequence[str]], columns: int) -> list[int]:
    """The first columns, as many as make every row another; an empty cell stands for the one above
    it."""
    above, whole = [""] * columns, []
    for row in rows:
        above = [cell or before for cell, before in zip(row, above, strict=True)]
        whole.append(above)
    few = (n for n in range(1, columns) if len({tuple(row[:n]) for row in whole}) == len(whole))
    return list(range(next(few, 1)))


def _parts(keys: list[int], needed: Sequence[int], width: int) -> list[list[int]] | None:
    """The columns of each part; None where a part would be wider than `width`."""
    found = [list(keys)]
    for column in range(len(keys), len(needed)):
        if found[-1] != keys and _width(needed, [*found[-1], column]) > width:
            found.append(list(keys))
        found[-1].append(column)
    return found if all(_width(needed, part) <= width for part in found) else None


def _width(needed: Sequence[int], part: Sequence[int]) -> int:
    return sum(needed[n] + GAP for n in part)


def _table(
    shown: Table,
    rows: Sequence[Sequence[str]],
    part: Sequence[int],
    needed: Sequence[int],
    width: int,
) -> RichTable:
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    # Set here, since rich narrows columns below what it was asked to keep.
    widths = {n: needed[n] for n in part}
    wanted = {
        n: max(cell_len(text) for text in (shown.columns[n][0], *(row[n] for row in rows)))
        for n in part
    }
    for _ in range(min(width - _width(needed, part), sum(wanted[n] - widths[n] for n in part))):
        widths[max(part, key=lambda n: wanted[n] / max(1, widths[n]))] += 1
    for n in part:
        name, right = shown.columns[n]
        table.add_column(
            name, justify="right" if right else "left", overflow="fold", width=widths[n]
        )
    for row in rows:
        table.add_row(*(Text(row[n]) for n in part))
    return table


def _print_rows(names: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    for row in rows:
        told = [
            f"{name}: {cell}" if n else cell
            for n, (name, cell) in enumerate(zip(names, row, strict=True))
            if cell
        ]
        text = "; ".join(told)
        lines = textwrap.wrap(
            text,
            console.width - 1,
            initial_indent="" if row[0] else "  ",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        console.print(Text("\n".join(lines)), soft_wrap=True)


def write_html(view: View, path: Path | str) -> None:
    """Write the page to `path`."""
    write_whole(path, render_html(view))


def render_html(view: View) -> str:
    """The page as text; everything that others wrote is escaped by the template."""
    from rmwbench.report.html import render_page

    specs: list[dict[str, Any]] = []
    places: dict[str, int] = {}
    for section in view.sections:
        for picture in section.pictures:
            places[picture.key] = len(specs)
            bare = {key: value for key, value in picture.spec.items() if key != "datasets"}
            specs.append({"datasets": picture.spec["datasets"], "wide": bare, "narrow": None})
    return render_page("community.html.j2", specs, view=view, places=places)
