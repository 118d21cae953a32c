"""The path that the bytes took, attested by counters and evidence and not by a configuration."""

from rmwbench.campaign.trial.attest.asked_path import ASKED, contradiction, reasons
from rmwbench.campaign.trial.attest.path import attestations, shared_segments

__all__ = [
    "ASKED",
    "attestations",
    "contradiction",
    "reasons",
    "shared_segments",
]
