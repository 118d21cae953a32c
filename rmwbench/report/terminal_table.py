"""A table as every page in a terminal has it: without lines, its heads dim."""

from rich.table import Table
from rich.text import Text


def plain_table(*heads: str | Text) -> Table:
    """With a column to the left for each of `heads`; others are added by who wants them
    otherwise."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for head in heads:
        table.add_column(head)
    return table
