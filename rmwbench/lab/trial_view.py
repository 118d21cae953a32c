"""What a trial sees of the machine's /tmp and /dev/shm, since it has both for itself: only what its
processes are made of.

A checkout, a Python, a cache, workers or a ROS 2 that lie there are bound into the trial's own
directories at their own paths, so that a program runs in a trial wherever it was put. Everything
else there is hidden as ever: the sockets and segments of a robot and of other campaigns.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from rmwbench import home
from rmwbench.errors import UserError

PRIVATE = ("/tmp", "/dev/shm")
"""What a trial has for itself (init.py)."""
WORKERS = "RMWBENCH_WORKERS"
VARIABLES = (
    *(WORKERS, "RMWBENCH_TARGET_DIR", "RMWBENCH_WORKER_LIBRARY", "PATH", "VIRTUAL_ENV"),
    *("PYTHONPATH", "LD_LIBRARY_PATH", "AMENT_PREFIX_PATH", "NDDSHOME", "RTI_LICENSE_FILE"),
)
"""Those that say where programs and libraries are, a path or several: ours, and what our workers
inherit."""
_MOST_LINKS = 40
"""As many as the kernel follows."""
_VIEW = str(Path(__file__).parent / "host" / "view_program.py")


def roots() -> tuple[str, ...]:
    """What stays visible: paths below PRIVATE that exist here, none of them below another."""
    resolved_paths = {
        form(path) for path in needed() for form in (os.path.abspath, os.path.realpath)
    }
    existing = sorted(path for path in resolved_paths if _is_below(path) and os.path.exists(path))
    return tuple(
        path
        for path in existing
        if not any(path.startswith(f"{other_path}/") for other_path in existing)
    )


def is_seen(path: Path) -> bool:
    """Whether a trial finds it under this path."""
    text = str(path)
    return not _is_below(text) or any(f"{text}/".startswith(f"{root}/") for root in roots())


def view() -> list[str]:
    """The words before a command, whose first one is a path, that run it in the mounts of a trial
    (host/view_program.py)."""
    return [sys.executable, "-I", "-S", "-E", _VIEW, *roots(), "--"]


def try_in_a_trial(program: Path) -> list[str]:
    """The words before a command that may find less in a trial than here: what lies below PRIVATE,
    and a program of the user's own, whatever it is made of. No words for all others."""
    users_directory = os.environ.get(WORKERS)
    of_the_user = bool(users_directory) and program.is_relative_to(str(users_directory))
    may_differ = of_the_user or any(map(_is_private, (*needed(), str(program))))
    return view() if may_differ else []


def needed() -> list[str]:
    """Places that a process of a trial may need, as they are named here."""
    first = 0 if sys.flags.safe_path else 1  # the first is where this command was typed
    paths = [str(Path(__file__).parents[2]), sys.prefix, sys.base_prefix, *sys.path[first:]]
    with contextlib.suppress(UserError):  # who has no home has no cache
        paths.append(str(home.cache()))
    paths += [os.path.dirname(os.path.dirname(link)) for link in _links(sys.executable)]
    for name in VARIABLES:
        paths += filter(None, os.environ.get(name, "").split(os.pathsep))
    return paths


def _links(path: str) -> Iterator[str]:
    """The file and what it is a link to, one after the other: the Python of an environment is one
    to that which it was made with."""
    yield path
    for _ in range(_MOST_LINKS):
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except OSError:
            return
        yield path


def _is_private(path: str) -> bool:
    """Whether it lies below PRIVATE by its name or in fact."""
    return _is_below(os.path.abspath(path)) or _is_below(os.path.realpath(path))


def _is_below(path: str) -> bool:
    return path.startswith(tuple(f"{folder}/" for folder in PRIVATE))
