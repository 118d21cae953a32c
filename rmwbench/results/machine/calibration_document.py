"""Says in one line of every report what the machine's calibration showed, and returns the exit code
of a calibration.

A report's line is read off the campaign alone, and the calibration's age is counted to the
campaign's own start, so the same bundle always has the same line."""

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from rmwbench.analysis.stats.estimate import finite
from rmwbench.bundle import Bundle
from rmwbench.bundle.campaign_json import MachineDocument
from rmwbench.results.machine.machine_model import (
    AA,
    CalibrationDocument,
    CalibrationSummary,
    CallCost,
    CostsAtSize,
    Machine,
    OwnCosts,
    Truths,
)
from rmwbench.results.model import Estimate, Fact
from rmwbench.words import numbers as fmt

OLD_DAYS = 1
"""A machine's noise is measured for one day."""
NEVER = (
    "The instrument was not calibrated on this machine: run `rmwbench calibrate --quick`, "
    "about three minutes."
)
FLEET = (
    "The trials ran on several machines, and a calibration says nothing of another machine: "
    "none is used here."
)
RED = "RED "
"""The beginning of the red warnings of a campaign's `machine` (docs/formats/bundle.md)."""


def calibration(
    machine: MachineDocument, created_utc: str | None, machines: int = 1
) -> tuple[CalibrationSummary, list[str]]:
    """Return the calibration that a campaign's `machine` has, and its warnings. `created_utc`: the
    campaign's start; `machines`: on how many its trials ran."""
    stored = machine.calibration
    if not stored and not machine.kernel:  # imported: measured elsewhere, by something else
        return CalibrationSummary(known=False, text=""), []
    if not stored:
        text = NEVER if machines == 1 else FLEET
        return CalibrationSummary(known=False, text=text), [text]
    summary = CalibrationSummary(
        known=True,
        text="",
        created_utc=stored.get("created_utc"),
        age_days=_age_days(stored.get("created_utc"), created_utc),
        kernel=stored.get("kernel"),
        truths=Truths(**_fields(Truths, stored["truths"])),
        aa=_aa(stored["aa"]),
        own_cost=_own_costs(stored.get("own_cost") or {}),
    )
    return replace(summary, text=line(summary)), _warnings(summary, machine.kernel.get("release"))


def machine(bundle: Bundle) -> Machine:
    described = bundle.campaign.machine
    machines = len((bundle.campaign.cluster or {}).get("machines") or ()) or 1
    calibrated, warnings = calibration(described, bundle.campaign.created_utc, machines)
    return Machine(
        summary=described.summary or "machine not described",
        facts=tuple(
            Fact(name=fact.name, value=str(fact.value), note=fact.note) for fact in described.facts
        ),
        warnings=(*(text.removeprefix(RED) for text in described.warnings), *warnings),
        red_warnings=tuple(
            text.removeprefix(RED) for text in described.warnings if text.startswith(RED)
        ),
        calibration=calibrated,
    )


def _aa(stored: Mapping[str, Any]) -> AA:
    aa = AA(**_fields(AA, stored))
    floor = None if aa.floor is None else {name: _short(value) for name, value in aa.floor.items()}
    return replace(aa, floor=floor)


def _own_costs(stored: Mapping[str, Any]) -> OwnCosts:
    sizes = stored.get("sizes")
    return OwnCosts(
        latency=_metric(stored.get("latency")),
        cpu_per_message=_metric(stored.get("cpu_per_message")),
        sizes=None if sizes is None else tuple(map(_costs_at, sizes)),
        clock_read=_cost(stored.get("clock_read")),
        record=_cost(stored.get("record")),
    )


def _costs_at(stored: Mapping[str, Any]) -> CostsAtSize:
    metrics = {
        k: _metric(v) for k, v in _fields(CostsAtSize, stored).items() if k != "payload_bytes"
    }
    return CostsAtSize(payload_bytes=stored["payload_bytes"], **metrics)


def _metric(stored: Mapping[str, Any] | None) -> Estimate | None:
    # a metric that the calibration did not report has no unit
    return None if stored is None else Estimate.of({"unit": "", **_fields(Estimate, stored)})


