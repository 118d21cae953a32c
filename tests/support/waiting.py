"""Waiting for what others do, as long as a busy machine may take for it."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(
    condition: Callable[[], T], timeout_s: float = 60, says: Callable[[], object] = lambda: ""
) -> T:
    """What the condition gives once that is true; where it never is, the test fails with what
    `says` gives."""
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline, says()
        time.sleep(0.02)
    return found
