"""A table in a terminal that is too narrow for it: several tables one below the other, each with
the first column again, since a number that is cut is a wrong number."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table

LEAST_OF_NAMES = 12
"""Columns of the first one, before it is folded no further."""
_ANY_WIDTH = 10_000


def fitting(table: Table, console: Console) -> Iterator[Table]:
    """The table, or its columns on as many tables as the width asks for."""
    if _width(table, console) <= console.width:
        yield table
        return
    names, *rest = table.columns
    names = _with_room_for(rest, names, table, console)
    taken: list[Column] = []
    for column in rest:
        if taken and _width(_of(table, [names, *taken, column]), console) > console.width:
            yield _of(table, [names, *taken])
            taken = []
        taken.append(column)
    yield _of(table, [names, *taken])


def _with_room_for(rest: Sequence[Column], names: Column, table: Table, console: Console) -> Column:
    """The first column, folded where it would leave too little for the widest of the others."""
    widest = max((_width(_of(table, [column]), console) for column in rest), default=0)
    alone = _width(_of(table, [names]), console)
    room = console.width - widest - 2
    return (
        names
        if alone <= room
        else replace(names, no_wrap=False, max_width=max(LEAST_OF_NAMES, room))
    )


def _of(table: Table, columns: Sequence[Column]) -> Table:
    made = Table(
        box=table.box,
        padding=table.padding,
        header_style=table.header_style,
        pad_edge=table.pad_edge,
    )
    made.collapse_padding = table.collapse_padding
    for column in columns:
        made.add_column(
            column.header,
            justify=column.justify,
            no_wrap=column.no_wrap,
            max_width=column.max_width,
            style=column.style,
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        made.add_row(*row)
    return made


def _width(table: Table, console: Console) -> int:
    return Measurement.get(console, console.options.update(max_width=_ANY_WIDTH), table).maximum
