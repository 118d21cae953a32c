"""The bundle: the files that a campaign leaves, and all that a report reads
(docs/formats/bundle.md)."""

from rmwbench.bundle.bundle_reader import Bundle
from rmwbench.bundle.write import BundleWriter

__all__ = ["Bundle", "BundleWriter"]
