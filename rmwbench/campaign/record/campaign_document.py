"""The description of a campaign (campaign.json and the tables `cells` and `machine`), and the
writing of a trial that ended: its files by their content, its tables, its line in the journal
(docs/formats/bundle.md). It is the same for all kinds of campaigns.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from rmwbench.bundle import BundleWriter
from rmwbench.bundle.campaign_json import MachineDocument
from rmwbench.bundle.journal import Status, TrialEnded, TrialReason
from rmwbench.bundle.schema import table_from_rows
from rmwbench.campaign.course import SpoiltBlock
from rmwbench.campaign.plan.plan import Plan
from rmwbench.campaign.plan.profile import distinct_sides, file_flags, forced_text, resolved_profile
from rmwbench.campaign.plan.socket_buffers import Kernels, ungranted_of_cell, ungranted_of_side
from rmwbench.campaign.plan.unsupported_cells import shared_host_flag
from rmwbench.campaign.trial.trial_life import TrialResult
from rmwbench.lab.middleware import Worker
from rmwbench.suite.cells import Cell

TRACED = (
    "traced: every thread's schedule was recorded, which costs time; compare its latencies "
    "with traced trials only"
)
UNTIMED = (
    "untimed: every allocation and release of memory was counted, which costs time; its "
    "latencies do not count"
)


def campaign_document(
    directory: Path,
    plan: Plan,
    suite_text: str,
    workers: Mapping[str, Worker],
    described: Mapping[str, Any],
) -> dict[str, Any]:
    """Return campaign.json of the campaign in this directory. `described` is the card of the
    machine that the trials run on. The caller adds the `request`, from which `rmwbench resume`
    makes the same plan again, and a calibration of the machine."""
    sha256 = hashlib.sha256(suite_text.encode()).hexdigest()
    return {
        "campaign": directory.resolve().name,
        "tool_version": version("rmwbench"),
        "created_utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seed": plan.seed,
        "suite": {"name": plan.suite.suite, "text": suite_text, "sha256": sha256},
        "request": {},
        "plan": plan.document(),
        "machine": dict(described),
        "middlewares": [worker.description for worker in workers.values()],
    }


def cells_table(plan: Plan, workers: Mapping[str, Worker], kernels: Kernels) -> pa.Table:
    """Return the table `cells`; in `definition` profiles have their text. A cell that mixes
    middlewares has all of them in its columns, joined by ` + `, and the oldest release date if all
    are known. `kernels` are those that the cells run on."""
    shared = plan.host.shared
    rows = [_cell_row(cell, workers, kernels, shared=shared) for cell in plan.cells]
    return table_from_rows("cells", rows)


def _cell_row(
    cell: Cell, workers: Mapping[str, Worker], kernels: Kernels, *, shared: bool
) -> dict[str, Any]:
    sides = distinct_sides(cell)
    definition = cell.definition()
    definition["arm"]["profile"] = (
        resolved_profile(cell.arm.profile, workers[cell.arm.middleware]) if _is_run(cell) else {}
    )
    for key, override in cell.arm.processes.items():
        side = override.over(cell.arm)
        if side.middleware in workers:
            definition["arm"]["processes"][key]["profile"] = resolved_profile(
                side.profile, workers[side.middleware]
            )
    if buffers := ungranted_of_cell(cell, workers, kernels):
        definition["ungranted"] = [buffer.document() for buffer in buffers]
    definition["flags"] = _flags(cell, workers, kernels, shared=shared)
    descriptions = [workers[side.middleware].description or {} for side in sides]
    return {
        "cell": cell.number,
        "workload": cell.workload.name,
        "arm": cell.arm.name,
        "middleware": _joined(side.middleware for side in sides),
        "layer": _joined(description["layer"] for description in descriptions),
        "version": _joined(description["version"] for description in descriptions),
        "release_date": oldest(description["release_date"] for description in descriptions),
        "profile": _joined(side.profile.name for side in sides),
        "factors": json.dumps(dict(cell.factors)),
        "definition": json.dumps(definition),
    }


def _flags(
    cell: Cell, workers: Mapping[str, Worker], kernels: Kernels, *, shared: bool
) -> list[str]:
    """Return the flags of every trial of a cell, each once: of its sides' profiles, then its
    own."""
    sides_with_worker = [(side, workers[side.middleware]) for side in distinct_sides(cell)]
    notes = [(side, forced_text(side, worker)) for side, worker in sides_with_worker]
    notes += [
        (side, buffer.text)
        for side, worker in sides_with_worker
        for buffer in ungranted_of_side(cell, side, worker, kernels)
    ]
    notes += [(side, text) for side, _ in sides_with_worker for text in file_flags(side)]
    notes += [
        (side, shared_host_flag(side, worker)) for side, worker in sides_with_worker if shared
    ]
    flags = [f"{side.profile.name}*: {text}" for side, text in notes if text]
    flags += [TRACED] if cell.sampling.traced else []
    flags += [UNTIMED] if cell.sampling.allocations else []
    flags += ["; ".join(cell.real.lines())] if cell.real is not None else []
    return list(dict.fromkeys(flags))


def _is_run(cell: Cell) -> bool:
    """Whether a process runs the arm's own side: overrides may cover all processes."""
    return any(side is cell.arm for side in cell.sides.values())


def oldest(dates: Iterable[str | None]) -> str | None:
    """Return the earliest date; None if any is unknown, because it might be earlier."""
    all_dates = list(dates)
    return None if None in all_dates else min(filter(None, all_dates))


def _joined(words: Iterable[str]) -> str:
    return " + ".join(dict.fromkeys(words))


def machine_table(machine: MachineDocument, end: Mapping[str, Any] | None) -> pa.Table:
    """Return the table `machine`; `end` is null until the campaign ends."""
    row = {
        "hardware": json.dumps(machine.hardware),
        "kernel": json.dumps(machine.kernel),
        "sysctls": json.dumps(machine.sysctls),
        "start": json.dumps(machine.state),
        "end": None if end is None else json.dumps(end),
    }
    return table_from_rows("machine", [row])


def write_trial(
    writer: BundleWriter,
    result: TrialResult,
    repeats: int | None = None,
    spoilt: SpoiltBlock | None = None,
) -> None:
    """Write a trial that ended. `repeats` is the number of the void trial that it replaces,
    `spoilt` its effect on its block."""
    order = result.order
    tables = dict(result.tables)
    if result.files:
        tables["files"] = {
            "trial": order.trial,
            "name": list(result.files),
            "sha256": [writer.add_file(content) for content in result.files.values()],
            "bytes": [len(content) for content in result.files.values()],
        }
    ended = TrialEnded(
        trial=order.trial,
        cell=order.cell.number,
        block=order.block,
        status=cast(Status, result.status),
        reason=result.reason,
        finished_utc=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        cause=result.cause,
        failed_by=result.failed_by,
        reasons=tuple(TrialReason(**reason.document()) for reason in result.reasons),
        repeats=repeats,
        again=None if spoilt is None else spoilt.again,
        voids=() if spoilt is None else spoilt.voids,
    )
    writer.finish_trial(ended, tables)
