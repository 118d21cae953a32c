"""The types that all answers share, and `document`, which turns an answer into its JSON document.

An answer is made of frozen objects whose field names are the keys of its document (docs/formats).
Its numbers are real numbers: an infinite one is infinite, and only the document writes the word. A
field that is `absent()` is left out of the document if it is None; any other None is written as
null. A field that is `exact()` is written with all its digits, since its value is rounded already.
A name that is a keyword of Python ends in `_` here (`from_`) and not in the document. The JSON
Schema of each document is generated from these classes (`answer_schema.py`)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from rmwbench.analysis.stats.estimate import Estimate as Estimate
from rmwbench.analysis.stats.estimate import NoData as NoData
from rmwbench.analysis.stats.estimate import finite, finites
from rmwbench.analysis.verdicts.verdict import Ratio as Ratio
from rmwbench.words.fields import ABSENT, EXACT

if TYPE_CHECKING:
    from rmwbench.bundle import Bundle

T = TypeVar("T")


def document(value: Any) -> Any:
    """Return the value as JSON has it: mappings, lists, numbers of 6 significant digits, and `inf`
    for an infinite number."""
    if is_dataclass(value):
        values = ((field, getattr(value, field.name)) for field in fields(value))
        return {
            field.name.removesuffix("_"): item if EXACT in field.metadata else document(item)
            for field, item in values
            if item is not None or ABSENT not in field.metadata
        }
    if isinstance(value, Mapping):
        return {key: document(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if value and all(type(item) is float for item in value):  # the points of a chart
            return finites(value)
        return [document(item) for item in value]
    return finite(value) if isinstance(value, float) else value


def with_fields_of(kind: type[T], source: Any) -> T:
    """Return an object of a dataclass whose fields are the source's attributes of these names."""
    return kind(**{field.name: getattr(source, field.name) for field in fields(cast(Any, kind))})


@dataclass(frozen=True, kw_only=True)
class GlossaryEntry:
    """The name of a metric, and what it means."""

    title: str
    unit: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A fact about a machine. `note` explains it."""

    name: str
    value: str
    note: str | None


@dataclass(frozen=True, kw_only=True)
class CampaignIdentity:
    """The campaign that an answer is about."""

    name: str | None
    directory: str
    suite: str | None
    title: str | None
    created_utc: str | None
    finished: bool
    seed: int | None
    tool_version: str | None

    @classmethod
    def of(cls, bundle: "Bundle") -> "CampaignIdentity":
        campaign = bundle.campaign
        return cls(
            name=campaign.campaign,
            directory=str(bundle.directory),
            suite=campaign.suite.name,
            title=campaign.plan.suite.title or campaign.suite.name,
            created_utc=campaign.created_utc,
            finished=bundle.journal.finished,
            seed=campaign.seed,
            tool_version=campaign.tool_version,
        )


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
    """A conclusion that may be drawn (`conclude`), or one that may not (`caution`). `workload` is
    None if it concerns all workloads."""

    kind: Literal["conclude", "caution"]
    workload: str | None
    text: str
