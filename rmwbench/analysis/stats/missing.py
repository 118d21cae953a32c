"""Sums of values of which some may be missing: a missing part is not zero, so without it there is
no sum."""

from collections.abc import Iterable

Measures = dict[str, float | tuple[int, int] | str]
"""A metric of a trial -> its value, (events, of) of a fraction, or a text that says why there is
none."""


def complete(values: Iterable[float | None]) -> list[float] | None:
    """All values; None where one is missing."""
    listed = list(values)
    present = [value for value in listed if value is not None]
    return present if len(present) == len(listed) else None


def total(values: Iterable[float | None]) -> float | None:
    """The sum of the values; None where one is missing."""
    present = complete(values)
    return None if present is None else sum(present)
