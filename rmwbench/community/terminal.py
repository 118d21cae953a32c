"""A view in the terminal: the same sentences and tables as on the page, without the pictures."""

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from rmwbench.community.view import Table, View
from rmwbench.report.terminal import printable


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
            console.print(_table(section.table))


def _table(shown: Table) -> RichTable:
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, right in shown.columns:
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in shown.rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table
