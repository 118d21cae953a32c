"""How a trial ended, for tests of what it recorded."""

from typing import Any


def rows(result, table: str, **wanted: Any) -> list[dict[str, Any]]:
    """Of a table of its, all that have these values; none where there is no such table."""
    there = result.tables[table].to_pylist() if table in result.tables else []
    return [row for row in there if all(row[name] == value for name, value in wanted.items())]


def well(result) -> bool:
    """Done, or void for the machine's sake alone: one that others keep busy, and what is recorded
    is there all the same."""
    assert result.status == "done" or result.cause == "machine", (result.status, result.reason)
    return True


def heard_in_window(result) -> bool:
    """Whether a message was taken in the steady state. Not where a busy machine halted the workers
    for as long, and then there is nothing of which a path or a rate could be told."""
    (trial,) = rows(result, "trials")
    begin_ns, end_ns = trial["steady_begin_ns"], trial["steady_end_ns"]
    return any(begin_ns <= row["taken_ns"] < end_ns for row in rows(result, "received"))
