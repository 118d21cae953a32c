"""The bundle: what a campaign leaves behind and the only thing a report reads
(docs/formats/bundle.md)."""

from rmwbench.bundle.bundle_reader import Bundle
from rmwbench.bundle.write import BundleWriter

__all__ = ["Bundle", "BundleWriter"]
