"""Workers and tools as built here. `make test` builds all of the first set before any of them is
asked for, so a missing one fails a test: a skip would hide everything that the test is for."""

from pathlib import Path

import pytest

from rmwbench.errors import UserError
from rmwbench.lab.middleware import Worker, find_workers, tool


def built(name: str) -> Path:
    """The tool as built here; fails the test where it is not."""
    try:
        return tool.find(name)
    except UserError as error:
        pytest.fail(str(error))


def worker(name: str) -> Worker:
    """The worker as built here; fails the test where it is not."""
    asked = find_workers([name]).get(name)
    if asked is None or asked.problem:
        pytest.fail(f"the {name} worker is not built: rmwbench middlewares build {name}")
    return asked


def place(directory: Path) -> None:
    """Makes the sampler, which every campaign needs, available in a directory of (fake) workers."""
    (directory / "rmwbench-sampler").symlink_to(built("sampler"))
