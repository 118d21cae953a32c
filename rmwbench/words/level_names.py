"""The names of the levels of a suite's factors: `rate_hz=10` for programs, `10 Hz` for people."""

import re
from typing import Any

from rmwbench.words import numbers as fmt

SIZE = re.compile(r"Bytes\((\d+)\)")
_COUNTED = {"subscribers": "reader", "clients": "client", "relays": "relay", "nodes": "node"}


def named_level(factor: str, level: object) -> str:
    """Return a text such as `network.loss=0.1`, as a comparison's name has it and `--at` takes
    it."""
    return f"{factor}={level_text(level)}"


def level_text(level: object) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)


def level_name(factor: str, level: Any) -> str:
    """Return a text such as `10 Hz`, `600 kB`, `2 readers`, `thin` or `10 % loss`."""
    if isinstance(level, str):
        size = SIZE.fullmatch(level)
        return set_quantity(float(size[1]), "bytes") if size else level
    if isinstance(level, bool) or not isinstance(level, int | float):
        return f"{_last(factor)} {str(level).lower()}"
    if factor.endswith("rate_hz"):
        return set_quantity(float(level), "hz")
    if _last(factor) == "loss":
        return f"{set_quantity(float(level), 'fraction')} loss"
    if noun := _COUNTED.get(factor):
        return fmt.counted(int(level), noun)
    return f"{_last(factor)} {level:.12g}"


def set_quantity(value: float, unit: str) -> str:
    """Return a text such as `10 Hz`, not `10.0 Hz`, and `1.473 kB`, not `1.47 kB`: a level is set
    and not measured."""
    divisor, symbol = fmt.scale(value, unit)
    return f"{value / divisor:.12g} {symbol}"


def _last(factor: str) -> str:
    return factor.rsplit(".", 1)[-1]
