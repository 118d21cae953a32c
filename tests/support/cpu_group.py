"""A control group of the kernel with a quota of processor time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.waiting import until


@contextmanager
def cpu_group(quota_us: int) -> Iterator[Path]:
    """Its processes have so much of each 100 ms; skips the test where none can be made."""
    group = Path("/sys/fs/cgroup/cpu") / f"rmwbench-test-{os.getpid()}"

    def removed() -> bool:
        with suppress(OSError):
            group.rmdir()
        return not group.is_dir()

    try:
        group.mkdir()
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    except OSError as error:
        removed()
        pytest.skip(f"no CPU group can be made here: {error.strerror}")
    try:
        yield group
    finally:
        until(removed)
