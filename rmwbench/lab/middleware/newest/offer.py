"""Says where a newer version than the one built here can be built, what it takes, and how."""

from collections.abc import Iterator, Sequence

from rmwbench.lab.middleware.catalogue import Recipe
from rmwbench.lab.middleware.find import Worker, find_workers
from rmwbench.lab.middleware.newest import place, source_build


def offers(chosen: Sequence[Recipe]) -> Iterator[str]:
    """A line for each that was built."""
    able = [recipe for recipe in chosen if recipe.newest is not None and recipe.prefix is None]
    workers = find_workers(recipe.middleware for recipe in able) if able else {}
    for recipe in able:
        if text := offer(recipe, workers.get(recipe.middleware)):
            yield text


def offer(recipe: Recipe, worker: Worker | None) -> str | None:
    """None where this is not older than what the crate calls old, where the newer one is there, or
    where it cannot be had."""
    described = worker.description if worker else None
    if recipe.newest is None or described is None or not source_build.can_be_offered(recipe):
        return None
    if place.installed(recipe) is not None:
        return None
    version = described["version"]
    if numbers(version) >= numbers(recipe.newest.below):
        return None
    released = described["release_date"]
    dated = f" of {released[:7]}" if released else ""
    return (
        f"{recipe.middleware}: this is {version}{dated}, which the system has. Debian's newest "
        f"source package `{recipe.newest.source}` can be built beside it, in {source_build.cost(recipe)}: "
        f"rmwbench middlewares build {recipe.middleware} --newest"
    )


def numbers(version: str) -> tuple[int, ...]:
    """The parts of `2.9.1`, as far as they are numbers."""
    found: list[int] = []
    for part in version.split("."):
        if not part.isdigit():
            break
        found.append(int(part))
    return tuple(found)
