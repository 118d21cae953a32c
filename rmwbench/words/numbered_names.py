"""Names that differ by a number alone, as `scan_1` and `scan_2` do, and their common name
`scan_*`. Suites limit topics and readers by it, and answers name alike ones by it."""

import re
from collections.abc import Iterable

_NUMBERED = re.compile(r"(.+?)_?\d+")


def stem(name: str) -> str:
    """Return `scan` of `scan_3`, and a name without a number unchanged."""
    match = _NUMBERED.fullmatch(name)
    return match.group(1) if match else name


def common_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return `scan_*` for each stem of the names with a number."""
    stems = dict.fromkeys(stem(name) for name in names if name and stem(name) != name)
    return tuple(f"{name}_*" for name in stems)
