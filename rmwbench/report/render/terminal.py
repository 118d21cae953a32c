"""A view in a terminal, at its width: the sections, and last, next to the prompt, the answer.

Words and numbers are never broken: a word in two pieces cannot be copied, and a number that is cut
is a wrong number. A table whose longest words do not fit side by side is printed in parts, each
with the columns that tell its rows apart; where these leave no room for another column, as a
paragraph per row. Colour comes from rich, which is silent on pipes and under NO_COLOR; no statement
rests on it alone."""

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment, Segments
from rich.table import Table as RichTable
from rich.text import Text as RichText

from rmwbench.command_name import as_typed
from rmwbench.report import view as shown
from rmwbench.report.view import (
    Block,
    Facts,
    Items,
    On,
    Section,
    Table,
    TableCell,
    TableColumn,
    TableRow,
    Text,
    Tone,
    Verbatim,
    View,
)
from rmwbench.words import numbers as fmt
from rmwbench.words.printable import printable

STYLES: dict[Tone, str] = {
    "good": "green",
    "bad": "red",
    "open": "yellow",
    "odd": "magenta",
    "muted": "dim",
    "strong": "bold",
    "warning": "yellow",
    "alarm": "bold red",
}
_MARKS: dict[Tone, str] = {"warning": "! ", "alarm": "! "}
GAP = 2
"""Blanks between two columns of a table."""
_SHORT = 16
"""Cells of up to this many columns stay on a line where there is room."""
_NAMES, _LONG_NAMES = 10, 24
"""The least and the largest width of a column of names."""


def print_view(view: View, console: Console) -> None:
    """Print a view. Others wrote some of its texts, so control characters are made visible."""
    console.print()
    _paragraph(console, view.title, style="bold")
    print_blocks(view.about, console)
    for section in view.sections:
        _section(section, console)
    if any(On.TERMINAL in block.on for block in view.answer):
        console.print()
        print_blocks(view.answer, console)


def _section(section: Section, console: Console) -> None:
    if section.folded or On.TERMINAL not in section.on:
        return
    if not any(On.TERMINAL in block.on for block in section.blocks):
        return
    if section.title:
        console.print()
        heading = RichText(_plain(section.title), style="bold")
        for cell in section.head:
            heading.append(f"  {_plain(cell.text)}", style=f"not bold {STYLES.get(cell.tone, '')}")
        console.print(heading)
    print_blocks(section.blocks, console)


def print_blocks(blocks: Sequence[Block], console: Console) -> None:
    visible = [block for block in blocks if On.TERMINAL in block.on]
    for place, block in enumerate(visible):
        if isinstance(block, Section):
            _section(block, console)
        elif isinstance(block, Text):
            _text(block, console)
        elif isinstance(block, Items):
            for item in block.items[: block.most]:
                _item(item, block, console)
            _more(len(block.items), block.most, console)
        elif isinstance(block, Facts):
            _facts(block, console)
        elif isinstance(block, Table):
            if place and isinstance(visible[place - 1], Table | Facts | Section):
                console.print()
            _table(block, console)
        elif isinstance(block, Verbatim):
            console.print(RichText(printable(block.text)), soft_wrap=True)


def _text(block: Text, console: Console) -> None:
    lead = f"{block.lead} " if block.lead else ""
    mark = _MARKS.get(block.tone, "")
    _paragraph(console, f"{mark}{lead}{block.text}", style=STYLES.get(block.tone, ""))


def _item(item: Text | str, items: Items, console: Console) -> None:
    tone = item.tone if isinstance(item, Text) and item.tone else items.tone
    text = item if isinstance(item, str) else f"{item.lead} {item.text}".strip()
    mark = items.mark
    _paragraph(console, text, first=RichText(f" {mark} ", style=STYLES.get(tone, "")))


def _facts(block: Facts, console: Console) -> None:
    names = [_plain(name) for name, _ in block.facts]
    longest = max(map(cell_len, names), default=0)
    width = max(_NAMES, longest) if longest <= _LONG_NAMES else _NAMES
    for name, (_, value) in zip(names, block.facts, strict=True):
        cell = shown.cell(value)
        first = RichText(f"  {_padded(name, width)} ", style="bold")
        _paragraph(console, cell.text, style=STYLES.get(cell.tone, ""), first=first)


