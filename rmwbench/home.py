"""Where files of this user are kept between commands: `cache()` has what can be made again, `state()`
what cannot. Both raise UserError where the user has no home, such as a number without a name in a
container."""

import os
from pathlib import Path

from rmwbench.errors import UserError


def cache() -> Path:
    return _place("XDG_CACHE_HOME", ".cache")


def state() -> Path:
    return _place("XDG_STATE_HOME", ".local/state")


def _place(variable: str, below_home: str) -> Path:
    if named := os.environ.get(variable):
        return Path(named) / "rmwbench"
    try:
        return Path.home() / below_home / "rmwbench"
    except RuntimeError:
        raise UserError(
            "this user has no home directory",
            expected=f"HOME or {variable} is set, or the user is known to the system",
            actual=f"user {os.getuid()}, and none of these",
            fix="export HOME=DIRECTORY, one that this user may write to",
        ) from None
