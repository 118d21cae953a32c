"""`rmwbench query SQL [DIR]`: SQL over a campaign's tables, for people and for scripts."""

import csv
import itertools
import math
import sys
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

import typer

from rmwbench.cli.console import print_blocks, print_json
from rmwbench.cli.options import CampaignDirectory, json_option
from rmwbench.errors import UserError
from rmwbench.words.numbers import counted
from rmwbench.words.printable import printable

if TYPE_CHECKING:
    from rmwbench.bundle.sql import QueryResult


def register(app: typer.Typer) -> None:
    app.command(name="query", help="Ask a campaign's tables with SQL (DuckDB).")(query)


def query(
    sql: Annotated[
        str,
        typer.Argument(
            metavar="SQL", help='For example "select arm, count(*) from cells group by arm".'
        ),
    ],
    directory: CampaignDirectory = None,
    as_json: Annotated[bool, json_option("Print a JSON list with one object per row.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a header line.")] = False,
    rows: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, max=100_000, help="Rows of the table; --json and --csv print all."
        ),
    ] = 100,
) -> None:
    from rmwbench.bundle import Bundle
    from rmwbench.bundle.newest import newest_campaign
    from rmwbench.bundle.sql import ask

    if as_json and as_csv:
        raise UserError("two output formats at once", where="--json --csv", fix="choose one")
    prints_all = as_json or as_csv
    result = ask(Bundle(directory or newest_campaign()), sql, None if prints_all else rows)
    if as_json:
        _print_json(result)
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        for row in (result.columns, *result.rows):
            if sys.stdout.isatty():
                row = [printable(item) if isinstance(item, str) else item for item in row]
            writer.writerow(row)
    else:
        _print_table(result)


def _print_json(result: "QueryResult") -> None:
    names = _distinct(result.columns)
    rows = [dict(zip(names, map(_json_value, row), strict=True)) for row in result.rows]
    print_json(rows, default=str)


def _distinct(names: Iterable[str]) -> list[str]:
    """Return the names, a repeated one with a number, since an object has each key once: `seq` and
    `seq_1` of a join."""
    distinct: list[str] = []
    for name in names:
        numbered = (f"{name}_{number}" for number in itertools.count(1))
        unused = (key for key in itertools.chain([name], numbered) if key not in distinct)
        distinct.append(next(unused))
    return distinct


def _json_value(value: object) -> object:
    """Return a value of DuckDB as JSON has it, with null for a number that JSON does not have, also
    within lists, structs and maps."""
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    return [_json_value(item) for item in value] if isinstance(value, list | tuple) else value


def _print_table(result: "QueryResult") -> None:
    from rmwbench.report.view import Table, Text, Verbatim

    rows = result.rows
    numeric = [
        bool(rows)
        and all(isinstance(row[i], int | float | Decimal) or row[i] is None for row in rows)
        for i in range(len(result.columns))
    ]
    printed_rows = [
        ["–" if value is None else Verbatim(str(value)) for value in row] for row in rows
    ]
    more = f"the first {len(rows)} of {result.total} rows; --rows N shows more, --csv all"
    end = more if result.total > len(rows) else counted(len(rows), "row")
    print_blocks(
        Table(list(zip(result.columns, numeric, strict=True)), printed_rows), Text(end, "muted")
    )
