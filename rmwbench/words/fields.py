"""Dataclass fields with rules for writing them to a document (`document` of
rmwbench/results/model.py), in a module of their own, so that verbs without a document load fast."""

from dataclasses import field
from typing import Any

ABSENT, EXACT = "absent", "exact"


def absent(*, exact: bool = False) -> Any:
    """Return a field that is None by default, and is then left out of the document."""
    return field(default=None, metadata={ABSENT: True, **({EXACT: True} if exact else {})})


def exact() -> Any:
    """Return a field whose number is written with all its digits."""
    return field(metadata={EXACT: True})
