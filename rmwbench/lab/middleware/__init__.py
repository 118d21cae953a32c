"""Middlewares as the lab sees them: what can be built (catalogue), what is built (find), and building it (build)."""

from rmwbench.lab.middleware.catalogue import Recipe, recipes
from rmwbench.lab.middleware.find import Worker, find_workers, require_workers

__all__ = ["Recipe", "Worker", "find_workers", "recipes", "require_workers"]
