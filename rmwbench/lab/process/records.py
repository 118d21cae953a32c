"""Lays out records files before a trial, and reads them after it (docs/formats/records.md).

This was written from the format page alone, not from the Rust code, so that a mistake on either
side shows as a disagreement over the golden corpus. The file is a memfd: it survives a killed
worker, is never on a disk, and ends with its last descriptor.
"""

import contextlib
import mmap
import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

MAGIC = b"RMWBREC1"
VERSION = 1
SLOT_BYTES = 64
HEADER_BYTES = 64
ENTRY_BYTES = 64
ALIGNMENT_BYTES = 4096

SENT, RECEIVED, SPAN = 1, 2, 3

_HEADER = struct.Struct("<8sIIQQ32x")
_ENTRY = struct.Struct("<IIQQQ32x")

_U8, _I8, _U4 = "<u8", "<i8", "<u4"


def _slot(*fields: tuple[str, str]) -> np.dtype:
    return np.dtype([*fields, ("endpoint", _U4), ("bytes", _U4), ("word", _U4)])


_SENT_TIMES = ("intended_ns", "begun_ns", "call_ns", "return_ns")
_RECEIVED_TIMES = ("notified_ns", "taken_ns", "callback_ns", "consumed_ns", "intended_ns")
_SLOT = {
    SENT: _slot(
        ("seq", _U8), *((t, _I8) for t in _SENT_TIMES), ("cause_seq", _U8), ("cause_endpoint", _U4)
    ),
    RECEIVED: _slot(("seq", _U8), *((t, _I8) for t in _RECEIVED_TIMES), ("writer", _U4)),
    SPAN: _slot(("seq", _U8), ("time_ns", _I8), ("layer", _U4), ("zero", "V28"), ("writer", _U4)),
}
assert all(dtype.itemsize == SLOT_BYTES for dtype in _SLOT.values())
KIND_NAMES = {SENT: "SENT", RECEIVED: "RECEIVED", SPAN: "SPAN"}


class RecordsDamaged(Exception):
    """A records file contradicts its own layout: the worker wrote where it must not."""


class SectionPlan(NamedTuple):
    """Room for `capacity` slots of one kind for one endpoint."""

    kind: int
    endpoint: int
    capacity: int


@dataclass(frozen=True)
class RecordSection:
    """The records of one kind of an endpoint. `rows` is a structured array of the finished slots,
    in the order in which they were claimed, with the fields of the slot; `flags` (u32) are those of
    its last word."""

    kind: int
    endpoint: int
    capacity: int
    claimed: int
    unfinished: int
    rows: np.ndarray

    @property
    def overflow(self) -> int:
        """The number of messages for which there was no slot, so that they were not recorded."""
        return max(0, self.claimed - self.capacity)


def make(sections: Sequence[SectionPlan], nonce: int, name: str = "rmwbench-records") -> int:
    """Makes a memfd for `sections`, which the caller owns. Its pages are not touched."""
    size, offsets = _layout(sections)
    fd = os.memfd_create(name, os.MFD_CLOEXEC)
    os.ftruncate(fd, size)
    head = _HEADER.pack(MAGIC, VERSION, len(sections), nonce, size)
    entries = (
        _ENTRY.pack(section.kind, section.endpoint, offset, section.capacity, 0)
        for section, offset in zip(sections, offsets, strict=True)
    )
    os.pwrite(fd, head + b"".join(entries), 0)
    return fd


@contextlib.contextmanager
def open_records(sections: Sequence[SectionPlan], nonce: int) -> Iterator[int]:
    """The descriptor of `make` for as long as the context lasts."""
    fd = make(sections, nonce)
    try:
        yield fd
    finally:
        os.close(fd)


def _layout(sections: Sequence[SectionPlan]) -> tuple[int, list[int]]:
    end = HEADER_BYTES + ENTRY_BYTES * len(sections)
    offsets = []
    for section in sections:
        begin = -(-end // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        offsets.append(begin)
        end = begin + SLOT_BYTES * section.capacity
    return max(end, ALIGNMENT_BYTES), offsets


def read(fd: int, nonce: int) -> list[RecordSection]:
    """Copies all sections out of a records file, whether its worker lives or not. Raises
    RecordsDamaged where header, entries or finished slots contradict the format or `nonce`."""
    size = os.fstat(fd).st_size
    if size < HEADER_BYTES:
        raise RecordsDamaged(f"records file of {size} bytes is shorter than its header")
    with mmap.mmap(fd, size, prot=mmap.PROT_READ) as view:
        return parse(view, nonce)


def parse(data: mmap.mmap | bytes, nonce: int) -> list[RecordSection]:
    """The sections of a records file that is in memory. Raises RecordsDamaged as `read` does."""
    size = len(data)
    magic, version, count, header_nonce, header_size = _HEADER.unpack_from(data, 0)
    header = (magic, version, header_nonce, header_size)
    expected = (MAGIC, VERSION, nonce, size)
    if header != expected:
        raise RecordsDamaged(
            f"header: expected magic, version, nonce, size {expected}, found {header}"
        )
    if HEADER_BYTES + ENTRY_BYTES * count > size:
        raise RecordsDamaged(f"{count} sections do not fit into {size} bytes")
    return [_section(data, size, index) for index in range(count)]


def _section(data: mmap.mmap | bytes, size: int, index: int) -> RecordSection:
    kind, endpoint, offset, capacity, claimed = _ENTRY.unpack_from(
        data, HEADER_BYTES + ENTRY_BYTES * index
    )
    name = f"section {index} (kind {kind}, endpoint {endpoint})"
    if kind not in _SLOT:
        raise RecordsDamaged(f"{name}: unknown kind")
    if offset % ALIGNMENT_BYTES or offset + capacity * SLOT_BYTES > size:
        raise RecordsDamaged(
            f"{name}: slots at {offset} × {capacity} lie outside of {size} bytes or are not aligned"
        )
    used = min(claimed, capacity)
    # The copy ends the view: an mmap with exported buffers cannot be closed.
    slots = np.frombuffer(data, dtype=_SLOT[kind], count=used, offset=offset).copy()
    finished = slots["word"] != 0
    rows = slots if finished.all() else slots[finished]
    foreign = (rows["word"] & 0xFF != kind) | (rows["endpoint"] != endpoint)
    if foreign.any():
        slot = int(np.flatnonzero(foreign)[0])
        actual = f"kind {rows['word'][slot] & 0xFF}, endpoint {rows['endpoint'][slot]}"
        raise RecordsDamaged(f"{name}: finished slot {slot} says {actual}")
    return RecordSection(
        kind, endpoint, capacity, claimed, int(used - len(rows)), _with_flags(rows)
    )


def _with_flags(rows: np.ndarray) -> np.ndarray:
    rows["word"] >>= 8
    return rows.view(
        np.dtype(
            [
                ("flags" if name == "word" else name, rows.dtype[name])
                for name in rows.dtype.names or ()
            ]
        )
    )
