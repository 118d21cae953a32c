"""An estimate: a metric's number with its count and interval, or a bound, or the reason why there
is neither; and what it rests on: the one definition of a percentile, and sums of values of which
some may be missing.

Three classes instead of a float, so that no code path can print a number without its basis, and so
that absent data never read as zero. Their common fields are those of documents (`METRIC` of
docs/formats/show.md).
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from rmwbench.words.fields import absent


@dataclass(frozen=True)
class Estimate:
    """A value with its interval [`low`, `high`], of `count` messages in `trials` trials; `interval`
    says how the interval was made. `at_least`: a bound, where there are too few messages for a
    value. `no_data`: why there is neither. `clock_bound_ns`: by how much the interval is widened,
    or the bound lowered, because the clocks of two hosts are not known better; None where one clock
    took all stamps. `value` and `high` are infinite where messages that did not arrive reach a
    quantile."""

    unit: str
    value: float | None = absent()
    low: float | None = absent()
    high: float | None = absent()
    count: int | None = absent()
    trials: int | None = absent()
    interval: str | None = absent()
    at_least: float | None = absent()
    no_data: str | None = absent()
    clock_bound_ns: float | None = absent()

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """The estimate of a document."""
        return cls(**{key: number(value) for key, value in document.items()})

    def __str__(self) -> str:
        if self.no_data is not None:
            return f"no data: {self.no_data}"
        basis = f"(n={self.count} in {self.trials} trials; {self.interval})"
        if self.at_least is not None:
            return f"≥ {_digits(self.at_least)} {self.unit} {basis}"
        value, low, high = (
            "?" if v is None else _digits(v) for v in (self.value, self.low, self.high)
        )
        return f"{value} {self.unit} [{low}, {high}] {basis}"

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(
                "a metric prints with its count and interval; take .value only to compute with"
            )
        return str(self)


@dataclass(frozen=True)
class Measured(Estimate):
    """`value` in `unit` from `count` messages in `trials` trials; `interval` names the method
    behind low and high."""

    value: float = field()
    low: float = field()
    high: float = field()
    count: int = field()
    trials: int = field()
    interval: str = field()

    def __post_init__(self) -> None:
        if math.isnan(self.value) or math.isnan(self.low) or math.isnan(self.high):
            raise ValueError("a measured value is a number: use NoData with the reason")
        if not self.low <= self.value <= self.high:
            raise ValueError(
                f"interval [{self.low}, {self.high}] does not hold its value {self.value}"
            )


@dataclass(frozen=True)
class AtLeast(Estimate):
    """The value is not below `at_least`, where a percentile has too few messages (rule 5)."""

    at_least: float = field(kw_only=True)


@dataclass(frozen=True)
class NoData(Estimate):
    """No value, for the reason `no_data`."""

    no_data: str = field(kw_only=True)


def number(value: Any) -> Any:
    """The number that `finite` wrote."""
    return math.inf if value == "inf" else -math.inf if value == "-inf" else value


def finite(value: float) -> float | int | str:
    """The number for JSON, which has no infinity: infinity is a word, and floats have 6 significant
    digits, more than any clock here gives."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 2**53 else rounded


def finites(values: Iterable[float]) -> list[float | int | str]:
    """`finite` of many numbers, in a third of the time: charts have hundreds of thousands of
    points."""
    values = list(values)
    rounded = list(map(float, ("%.6g " * len(values) % tuple(values)).split()))
    if rounded and min(rounded) > -(2**53) and max(rounded) < 2**53:  # finite as well
        return [int(v) if v.is_integer() else v for v in rounded]
    return [finite(v) for v in rounded]


def _digits(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.4g}"


BEYOND = 10
"""Messages that must lie beyond a percentile before it is printed (rule 5 of the design)."""


def allowed(n: int, q: float) -> bool:
    """Whether n messages are enough for the quantile q: n·(1−q) ≥ 10, forgiving the rounding of
    1−q."""
    return n * (1 - q) >= BEYOND - 1e-6


def needed(q: float) -> int:
    """The smallest n that `allowed` accepts."""
    return math.ceil((BEYOND - 1e-6) / (1 - q))


def rank(n: int, q: float) -> int:
    """The 0-based index of the quantile q in n sorted values: x(⌈n·q⌉), the inverse of the
    empirical distribution. Nothing is interpolated, since lost messages are +inf, and between a
    number and infinity there is nothing."""
    return min(max(math.ceil(n * q - 1e-9) - 1, 0), n - 1)


Measures = dict[str, float | tuple[int, int] | str]
"""A metric of a trial -> its value, (events, of) of a fraction, or a text that says why there is
none."""


def complete(values: Iterable[float | None]) -> list[float] | None:
    """All values; None where one is missing."""
    listed = list(values)
    present = [value for value in listed if value is not None]
    return present if len(present) == len(listed) else None


def total(values: Iterable[float | None]) -> float | None:
    """The sum of the values; None where one is missing: a missing part is not zero."""
    present = complete(values)
    return None if present is None else sum(present)
