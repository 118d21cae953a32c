"""Which path the bytes took, attested: never believed from a configuration."""

from rmwbench.campaign.trial.attest.asked import ASKED, contradiction, reasons
from rmwbench.campaign.trial.attest.path import attestations, delivered_bytes, shared_segments

__all__ = [
    "ASKED",
    "attestations",
    "contradiction",
    "delivered_bytes",
    "reasons",
    "shared_segments",
]
