"""Published data -> bundles (docs/importers.md): what others measured, read by the rules of their
own formats, with the limits of the original kept visible and every figure both as published and as
corrected.
"""

from rmwbench.published.importers.imported_bundle import import_published
from rmwbench.published.importers.kinds import KINDS, Kind

__all__ = ["KINDS", "Kind", "import_published"]
