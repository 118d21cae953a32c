"""A bundle -> the show document (docs/formats/show.md), from which terminal, HTML and Markdown are rendered. Same
bundle, same document.
"""

import math
from collections import Counter
from typing import Any

from rmwbench.analysis import compare
from rmwbench.analysis.aggregate import Trial
from rmwbench.analysis.glossary import GLOSSARY
from rmwbench.analysis.metric import finite
from rmwbench.analysis.resolution import resolvable_ratio
from rmwbench.analysis.unlike import flags
from rmwbench.bundle import Bundle
from rmwbench.bundle.read import TrialLine
from rmwbench.errors import UserError, nearest
from rmwbench.report import charts
from rmwbench.report.arm import ArmReport
from rmwbench.report.conclusions import conclusions
from rmwbench.report.measure import Small, loads, measure_trial

PRIMARY = "response_latency_p50"
MARGIN = 0.05
"""The smallest difference claimed where the machine's A/A noise is not known."""


def summarise(bundle: Bundle) -> dict[str, Any]:
    """The show document. Reads every record once; memory is one trial's columns. UserError for a broken bundle."""
    small = Small(bundle)
    plan = bundle.campaign.get("plan") or {}
    lines = bundle.trials()
    cells = bundle.rows("cells")
    measured: dict[int, list[Trial]] = {c["cell"]: [] for c in cells}
    for line in lines:
        if line.status == "done" and line.cell in measured:
            measured[line.cell].append(
                measure_trial(bundle, line, small.trials.get(line.trial, {}), small.endpoints[line.trial], small)
            )
    campaign = _campaign(bundle, plan, lines, cells, small)
    aa_floor = (bundle.campaign.get("machine") or {}).get("aa_floor")
    rules = compare.Rules(
        margin=max(MARGIN, aa_floor or 0.0), minutes_per_block=_minutes_per_block(plan, lines, campaign)
    )

    workloads = _workloads(plan, cells)
    arms = {
        w["workload"]: [
            ArmReport(
                c, measured[c["cell"]], [x for x in lines if x.cell == c["cell"]], small, bundle, w["primary_metric"]
            )
            for c in w["cells"]
        ]
        for w in workloads
    }
    verdicts = compare.judge({w: [a.compared for a in found] for w, found in arms.items()}, rules)
    document = {
        "schema": "rmwbench/show",
        "version": 1,
        "campaign": campaign,
        "machine": _machine(bundle),
        "workloads": [
            _workload(w, arms[w["workload"]], verdicts[w["workload"]], campaign["blocks_complete"], len(workloads))
            for w in workloads
        ],
    }
    hosts = {(e["host"]) for rows in small.endpoints.values() for e in rows}
    document["conclusions"] = conclusions(
        document, calibrated=aa_floor is not None, margin=rules.margin, one_host=len(hosts) == 1
    )
    document["glossary"] = {name: entry.document() for name, entry in GLOSSARY.items()}
    return document


def _workload(
    w: dict[str, Any], arms: list[ArmReport], verdicts: dict[str, compare.Verdict], blocks: int, workloads: int
) -> dict[str, Any]:
    unlike = flags([a.facts for a in arms])
    floor = next((a for a in arms if a.floor), None)
    made = {
        "ecdf": [charts.ecdf(a.name, a.trials) for a in arms],
        "spectrum": [charts.spectrum(a.name, a.trials) for a in arms],
        "series": [charts.series(a.name, a.trials, {t.trial: v for t, v in a.values[a.primary]}) for a in arms],
    }
    return {
        "workload": w["workload"],
        "title": w["title"],
        "description": w["description"],
        "primary_metric": w["primary_metric"],
        "arms": [a.document(verdicts[a.name], unlike[a.name], floor) for a in arms],
        "resolution": _resolution([a.compared for a in arms], blocks, workloads),
        "tuning": _tuning(arms),
        "charts": {kind: [c for c in found if c is not None] for kind, found in made.items()},
    }


def _resolution(arms: list[compare.Arm], blocks: int, workloads: int) -> dict[str, Any]:
    """What this design could have told apart, from the spread that was seen. Comparisons as for the last arm that
    Holm's procedure reaches.
    """
    contenders = [a for a in arms if not a.floor and a.primary]
    sd = compare.spread(arms)
    # One-sided level alpha/((workloads + 1)·(k − 1)): the others decided, the best of each workload left.
    comparisons = math.ceil((workloads + 1) * max(len(contenders) - 1, 1) / 2)
    out = {"blocks": blocks, "comparisons": comparisons, "log_ratio_sd": None, "resolvable_ratio": None}
    if len(contenders) < 2:
        return out | {"text": "Fewer than two contenders have data: there is nothing to tell apart."}
    if sd is None or blocks < 2:
        return out | {"text": "Too few blocks to say what could have been told apart."}
    ratio = resolvable_ratio(blocks, comparisons, sd)
    text = (
        f"With {blocks} blocks and block ratios that scatter by {sd:.2g} (standard deviation of their "
        f"logarithm), differences from about {ratio:.2g}× on can be "
        f"decided ({comparisons} comparisons); smaller ones stay undecided, or count as equivalent."
    )
    return out | {"log_ratio_sd": finite(sd), "resolvable_ratio": finite(ratio), "text": text}


