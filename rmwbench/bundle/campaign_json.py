"""The models of campaign.json (docs/formats/bundle.md). The file is checked once, when it is read:
after that each field has the type that the format promises, or its default if it is absent. The
journal's lines are built from the same models.

Fields that a model does not name are passed on unchanged, so that an older tool reads the files of
a newer one. `null` counts as absent.
"""

import json
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

T = TypeVar("T")
LARGEST_NUMBER = 2**32 - 1
"""The largest number of a trial, a cell or a block: they are u32 in the tables."""

Number = Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]
Real = Annotated[float, Field(allow_inf_nan=False, ge=-1e18, le=1e18)]
Many = Annotated[tuple[T, ...], Field(strict=False)]
"""A JSON list."""


class Stored(BaseModel):
    """An object of one of these files. `ALWAYS`: the fields that are also written with their
    default."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    ALWAYS: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if value is not None}

    def document(self) -> dict[str, Any]:
        """Return the object as JSON, without fields that have their default."""
        fields = {
            name: _plain(getattr(self, name))
            for name, field in type(self).model_fields.items()
            if name in self.ALWAYS
            or getattr(self, name) != field.get_default(call_default_factory=True)
        }
        return fields | (self.model_extra or {})


def _plain(value: Any) -> Any:
    if isinstance(value, Stored):
        return value.document()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def json_bytes(document: Any, indent: int | None = None) -> bytes:
    """Return a document as JSON in UTF-8, with the end of its line. Half a surrogate pair, as in a
    path whose bytes are not UTF-8, stands as its escape."""
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    return f"{text}\n".encode("utf-8", "backslashreplace")


def first_problem(error: ValidationError) -> ValueError:
    """Return an error that names the first field with a wrong type."""
    problem = error.errors(include_url=False, include_context=False)[0]
    location = ".".join(map(str, problem["loc"]))
    return ValueError(f"{location}: {problem['msg']}" if location else problem["msg"])


class SuiteDocument(Stored):
    """The suite of a campaign; `text` is the text of its file."""

    name: str | None = None
    title: str | None = None
    description: str | None = None
    text: str | None = None
    sha256: str | None = None


class PlannedBlocks(Stored):
    """The number of planned blocks, and the numbers of blocks after which the campaign looks."""

    count: Number | None = None
    planned: Number | None = None
    minimum: Number | None = None
    maximum: Number | None = None
    within_s: Real | None = None
    looks: Many[Number] = ()
    decide: Many[str] = ()


class PlannedTrial(Stored):
    cell: Number
    block: Number


class PlannedComparison(Stored):
    """Cells that are compared with each other."""

    comparison: str
    workload: str
    cells: Many[Number]
    title: str | None = None
    description: str | None = None
    factors: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    primary_metric: str | None = None


class UnsupportedCell(Stored):
    cell: Number
    reason: str


class MostOfMetric(Stored):
    metric: str
    at_most: Real


class LeastOfMetric(Stored):
    metric: str
    at_least: Real


class DeclaredOutcomes(Stored):
    """The suite's limits, and the value of a metric from which on the outcome is `none`."""

    acceptable: Many[MostOfMetric]
    none: LeastOfMetric


class NotRun(Stored):
    """The comparisons that a budget left out, as keys and in words."""

    comparisons: Many[str] = ()
    text: str | None = None


class AbsentArm(Stored):
    """An optional arm whose middleware was not ready."""

    arm: str
    reason: str


class PlannedHost(Stored):
    """The kind of host that trials get."""

    kind: str | None = None


class PlanDocument(Stored):
    """The plan (docs/formats/plan.md)."""

    suite: SuiteDocument = SuiteDocument()
    seed: int | None = None
    blocks: PlannedBlocks = PlannedBlocks()
    outcomes: DeclaredOutcomes | None = None
    budget_s: Real | None = None
    block_s: Real | None = None
    estimated_s: Real | None = None
    comparisons: Many[PlannedComparison] = ()
    unsupported: Many[UnsupportedCell] = ()
    not_run: NotRun = NotRun()
    left_out: Many[AbsentArm] = ()
    host: PlannedHost = PlannedHost()
    cells: Many[dict[str, Any]] = ()
    trials: Many[PlannedTrial] = ()


class MachineFact(Stored):
    name: str
    value: Any = None
    note: str | None = None


class MachineDocument(Stored):
    """The card of the machine at the start of the campaign, with its newest calibration."""

    summary: str | None = None
    facts: Many[MachineFact] = ()
    warnings: Many[str] = ()
    aa_floor: Real | None = None
    calibration: dict[str, Any] | None = None
    hardware: dict[str, Any] = Field(default_factory=dict)
    kernel: dict[str, Any] = Field(default_factory=dict)
    sysctls: dict[str, Any] = Field(default_factory=dict)
    state: dict[str, Any] = Field(default_factory=dict)


class DescribedProfile(Stored):
    name: str | None = None
    format: str | None = None
    text: str | None = None
    summary: str | None = None


class DescribedMiddleware(Stored):
    """A worker's description of itself."""

    middleware: str
    layer: str | None = None
    version: str | None = None
    release_date: str | None = None
    build: dict[str, Any] = Field(default_factory=dict)
    capabilities: dict[str, Any] = Field(default_factory=dict)
    profiles: Many[DescribedProfile] = ()


class CampaignDocument(Stored):
    """campaign.json. `kind` is `capacity` for a search, else absent."""

    version: int
    campaign: Annotated[str, Field(max_length=1024)] | None = None
    kind: str | None = None
    tool_version: str | None = None
    created_utc: str | None = None
    seed: int | None = None
    suite: SuiteDocument = SuiteDocument()
    request: dict[str, Any] | None = None
    plan: PlanDocument = PlanDocument()
    machine: MachineDocument = MachineDocument()
    middlewares: Many[DescribedMiddleware] = ()
    imported: dict[str, Any] | None = None
    cluster: dict[str, Any] | None = None
    capacity: dict[str, Any] | None = None


def read_campaign(document: Any) -> CampaignDocument:
    """Check a JSON document. Raises ValueError with the name of the first field of a wrong type."""
    try:
        return CampaignDocument.model_validate(document)
    except ValidationError as error:
        raise first_problem(error) from None
