"""The directories of this user's files: `cache()` for files that can be made again, `state()` for
all others. Both raise UserError if the user has no home, such as a user without a name in a
container."""

import os
from pathlib import Path

from rmwbench.errors import UserError


def cache() -> Path:
    return _directory("XDG_CACHE_HOME", ".cache")


def state() -> Path:
    return _directory("XDG_STATE_HOME", ".local/state")


def _directory(variable: str, below_home: str) -> Path:
    if directory := os.environ.get(variable):
        return Path(directory) / "rmwbench"
    try:
        return Path.home() / below_home / "rmwbench"
    except RuntimeError:
        raise UserError(
            "this user has no home directory",
            expected=f"HOME or {variable} is set, or the user is known to the system",
            actual=f"user {os.getuid()}, and none of these",
            fix="export HOME=DIRECTORY, one that this user may write to",
        ) from None
