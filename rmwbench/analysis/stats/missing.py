"""Sums and extremes of values of which some may be missing: a part that nobody read is not zero, so
without it there is no whole."""

from collections.abc import Iterable

Measures = dict[str, float | tuple[int, int] | str]
"""A trial's metric -> its value, (events, of) of a fraction, or in words why there is none."""


def complete(values: Iterable[float | None]) -> list[float] | None:
    """All of them; None where one is missing."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return known if len(known) == len(listed) else None


def total(values: Iterable[float | None]) -> float | None:
    """Their sum; None where one is missing."""
    known = complete(values)
    return None if known is None else sum(known)
