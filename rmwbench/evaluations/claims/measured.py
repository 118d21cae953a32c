"""What campaigns say of a source's claims, reduced to what judging them again takes: small enough
to be kept beside the claims (docs/formats/claims.md). Pure.

A summary holds show documents with only those arms and metrics that a claim compares or a figure of
the source draws, and their values trial by trial.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rmwbench.codes import Code
from rmwbench.errors import UserError
from rmwbench.evaluations.claims.judge import bound_trials, compared
from rmwbench.evaluations.claims.measured_files import METHOD, SCHEMA, VERSION, shipped
from rmwbench.evaluations.claims.model import Claims, is_suite
from rmwbench.evaluations.claims.values import lost_blocks
from rmwbench.evaluations.figures import cells
from rmwbench.evaluations.figures.model import Measured as Drawn

ARM = (
    "arm",
    "middleware",
    "layer",
    "version",
    "profile",
    "release_date",
    "factors",
    "touch",
    "not_supported",
)
Asked = dict[str | None, set[str]]
"""Topic -> the metrics that are kept of it; None for the whole workload."""
FACTS = ("cores", "virtualization", "kernel", "load average", "steal since boot")


def measured(
    source: Claims, documents: Sequence[Mapping[str, Any]], drawn: Sequence[Drawn] = ()
) -> dict[str, Any] | None:
    """The summary of one machine's campaigns; None where they say nothing of this source's claims
    and of its figures' cells (`drawn`). Raises UserError for campaigns of two machines."""
    kept = [found for document in documents if (found := _campaign(source, document, drawn))]
    if not kept:
        return None
    machines = list(dict.fromkeys(document["machine"]["summary"] for document in documents))
    if len(machines) > 1:
        raise UserError(
            "these campaigns are of two machines",
            actual="; ".join(machines),
            fix="save them one by one",
        )
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "source": source.claims,
        "date": max(str(one["campaign"]["created_utc"])[:10] for one in kept),
        "machine": machines[0],
        "campaigns": kept,
    }


def file_name(summary: Mapping[str, Any]) -> str:
    """`2026-11-22t0855-2x-amd-epyc.json`, by when its last campaign began: two sessions of one day
    stay apart, and names are in the order of time."""
    begun = max(str(one["campaign"]["created_utc"])[:16] for one in summary["campaigns"]).replace(
        ":", ""
    )
    words = f"{begun} {str(summary['machine']).partition(',')[0].replace(' × ', 'x ')}".casefold()
    return f"{re.sub(r'[^a-z0-9]+', '-', words).strip('-')}.json"


def text(summary: Mapping[str, Any]) -> str:
    """As JSON with a line per arm, so that two versions can be compared."""
    head = {key: value for key, value in summary.items() if key != "campaigns"}
    lines = [_json(head)[:-1] + ', "campaigns": [']
    for last, one in _marked(summary["campaigns"]):
        about = {key: value for key, value in one.items() if key != "workloads"}
        lines.append(f'{_json(about)[:-1]}, "workloads": [')
        for end, workload in _marked(one["workloads"]):
            lines.append(f'{{"workload": {_json(workload["workload"])}, "arms": [')
            lines += [
                _json(arm) + ("" if final else ",") for final, arm in _marked(workload["arms"])
            ]
            lines.append("]}" + ("" if end else ","))
        lines.append("]}" + ("" if last else ","))
    return "\n".join([*lines, "]}"]) + "\n"


