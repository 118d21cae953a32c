"""What the invented campaigns of tests have in common: the document that each begins with, a trial's
row, and its end."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rmwbench.bundle import BundleWriter
from rmwbench.bundle.journal import TrialEnded

CREATED_UTC = "2026-11-21T10:15:00Z"


def campaign(
    name: str,
    title: str,
    comparisons: Sequence[Mapping[str, Any]],
    cells: Sequence[int],
    blocks: int,
    seed: int,
    *,
    description: str = "",
    plan: Mapping[str, Any],
    **more: Any,
) -> dict[str, Any]:
    """Its document; `plan` and `more` are keys of the plan and of the whole to add. In each block
    every one of `cells` has a trial."""
    suite = {"name": "fixture", "title": f"Test fixture: {title}", "description": description}
    return {
        "campaign": name,
        "tool_version": "0.1.0",
        "created_utc": CREATED_UTC,
        "seed": seed,
        "suite": {"name": "fixture", "text": "# a test fixture\n", "sha256": "0" * 64},
        "plan": {
            "schema": "rmwbench/plan",
            "version": 1,
            "suite": suite,
            "seed": seed,
            "blocks": {"count": blocks, "planned": blocks, "minimum": 5},
            "comparisons": list(comparisons),
            "trials": [
                {"trial": n, "cell": cells[n % len(cells)], "block": n // len(cells)}
                for n in range(blocks * len(cells))
            ],
            **plan,
        },
        "middlewares": [],
        **more,
    }


def cell_row(
    cell: int,
    workload: str,
    arm: str,
    middleware: str,
    definition: Mapping[str, Any],
    **more: str,
) -> dict[str, Any]:
    usual = {"layer": "native", "profile": "untouched", "factors": "{}"}
    named = {"cell": cell, "workload": workload, "arm": arm, "middleware": middleware}
    return {**named, **usual, **more, "definition": json.dumps(definition)}


def trial_row(
    trial: int,
    cell: int,
    block: int,
    position: int,
    *,
    begin_ns: int,
    steady_ns: int,
    drain_ns: int,
    reason: str | None = None,
) -> dict[str, Any]:
    """`reason`: why it failed."""
    end_ns = begin_ns + steady_ns
    times = {
        "steady_begin_ns": begin_ns,
        "steady_end_ns": end_ns,
        "drain_end_ns": end_ns + drain_ns,
    }
    return {
        "trial": trial,
        "cell": cell,
        "block": block,
        "position": position,
        "status": "failed" if reason else "done",
        "reason": reason,
        "started_utc": _utc(trial),
        "seed": trial,
        "start_ns": begin_ns,
        **(dict.fromkeys(times) if reason else times),
        "setup_ns": 180_000_000,
        "duration_ns": steady_ns,
        "nonce": "00000000deadbeef",
    }


def finish(
    writer: BundleWriter,
    trial: int,
    cell: int,
    block: int,
    tables: Mapping[str, Any],
    reason: str | None = None,
) -> None:
    """Writes what a trial recorded, and its line in the journal."""
    status = "failed" if reason else "done"
    place = {"trial": trial, "cell": cell, "block": block}
    ended = TrialEnded(**place, status=status, reason=reason, finished_utc=_utc(trial))
    writer.finish_trial(ended, tables)


def _utc(trial: int) -> str:
    return f"2026-11-21T10:{trial // 60:02d}:{trial % 60:02d}Z"
