"""The catalogue of workers and tools: those that can be built here, and those that a wheel brought.

Each crate describes its program in the table [package.metadata.rmwbench] of its Cargo.toml, so a
new middleware is one new directory, and Python has no list of names, packages or headers. The keys:
`middleware` (name) or `tool` (name), `summary` (one line), `apt` (Debian packages it needs),
`probe_headers` (headers whose presence makes the packages unnecessary), `prefix_env` (variable that
names another installation), `build_minutes` (on 2 cores). Its table `newest` is about the version
of Debian's newest source package, built beside the system's. The crates of `middlewares/` are the
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
"""The number of processors of the machine on which all minutes were measured."""

_INCLUDE_DIRECTORIES = ("/usr/include", "/usr/local/include")


@dataclass(frozen=True)
class Newest:
    """A crate's entry on its newest version: Debian's `source` package, which is offered where the
    version here is lower than `below`; the arguments for CMake; the `minutes` that its libraries
    take on 2 cores, and the `gigabytes` that their build needs."""

    source: str
    below: str
    minutes: float
    gigabytes: float
    cmake: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a worker or a tool is built. `prefix` is the installation with which it is built, where
    that is not the system's or that of `prefix_env`; `target` is cargo's directory for it then."""

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
        """The Debian packages to install first; empty where the headers that they bring exist."""
        if self.probe_headers and all(map(self._has_header, self.probe_headers)):
            return ()
        return tuple(name for name in self.apt if not _is_installed(name))

    def _has_header(self, header: str) -> bool:
        prefix = self.prefix or os.environ.get(self.prefix_env or "")
        places = [Path(prefix, "include")] if prefix else list(map(Path, _INCLUDE_DIRECTORIES))
        return any((directory / header).is_file() for directory in places)


@dataclass(frozen=True)
class BuildResult:
    """The result of a build; `problem` is None where the middleware was built."""

    middleware: str
    problem: str | None


def recipes() -> dict[str, Recipe]:
    """Middleware → recipe, by name; empty without a workspace. Raises UserError."""
    root = workspace.root()
    if root is None:
        return {}
    paths = [*root.glob(f"{FIRST_SET}/*/Cargo.toml"), *root.glob("rare/*/Cargo.toml")]
    crates = [_recipe(path) for path in sorted(paths, key=lambda path: path.parent.name)]
    return {recipe.middleware: recipe for recipe in crates if recipe is not None}


def tool_recipes() -> dict[str, Recipe]:
    """Tool → recipe, by name; empty without a workspace. Raises UserError."""
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
            "cannot read the description of this crate", where=str(path), actual=str(error)
        ) from None


def _newest(table: dict[str, Any]) -> Newest:
    return Newest(**table | {"cmake": tuple(table.get("cmake", ()))})


def _is_installed(package: str) -> bool:
    """Whether a package is installed, by the package manager or as a program of that name from
    elsewhere; True where this is not a Debian, which cannot tell."""
    if shutil.which(package) or shutil.which("dpkg-query") is None:
        return True
    # A line for each architecture of the package that is here.
    query = ["dpkg-query", "--show", "--showformat=${db:Status-Status}\\n", package]
    completed = subprocess.run(query, capture_output=True, text=True)
    return completed.returncode == 0 and "installed" in completed.stdout.splitlines()


def apt_command(packages: tuple[str, ...] | list[str]) -> str:
    """The command that installs these packages."""
    return f"{sudo()}apt-get install -y --no-install-recommends {' '.join(dict.fromkeys(packages))}"


def sudo() -> str:
    """The prefix of a command that needs root; empty for root."""
    return "" if os.geteuid() == 0 else "sudo "


BROUGHT = Path(__file__).resolve().parents[2] / "workers"
NEEDS = "needs.json"
LIBRARY = "librmwbench_worker.so"
BROUGHT_PACKAGES = BROUGHT.with_name("ros2")
NATIVE = "native"
"""The folder below BROUGHT_PACKAGES with headers and profiles of the Rust workspace."""


def brought_directory() -> Path | None:
    """The directory of the workers that came with a wheel; None where none came."""
    return BROUGHT if BROUGHT.is_dir() else None


def ros2_packages() -> Path | None:
    """A wheel's directory of packages for ROS 2; None without it or without its harness."""
    return BROUGHT_PACKAGES if BROUGHT_PACKAGES.is_dir() and (BROUGHT / LIBRARY).is_file() else None


def lacking_library(library: str) -> tuple[str, str | None]:
    """The problem of a program that lacks a shared library, and the command that installs the
    library. The command is known on the system on which the program was built."""
    needs = _needs()
    package, system = needs.get("packages", {}).get(library), needs.get("system")
    if package is None or brought_directory() is None:
        return f"it needs {library}, which is not here", None
    if system == system_name():
        return f"it needs {library}, which is not here", apt_command([package])
    return (
        f"it was built for {library} of {system} ({package}): build it from a checkout for this "
        "system",
        None,
    )


@cache
def _needs() -> dict[str, Any]:
    try:
        return dict(json.loads((BROUGHT / NEEDS).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def system_name() -> str | None:
    """The name of the operating system, by its own account; None without one."""
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None
