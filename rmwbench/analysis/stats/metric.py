"""A metric is a number with its count and interval, or a bound, or the reason why there is none.

Three types instead of a float, so that no code path can print a number without saying what it rests
on, and so that absent can never be read as zero.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Measured:
    """`value` in `unit` from `count` messages in `trials` trials; `interval` names the method
    behind low and high.

    `value` and `high` may be +inf where messages that did not arrive reach a quantile.
    """

    unit: str
    value: float
    low: float
    high: float
    count: int
    trials: int
    interval: str

    def __post_init__(self) -> None:
        if math.isnan(self.value) or math.isnan(self.low) or math.isnan(self.high):
            raise ValueError("a measured value is a number: use NoData with the reason")
        if not self.low <= self.value <= self.high:
            raise ValueError(
                f"interval [{self.low}, {self.high}] does not hold its value {self.value}"
            )

    def __str__(self) -> str:
        return (
            f"{_digits(self.value)} {self.unit} [{_digits(self.low)}, {_digits(self.high)}]"
            f" (n={self.count} in {self.trials} trials; {self.interval})"
        )

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(
                "a metric prints with its count and interval; take .value only to compute with"
            )
        return str(self)

    def document(self) -> dict[str, Any]:
        """The METRIC of docs/formats/show.md."""
        return {
            "unit": self.unit,
            "value": finite(self.value),
            "low": finite(self.low),
            "high": finite(self.high),
            "count": self.count,
            "trials": self.trials,
            "interval": self.interval,
        }


@dataclass(frozen=True)
class AtLeast:
    """The value is not below `bound`: what remains to say when a percentile rests on too few
    messages (rule 5)."""

    unit: str
    bound: float
    count: int
    trials: int
    interval: str

    def __str__(self) -> str:
        return (
            f"≥ {_digits(self.bound)} {self.unit} (n={self.count} in {self.trials} trials; "
            f"{self.interval})"
        )

    __format__ = Measured.__format__

    def document(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "at_least": finite(self.bound),
            "count": self.count,
            "trials": self.trials,
            "interval": self.interval,
        }


@dataclass(frozen=True)
class NoData:
    """No value, for this reason."""

    unit: str
    reason: str

    def __str__(self) -> str:
        return f"no data: {self.reason}"

    __format__ = Measured.__format__

    def document(self) -> dict[str, Any]:
        return {"unit": self.unit, "no_data": self.reason}


Metric = Measured | AtLeast | NoData


def finite(value: float) -> float | int | str:
    """JSON has no infinity: it is written as the word, and floats keep 6 significant digits, more
    than any clock here gives.
    """
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 2**53 else rounded


def finites(values: Iterable[float]) -> list[float | int | str]:
    """`finite` of many, in a third of its time: charts have hundreds of thousands of points."""
    values = list(values)
    rounded = list(map(float, ("%.6g " * len(values) % tuple(values)).split()))
    if rounded and min(rounded) > -(2**53) and max(rounded) < 2**53:  # finite as well
        return [int(v) if v.is_integer() else v for v in rounded]
    return [finite(v) for v in rounded]


def _digits(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.4g}"
