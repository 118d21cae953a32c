"""Records files against the golden corpus, and against what a worker may do to them."""

import json
import os

import numpy as np
import pytest

from rmwbench.lab.process import records
from rmwbench.lab.process.records import RECEIVED, SENT, SPAN, RecordsDamaged, SectionPlan
from tests.lab import golden


@pytest.mark.parametrize("name", golden.files())
def test_the_golden_files_are_those_that_the_formats_describe(name):
    assert (golden.DIRECTORY / name).read_bytes() == golden.files()[name]


def test_the_golden_records_read_as_their_json_says():
    expected = json.loads((golden.DIRECTORY / "records.json").read_text())
    found = records.parse(
        (golden.DIRECTORY / "records.bin").read_bytes(), int(expected["trial_nonce"], 16)
    )
    assert len(found) == len(expected["sections"])
    for section, wanted in zip(found, expected["sections"], strict=True):
        head = (
            records.KIND_NAMES[section.kind],
            section.endpoint,
            section.capacity,
            section.claimed,
        )
        assert head == (wanted["kind"], wanted["endpoint"], wanted["capacity"], wanted["claimed"])
        assert (section.overflow, section.unfinished) == (wanted["overflow"], wanted["unfinished"])
        assert len(section.rows) == len(wanted["slots"])
        for row, slot in zip(section.rows, wanted["slots"], strict=True):
            assert {name: int(row[name]) for name in slot} == slot
            assert row["endpoint"] == wanted["endpoint"]


def test_a_made_file_is_laid_out_as_the_format_says_and_empty():
    plan = [SectionPlan(SENT, 1, 100), SectionPlan(RECEIVED, 2, 65), SectionPlan(SPAN, 2, 1)]
    fd = records.make(plan, nonce=2**64 - 1)
    try:
        data = os.pread(fd, 1 << 20, 0)
        assert len(data) == 20480 + 64
        entries = [np.frombuffer(data, "<u8", 3, 64 + 64 * i + 8) for i in range(3)]
        offsets = [int(entry[0]) for entry in entries]
        assert all(offset % 4096 == 0 for offset in offsets)
        assert (
            offsets[0] >= 64 * 4
            and offsets[1] >= offsets[0] + 6400
            and offsets[2] >= offsets[1] + 65 * 64
        )
        sections = records.read(fd, 2**64 - 1)
        assert [(s.kind, s.endpoint, s.capacity, s.claimed, len(s.rows)) for s in sections] == [
            (*p, 0, 0) for p in plan
        ]
    finally:
        os.close(fd)


def _golden() -> bytearray:
    return bytearray(golden.records_bin())


@pytest.mark.parametrize(
    ("offset", "value", "complaint"),
    [
        (0, 0, "header"),
        (8, 2, "header"),
        (16, 1, "header"),
        (24, 1, "header"),
        (13, 255, "do not fit"),
        (64, 9, "unknown kind"),
        (64 + 8, 1, "not aligned"),
        (64 + 16 + 4, 1, "outside"),
        (4096 + 60, 2, "says kind 2"),
        (4096 + 52, 5, "endpoint 5"),
    ],
)
def test_a_file_that_contradicts_itself_is_damaged_not_misread(offset, value, complaint):
    data = _golden()
    data[offset] = value
    with pytest.raises(RecordsDamaged, match=complaint):
        records.parse(bytes(data), golden.NONCE)


def test_a_truncated_file_is_damaged():
    fd = os.memfd_create("short")
    try:
        os.write(fd, b"RMWBREC1")
        with pytest.raises(RecordsDamaged, match="shorter than its header"):
            records.read(fd, 1)
    finally:
        os.close(fd)


def test_another_trials_file_is_refused():
    with pytest.raises(RecordsDamaged, match="nonce"):
        records.parse(golden.records_bin(), golden.NONCE + 1)
