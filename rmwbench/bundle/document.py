"""What must be of which type in campaign.json and in a line of the journal
(docs/formats/bundle.md), checked once, where they are read: whoever uses a field later finds what
the format promises, or that it is absent.

Fields that are not named here are passed on as they are. Every field may be absent; `null` counts
as absent.
"""

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

MOST = 2**32 - 1
"""Of trials, cells and blocks: they are u32 in the tables."""

Number = Annotated[int, Field(ge=0, le=MOST)]
Real = Annotated[float, Field(allow_inf_nan=False, ge=-1e18, le=1e18)]
Name = Annotated[str, Field(max_length=1024)]
"""Of a campaign; by default its directory's, which has 255 bytes at most."""
Texts = list[str]
OPEN = ConfigDict(extra="allow", strict=True)


class _Suite(TypedDict, total=False):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    name: str | None
    title: str | None
    description: str | None
    text: str | None
    sha256: str | None


class _Blocks(TypedDict, total=False):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    count: Number | None
    planned: Number | None
    minimum: Number | None
    maximum: Number | None
    within_s: Real | None
    looks: list[Number] | None
    decide: Texts | None


class _PlannedTrial(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    cell: Number
    block: Number


class _Comparison(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    comparison: str
    workload: str
    cells: list[Number]


class _ComparisonMore(_Comparison, total=False):
    title: str | None
    description: str | None
    factors: dict[str, str | int | float | bool | None] | None
    primary_metric: str | None


class _NotSupported(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    cell: Number
    reason: str


class _AtMost(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    metric: str
    at_most: Real


class _AtLeast(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    metric: str
    at_least: Real


class _Outcomes(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    acceptable: list[_AtMost]
    none: _AtLeast


class _NotRun(TypedDict, total=False):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    text: str | None


class _LeftOut(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    arm: str
    reason: str


class _Plan(TypedDict, total=False):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    suite: _Suite | None
    seed: int | None
    blocks: _Blocks | None
    outcomes: _Outcomes | None
    budget_s: Real | None
    block_s: Real | None
    estimated_s: Real | None
    comparisons: list[_ComparisonMore] | None
    unsupported: list[_NotSupported] | None
    not_run: _NotRun | None
    left_out: list[_LeftOut] | None
    cells: list[dict[str, Any]] | None
    trials: list[_PlannedTrial] | None


class _Fact(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    name: str
    value: Any


class _Machine(TypedDict, total=False):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    summary: str | None
    facts: list[_Fact] | None
    warnings: Texts | None
    aa_floor: Real | None
    calibration: dict[str, Any] | None
    hardware: dict[str, Any] | None
    kernel: dict[str, Any] | None
    sysctls: dict[str, Any] | None
    state: dict[str, Any] | None


class _Profile(TypedDict, total=False):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    name: str | None
    format: str | None
    text: str | None
    summary: str | None


class _Middleware(TypedDict, total=False):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    middleware: str
    layer: str | None
    version: str | None
    release_date: str | None
    build: dict[str, Any] | None
    capabilities: dict[str, Any] | None
    profiles: list[_Profile] | None


class _Campaign(TypedDict, total=False):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    schema: str
    version: int
    campaign: Name | None
    kind: str | None
    tool_version: str | None
    created_utc: str | None
    seed: int | None
    suite: _Suite | None
    request: dict[str, Any] | None
    plan: _Plan | None
    machine: _Machine | None
    middlewares: list[_Middleware] | None
    imported: dict[str, Any] | None
    cluster: dict[str, Any] | None
    capacity: dict[str, Any] | None


class _Trial(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    type: Literal["trial"]
    trial: Number
    cell: Number
    block: Number
    status: Literal["done", "failed", "void", "settling"]


class _TrialMore(_Trial, total=False):
    reason: str | None
    cause: str | None
    tables: Texts | None
    repeats: Number | None
    again: bool | None
    voids: list[Number] | None
    finished_utc: str | None


class _Tables(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    type: Literal["tables"]
    tables: Texts


class _Merged(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    type: Literal["merged"]
    merge: Number
    tables: dict[str, list[Annotated[list[Number], Field(min_length=2, max_length=2)]]]


class _MergedMore(_Merged, total=False):
    only: bool | None


class _Resumed(TypedDict, total=False):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    voids: list[Number] | None


class _Unsupported(_NotSupported):
    type: Literal["unsupported"]


class _Dropped(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    type: Literal["dropped"]
    blocks: Number
    cells: list[Number]


class _Open(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    comparison: str
    arm: str


class _Look(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    type: Literal["look"]
    blocks: Number
    looks: list[Number]
    decided: Number
    of: Number
    alpha: Real
    ended: bool
    stop: str | None


class _LookMore(_Look, total=False):
    open: list[_Open] | None
    verdicts: dict[str, dict[str, str]] | None
    minutes_to_decide: Real | None


class _Note(TypedDict, total=False):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    text: str | None


class _Resource(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    type: Literal["created", "removed"]
    resource: dict[str, Any]


_LINES: dict[str, Any] = {
    "trial": _TrialMore,
    "resumed": _Resumed,
    "tables": _Tables,
    "merged": _MergedMore,
    "unsupported": _Unsupported,
    "dropped": _Dropped,
    "look": _LookMore,
    "note": _Note,
    "created": _Resource,
    "removed": _Resource,
}
"""What a line of a type has; of other types anything, so that an older tool reads a newer
journal."""


def check_campaign(document: Any) -> None:
    """ValueError that names the first field of campaign.json that is not of its type."""
    _check(_Campaign, document)


def check_line(line: Any) -> None:
    """Raises ValueError for text that is not a line of the journal."""
    if not isinstance(line, dict):
        raise ValueError("not an object")
    kind = line.get("type")
    if not isinstance(kind, str):
        raise ValueError("no type")
    if kind in _LINES:
        _check(_LINES[kind], line)
    merged = line["tables"].values() if kind == "merged" else ()
    if any(high < low or high - low > 10_000_000 for ranges in merged for low, high in ranges):
        raise ValueError("not a valid range of trials")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _check(kind: Any, value: Any) -> None:
    try:
        _adapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{place}: {first['msg']}" if place else first["msg"]) from None