def _plain(text: str) -> str:
    """A text as users type it at a prompt, without control characters."""
    return printable(as_typed(fmt.without_marks(text)))


def _paragraph(
    console: Console, text: str, *, style: str = "", first: RichText | None = None
) -> None:
    """A wrapped text with a hanging indent below its `first` part."""
    first = first or RichText("")
    indent = cell_len(first.plain)
    room = max(20, console.width - indent - 1)
    for line in _plain(text).split("\n"):
        pieces = textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False) or [""]
        for piece in pieces:
            printed = RichText.assemble(first, (piece, style))
            console.print(printed, no_wrap=True, overflow="ignore", crop=False)
            first = RichText(" " * indent)


def _table(table: Table, console: Console) -> None:
    columns = [shown.column(column) for column in table.columns]
    visible = [n for n, column in enumerate(columns) if On.TERMINAL in column.on]
    rows = [shown.row(column) for column in table.rows[: table.most]]
    cells = [[_cell(row.cells[n], columns[n], row) for n in visible] for row in rows]
    columns = [columns[n] for n in visible]
    if table.title:
        _paragraph(console, table.title, style="dim")
    if table.wide:
        _print_lines(columns, rows, cells, console)
    else:
        _print_columns(columns, rows, cells, console)
    _more(len(table.rows), table.most, console)


