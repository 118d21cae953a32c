"""What a calibration says: in one line in every report of its machine, and as an exit code.

A report's line is read off the campaign alone, and the calibration's age is counted to the
campaign's own start: the same bundle says the same for ever.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rmwbench.results.model import Machine, Metric
from rmwbench.words import numbers as fmt

OLD_DAYS = 1
"""The noise of a machine is that of a day."""
NEVER = (
    "The instrument was not calibrated on this machine: run `rmwbench calibrate --quick`, "
    "about three minutes."
)
FLEET = (
    "The trials ran on several machines, and a calibration says nothing of another machine: "
    "none is used here."
)


def calibration(
    machine: Mapping[str, Any], created_utc: str | None, machines: int = 1
) -> dict[str, Any]:
    """`machine.calibration` of the show document: `text` (one line), `warnings`, and the counts
    behind them; of a campaign's `machine` and its start, and of how many machines its trials ran
    on."""
    found = machine.get("calibration")
    if not found and not machine.get("kernel"):  # imported: measured elsewhere, by something else
        return {"text": "", "warnings": [], "known": False}
    if not found:
        text = NEVER if machines == 1 else FLEET
        return {"text": text, "warnings": [text], "known": False}
    age_days = _age_days(found.get("created_utc"), created_utc)
    kernel = (machine.get("kernel") or {}).get("release")
    return {
        "text": line(found, age_days),
        "warnings": _warnings(found, age_days, kernel),
        "known": True,
        "created_utc": found.get("created_utc"),
        "age_days": age_days,
        "kernel": found.get("kernel"),
        "truths": found["truths"],
        "aa": found["aa"],
        "own_cost": found.get("own_cost") or {},
    }


def calibration_line(machine: Machine) -> str:
    """What a renderer prints; empty where there is no calibration, since a warning says that."""
    return machine.calibration.text if machine.calibration.known else ""


def line(found: Mapping[str, Any], age_days: float | None) -> str:
    """`Calibrated 3 h before, Linux 6.1: 23 of 23 truths recovered, A/A different in 0 of 10, A/A
    floor 12 %; …`"""
    truths, aa = found["truths"], found["aa"]
    parts = [f"{truths['recovered']} of {fmt.counted(truths['total'], 'injected truth')} recovered"]
    parts += [f"{truths['unknown']} could not be told"] * bool(truths["unknown"])
    parts.append(f"A/A declared different in {aa['different']} of {aa['total']}")
    floor = (aa.get("floor") or {}).get("all")
    parts += [f"A/A floor {fmt.significant(100 * floor)} %"] if floor is not None else []
    when = "" if age_days is None else f" {_age(age_days)} before"
    own = own_text(found.get("own_cost") or {})
    text = f"Calibrated{when}, kernel {found.get('kernel')}: {', '.join(parts)}."
    return f"{text} {own}" if own else text


def own_text(own: Mapping[str, Any]) -> str:
    """What of each number is ours; empty where it was not measured. Where a calibration
    knows several sizes, the conclusions say it (workload/own_cost.py)."""
    if own.get("sizes"):
        return (
            "What the instrument itself adds stands under “What you may not”; nothing is "
            "subtracted."
        )
    parts = []
    latency, cpu = own.get("latency") or {}, own.get("cpu_per_message") or {}
    if "value" in latency:
        parts.append(f"of a latency {fmt.metric(Metric.of(latency)).text} is ours")
    if "value" in cpu:
        parts.append(f"of a message {fmt.metric(Metric.of(cpu)).text} of processor time")
    text = ", ".join(parts)
    larger = (
        "; larger messages cost more, which this calibration did not measure; nothing is "
        "subtracted."
    )
    return f"Of messages of 64 bytes: {text}{larger}" if text else ""


def _warnings(found: Mapping[str, Any], age_days: float | None, kernel: str | None) -> list[str]:
    again = "run `rmwbench calibrate --quick` again"
    truths, aa = found["truths"], found["aa"]
    out = []
    if truths["failed"]:
        out.append(
            f"The calibration of this machine did not recover {truths['failed']} of "
            f"{truths['total']} truths."
        )
    if aa["different"]:
        out.append(
            f"The calibration found a difference where there is none in {aa['different']} of "
            f"{aa['total']} A/A."
        )
    if age_days is not None and age_days > OLD_DAYS:
        out.append(f"The calibration of this machine is {_age(age_days)} old: {again}.")
    if kernel and found.get("kernel") and kernel != found["kernel"]:
        out.append(
            f"The calibration is from kernel {found['kernel']}, this campaign from {kernel}: "
            f"{again}."
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


def exit_code(document: Mapping[str, Any]) -> int:
    """0 all recovered and A/A clean, 1 something failed, 2 could not tell."""
    truths, aa = document["truths"], document["aa"]
    if truths["failed"] or aa["different"]:
        return 1
    return 2 if truths["unknown"] or aa["unknown"] or not truths["total"] or not aa["total"] else 0
