"""Recorded links: rate, delay and loss over time, read from a file beside the suite's.

There are two formats. Ours is CSV with a header of `t_s` and any of `rate_mbps`, `delay_ms`,
`loss`; an empty cell keeps the value of the link's spec. Mahimahi's has one whole number per line:
the millisecond at which 1504 bytes may be sent.
"""

import csv
import hashlib
import math
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo

from rmwbench.suite.fault import Fault, text_beside

COLUMNS = ("rate_mbps", "delay_ms", "loss")
MAHIMAHI_BYTES = 1504
MAX_TRACE_BYTES = 4 * 1024 * 1024
MAX_TRACE_LINES = 15_000
"""More than four hours with a line per second; the link holds all of them in memory."""
LONGEST_NS = 86_400 * 10**9
"""The last time that the link takes (native/link/src/spec.rs): a day."""

Row = tuple[int, int | None, int | None, float | None]
"""(t_ns, rate_bps, delay_ns, loss)"""


class LinkTrace(BaseModel):
    """A trace has `rows`, or `opportunities_ns`, the times at which 1504 bytes may be sent; `text`
    is the content of its file."""

    model_config = ConfigDict(frozen=True)

    name: str
    text: str
    rows: tuple[Row, ...] = ()
    opportunities_ns: tuple[int, ...] = ()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def changes_rate(self) -> bool:
        return bool(self.opportunities_ns) or any(row[1] is not None for row in self.rows)

    @property
    def largest_rate_bps(self) -> int:
        """The largest rate, or the mean rate of Mahimahi's format; 0 for a trace without rates."""
        if self.opportunities_ns:
            bits = 8 * MAHIMAHI_BYTES * len(self.opportunities_ns)
            return bits * 1_000_000_000 // self.opportunities_ns[-1]
        return max((row[1] or 0 for row in self.rows), default=0)

    @property
    def longest_delay_ns(self) -> int:
        return max((row[2] or 0 for row in self.rows), default=0)

    def wire(self) -> dict[str, Any]:
        if self.opportunities_ns:
            return {
                "opportunities_ns": list(self.opportunities_ns),
                "bytes": MAHIMAHI_BYTES,
                "repeat": True,
            }
        return {"rows": [list(row) for row in self.rows], "repeat": True}

    def definition(self) -> dict[str, Any]:
        """The trace as a cell stores it; each trial has the text as a file."""
        return {
            "file": self.name,
            "sha256": self.sha256,
            "lines": len(self.rows) or len(self.opportunities_ns),
        }


def _trace(value: Any, info: ValidationInfo) -> Any:
    """Reads a path, which is relative to the suite's file; returns a LinkTrace as it is."""
    if not isinstance(value, str):
        return value
    return parse_trace(Path(value).name, text_beside("trace", value, info, MAX_TRACE_BYTES))


TraceFile = Annotated[LinkTrace, BeforeValidator(_trace)]

Line = tuple[int, str]
"""A line of a file that is not blank, with its number."""


def parse_trace(name: str, text: str) -> LinkTrace:
    """The trace of a text in either format. Raises Fault with the line of the trace's file."""
    lines = [
        (number, line.strip())
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]
    if not lines:
        raise Fault(
            f"trace `{name}` is empty", expected="CSV with `t_s`, or one whole number per line"
        )
    if len(lines) > MAX_TRACE_LINES:
        raise Fault(
            f"trace `{name}` is too long",
            expected=f"at most {MAX_TRACE_LINES} lines",
            actual=len(lines),
        )
    if lines[0][1].isdecimal():
        return LinkTrace(name=name, text=text, opportunities_ns=_opportunities(name, lines))
    return LinkTrace(name=name, text=text, rows=_rows(name, lines))


def _opportunities(name: str, lines: list[Line]) -> tuple[int, ...]:
    times_ns: list[int] = []
    for number, line in lines:
        if not line.isdecimal():
            raise _wrong(name, number, "a whole number of milliseconds", line)
        time_ns = int(line) * 1_000_000
        _check_time(name, number, line, time_ns)
        if times_ns and time_ns < times_ns[-1]:
            raise _wrong(name, number, f"at least {times_ns[-1] // 1_000_000}: times ascend", line)
        times_ns.append(time_ns)
    if times_ns[-1] == 0:
        raise _wrong(name, lines[-1][0], "a time after 0, when the trace repeats", lines[-1][1])
    return tuple(times_ns)


def _rows(name: str, lines: list[Line]) -> tuple[Row, ...]:
    (first_number, first_line), *row_lines = lines
    header = [column.strip() for column in next(csv.reader([first_line]))]
    if header[:1] != ["t_s"] or len(header) < 2 or not set(header[1:]) <= set(COLUMNS):
        raise _wrong(name, first_number, "t_s and any of " + ", ".join(COLUMNS), first_line)
    rows: list[Row] = []
    for number, line in row_lines:
        fields = next(csv.reader([line]))
        if len(fields) != len(header):
            raise _wrong(name, number, f"{len(header)} values", line)
        values = dict.fromkeys(("t_s", *COLUMNS))
        for column, field in zip(header, fields, strict=True):
            values[column] = _number(name, number, field)
        time_ns = -1 if values["t_s"] is None else round(values["t_s"] * 1e9)
        if time_ns < 0 or (rows and time_ns <= rows[-1][0]):
            raise _wrong(name, number, "a later time than in the line before", line)
        _check_time(name, number, line, time_ns)
        rate, delay, loss = (values[column] for column in COLUMNS)
        if rate is not None and rate <= 0:
            expected = "a rate of more than 0 Mbit/s; loss 1 is a link that is down"
            raise _wrong(name, number, expected, line)
        if loss is not None and loss > 1:
            raise _wrong(name, number, "a loss between 0 and 1", line)
        rate_bps = None if rate is None else round(rate * 1e6)
        delay_ns = None if delay is None else round(delay * 1e6)
        rows.append((time_ns, rate_bps, delay_ns, loss))
    if not rows:
        raise _wrong(name, first_number, "rows below the header", first_line)
    return tuple(rows)


def _check_time(name: str, number: int, line: str, time_ns: int) -> None:
    if time_ns > LONGEST_NS:
        expected = "a time within a day, counted from the start of the trace"
        raise _wrong(name, number, expected, line)


def _number(name: str, line: int, field: str) -> float | None:
    if not field.strip():
        return None
    try:
        value = float(field)
    except ValueError:
        raise _wrong(name, line, "a number", field) from None
    if not math.isfinite(value) or value < 0:
        raise _wrong(name, line, "a number of at least 0", field)
    return value


def _wrong(name: str, line: int, expected: str, actual: str) -> Fault:
    return Fault(
        f"line {line} of trace `{name}` is not valid",
        expected=expected,
        actual=repr(actual.strip()[:80]),
    )
