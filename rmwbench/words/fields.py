"""How a field of an answer is written in its document (`document` of rmwbench/results/model.py): a
module of its own, because a verb that prints no document need not wait for what one is made
with."""

from dataclasses import field
from typing import Any

ABSENT, EXACT = "absent", "exact"


def absent(*, exact: bool = False) -> Any:
    """None by default, and then left out of the document."""
    return field(default=None, metadata={ABSENT: True, **({EXACT: True} if exact else {})})


def exact() -> Any:
    """Written as it is, with all its digits."""
    return field(metadata={EXACT: True})
