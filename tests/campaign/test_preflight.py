"""Room and capabilities, on machines that lack them."""

import os
from pathlib import Path

import pytest

from rmwbench.campaign.plan import preflight, unsupported
from rmwbench.campaign.plan.plan import make_plan
from rmwbench.errors import UserError
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse

SUITE = """
suite: mini
title: a test
arms: [{{name: a, middleware: fake}}]
workloads: [{{name: w, message: Bytes({size}), rate_hz: 100, qos: {{depth: {depth}}}, subscribers: 2}}]
"""


def plan(size=1000, depth=10):
    suite = parse(SUITE.format(size=size, depth=depth), where="mini.yaml", middlewares=["fake"])
    return make_plan(suite, cells(suite), seed=0)


def test_an_ordinary_machine_has_room(tmp_path):
    preflight.check_room(plan(), tmp_path / "not" / "there" / "yet")


def test_a_full_disk_is_named_with_the_place(tmp_path, monkeypatch):
    full = os.statvfs_result((4096, 4096, 1000, 10, 10, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    with pytest.raises(UserError, match=r"not enough disk(?s:.*)--out DIR") as error:
        preflight.check_room(plan(), tmp_path / "new")
    assert error.value.where == str(tmp_path)


@pytest.mark.parametrize(
    ("available", "size", "depth"),
    [
        (200 << 20, 1000, 10),  # not even the reserve
        (3 << 30, 10_000_000, 100),  # three queues of 102 messages are 3.06 GB
    ],
)
def test_too_little_memory_is_named_with_the_workload(
    tmp_path, monkeypatch, available, size, depth
):
    monkeypatch.setattr(preflight, "available_memory_bytes", lambda: available)
    with pytest.raises(UserError, match="not enough memory") as error:
        preflight.check_room(plan(size, depth), tmp_path)
    assert "workload w" in error.value.where
    monkeypatch.setattr(preflight, "available_memory_bytes", lambda: 2 * available)
    preflight.check_room(plan(size, depth), tmp_path)


def test_too_little_shared_memory_is_its_own_message(monkeypatch):
    made = plan(30_000_000, 40)
    monkeypatch.setattr(preflight, "memory_bytes", lambda cell: 0)
    monkeypatch.setattr(preflight, "available_memory_bytes", lambda: 2 << 30)
    with pytest.raises(UserError, match="do not fit into shared memory"):
        preflight.check_room(made, Path("."))


def test_what_a_cell_needs_follows_from_its_settings():
    (cell,) = plan().cells
    needed = {name for name, _ in unsupported.needed_capabilities(cell)}
    assert needed == {"reliable", "keep_last", "inter_process", "block"}