def _cost(stored: Mapping[str, Any] | None) -> CallCost | None:
    if stored is None:
        return None
    return CallCost(**{key: _short(value) for key, value in _fields(CallCost, stored).items()})


def _fields(kind: type, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored values of the type's fields, without keys that a later version may have."""
    return {field.name: stored[field.name] for field in fields(kind) if field.name in stored}


def _short(value: Any) -> Any:
    """Return a number with the six digits that a report keeps."""
    return finite(value) if isinstance(value, float) else value


def calibration_line(machine: Machine) -> str:
    """Return the line that a renderer prints; empty if there is no calibration, since a warning
    says so."""
    return machine.calibration.text if machine.calibration.known else ""


def line(summary: CalibrationSummary) -> str:
    """Return `Calibrated 3 h before, Linux 6.1: 23 of 23 truths recovered, A/A different in 0 of
    10, A/A floor 12 %; …`"""
    truths, aa = summary.truths, summary.aa
    if truths is None or aa is None:
        return summary.text
    parts = [f"{truths.recovered} of {fmt.counted(truths.total, 'injected truth')} recovered"]
    parts += [f"{truths.unknown} could not be told"] * bool(truths.unknown)
    parts.append(f"A/A declared different in {aa.different} of {aa.total}")
    floor = (aa.floor or {}).get("all")
    parts += [f"A/A noise {fmt.significant(100 * floor)} %"] if floor is not None else []
    when = "" if summary.age_days is None else f" {_age(summary.age_days)} before"
    own_cost_text = own_text(summary.own_cost)
    text = f"Calibrated{when}, kernel {summary.kernel}: {', '.join(parts)}."
    return f"{text} {own_cost_text}" if own_cost_text else text


def own_text(costs: OwnCosts | None) -> str:
    """Return the instrument's own part in the numbers; empty if it was not measured. If a
    calibration has several sizes, it is empty: the conclusions of a campaign state that part
    (workload/arm_own_cost.py)."""
    if costs is None or costs.sizes:
        return ""
    parts = []
    if costs.latency is not None and costs.latency.value is not None:
        parts.append(f"of a latency {fmt.metric(costs.latency).text} is ours")
    if costs.cpu_per_message is not None and costs.cpu_per_message.value is not None:
        parts.append(f"of a message {fmt.metric(costs.cpu_per_message).text} of processor time")
    text = ", ".join(parts)
    larger = (
        "; larger messages cost more, which this calibration did not measure; nothing is "
        "subtracted."
    )
    return f"Of messages of 64 bytes: {text}{larger}" if text else ""


def _warnings(summary: CalibrationSummary, kernel: str | None) -> list[str]:
    again = "run `rmwbench calibrate --quick` again"
    truths, aa, age_days = summary.truths, summary.aa, summary.age_days
    out = []
    if truths is not None and truths.failed:
        out.append(
            f"The calibration of this machine did not recover {truths.failed} of "
            f"{truths.total} truths."
        )
    if aa is not None and aa.different:
        out.append(
            f"The calibration found a difference where there is none in {aa.different} of "
            f"{aa.total} A/A."
        )
    if age_days is not None and age_days > OLD_DAYS:
        out.append(f"The calibration of this machine is {_age(age_days)} old: {again}.")
    if kernel and summary.kernel and kernel != summary.kernel:
        out.append(
            f"The calibration is from kernel {summary.kernel}, this campaign from {kernel}: {again}."
        )
    return out


def _age_days(earlier: str | None, later: str | None) -> float | None:
    try:
        begin, end = (
            datetime.strptime(t or "", "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
            for t in (earlier, later)
        )
    except ValueError:
        return None
    return (end - begin).total_seconds() / 86400


def _age(days: float) -> str:
    hours = days * 24
    if hours < 1.5:
        return fmt.counted(max(round(hours * 60), 0), "minute")
    return fmt.counted(round(hours), "hour") if hours < 48 else fmt.counted(round(days), "day")


def exit_code(answer: CalibrationDocument) -> int:
    """Return 0 if all truths were recovered and A/A is clean, 1 if any check failed, 2 if any check
    could not tell."""
    truths, aa = answer.truths, answer.aa
    if truths.failed or aa.different:
        return 1
    return 2 if truths.unknown or aa.unknown or not truths.total or not aa.total else 0
