"""The levels of a suite's factors for people: `10 Hz` for `rate_hz=10`."""

import re
from typing import Any

from rmwbench.words import numbers as fmt

SIZE = re.compile(r"Bytes\((\d+)\)")
_COUNTED = {"subscribers": "reader", "clients": "client", "relays": "relay", "nodes": "node"}


def level_name(factor: str, level: Any) -> str:
    """`10 Hz`, `600 kB`, `2 readers`, `thin`, `loss 0.1`."""
    if isinstance(level, str):
        found = SIZE.fullmatch(level)
        return _exact(float(found.group(1)), "bytes") if found else level
    if isinstance(level, bool) or not isinstance(level, int | float):
        return f"{_last(factor)} {str(level).lower()}"
    if factor.endswith("rate_hz"):
        return _exact(float(level), "hz")
    if _last(factor) == "loss":
        return f"{_exact(float(level), 'fraction')} loss"
    if noun := _COUNTED.get(factor):
        return fmt.counted(int(level), noun)
    return f"{_last(factor)} {level:g}"


def _exact(value: float, unit: str) -> str:
    """`10 Hz`, not `10.0 Hz`: a level is set, not measured."""
    number, _, symbol = fmt.quantity(value, unit).partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {symbol}"


def _last(factor: str) -> str:
    return factor.rsplit(".", 1)[-1]