def expanded(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The show documents that `analysis.claims.answers` takes."""
    found = []
    for one in summary["campaigns"]:
        workloads = [
            {
                **workload,
                "arms": [_expanded(arm) for arm in workload["arms"]],
                "topics": _topics(workload["arms"]),
            }
            for workload in one["workloads"]
        ]
        before = one.get("method", 1) < METHOD
        found.append({**one, "workloads": workloads, "shipped": True, "before_correction": before})
    return found


def shipped_of(sources: Sequence[Claims]) -> dict[str, list[dict[str, Any]]]:
    """Source -> what was measured for the shipped ledger, as `ledger` takes it, the newest
    first."""
    return {
        source.claims: [x for one in shipped(source.claims) for x in expanded(one)]
        for source in sources
    }


def _campaign(
    source: Claims, document: Mapping[str, Any], drawn: Sequence[Drawn]
) -> dict[str, Any] | None:
    metrics: dict[tuple[str, str], Asked] = {}
    for claim in source.items:
        for workload, topic, arm, names in compared(source, claim, document):
            metrics.setdefault((workload, arm), {}).setdefault(topic, set()).update(names)
    for one in drawn:
        for workload, arm in _cells_of(one, document):
            metrics.setdefault((workload, arm), {}).setdefault(None, set()).update(one.metrics)
    workloads = []
    for workload in document["workloads"]:
        name = workload["workload"]
        arms = [
            _arm(workload, arm, metrics[name, arm["arm"]])
            for arm in workload["arms"]
            if (name, arm["arm"]) in metrics
        ]
        if arms:
            workloads.append({"workload": name, "arms": arms})
    if not workloads:
        return None
    campaign = document["campaign"]
    kept = {
        key: campaign.get(key)
        for key in ("name", "suite", "created_utc", "seed", "tool_version", "blocks_complete")
    }
    facts = {
        fact["name"]: fact["value"]
        for fact in document["machine"]["facts"]
        if fact["name"] in FACTS
    }
    made = {
        "method": METHOD,
        "campaign": kept,
        "machine": {"summary": document["machine"]["summary"], **facts},
        "workloads": workloads,
    }
    asked = document.get("asked")
    return (
        made if asked is None else {"asked": [x.id for x in source.items if x.id in asked], **made}
    )


def _cells_of(one: Drawn, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(workload, arm) of the cells of a document that a figure draws."""
    if not is_suite(one.suite, str(document["campaign"]["suite"])):
        return
    for workload in document["workloads"]:
        plain = workload["workload"].partition(" [")[0]
        for arm in workload["arms"]:
            cell = cells.values(plain, arm["arm"], arm["factors"], arm.get("pair"))
            if arm.get("role") == "floor" or not any(
                name in arm["metrics"] for name in one.metrics
            ):
                continue
            if cells.chosen(one, cell):
                yield workload["workload"], arm["arm"]


def _arm(workload: Mapping[str, Any], arm: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
    topics = {
        one["topic"]: _kept(found, asked[one["topic"]])
        for one in workload.get("topics", ())
        if one["topic"] in asked
        for found in one["arms"]
        if found["arm"] == arm["arm"]
    }
    return {
        **{key: arm.get(key) for key in ARM if arm.get(key) is not None or key == "factors"},
        **({"disturbed_by": {Code.MACHINE_BOUND: bound}} if (bound := bound_trials(arm)) else {}),
        **({"lost_blocks": lost} if (lost := lost_blocks(arm)) else {}),
        **_kept(arm, asked.get(None, set())),
        **({"topics": topics} if topics else {}),
    }


def _kept(arm: Mapping[str, Any], metrics: set[str]) -> dict[str, Any]:
    """What is left of an arm's values, or of those in one topic."""
    per_trial = {
        name: arm["per_trial"][name] for name in sorted(metrics) if name in arm["per_trial"]
    }
    return {
        "metrics": {
            name: arm["metrics"][name] for name in sorted(metrics) if name in arm["metrics"]
        },
        "per_trial": {
            name: [[one["block"], one["value"]] for one in found]
            for name, found in per_trial.items()
        },
    }


def _expanded(arm: Mapping[str, Any]) -> dict[str, Any]:
    per_trial = {
        name: [{"block": block, "value": value} for block, value in found]
        for name, found in arm["per_trial"].items()
    }
    return {"not_supported": None, **arm, "per_trial": per_trial}


def _topics(arms: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """As a workload of the show document has them."""
    names = dict.fromkeys(name for arm in arms for name in arm.get("topics", ()))
    return [
        {
            "topic": name,
            "arms": [
                _expanded({"arm": arm["arm"], **arm["topics"][name]})
                for arm in arms
                if name in arm.get("topics", ())
            ],
        }
        for name in names
    ]


def _marked(items: Sequence[Any]) -> list[tuple[bool, Any]]:
    """Each with whether it is the last."""
    return [(place == len(items) - 1, item) for place, item in enumerate(items)]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
