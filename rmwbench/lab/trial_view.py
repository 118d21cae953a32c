"""The parts of the machine's /tmp and /dev/shm that a trial sees, which otherwise has its own: only
the programs and libraries of its processes.

A checkout, a Python, a cache, workers or a ROS 2 that lie there are bound into the trial's own
directories at the same paths, so that a program runs in a trial wherever it lies. Everything else
there stays hidden: the sockets and segments of a robot and of other campaigns.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from rmwbench import home
from rmwbench.errors import UserError

PRIVATE = ("/tmp", "/dev/shm")
"""The directories that a trial has for itself (init.py)."""
WORKERS = "RMWBENCH_WORKERS"
VARIABLES = (
    *(WORKERS, "RMWBENCH_TARGET_DIR", "RMWBENCH_WORKER_LIBRARY", "PATH", "VIRTUAL_ENV"),
    *("PYTHONPATH", "LD_LIBRARY_PATH", "AMENT_PREFIX_PATH", "NDDSHOME", "RTI_LICENSE_FILE"),
)
"""The variables with paths of programs and libraries that we or our workers use."""
_MOST_LINKS = 40
"""The number of links that the kernel follows."""
_VIEW = str(Path(__file__).parent / "host" / "view_program.py")


def roots() -> tuple[str, ...]:
    """The existing paths below PRIVATE that a trial needs, none below another."""
    resolved_paths = {
        resolve(path) for path in needed_paths() for resolve in (os.path.abspath, os.path.realpath)
    }
    existing = sorted(path for path in resolved_paths if _is_below(path) and os.path.exists(path))
    return tuple(
        path
        for path in existing
        if not any(path.startswith(f"{other_path}/") for other_path in existing)
    )


def is_seen(path: Path) -> bool:
    """Whether a trial finds a file of the machine at this path."""
    text = str(path)
    return not _is_below(text) or any(f"{text}/".startswith(f"{root}/") for root in roots())


def view() -> list[str]:
    """The words before a command, whose first is a path, that run it in a trial's mounts."""
    return [sys.executable, "-I", "-S", "-E", _VIEW, *roots(), "--"]


def view_if_different(program: Path) -> list[str]:
    """The words of `view` for a program that may find less in a trial than here, because it or
    something that it needs lies below PRIVATE, or because it is the user's own program, whose needs
    are unknown. No words for all others."""
    users_directory = os.environ.get(WORKERS)
    is_users = bool(users_directory) and program.is_relative_to(str(users_directory))
    may_differ = is_users or any(map(_is_private, (*needed_paths(), str(program))))
    return view() if may_differ else []


def needed_paths() -> list[str]:
    """The paths that a process of a trial may need, as they are named here."""
    first = 0 if sys.flags.safe_path else 1  # entry 0 is the directory of this command
    paths = [str(Path(__file__).parents[2]), sys.prefix, sys.base_prefix, *sys.path[first:]]
    with contextlib.suppress(UserError):  # a user without a home has no cache
        paths.append(str(home.cache()))
    paths += [os.path.dirname(os.path.dirname(link)) for link in _links(sys.executable)]
    for name in VARIABLES:
        paths += filter(None, os.environ.get(name, "").split(os.pathsep))
    return paths


def _links(path: str) -> Iterator[str]:
    """Yields a path and the targets of the links that it leads through. The Python of an
    environment is a link to the Python that made the environment."""
    yield path
    for _ in range(_MOST_LINKS):
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except OSError:
            return
        yield path


def _is_private(path: str) -> bool:
    """Whether a path lies below PRIVATE, as it is written or after its links are followed."""
    return _is_below(os.path.abspath(path)) or _is_below(os.path.realpath(path))


def _is_below(path: str) -> bool:
    return path.startswith(tuple(f"{folder}/" for folder in PRIVATE))
