"""Finds the programs of ours that are not workers, such as the sampler, and asks them for their
description.

The search is that for workers: RMWBENCH_WORKERS, then the directory in which cargo builds, then the
workers of a wheel. The program of the tool NAME is called `rmwbench-NAME`. That of the sampler also
contains the library that counts the allocations of a worker.
"""

import contextlib
import json
import os
import subprocess
from functools import cache
from pathlib import Path

from rmwbench.errors import UserError
from rmwbench.lab.middleware import catalogue, workspace
from rmwbench.lab.middleware.find import DESCRIBE_TIMEOUT_S, VARIABLE

PROTOCOL = 1
BUILD = workspace.build_command()


def find(name: str) -> Path:
    """The program of a tool. Raises UserError where it is missing or does not answer."""
    places = _places(os.environ.get(VARIABLE), os.environ.get("RMWBENCH_TARGET_DIR"))
    for path in (directory / f"rmwbench-{name}" for directory in places):
        if path.is_file() and os.access(path, os.X_OK):
            status = path.stat()
            _check(name, path, status.st_mtime_ns, status.st_size)
            return path
    if not places:
        workspace.target_directory()  # raises, and says why no place is known
    raise UserError(
        f"the {name} is not built",
        expected=f"rmwbench-{name} in " + " or ".join(map(str, places)),
        fix=BUILD,
    )


@cache
def _places(own_directory: str | None, _target: str | None) -> tuple[Path, ...]:
    places = [Path(own_directory)] if own_directory else []
    with contextlib.suppress(UserError):  # without a toolchain there is nothing that cargo built
        places.append(workspace.target_directory() / "release")
    if wheel := catalogue.brought_directory():
        places.append(wheel)
    return tuple(places)


@cache
def _check(name: str, path: Path, _changed_ns: int, _size: int) -> None:
    """Runs `--describe`, once until the file changes. Raises UserError where the program does not
    answer, or is not the tool of that name and protocol."""
    try:
        completed = subprocess.run(
            [path, "--describe"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DESCRIBE_TIMEOUT_S,
            text=True,
        )
        description = json.loads(completed.stdout)
        identity = (description["tool"], description["protocol"])
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"the {name} does not answer", where=str(path), actual=repr(error), fix=BUILD
        ) from None
    if identity != (name, PROTOCOL):
        raise UserError(
            f"this {name} does not belong to this rmwbench",
            where=str(path),
            expected=f"{name}, protocol {PROTOCOL}",
            actual=f"{identity[0]}, protocol {identity[1]}",
            fix=BUILD,
        )


ALLOCATIONS_FD = 5
"""The descriptor in a worker of the library that counts its allocations
(native/sampler/allocations/)."""
ALLOCATIONS_ENVIRONMENT = {"LD_PRELOAD": f"/proc/self/fd/{ALLOCATIONS_FD}"}


def allocations_library() -> int:
    """A descriptor of the library that counts allocations, which the program of the sampler
    contains. It stays open for as long as this process runs. A worker inherits it as a memory file,
    which the dynamic linker loads before the C library: no file has to lie where the /tmp of a host
    hides the machine's, and nothing is left behind. Raises UserError where there is no sampler, or
    where it is too old to contain the library."""
    path = find("sampler")
    return _memory_file(path, path.stat().st_mtime_ns)


@cache
def _memory_file(path: Path, _changed_ns: int) -> int:
    content, problem = b"", ""
    try:
        result = subprocess.run(
            [path, "--allocations-library"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DESCRIBE_TIMEOUT_S,
        )
        content, problem = result.stdout, result.stderr.decode(errors="replace").strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = repr(error)
    if not content.startswith(b"\x7fELF"):
        raise UserError(
            "the sampler has no library that counts allocations",
            where=str(path),
            actual=problem.partition("\n")[0] or "no library on its output",
            fix=BUILD,
        )
    fd = os.memfd_create("rmwbench-allocations", os.MFD_CLOEXEC)
    os.write(fd, content)
    return fd