def _print_columns(
    columns: Sequence[TableColumn],
    rows: Sequence[TableRow],
    cells: Sequence[Sequence[RichText]],
    console: Console,
) -> None:
    heads = [_head(column) for column in columns]
    needed = [
        max(map(_widest_line if column.right else _longest_word, texts))
        for column, texts in zip(columns, zip(heads, *cells, strict=True), strict=True)
    ]
    wanted = [max(map(_widest_line, column)) for column in zip(heads, *cells, strict=True)]
    keys = _keys([[cell.plain for cell in line] for line in cells], len(columns))
    for n in keys:  # names stay on a line where there is room
        needed[n] = max(needed[n], min(wanted[n], console.width // 3))
    short = [max(few, min(all_, _SHORT)) for few, all_ in zip(needed, wanted, strict=True)]
    if _width(short, range(len(short))) <= console.width:
        needed = short
    parts = _parts(keys, needed, console.width)
    if parts is None:
        _print_rows(columns, rows, cells, console)
        return
    for place, part in enumerate(parts):
        if place:
            console.print()
        widths = _widths(part, needed, wanted, console.width)
        _print_part(columns, rows, cells, widths, console)


def _more(number: int, most: int | None, console: Console) -> None:
    if most is not None and number > most:
        text = f" … {number - most} more: the report and --json have them"
        _paragraph(console, text, style="dim")


def _cell(value: TableCell | Verbatim | str, column: TableColumn, row: TableRow) -> RichText:
    cell = shown.cell(value)
    style = STYLES.get(cell.tone or row.tone, "")
    content = printable(cell.text) if isinstance(value, Verbatim) else _plain(cell.text)
    text = RichText(content, style=style)
    if cell.detail and column.detail:
        text.append(" " if column.detail == "beside" else "\n").append(_plain(cell.detail))
    return text


def _head(column: TableColumn) -> RichText:
    return RichText(_plain(column.title))


def _widest_line(text: RichText) -> int:
    return max(map(cell_len, text.plain.split("\n")))


def _longest_word(text: RichText) -> int:
    return max(map(cell_len, text.plain.split()), default=0)


def _keys(rows: Sequence[Sequence[str]], columns: int) -> list[int]:
    """The first columns, as many as tell all rows apart; an empty cell has the value of the cell
    above it."""
    above, whole = [""] * columns, []
    for row in rows:
        above = [cell or before for cell, before in zip(row, above, strict=True)]
        whole.append(above)
    few = (n for n in range(1, columns) if len({tuple(row[:n]) for row in whole}) == len(whole))
    return list(range(next(few, 1)))


def _parts(keys: list[int], needed: Sequence[int], width: int) -> list[list[int]] | None:
    """The columns of each part; None where a part would be wider than `width`."""
    parts = [list(keys)]
    for column in range(len(keys), len(needed)):
        if parts[-1] != keys and _width(needed, [*parts[-1], column]) > width:
            parts.append(list(keys))
        parts[-1].append(column)
    return parts if all(_width(needed, part) <= width for part in parts) else None


def _width(needed: Sequence[int], part: Sequence[int]) -> int:
    return sum(needed[n] + GAP for n in part) - GAP


def _widths(
    part: Sequence[int], needed: Sequence[int], wanted: Sequence[int], width: int
) -> dict[int, int]:
    """The width of each column; the columns that need most get the room left over."""
    widths = {n: needed[n] for n in part}
    room = min(width - _width(needed, part), sum(wanted[n] - needed[n] for n in part))
    for _ in range(room):
        widths[max(part, key=lambda n: wanted[n] / max(1, widths[n]))] += 1
    return widths


def _print_part(
    columns: Sequence[TableColumn],
    rows: Sequence[TableRow],
    cells: Sequence[Sequence[RichText]],
    widths: dict[int, int],
    console: Console,
) -> None:
    """Print some columns of a table, and each heading of a row as a line of its own, which is not
    bound to the width of a column."""
    table = _empty(columns, widths, header=True)
    for row, line in zip(rows, cells, strict=True):
        if row.heading:
            _print_aligned(table, console)
            _paragraph(console, row.heading, style="dim italic")
            table = _empty(columns, widths, header=False)
        table.add_row(*(line[n] for n in widths))
    _print_aligned(table, console)


def _empty(columns: Sequence[TableColumn], widths: dict[int, int], *, header: bool) -> RichTable:
    table = RichTable(
        box=None,
        padding=(0, GAP, 0, 0),
        show_header=header,
        header_style="dim",
        pad_edge=False,
        show_edge=False,
    )
    for n, width in widths.items():  # set here: rich narrows columns below what they need
        column = columns[n]
        table.add_column(_head(column), justify="right" if column.right else "left", width=width)
    return table


def _print_aligned(table: RichTable, console: Console) -> None:
    """Print a table without the blanks that rich puts at the end of a line: people copy the lines,
    and tests compare them."""
    for line in console.render_lines(table, pad=False):
        while line and not line[-1].text.strip():
            line.pop()
        if line:
            line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
        console.print(Segments([*line, Segment.line()]), end="", soft_wrap=True)


def _print_rows(
    columns: Sequence[TableColumn],
    rows: Sequence[TableRow],
    cells: Sequence[Sequence[RichText]],
    console: Console,
) -> None:
    for row, line in zip(rows, cells, strict=True):
        if row.heading:
            _paragraph(console, row.heading, style="dim italic")
        texts = [
            f"{_head(column).plain}: {cell.plain}" if n else cell.plain
            for n, (column, cell) in enumerate(zip(columns, line, strict=True))
            if cell.plain
        ]
        text = textwrap.fill(
            "; ".join(texts),
            console.width - 1,
            initial_indent="" if line[0].plain else "  ",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        console.print(RichText(text), soft_wrap=True)


def _print_lines(
    columns: Sequence[TableColumn],
    rows: Sequence[TableRow],
    cells: Sequence[Sequence[RichText]],
    console: Console,
) -> None:
    """A line per row, even in a narrow terminal, since such tables are searched line by line."""
    lines = [[_head(column).plain for column in columns]]
    lines += [[" ".join(cell.plain.split()) for cell in line] for line in cells]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    headings = ["", *(_plain(row.heading) for row in rows)]
    texts = []
    for heading, line in zip(headings, lines, strict=True):
        texts += [heading] if heading else []
        padded = (
            _padded(cell, width, right=column.right)
            for cell, width, column in zip(line, widths, columns, strict=True)
        )
        texts.append((" " * GAP).join(padded).rstrip())
    console.out("\n".join(texts), highlight=False)


def _padded(text: str, width: int, *, right: bool = False) -> str:
    blanks = " " * (width - cell_len(text))
    return blanks + text if right else text + blanks
