"""What a campaign says of itself: campaign.json and the tables `cells` and `machine` (docs/formats/bundle.md)."""

import json
import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from rmwbench.bundle.schema import table_from_rows
from rmwbench.campaign.calibrate import store
from rmwbench.campaign.plan import Plan
from rmwbench.campaign.profile import forced, resolved_profile
from rmwbench.lab import machine
from rmwbench.lab.middleware import Worker

TRACED = "traced: every thread's schedule was recorded, which costs time; compare its latencies with traced trials only"


def campaign_document(
    name: str,
    plan: Plan,
    suite_text: str,
    suite_sha256: str,
    request: Mapping[str, Any],
    workers: Mapping[str, Worker],
    *,
    calibrated: bool = True,
) -> dict[str, Any]:
    """campaign.json. `request` is what `--resume` needs to make the same plan again. The machine's newest calibration
    is copied in unless `calibrated` is false: a calibration must not rest on the one before it."""
    described = machine.describe()
    return {
        "campaign": name,
        "tool_version": version("rmwbench"),
        "created_utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seed": plan.seed,
        "suite": {"name": plan.suite.suite, "text": suite_text, "sha256": suite_sha256},
        "request": dict(request),
        "plan": plan.document(),
        "machine": described | (store.for_campaign(described) if calibrated else {}),
        "middlewares": [worker.description for worker in workers.values()],
    }


def cells_table(plan: Plan, workers: Mapping[str, Worker]) -> pa.Table:
    """The table `cells`; in `definition` the arm's profile is written out."""
    rows = []
    for cell in plan.cells:
        worker = workers[cell.arm.middleware]
        described = worker.description or {}
        profile = resolved_profile(cell, worker)
        definition = cell.definition()
        definition["arm"]["profile"] = profile
        definition["flags"] = [f"{profile['name']}*: {text}" for text in [forced(cell, worker)] if text]
        definition["flags"] += [TRACED] if cell.sampling.traced else []
        rows.append(
            {
                "cell": cell.number,
                "workload": cell.workload.name,
                "arm": cell.arm.name,
                "middleware": cell.arm.middleware,
                "layer": described["layer"],
                "version": described["version"],
                "release_date": described["release_date"],
                "profile": profile["name"],
                "factors": json.dumps(dict(cell.factors)),
                "definition": json.dumps(definition),
            }
        )
    return table_from_rows("cells", rows)


def machine_table(described: Mapping[str, Any], end: Mapping[str, Any] | None) -> pa.Table:
    """The table `machine`; `end` is null until the campaign has one."""
    row = {name: json.dumps(described[name]) for name in ("hardware", "kernel", "sysctls")}
    row |= {"start": json.dumps(described["state"]), "end": None if end is None else json.dumps(end)}
    return table_from_rows("machine", [row])
