"""The path that the bytes took, attested by counters and evidence and not by a configuration."""

from rmwbench.campaign.trial.attest.path import attestations, shared_segments
from rmwbench.campaign.trial.attest.path_contradiction import ASKED, contradiction, reasons

__all__ = ["ASKED", "attestations", "contradiction", "reasons", "shared_segments"]
