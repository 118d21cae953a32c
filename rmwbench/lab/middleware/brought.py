"""The programs that a wheel brought (`make wheel`), and what a system needs for them.

Such a wheel has the directory `workers` in the package: programs, the harness's library and header
for workers in Python, and `needs.json`: the name of the system that they were built on, and for
each library that is not part of every system the package that it is in there. Beside it `ros2` has
the packages of the worker on rclcpp, which are built where a ROS 2 is.
"""

import json
import platform
from functools import cache
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).resolve().parents[2] / "workers"
NEEDS = "needs.json"
LIBRARY = "librmwbench_worker.so"
PACKAGES = DIRECTORY.with_name("ros2")
NATIVE = "native"
"""Below PACKAGES: what these packages take of the Rust workspace, its headers and profiles."""


def directory() -> Path | None:
    """Where they are; None where none was brought."""
    return DIRECTORY if DIRECTORY.is_dir() else None


def ros2_packages() -> Path | None:
    """Where the packages of ROS 2 are; None where none were brought, or no harness for them."""
    return PACKAGES if PACKAGES.is_dir() and (DIRECTORY / LIBRARY).is_file() else None


def lacking(library: str) -> tuple[str, str | None]:
    """What to say of a program that lacks a shared library, and the command that installs it where
    one is known to: on a system like the one that it was built on."""
    needs = _needs()
    package, system = needs.get("packages", {}).get(library), needs.get("system")
    if package is None or directory() is None:
        return f"it needs {library}, which is not here", None
    if system == _system():
        from rmwbench.lab.middleware.catalogue import apt_command

        return f"it needs {library}, which is not here", apt_command([package])
    return (
        f"it was built for {library} of {system} ({package}): build it from a checkout for what is "
        "here",
        None,
    )


@cache
def _needs() -> dict[str, Any]:
    try:
        return dict(json.loads((DIRECTORY / NEEDS).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _system() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None
