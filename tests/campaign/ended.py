"""How a trial ended, for tests of what it recorded."""

import os
from collections.abc import Iterable
from typing import Any

from rmwbench.analysis.metrics.cost import cost
from rmwbench.lab.host import marker, shared_files


def rows(result, table: str, **wanted: Any) -> list[dict[str, Any]]:
    """Of a table of its, all that have these values; none where there is no such table."""
    there = result.tables[table].to_pylist() if table in result.tables else []
    return [row for row in there if all(row[name] == value for name, value in wanted.items())]


def grown(counters: Iterable[dict[str, Any]], counter: str) -> dict[str, float]:
    """Process → what this counter of it grew by within the window."""
    edges: dict[str, dict[str, float]] = {"steady_begin": {}, "steady_end": {}}
    for row in counters:
        if row["counter"] == counter and row["at"] in edges:
            edges[row["at"]][row["process"]] = row["value"]
    begin, end = edges.values()
    return {process: value - begin[process] for process, value in end.items()}


def costs(counters: Iterable[dict[str, Any]], messages: int, window_ns: int, **more: Any):
    """What a trial cost of which so many messages were sent and all came to one reader."""
    each = dict.fromkeys(("published", "heard", "delivered"), messages)
    return cost(counters, window_ns=window_ns, **each, **more)


def well(result) -> bool:
    """Done, or void for the machine's sake alone: one that others keep busy, and what is recorded
    is there all the same."""
    assert result.status == "done" or result.cause == "machine", (result.status, result.reason)
    return True


def left_behind() -> list[int]:
    """Processes of this process's own trials that still run; `marker.strays` has only those whose
    orchestrator is gone."""
    ours = f"{marker.VARIABLE}={os.getpid()}:".encode()
    return [
        pid
        for pid in shared_files.processes()
        if any(word.startswith(ours) for word in marker.environment_of(pid))
    ]


def heard_in_window(result) -> bool:
    """Whether a message was taken in the steady state. Not where a busy machine halted the workers
    for as long, and then there is nothing of which a path or a rate could be told."""
    (trial,) = rows(result, "trials")
    begin_ns, end_ns = trial["steady_begin_ns"], trial["steady_end_ns"]
    return any(begin_ns <= row["taken_ns"] < end_ns for row in rows(result, "received"))