def _tuning(arms: list[ArmReport]) -> list[dict[str, Any]]:
    out = []
    for tuned in arms:
        for untouched in arms:
            same = (tuned.cell["middleware"], tuned.cell["layer"]) == (
                untouched.cell["middleware"],
                untouched.cell["layer"],
            )
            if (
                same
                and tuned.cell["profile"] == "tuned"
                and untouched.cell["profile"].rstrip("*") == "untouched"
                and tuned.cell["factors"] == untouched.cell["factors"]
            ):
                found = compare.ratio(tuned.compared.primary, untouched.compared.primary, min_blocks=5)
                out.append(
                    {
                        "middleware": tuned.cell["middleware"],
                        "tuned": tuned.name,
                        "untouched": untouched.name,
                        "ratio": found.document(),
                    }
                )
    return out


def _campaign(
    bundle: Bundle, plan: dict[str, Any], lines: list[TrialLine], cells: list[dict[str, Any]], small: Small
) -> dict[str, Any]:
    c = bundle.campaign
    suite = c.get("suite") or {}
    counts = Counter(line.status for line in lines)
    per_block = Counter(line.block for line in lines)
    return {
        "name": c.get("campaign"),
        "directory": str(bundle.directory),
        "suite": suite.get("name"),
        "title": (plan.get("suite") or {}).get("title") or suite.get("name"),
        "created_utc": c.get("created_utc"),
        "finished": bundle.journal.finished,
        "seed": c.get("seed"),
        "tool_version": c.get("tool_version"),
        "blocks_planned": (plan.get("blocks") or {}).get("count", len(per_block)),
        "blocks_complete": sum(1 for n in per_block.values() if n >= len(cells)),
        "trials": {"planned": len(plan.get("trials") or lines), **{s: counts[s] for s in ("done", "failed", "void")}},
        "wall_s": round(sum(t["duration_ns"] or 0 for t in small.trials.values()) / 1e9, 1),
    }


def _minutes_per_block(plan: dict[str, Any], lines: list[TrialLine], campaign: dict[str, Any]) -> float | None:
    """Measured where a block is complete, otherwise as planned."""
    if campaign["wall_s"] and campaign["blocks_complete"]:
        return campaign["wall_s"] / 60 / len({line.block for line in lines})
    seconds = plan.get("block_s")
    return seconds / 60 if seconds else None


def _machine(bundle: Bundle) -> dict[str, Any]:
    m = bundle.campaign.get("machine") or {}
    return {
        "summary": m.get("summary") or "machine not described",
        "facts": m.get("facts") or [],
        "warnings": m.get("warnings") or [],
    }


def _workloads(plan: dict[str, Any], cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The groups of cells that are compared with each other: the plan's comparisons, or equal workload and factors."""
    by_number = {c["cell"]: c for c in cells}
    groups: dict[str, dict[str, Any]] = {}
    for planned in plan.get("comparisons") or []:
        found = [by_number.pop(n) for n in planned["cells"] if n in by_number]
        if found:
            groups[planned["comparison"]] = {**planned, "cells": found}
    for c in by_number.values():
        factors = ", ".join(f"{k}={v}" for k, v in loads(c["factors"]).items())
        groups.setdefault(f"{c['workload']} [{factors}]" if factors else c["workload"], {"cells": []})["cells"].append(
            c
        )
    out = []
    for name, group in groups.items():
        again = Counter(c["arm"] for c in group["cells"])
        for c in group["cells"]:
            c["label"] = c["arm"] if again[c["arm"]] == 1 else f"{c['arm']} (cell {c['cell']})"
        primary = group.get("primary_metric") or PRIMARY
        if primary not in GLOSSARY:
            near = nearest(primary, GLOSSARY)
            raise UserError(
                f"workload {name} is to be judged by a metric that does not exist",
                where="campaign.json",
                actual=primary,
                fix=f"was it {near}? a newer rmwbench may know it" if near else "a newer rmwbench may know it",
            )
        out.append(
            {
                "workload": name,
                "title": group.get("title") or name,
                "description": group.get("description") or "",
                "primary_metric": primary,
                "cells": group["cells"],
            }
        )
    return out
