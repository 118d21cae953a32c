"""What every typed answer is made of: values with their intervals, and how an answer becomes its
JSON document.

An answer is frozen objects whose names are the keys of its document (docs/formats), with real
numbers: an infinite one is infinite, and only the document writes the word. A field that is
`absent()` is left out of the document where it is None; any other None is written as null. One that
is `exact()` is written with all its digits, since whoever made it has rounded it. A name
that Python keeps for itself ends in `_` here (`from_`) and not there. The JSON Schema beside each
page of docs/formats is generated from these classes (`schema.py`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, Self

from rmwbench.analysis.stats.metric import finite, finites
from rmwbench.results.fields import ABSENT, EXACT, absent


def document(value: Any) -> Any:
    """As JSON has it: mappings, lists, numbers of 6 significant digits, `inf` for an infinite
    one."""
    if is_dataclass(value):
        found = ((one, getattr(value, one.name)) for one in fields(value))
        return {
            one.name.removesuffix("_"): held if EXACT in one.metadata else document(held)
            for one, held in found
            if held is not None or ABSENT not in one.metadata
        }
    if isinstance(value, Mapping):
        return {key: document(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        if value and all(type(held) is float for held in value):  # the points of a chart
            return finites(value)
        return [document(held) for held in value]
    return finite(value) if isinstance(value, float) else value


def number(value: Any) -> Any:
    """Of a number as `finite` writes it."""
    return math.inf if value == "inf" else -math.inf if value == "-inf" else value


class _Of:
    """Made from the small documents that the objects of `analysis` write of themselves."""

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        return cls(**{key: number(value) for key, value in found.items()})


@dataclass(frozen=True, kw_only=True)
class Metric(_Of):
    """A value with its interval [`low`, `high`], of `count` messages in `trials` trials; `interval`
    says how it was made. `at_least`: a bound, where there are too few messages for a value.
    `no_data`: why there is neither."""

    unit: str
    value: float | None = absent()
    low: float | None = absent()
    high: float | None = absent()
    at_least: float | None = absent()
    count: int | None = absent()
    trials: int | None = absent()
    interval: str | None = absent()
    no_data: str | None = absent()


@dataclass(frozen=True, kw_only=True)
class Ratio(_Of):
    """A ratio with its interval over so many blocks. `caution`: what the interval does not contain.
    `no_data`: why there is no ratio."""

    value: float | None = absent()
    low: float | None = absent()
    high: float | None = absent()
    blocks: int | None = absent()
    caution: str | None = absent()
    no_data: str | None = absent()


@dataclass(frozen=True, kw_only=True)
class Change(_Of):
    """A difference of two fractions with its interval over so many blocks."""

    value: float
    low: float
    high: float
    blocks: int


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A value within its interval [`low`, `high`], in the unit that stands beside it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class GlossaryEntry:
    """What a metric is called, and what it is."""

    title: str
    unit: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Of a machine. `note`: what is to be known beside it."""

    name: str
    value: str
    note: str | None


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What may be concluded, or may not; of one workload, or of all (None)."""

    kind: Literal["conclude", "caution"]
    workload: str | None
    text: str
