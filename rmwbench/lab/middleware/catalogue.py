"""The workers that there can be: those that can be built here, and those that a wheel brought.

Each crate describes its program in the table [package.metadata.rmwbench] of its Cargo.toml, so a
new middleware is one new directory: nothing on this side lists names, packages or headers. The
keys: `middleware` (name), `summary` (one line), `apt` (Debian packages it needs), `probe_headers`
(headers whose presence makes the packages unnecessary), `prefix_env` (variable that names another
installation), `build_minutes` (on 2 cores). The table `newest` in it is of the version that
Debian's newest source package has, built beside the system's. The crates of `middlewares/` are the
first set, built when no name is given; those of `rare/` are built by name.

A wheel (`make wheel`) has the directory `workers` in the package: programs, the harness's library
and header for workers in Python, and `needs.json`: the name of the system that they were built on,
and for each library that is not part of every system the package that it is in there. Beside it
`ros2` has the packages of the worker on rclcpp, which are built where a ROS 2 is.
"""

import json
import os
import platform
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError
from rmwbench.lab.middleware import workspace

FIRST_SET = "middlewares"
"""The folder of the crates that are built when no name is given."""

CORES = 2
"""The processors of the machine that all minutes were measured on."""

_INCLUDE_DIRECTORIES = ("/usr/include", "/usr/local/include")


@dataclass(frozen=True)
class Newest:
    """A crate's entry on the newest version: Debian's `source` package, which is offered where the
    version here is `below` this one, with these arguments for CMake; the `minutes` that its
    libraries take on 2 cores, and the `gigabytes` that they need meanwhile."""

    source: str
    below: str
    minutes: float
    gigabytes: float
    cmake: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How one worker or tool is built. `prefix` is the install that it is built with where that is
    not the system's or `prefix_env`'s, and `target` is where cargo builds it then."""

    middleware: str
    crate: str
    summary: str
    apt: tuple[str, ...] = ()
    probe_headers: tuple[str, ...] = ()
    prefix_env: str | None = None
    first_set: bool
    build_minutes: float | None
    newest: Newest | None = None
    prefix: Path | None = None
    target: Path | None = None

    def missing_packages(self) -> tuple[str, ...]:
        """Debian packages to install first; none where the headers that they bring are here."""
        if self.probe_headers and all(map(self._has_header, self.probe_headers)):
            return ()
        return tuple(name for name in self.apt if not _installed(name))

    def _has_header(self, header: str) -> bool:
        prefix = self.prefix or os.environ.get(self.prefix_env or "")
        places = [Path(prefix, "include")] if prefix else list(map(Path, _INCLUDE_DIRECTORIES))
        return any((directory / header).is_file() for directory in places)


@dataclass(frozen=True)
class Built:
    """The outcome for one middleware; `problem` is None where it was built."""

    middleware: str
    problem: str | None


def recipes() -> dict[str, Recipe]:
    """Middleware → recipe, by name; empty without a workspace. Raises UserError for a table that
    cannot be read."""
    root = workspace.root()
    if root is None:
        return {}
    paths = [*root.glob(f"{FIRST_SET}/*/Cargo.toml"), *root.glob("rare/*/Cargo.toml")]
    crates = [_recipe(path) for path in sorted(paths, key=lambda path: path.parent.name)]
    return {recipe.middleware: recipe for recipe in crates if recipe is not None}


def tool_recipes() -> dict[str, Recipe]:
    """Tool → recipe, by the directory of its crate; empty without a workspace. Raises UserError
    for a table that cannot be read."""
    root = workspace.root()
    paths = sorted(root.glob("*/Cargo.toml")) if root else []
    crates = [_recipe(path, is_tool=True) for path in paths]
    return {recipe.middleware: recipe for recipe in crates if recipe is not None}


def _recipe(path: Path, *, is_tool: bool = False) -> Recipe | None:
    """Reads the recipe of a crate, or of a tool; returns None for a crate that is no tool."""
    try:
        package: dict[str, Any] = tomllib.loads(path.read_text())["package"]
        table: dict[str, Any] = package.get("metadata", {}).get("rmwbench", {})
        if is_tool and "tool" not in table:
            return None
        name = table.get("tool") or table.get("middleware")
        return Recipe(
            middleware=name or package["name"].removeprefix("rmwbench-"),
            crate=package["name"],
            summary=table.get("summary", ""),
            apt=tuple(table.get("apt", ())),
            probe_headers=tuple(table.get("probe_headers", ())),
            prefix_env=table.get("prefix_env"),
            first_set=is_tool or path.parent.parent.name == FIRST_SET,
            build_minutes=table.get("build_minutes"),
            newest=_newest(table["newest"]) if "newest" in table else None,
        )
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise UserError(
            "cannot read what this crate says of itself", where=str(path), actual=str(error)
        ) from None


def _newest(table: dict[str, Any]) -> Newest:
    return Newest(**table | {"cmake": tuple(table.get("cmake", ()))})


def _installed(package: str) -> bool:
    """Whether a package is installed, by the package manager or as a program of that name from
    elsewhere; assumed where there is no Debian to ask."""
    if shutil.which(package) or shutil.which("dpkg-query") is None:
        return True
    query = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]
    completed = subprocess.run(query, capture_output=True, text=True)
    return completed.returncode == 0 and completed.stdout == "installed"


def apt_command(packages: tuple[str, ...] | list[str]) -> str:
    """The command that installs these packages."""
    return f"{sudo()}apt-get install -y --no-install-recommends {' '.join(dict.fromkeys(packages))}"


def sudo() -> str:
    """The prefix of a command for root, which is empty where root types it."""
    return "" if os.geteuid() == 0 else "sudo "


BROUGHT = Path(__file__).resolve().parents[2] / "workers"
NEEDS = "needs.json"
LIBRARY = "librmwbench_worker.so"
BROUGHT_PACKAGES = BROUGHT.with_name("ros2")
NATIVE = "native"
"""Below BROUGHT_PACKAGES: the headers and profiles of the Rust workspace that these packages
use."""


def brought_directory() -> Path | None:
    """The directory of the workers that came with a wheel; None where none came."""
    return BROUGHT if BROUGHT.is_dir() else None


def ros2_packages() -> Path | None:
    """The directory of the packages for ROS 2; None where none came with a wheel, or no harness for
    them."""
    return BROUGHT_PACKAGES if BROUGHT_PACKAGES.is_dir() and (BROUGHT / LIBRARY).is_file() else None


def lacking_library(library: str) -> tuple[str, str | None]:
    """The problem of a program that lacks a shared library, and the command that installs it, which
    is known on a system like the one that the program was built on."""
    needs = _needs()
    package, system = needs.get("packages", {}).get(library), needs.get("system")
    if package is None or brought_directory() is None:
        return f"it needs {library}, which is not here", None
    if system == system_name():
        return f"it needs {library}, which is not here", apt_command([package])
    return (
        f"it was built for {library} of {system} ({package}): build it from a checkout for what is "
        "here",
        None,
    )


@cache
def _needs() -> dict[str, Any]:
    try:
        return dict(json.loads((BROUGHT / NEEDS).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def system_name() -> str | None:
    """The name that the operating system gives itself; None where it gives none."""
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None
