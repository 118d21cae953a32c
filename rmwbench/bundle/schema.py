"""Every table's columns, types and units in one place, because three parties meet here: campaign,
importers, report.

The unit of a column is in its field metadata (`unit`), and in its name where the name ends in one.
Columns whose raw record says 0 for "not stamped" carry `absent=0`: `table_from_columns` turns those
zeros into nulls, so that absent is never zero once it is in a bundle.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

SCHEMA = "rmwbench/campaign"
VERSION = 1
ROWS_PER_GROUP = 1_048_576

_SUFFIX_UNITS = {"_ns": "ns", "_bytes": "bytes", "_hz": "Hz", "_utc": "UTC, ISO 8601"}


def _field(
    name: str, kind: pa.DataType, *, unit: str | None = None, zero_is_absent: bool = False
) -> pa.Field:
    unit = unit or next((u for suffix, u in _SUFFIX_UNITS.items() if name.endswith(suffix)), None)
    metadata = {}
    if unit:
        metadata["unit"] = unit
    if zero_is_absent:
        metadata["absent"] = "0"
    return pa.field(name, kind, metadata=metadata or None)


U32, U64, I64, F64, TEXT = pa.uint32(), pa.uint64(), pa.int64(), pa.float64(), pa.string()
U8, BOOL = pa.uint8(), pa.bool_()


def _stamp(name: str) -> pa.Field:
    return _field(name, I64, zero_is_absent=True)


TABLES: dict[str, pa.Schema] = {
    "cells": pa.schema(
        [_field("cell", U32)]
        + [
            _field(n, TEXT)
            for n in (
                "workload",
                "arm",
                "middleware",
                "layer",
                "version",
                "release_date",
                "profile",
            )
        ]
        + [_field(n, TEXT, unit="JSON") for n in ("factors", "definition")]
    ),
    "trials": pa.schema(
        [_field(n, U32) for n in ("trial", "cell", "block", "position")]
        + [_field(n, TEXT) for n in ("status", "reason", "started_utc")]
        + [_field("seed", U64)]
        + [
            _field(n, I64)
            for n in (
                "start_ns",
                "steady_begin_ns",
                "steady_end_ns",
                "drain_end_ns",
                "setup_ns",
                "duration_ns",
            )
        ]
        + [_field("nonce", TEXT, unit="hexadecimal"), _field("machine", TEXT)]
    ),
    "endpoints": pa.schema(
        [_field("trial", U32), _field("endpoint", U32)]
        + [_field(n, TEXT) for n in ("kind", "node", "process", "host", "topic", "type")]
        + [_field("payload_bytes", U64)]
        + [_field(n, TEXT, unit="JSON") for n in ("asked", "granted")]
        + [_field("matches", U32, unit="endpoints")]
        + [
            _field("peers", TEXT, unit="JSON"),
            _field("reply_bytes", U64),
            _field("middleware", TEXT),
        ]
        + [_field(n, I64) for n in ("joins_ns", "leaves_ns")]
    ),
    "sent": pa.schema(
        [
            _field("trial", U32),
            _field("endpoint", U32),
            _field("seq", U64),
            _field("intended_ns", I64),
        ]
        + [_stamp(n) for n in ("begun_ns", "call_ns", "return_ns")]
        + [_field("bytes", U32, unit="bytes"), _field("flags", U32, unit="bits")]
        + [
            _field("cause_endpoint", U32, zero_is_absent=True),
            _field("cause_seq", U64),
            _field("fill_ns", I64),
        ]
    ),
    "received": pa.schema(
        [_field("trial", U32), _field("endpoint", U32), _field("writer", U32), _field("seq", U64)]
        + [
            _stamp(n)
            for n in ("notified_ns", "taken_ns", "callback_ns", "consumed_ns", "intended_ns")
        ]
        + [_field("bytes", U32, unit="bytes"), _field("flags", U32, unit="bits")]
    ),
    "recorded": pa.schema(
        [_field("trial", U32), _field("process", TEXT), _field("endpoint", U32), _field("seq", U64)]
    ),
    "spans": pa.schema(
        [
            _field("trial", U32),
            _field("endpoint", U32),
            _field("writer", U32),
            _field("seq", U64),
            _field("layer", U32),
            _field("time_ns", I64),
        ]
    ),
    "windows": pa.schema(
        [
            _field("trial", U32),
            _field("endpoint", U32),
            _field("begin_ns", I64),
            _field("end_ns", I64),
            _field("metric", TEXT),
            _field("unit", TEXT),
            _field("value", F64, unit="see column unit"),
        ]
    ),
    "events": pa.schema(
        [
            _field("trial", U32),
            _field("time_ns", I64),
            _field("process", TEXT),
            _field("event", TEXT),
            _field("endpoint", U32),
            _field("writer", U32),
            _field("value", I64),
            _field("text", TEXT),
            _field("code", TEXT),
        ]
    ),
    "counters": pa.schema(
        [
            _field("trial", U32),
            _field("process", TEXT),
            _field("role", TEXT),
            _field("endpoint", U32),
            _field("counter", TEXT),
            _field("unit", TEXT),
            _field("at", TEXT),
            _field("value", F64, unit="see column unit"),
        ]
    ),
    "probes": pa.schema(
        [
            _field("trial", U32),
            _field("probe", TEXT),
            _field("unit", TEXT),
            _field("at", TEXT),
            _field("value", F64, unit="see column unit"),
        ]
    ),
    "samples": pa.schema(
        [
            _field("trial", U32),
            _field("time_ns", I64),
            _field("process", TEXT),
            _field("counter", TEXT),
            _field("unit", TEXT),
            _field("value", F64, unit="see column unit"),
        ]
    ),
    "schedule": pa.schema(
        [
            _field("trial", U32),
            _field("time_ns", I64),
            _field("process", TEXT),
            _field("thread", U32, unit="thread number in its host"),
            _field("event", TEXT),
        ]
    ),
    "frames": pa.schema(
        [_field("trial", U32), _field("index", U64)]
        + [_field(n, I64) for n in ("in_ns", "due_ns", "out_ns")]
        + [_field(n, U32) for n in ("frame_bytes", "payload_bytes")]
        + [_field(n, TEXT) for n in ("from_host", "to_host", "verdict", "class")]
        + [
            _field(n, BOOL)
            for n in ("retransmission", "multicast", "duplicate", "corrupted", "fragment")
        ]
        + [_field("attempts", U8, unit="transmissions on a shared medium")]
        + [_field("direction", TEXT), _field("interface", TEXT)]
    ),
    "clock_map": pa.schema(
        [_field("trial", U32), _field("host", TEXT)]
        + [_field(n, I64) for n in ("t_ns", "offset_ns", "bound_ns")]
    ),
    "attestations": pa.schema(
        [
            _field("trial", U32),
            _field("path", TEXT),
            _field("interface", TEXT),
            _field("label", TEXT),
            _field("bytes", I64, unit="bytes"),
            _field("fraction", F64, unit="1"),
            _field("segments", TEXT, unit="JSON"),
            _field("note", TEXT),
        ]
    ),
    "leftovers": pa.schema(
        [_field("trial", U32)]
        + [_field(n, TEXT) for n in ("host", "path", "kind")]
        + [_field("bytes", U64, unit="bytes")]
    ),
    "files": pa.schema(
        [
            _field("trial", U32),
            _field("name", TEXT),
            _field("sha256", TEXT),
            _field("bytes", U64, unit="bytes"),
        ]
    ),
    "machine": pa.schema(
        [_field(n, TEXT, unit="JSON") for n in ("hardware", "kernel", "sysctls", "start", "end")]
        + [_field("machine", TEXT)]
    ),
    "figures": pa.schema(
        [_field(n, TEXT) for n in ("figure", "series", "x", "unit")]
        + [_field(n, F64, unit="see column unit") for n in ("as_published", "as_corrected")]
        + [_field("count", U64, unit="observations"), _field("note", TEXT)]
    ),
}
"""Table name -> schema."""

ADDED: dict[str, tuple[str, ...]] = {
    "endpoints": ("peers", "reply_bytes", "middleware", "joins_ns", "leaves_ns"),
    "trials": ("machine",),
    "events": ("code",),
    "sent": ("fill_ns",),
    "machine": ("machine",),
    "frames": ("direction", "interface"),
}
"""Columns that version 1 did not always have: null where a bundle lacks them."""

WHOLE_CAMPAIGN = ("cells", "machine", "figures")
"""Tables with one file, 000000, instead of one per trial."""


def table_from_columns(name: str, columns: Mapping[str, Any], rows: int | None = None) -> pa.Table:
    """A table of `TABLES[name]` from numpy arrays, sequences or scalars (repeated); missing columns
    are null.

    Arrays have shape (rows,); numpy masked arrays mark absent values by their mask. Raises
    ValueError for an unknown column, unequal lengths or a value that does not fit: these are the
    caller's bugs, not the user's input.
    """
    schema = TABLES[name]
    unknown = set(columns) - set(schema.names)
    if unknown:
        raise ValueError(f"table {name} has no column {', '.join(sorted(unknown))}")
    if rows is None:
        lengths = {len(c) for c in columns.values() if _is_column(c)}
        if len(lengths) > 1:
            raise ValueError(f"table {name}: columns of unequal length {sorted(lengths)}")
        rows = lengths.pop() if lengths else 1
    return pa.Table.from_arrays(
        [_column(columns.get(f.name), f, rows) for f in schema], schema=schema
    )


def table_from_rows(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """A table from a list of dictionaries, for small tables."""
    names = dict.fromkeys(key for row in rows for key in row)
    return table_from_columns(
        name, {key: [row.get(key) for row in rows] for key in names}, len(rows)
    )


def _is_column(value: Any) -> bool:
    return isinstance(value, (np.ndarray, list, tuple, pa.Array, pa.ChunkedArray))


def _column(value: Any, field: pa.Field, rows: int) -> pa.Array | pa.ChunkedArray:
    if value is None:
        return pa.nulls(rows, field.type)
    if not _is_column(value):
        return pa.repeat(pa.scalar(value, field.type), rows)
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return value.cast(field.type)
    mask = None
    if isinstance(value, np.ma.MaskedArray):
        mask, value = np.ma.getmaskarray(value), value.data
    if isinstance(value, np.ndarray) and (field.metadata or {}).get(b"absent") == b"0":
        mask = (value == 0) if mask is None else mask | (value == 0)
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        return pa.array(value, mask=mask).cast(field.type)
    return pa.array(value, field.type, mask=mask)
