"""Middlewares as the lab sees them: what can be built (catalogue), what is built (find), and
building it (build)."""

from rmwbench.lab.middleware.catalogue import Recipe, recipes
from rmwbench.lab.middleware.find import (
    Worker,
    find_workers,
    names_here,
    not_ready,
    require_workers,
    why_not_ready,
)

__all__ = [
    "Recipe",
    "Worker",
    "find_workers",
    "names_here",
    "not_ready",
    "recipes",
    "require_workers",
    "why_not_ready",
]
