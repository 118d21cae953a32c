"""The names of the middlewares that come with rmwbench, built or not: a suite may name one that is
not built yet, and is told how to build it.

Each says its own name: a crate in its Cargo.toml, a worker in Python as a program of this package.
An installed package has no crates beside it and knows those of its shipped suites.
"""

import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

FIRST_SET = ("floor", "synthetic", "null", "iceoryx2", "zenoh", "cyclonedds", "fastdds")
PREFIX = "rmwbench-"
"""Every worker's program begins so."""


@cache
def shipped_middlewares() -> tuple[str, ...]:
    """Those of the first set first, the others by name."""
    native = Path(__file__).resolve().parents[3] / "native"
    found = [*native.glob("middlewares/*/Cargo.toml"), *native.glob("rare/*/Cargo.toml")]
    crates = filter(None, map(_name, sorted(found, key=lambda path: path.parent.name)))
    return tuple(
        dict.fromkeys(
            [*FIRST_SET, *crates, *(name.removeprefix(PREFIX) for name in python_programs())]
        )
    )


@cache
def python_programs() -> tuple[str, ...]:
    """Programs of this package that are workers."""
    try:
        scripts = distribution("rmwbench").entry_points
    except PackageNotFoundError:
        return ()
    return tuple(sorted(one.name for one in scripts if one.name.startswith(PREFIX)))


def _name(cargo: Path) -> str | None:
    """A crate that cannot be read is reported where it is to be built, not in every suite."""
    try:
        package = tomllib.loads(cargo.read_text(encoding="utf-8"))["package"]
        table = package.get("metadata", {}).get("rmwbench", {})
        return str(table.get("middleware", package["name"].removeprefix(PREFIX)))
    except (OSError, ValueError, KeyError):
        return None
