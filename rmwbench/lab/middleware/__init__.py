"""Middlewares: the catalogue, the search for workers (find), and their build."""

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
