"""Where the libraries of a newer version are: `CACHE/newest/MIDDLEWARE/SOURCE_VERSION`, complete
once it says what it was built from, which is written last."""

import shutil
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from rmwbench.lab.middleware import workspace
from rmwbench.lab.middleware.catalogue import Recipe

ORIGIN = Path("share", "rmwbench", "origin")
"""Below a prefix: what it was built from, a line for each source package, the middleware's first.
The crate's build script puts the first into the worker's description."""


@dataclass(frozen=True)
class Installed:
    """A prefix with the libraries, and the version of the source package that they are of."""

    prefix: Path
    version: str


def home(recipe: Recipe) -> Path:
    return workspace.cache() / "newest" / recipe.middleware


def prefix(recipe: Recipe, version: str) -> Path:
    """An epoch's colon would end a path in a list of paths."""
    assert recipe.newest is not None, "its crate says what it is"
    return home(recipe) / f"{recipe.newest.source}_{version}".replace(":", "-")


def installed(recipe: Recipe) -> Installed | None:
    """The one that was completed last; None where none was."""
    complete = [path for path in home(recipe).glob(f"*/{ORIGIN}") if path.is_file()]
    if not complete:
        return None
    origin = max(complete, key=lambda path: path.stat().st_mtime_ns)
    found = origin.parents[len(ORIGIN.parts) - 1]
    return Installed(found, found.name.partition("_")[2])


def remove_replaced(chosen: Iterable[Recipe], built: Container[str]) -> None:
    """Prefixes that a newer one has replaced, once there is a worker that is built with that."""
    for recipe in chosen:
        if recipe.prefix is not None and recipe.middleware in built:
            pattern = recipe.prefix.name.partition("_")[0] + "_*"
            for directory in recipe.prefix.parent.glob(pattern):
                if directory != recipe.prefix:
                    shutil.rmtree(directory)


def remove_orphan(recipe: Recipe) -> Path | None:
    """A worker whose libraries are gone, which would hide the one with the system's; returns where
    it was."""
    program = workspace.newest_directory() / "release" / recipe.crate
    if recipe.newest is None or installed(recipe) is not None or not program.is_file():
        return None
    program.unlink()
    return program


def recipe_of(recipe: Recipe, at: Installed) -> Recipe:
    """The recipe of the worker that is built with it, beside the one with the system's libraries."""
    return replace(
        recipe,
        middleware=f"{recipe.middleware} {at.version}",
        prefix=at.prefix,
        target=workspace.newest_directory(),
    )
