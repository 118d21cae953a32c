"""Programs of a test: any as a process of its own, until it ends, scripts in the place of others,
waiting for what programs do, and a control group that bounds their processor time."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

import rmwbench

T = TypeVar("T")
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c"]


def run_program(*words: object, timeout: float | None = 300, **how: Any) -> Any:
    """What it wrote, as text, and its exit code; `how` is for `subprocess.run`."""
    command = [str(word) for word in words]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, **how)


def run_as_nobody(program: str, **how: Any) -> Any:
    """The same of a program in Python whose user has no capability; its argument is the directory
    of the package. Skips the test where that cannot be."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root to become nobody")
    if run_program(*NOBODY, f"open({rmwbench.__file__!r})").returncode:
        pytest.skip("nobody cannot run /usr/bin/python3 or read this checkout")
    return run_program(*NOBODY, program, Path(rmwbench.__file__).parents[1], cwd="/", **how)


def script(path: Path, text: str = "") -> Path:
    """A shell script there, in the place of whatever is; its directory where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def until(
    condition: Callable[[], T], timeout_s: float = 60, says: Callable[[], object] = lambda: ""
) -> T:
    """What the condition gives once that is true, as long as a busy machine may take for it; where
    it never is, the test fails with what `says` gives."""
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline, says()
        time.sleep(0.02)
    return found


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
