"""SQL over a bundle: a view per table, over exactly the files that the journal names.

DuckDB reads Parquet in place, so nothing is copied; the connection is in memory and cannot write to
the bundle.
"""

import glob
import os
import re
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from rmwbench.bundle.bundle_reader import Bundle
from rmwbench.bundle.schema import ADDED, TABLES
from rmwbench.errors import UserError, nearest

INTERRUPT_TIMEOUT_S = 0.8
"""The time that an interrupted query may take to end."""


def connect(bundle: Bundle) -> duckdb.DuckDBPyConnection:
    """Return a connection with a view for every table, empty ones included; the views' columns are
    those of docs/formats/bundle.md.

    Files cannot be reached by name and settings are locked: a query from a script cannot read or
    write elsewhere.
    """
    connection = duckdb.connect(":memory:")
    allowed_paths: list[str] = []
    for name, schema in TABLES.items():
        paths = [str(p.resolve()) for p in bundle.paths(name)]
        columns = ", ".join(f'"{c}"' for c in schema.names)
        if paths:
            bundle.open(name)
            patterns = [glob.escape(p) for p in paths]
            files = ", ".join(map(_literal, patterns))
            # DuckDB takes a folder such as `arm=zenoh` above a file for the values of a column.
            options = f"hive_partitioning = false, union_by_name = {name in ADDED}"
            connection.execute(
                f'create view "{name}" as select {_columns(bundle, name)} '
                f"from read_parquet([{files}], {options})"
            )
            allowed_paths += {*paths, *patterns}
        else:
            connection.register(f"_empty_{name}", schema.empty_table())
            connection.execute(f'create view "{name}" as select {columns} from "_empty_{name}"')
    connection.execute(f"set allowed_paths = [{', '.join(map(_literal, allowed_paths))}]")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return connection


def _columns(bundle: Bundle, name: str) -> str:
    """Return the expressions to select of a table. A bundle may lack columns that were added later,
    and a resumed one may have them in some files only."""
    schema, column_names = TABLES[name], bundle.column_names(name)
    expressions = [
        f'"{f.name}"' if f.name in column_names else f'null::{_SQL_TYPES[f.type]} as "{f.name}"'
        for f in schema
    ]
    return ", ".join(expressions)


_SQL_TYPES = {
    pa.string(): "varchar",
    pa.int64(): "bigint",
    pa.uint64(): "ubigint",
    pa.uint32(): "uinteger",
}


@dataclass(frozen=True)
class QueryResult:
    """The first rows of a query's answer, and the number of all its rows (`total`)."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    total: int


def ask(bundle: Bundle, sql: str, most_rows: int | None = None) -> QueryResult:
    """Return the answer to one SQL statement, with its first `most_rows` rows or all. Ctrl-C ends
    it at once. Raises UserError for a wrong statement, with the nearest table if that helps."""
    if not sql.strip().strip(";"):
        raise UserError("the query is empty", where="SQL", fix=_EXAMPLE)
    try:
        connection = connect(bundle)
        return _interruptible(connection, lambda: _answer(connection, sql, most_rows))
    except UnicodeEncodeError:
        raise UserError(
            "the query has bytes that are not UTF-8", where="SQL", actual=ascii(sql)[:80]
        ) from None
    except duckdb.Error as error:
        text = str(error).strip()
        raise UserError(
            "the query failed: " + text.splitlines()[0],
            where=str(bundle.directory),
            expected=f"SQL over {', '.join(TABLES)}",
            fix=_suggestion(text, sql),
        ) from None


def _answer(connection: duckdb.DuckDBPyConnection, sql: str, most_rows: int | None) -> QueryResult:
    cursor = connection.execute(sql)
    columns = [d[0] for d in cursor.description or []]
    if most_rows is None:
        rows = cursor.fetchall()
        return QueryResult(columns, rows, len(rows))
    rows = cursor.fetchmany(most_rows)
    total = len(rows)
    while count := len(cursor.fetchmany(10_000)):
        total += count
    return QueryResult(columns, rows, total)


def _interruptible(
    connection: duckdb.DuckDBPyConnection, ask: Callable[[], QueryResult]
) -> QueryResult:
    """Return the result of `ask`, which runs in another thread, since DuckDB handles no signal
    during a query."""
    future: Future[QueryResult] = Future()

    def work() -> None:
        try:
            future.set_result(ask())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        return future.result()
    except KeyboardInterrupt:
        connection.interrupt()
        wait([future], timeout=INTERRUPT_TIMEOUT_S)
        # The interpreter would abort at its end if the query still ran.
        if not future.done():
            os._exit(130)
        raise


def _suggestion(text: str, sql: str) -> str | None:
    if "Parser Error" in text and re.search(r"(?<![\"\w])at(?![\"\w])", sql, re.IGNORECASE):
        return '`at` is a word of SQL: write the column as "at"'
    if "with name" in text and "does not exist" in text and "Table" in text:
        name = text.split("with name", 1)[1].split()[0].strip('"')
        suggestion = nearest(name, TABLES)
        return f"did you mean the table {suggestion}?" if suggestion else None
    return _EXAMPLE


_EXAMPLE = '`rmwbench query "describe sent"` lists a table\'s columns'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
