"""Imports published data as bundles (docs/importers.md). What others measured is read by the rules
of its own format; the limits of the original stay visible, and every figure is kept both as
published and as corrected."""

from rmwbench.published.importers.imported_bundle import import_published
from rmwbench.published.importers.kinds import KINDS, Kind

__all__ = ["KINDS", "Kind", "import_published"]
