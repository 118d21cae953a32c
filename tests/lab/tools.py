"""Our own tools beside fake workers: whoever runs a campaign needs the sampler, wherever its workers come from."""

from pathlib import Path

import pytest

from rmwbench.errors import UserError
from rmwbench.lab import tool


def built(name: str) -> tool.Tool:
    """The tool as built here; fails the test where it is not."""
    try:
        return tool.find(name)
    except UserError as error:
        pytest.fail(str(error))


def place(directory: Path) -> None:
    """Makes the sampler available in a directory of workers."""
    (directory / "rmwbench-sampler").symlink_to(built("sampler").executable)
