"""Directories that tests begin with, made once in a run of the tests: each test gets a copy of its
own, to damage.

A campaign of invented numbers has a thousand files and more, and takes seconds to write; a copy of
it takes a tenth. The processes of one run share what was made: whoever makes it gives it its name
when it is whole, so that nobody waits and nobody sees half of one.
"""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

VARIABLE = "RMWBENCH_TESTS_KEPT"


def flush_nothing() -> None:
    """What a test writes need not survive a power cut, and a campaign flushes each of its thousand
    files: its test would wait for the disk longer than for anything else. That what is flushed is
    open is still asked. Commands that a test starts with a new interpreter (`COMMAND`) flush as
    ever."""
    os.fsync = os.fstat


def begin() -> None:
    """The first process of a run makes the place for all, and removes it when it ends."""
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = tempfile.mkdtemp(prefix="rmwbench-tests-kept-")
        atexit.register(_end, os.getpid(), os.environ[VARIABLE])


def copy(directory: Path | str, make: Callable[[Path], object], *key: object) -> Path:
    """`directory` as `make` writes it; `key` says in full by its repr what that depends on; a test
    that replaces a part of `make` takes VARIABLE away. Its parents are made."""
    if VARIABLE not in os.environ:  # a program of tests/support, by itself
        make(Path(directory))
        return Path(directory)
    whole = Path(
        os.environ[VARIABLE], sha256(repr((make.__module__, key)).encode()).hexdigest()[:20]
    )
    if not whole.is_dir():
        with tempfile.TemporaryDirectory(dir=whole.parent) as beside:
            make(Path(beside, "made"))
            try:
                Path(beside, "made").rename(whole)
            except OSError:
                assert whole.is_dir()  # another process was as fast
    shutil.copytree(whole, directory, dirs_exist_ok=True)
    return Path(directory)


def _end(pid: int, place: str) -> None:
    if os.getpid() == pid:
        shutil.rmtree(place, ignore_errors=True)
