"""What every typed answer is made of: values with their intervals, and how an answer becomes its
JSON document.

An answer is frozen objects whose names are the keys of its document (docs/formats), with real
numbers: an infinite one is infinite, and only the document writes the word. A field that is
`absent()` is left out of the document where it is None; any other None is written as null. One that
is `exact()` is written with all its digits, since whoever made it has rounded it. A name
that Python keeps for itself ends in `_` here (`from_`) and not there. The JSON Schema beside each
page of docs/formats is generated from these classes (`schema.py`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

from rmwbench.analysis.stats.estimate import Estimate as Estimate
from rmwbench.analysis.stats.estimate import NoData as NoData
from rmwbench.analysis.stats.estimate import finite, finites
from rmwbench.analysis.verdicts.verdict import Ratio as Ratio
from rmwbench.words.fields import ABSENT, EXACT


def document(value: Any) -> Any:
    """The value as JSON has it: mappings, lists, numbers of 6 significant digits, `inf` for an infinite
    one."""
    if is_dataclass(value):
        values = ((field, getattr(value, field.name)) for field in fields(value))
        return {
            field.name.removesuffix("_"): held if EXACT in field.metadata else document(held)
            for field, held in values
            if held is not None or ABSENT not in field.metadata
        }
    if isinstance(value, Mapping):
        return {key: document(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        if value and all(type(held) is float for held in value):  # the points of a chart
            return finites(value)
        return [document(held) for held in value]
    return finite(value) if isinstance(value, float) else value


@dataclass(frozen=True, kw_only=True)
class GlossaryEntry:
    """What a metric is called, and what it is."""

    title: str
    unit: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A fact about a machine. `note`: what is to be known beside it."""

    name: str
    value: str
    note: str | None


@dataclass(frozen=True, kw_only=True)
class TrialCounts:
    """How many trials ended in each status."""

    done: int
    failed: int
    void: int

    @classmethod
    def of(cls, statuses: Iterable[str]) -> "TrialCounts":
        counts = Counter(statuses)
        return cls(done=counts["done"], failed=counts["failed"], void=counts["void"])


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What may be concluded, or may not; of one workload, or of all (None)."""

    kind: Literal["conclude", "caution"]
    workload: str | None
    text: str
