"""The columns, types and units of all tables, for campaigns, importers and reports.

The unit of a column is in its field metadata (`unit`), and also in its name if that ends in a unit.
A column whose raw record has 0 for "not stamped" carries `absent=0`: `table_from_columns` turns
these zeros into nulls, so that an absent value in a bundle is never zero.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

SCHEMA = "rmwbench/campaign"
VERSION = 1
ROWS_PER_GROUP = 1_048_576

_SUFFIX_UNITS = {"_ns": "ns", "_bytes": "bytes", "_hz": "Hz", "_utc": "UTC, ISO 8601"}


def _fields(
    kind: pa.DataType, *names: str, unit: str | None = None, zero_is_absent: bool = False
) -> list[pa.Field]:
    """Return fields of one type; without `unit` each has the unit that its name ends in."""
    fields = []
    for name in names:
        suffix_unit = next((u for end, u in _SUFFIX_UNITS.items() if name.endswith(end)), None)
        field_unit = unit or suffix_unit
        metadata = {"unit": field_unit} if field_unit else {}
        if zero_is_absent:
            metadata["absent"] = "0"
        fields.append(pa.field(name, kind, metadata=metadata or None))
    return fields


U32, U64, I64, F64, TEXT = pa.uint32(), pa.uint64(), pa.int64(), pa.float64(), pa.string()
U8, BOOL = pa.uint8(), pa.bool_()
VALUE = _fields(F64, "value", unit="see column unit")

_FIELDS: dict[str, list[list[pa.Field]]] = {
    "cells": [
        _fields(U32, "cell"),
        _fields(TEXT, "workload", "arm", "middleware", "layer", "version", "release_date"),
        _fields(TEXT, "profile"),
        _fields(TEXT, "factors", "definition", unit="JSON"),
    ],
    "trials": [
        _fields(U32, "trial", "cell", "block", "position"),
        _fields(TEXT, "status", "reason", "started_utc"),
        _fields(U64, "seed"),
        _fields(I64, "start_ns", "steady_begin_ns", "steady_end_ns", "drain_end_ns"),
        _fields(I64, "setup_ns", "duration_ns"),
        _fields(TEXT, "nonce", unit="hexadecimal"),
        _fields(TEXT, "machine"),
    ],
    "endpoints": [
        _fields(U32, "trial", "endpoint"),
        _fields(TEXT, "kind", "node", "process", "host", "topic", "type"),
        _fields(U64, "payload_bytes"),
        _fields(TEXT, "asked", "granted", unit="JSON"),
        _fields(U32, "matches", unit="endpoints"),
        _fields(TEXT, "peers", unit="JSON"),
        _fields(U64, "reply_bytes"),
        _fields(TEXT, "middleware"),
        _fields(I64, "joins_ns", "leaves_ns"),
    ],
    "sent": [
        _fields(U32, "trial", "endpoint"),
        _fields(U64, "seq"),
        _fields(I64, "intended_ns"),
        _fields(I64, "begun_ns", "call_ns", "return_ns", zero_is_absent=True),
        _fields(U32, "bytes", unit="bytes"),
        _fields(U32, "flags", unit="bits"),
        _fields(U32, "cause_endpoint", zero_is_absent=True),
        _fields(U64, "cause_seq"),
        _fields(I64, "fill_ns"),
    ],
    "received": [
        _fields(U32, "trial", "endpoint", "writer"),
        _fields(U64, "seq"),
        _fields(I64, "notified_ns", "taken_ns", "callback_ns", zero_is_absent=True),
        _fields(I64, "consumed_ns", "intended_ns", zero_is_absent=True),
        _fields(U32, "bytes", unit="bytes"),
        _fields(U32, "flags", unit="bits"),
    ],
    "recorded": [
        _fields(U32, "trial"),
        _fields(TEXT, "process"),
        _fields(U32, "endpoint"),
        _fields(U64, "seq"),
    ],
    "spans": [
        _fields(U32, "trial", "endpoint", "writer"),
        _fields(U64, "seq"),
        _fields(U32, "layer"),
        _fields(I64, "time_ns"),
    ],
    "windows": [
        _fields(U32, "trial", "endpoint"),
        _fields(I64, "begin_ns", "end_ns"),
        _fields(TEXT, "metric", "unit"),
        VALUE,
    ],
    "events": [
        _fields(U32, "trial"),
        _fields(I64, "time_ns"),
        _fields(TEXT, "process", "event"),
        _fields(U32, "endpoint", "writer"),
        _fields(I64, "value"),
        _fields(TEXT, "text", "code"),
    ],
    "counters": [
        _fields(U32, "trial"),
        _fields(TEXT, "process", "role"),
        _fields(U32, "endpoint"),
        _fields(TEXT, "counter", "unit", "at"),
        VALUE,
    ],
    "probes": [_fields(U32, "trial"), _fields(TEXT, "probe", "unit", "at"), VALUE],
    "samples": [
        _fields(U32, "trial"),
        _fields(I64, "time_ns"),
        _fields(TEXT, "process", "counter", "unit"),
        VALUE,
    ],
    "schedule": [
        _fields(U32, "trial"),
        _fields(I64, "time_ns"),
        _fields(TEXT, "process"),
        _fields(U32, "thread", unit="thread number in its host"),
        _fields(TEXT, "event"),
    ],
    "frames": [
        _fields(U32, "trial"),
        _fields(U64, "index"),
        _fields(I64, "in_ns", "due_ns", "out_ns"),
        _fields(U32, "frame_bytes", "payload_bytes"),
        _fields(TEXT, "from_host", "to_host", "verdict", "class"),
        _fields(BOOL, "retransmission", "multicast", "duplicate", "corrupted", "fragment"),
        _fields(U8, "attempts", unit="transmissions on a shared medium"),
        _fields(TEXT, "direction", "interface"),
    ],
    "clock_map": [
        _fields(U32, "trial"),
        _fields(TEXT, "host"),
        _fields(I64, "t_ns", "offset_ns", "bound_ns"),
    ],
    "attestations": [
        _fields(U32, "trial"),
        _fields(TEXT, "path", "interface", "label"),
        _fields(I64, "bytes", unit="bytes"),
        _fields(F64, "fraction", unit="1"),
        _fields(TEXT, "segments", unit="JSON"),
        _fields(TEXT, "note"),
    ],
    "leftovers": [
        _fields(U32, "trial"),
        _fields(TEXT, "host", "path", "kind"),
        _fields(U64, "bytes", unit="bytes"),
    ],
    "files": [
        _fields(U32, "trial"),
        _fields(TEXT, "name", "sha256"),
        _fields(U64, "bytes", unit="bytes"),
    ],
    "machine": [
        _fields(TEXT, "hardware", "kernel", "sysctls", "start", "end", unit="JSON"),
        _fields(TEXT, "machine"),
    ],
    "figures": [
        _fields(TEXT, "figure", "series", "x", "unit"),
        _fields(F64, "as_published", "as_corrected", unit="see column unit"),
        _fields(U64, "count", unit="observations"),
        _fields(TEXT, "note"),
    ],
}
TABLES: dict[str, pa.Schema] = {
    name: pa.schema(itertools.chain.from_iterable(fields)) for name, fields in _FIELDS.items()
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
"""Table -> columns that older bundles of version 1 lack. They are null then."""

WHOLE_CAMPAIGN = ("cells", "machine", "figures")
"""Tables with one file, 000000, instead of one per trial."""


def table_from_columns(name: str, columns: Mapping[str, Any], rows: int | None = None) -> pa.Table:
    """Return a table of `TABLES[name]` from numpy arrays, sequences or scalars (which are
    repeated); missing columns are null.

    Arrays have shape (rows,); the mask of a numpy masked array marks absent values. Raises
    ValueError for an unknown column, unequal lengths or a value that does not fit: these are
    mistakes of the caller and not of a user.
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
    """Return a small table from a list of dictionaries."""
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
    try:
        return pa.array(value, field.type, mask=mask)
    except UnicodeEncodeError:  # the name of a file whose bytes are not UTF-8
        texts = [text and text.encode(errors="backslashreplace").decode() for text in value]
        return pa.array(texts, field.type, mask=mask)
