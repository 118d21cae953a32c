"""The types of a campaign's machine as every answer has it, and of the calibration: the answer of
`rmwbench calibrate` (`CalibrationDocument`, docs/formats/calibration.md), and the part that a
campaign keeps (`CalibrationSummary`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from rmwbench.results.model import Estimate, Fact
from rmwbench.words.fields import absent, exact

Outcome = Literal["recovered", "failed", "could not tell"]
Difference = Literal["no difference", "different", "could not tell"]


@dataclass(frozen=True)
class TruthCheck:
    """One check of a report. `expected` and `found` are for people; `within_95`: whether the
    reported interval contains the value of a law, if that was checked."""

    what: str
    outcome: Outcome
    expected: str
    found: str
    within_95: bool | None = absent()


@dataclass(frozen=True)
class Truth:
    """A truth that was injected into an arm, and the outcomes of its checks. `reason`: why it has
    no checks."""

    truth: str
    workload: str
    arm: str
    outcome: Outcome
    checks: tuple[TruthCheck, ...]
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Truths:
    """The truths by outcome: `recovered` + `failed` + `unknown` = `total`, by so many `checks`;
    `void_trials`: trials that the machine spoilt. A campaign keeps no `list`."""

    total: int
    recovered: int
    failed: int
    unknown: int
    checks: int | None = absent()
    void_trials: int | None = absent()
    list_: Annotated[tuple[Truth, ...] | None, Field(alias="list")] = absent()


@dataclass(frozen=True, kw_only=True)
class PairFloor:
    """An arm's own noise, with the interval that its few blocks leave."""

    value: float = exact()
    low: float = exact()
    high: float = exact()


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A middleware compared with itself. `ratio` is B ÷ A; `unconfirmed`: the difference that a
    second run did not confirm."""

    middleware: str
    workload: str
    outcome: Difference
    verdicts: tuple[str, ...]
    block_log_ratios: tuple[float, ...] = exact()
    ratio: float | None = exact()
    floor: PairFloor | None
    reason: str | None
    unconfirmed: str | None


@dataclass(frozen=True, kw_only=True)
class AA:
    """Every middleware compared with itself. `floor`: the ratio minus 1 that a campaign of
    `floor_blocks` blocks stays within, by message size and of `all`. A campaign keeps no
    `pairs`."""

    total: int
    different: int
    unknown: int
    unconfirmed: int | None = absent()
    floor_blocks: int | None = absent()
    floor: Mapping[str, float | None] | None = absent(exact=True)
    pairs: tuple[Pair, ...] | None = absent()


@dataclass(frozen=True, kw_only=True)
class CallCost:
    """The cost of one call, as the median of `batches`; `no_data`: why there is none."""

    unit: str
    batches: int | None = absent()
    high: float | None = absent(exact=True)
    low: float | None = absent(exact=True)
    value: float | None = absent(exact=True)
    no_data: str | None = absent()


@dataclass(frozen=True, kw_only=True)
class CostsAtSize:
    """The instrument's own part in a message of this size."""

    payload_bytes: int
    response_latency: Estimate | None = absent()
    service_latency: Estimate | None = absent()
    consumed_latency: Estimate | None = absent()
    cpu_per_message: Estimate | None = absent()


@dataclass(frozen=True, kw_only=True)
class OwnCosts:
    """The costs that the instrument adds: to messages of 64 bytes, to messages of each of `sizes`
    (older calibrations have none), by a reading of the clock, by a record."""

    latency: Estimate | None = absent()
    cpu_per_message: Estimate | None = absent()
    sizes: tuple[CostsAtSize, ...] | None = absent()
    clock_read: CallCost | None = absent()
    record: CallCost | None = absent()


@dataclass(frozen=True, kw_only=True)
class CalibrationSummary:
    """The newest calibration of the machine at the campaign's start, with a line of `text`.
    `age_days`: at that time."""

    known: bool
    text: str
    created_utc: str | None = absent()
    age_days: float | None = absent()
    kernel: str | None = absent()
    truths: Truths | None = absent()
    aa: AA | None = absent()
    own_cost: OwnCosts | None = absent()


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine of a campaign. `warnings`: reasons to doubt its numbers; `red_warnings`: those
    that make the numbers worthless."""

    summary: str
    facts: tuple[Fact, ...]
    warnings: tuple[str, ...]
    red_warnings: tuple[str, ...] = ()
    calibration: CalibrationSummary

    @property
    def other_warnings(self) -> list[str]:
        return [text for text in self.warnings if text not in self.red_warnings]


@dataclass(frozen=True, kw_only=True)
class NotTested:
    """A truth that this machine cannot inject, and why."""

    what: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """The identity of the machine. `fingerprint`: of all but the kernel."""

    fingerprint: str
    summary: str
    cpu_model: str | None
    cores_usable: int | None
    memory_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class CalibrationDocument:
    """How well the instrument measures on this machine. `stored`: the file of the document, which
    is not part of it."""

    schema: Literal["rmwbench/calibration"] = "rmwbench/calibration"
    version: Literal[1] = 1
    calibration: str
    created_utc: str
    tool_version: str
    quick: bool
    seed: int
    blocks: int
    wall_s: float = exact()
    directory: str
    kernel: str
    machine: Hardware
    workers: Mapping[str, str | None]
    truths: Truths
    not_tested: tuple[NotTested, ...]
    aa: AA
    own_cost: OwnCosts
    stored: str | None = absent()
