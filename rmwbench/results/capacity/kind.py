"""Whether a bundle is a search for a capacity. Every verb asks, and what searches need takes long
to import."""

from rmwbench.bundle import Bundle

KIND = "capacity"


def is_capacity(bundle: Bundle) -> bool:
    return bundle.campaign.kind == KIND
