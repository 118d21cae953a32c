"""What campaigns say of a source's claims, reduced to what judging them again takes: small enough
to be kept beside the claims (docs/formats/claims.md). Pure.

A summary holds of each campaign only those arms and metrics that a claim compares or a figure of
the source draws (also second by second), with what says why a percentile has no value, what the
workload is judged by, and of the source's suites the arms over ROS 2's RMWs, which `claims
--by-suite` counts; and their values trial by trial.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rmwbench.codes import Code
from rmwbench.errors import UserError
from rmwbench.published.about import OVER_RMWS
from rmwbench.published.campaign import CampaignArm, MeasuredCampaign, Seconds, Values
from rmwbench.published.claims.claims_file import Claims
from rmwbench.published.claims.judging.judge import compared
from rmwbench.published.claims.judging.values import told_by
from rmwbench.published.summaries import METHOD, SCHEMA, VERSION, expanded, shipped
from rmwbench.results.model import document

if TYPE_CHECKING:
    from rmwbench.published.figures.figures_file import MeasuredFigure as Drawn

Asked = dict[str | None, set[str]]
"""Topic -> the metrics that are kept of it; None for the whole workload."""
COUNTED = ("response_latency_p50", "loss")
"""What is kept of an arm over an RMW that no claim compares."""
FACTS = ("cores", "virtualization", "kernel", "load average", "steal since boot")


def measured(
    source: Claims, campaigns: Sequence[MeasuredCampaign], drawn: "Sequence[Drawn]" = ()
) -> dict[str, Any] | None:
    """The summary of one machine's campaigns; None where they say nothing of this source's claims
    and of its figures' cells (`drawn`). Raises UserError for campaigns of two machines."""
    kept = [found for one in campaigns if (found := _campaign(source, one, drawn))]
    if not kept:
        return None
    hosts = list(dict.fromkeys(one.host for one in campaigns))
    if len(hosts) > 1:
        raise UserError(
            "these campaigns are of two machines",
            actual="; ".join(map(str, hosts)),
            fix="save them one by one",
        )
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "source": source.claims,
        "date": max(str(one["campaign"]["created_utc"])[:10] for one in kept),
        "machine": campaigns[0].machine,
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
            named = {key: value for key, value in workload.items() if key != "arms"}
            lines.append(f'{_json(named)[:-1]}, "arms": [')
            lines += [
                _json(arm) + ("" if final else ",") for final, arm in _marked(workload["arms"])
            ]
            lines.append("]}" + ("" if end else ","))
        lines.append("]}" + ("" if last else ","))
    return "\n".join([*lines, "]}"]) + "\n"


def shipped_of(sources: Sequence[Claims]) -> dict[str, list[MeasuredCampaign]]:
    """Source -> what was measured for the shipped ledger, as `ledger` takes it, the newest
    first."""
    return {
        source.claims: [x for one in shipped(source.claims) for x in expanded(one)]
        for source in sources
    }


def _campaign(
    source: Claims, found: MeasuredCampaign, drawn: "Sequence[Drawn]"
) -> dict[str, Any] | None:
    metrics: dict[tuple[str, str], Asked] = {}
    for claim in source.items:
        for workload, topic, arm, names in compared(source, claim, found):
            metrics.setdefault((workload, arm), {}).setdefault(topic, set()).update(names)
    for workload, arm in _over_rmws(source, found):
        metrics.setdefault((workload, arm), {}).setdefault(None, set()).update(COUNTED)
    for one in drawn:
        for workload, arm in _cells_of(one, found):
            metrics.setdefault((workload, arm), {}).setdefault(None, set()).update(one.metrics)
    workloads = []
    for of_workload in found.workloads:
        name = of_workload.workload
        for (workload, _), asked in metrics.items():
            if workload == name and None in asked and of_workload.primary_metric:
                asked[None].add(of_workload.primary_metric)
        arms = [
            _arm(arm, metrics[name, arm.arm])
            for arm in of_workload.arms
            if (name, arm.arm) in metrics
        ]
        if arms:
            long = {} if of_workload.steady_s is None else {"steady_s": of_workload.steady_s}
            workloads.append({"workload": name, **long, "arms": arms})
    if not workloads:
        return None
    made = {
        "method": METHOD,
        "campaign": {
            "name": found.name,
            "suite": found.suite,
            "created_utc": found.created_utc,
            "seed": found.seed,
            "tool_version": found.tool_version,
            "blocks_complete": found.blocks_complete,
            **({} if found.wall_s is None else {"wall_s": found.wall_s}),
        },
        "machine": {
            "summary": found.machine,
            **{fact.name: fact.value for fact in found.facts if fact.name in FACTS},
        },
        "workloads": workloads,
    }
    if found.asked is None:
        return made
    return {"asked": [x.id for x in source.items if x.id in found.asked], **made}


def _over_rmws(source: Claims, campaign: MeasuredCampaign) -> Iterator[tuple[str, str]]:
    """(workload, arm) of a campaign of one of the source's suites, over each of ROS 2's RMWs."""
    if source.has(campaign.suite):
        for workload in campaign.workloads:
            for arm in workload.arms:
                if arm.middleware in OVER_RMWS:
                    yield workload.workload, arm.arm


def _cells_of(one: "Drawn", campaign: MeasuredCampaign) -> Iterator[tuple[str, str]]:
    """(workload, arm) of the cells of a campaign that a figure draws."""
    from rmwbench.published.figures import measured_points as cells

    if not campaign.ran(one.suite):
        return
    for workload in campaign.workloads:
        for arm in workload.arms:
            cell = cells.cell_values(workload.name, arm.arm, arm.factors, arm.pair)
            has = (*arm.metrics, *arm.by_second)
            if arm.is_floor or not any(name in has for name in one.metrics):
                continue
            if cells.is_asked(one, cell):
                yield workload.workload, arm.arm


def _arm(arm: CampaignArm, asked: Asked) -> dict[str, Any]:
    about = {
        "arm": arm.arm,
        "middleware": arm.middleware,
        "layer": arm.layer,
        "version": arm.version,
        "profile": arm.profile,
        "release_date": arm.release_date,
        "factors": arm.factors,
        "touch": arm.touch,
        "not_supported": arm.not_supported,
        "disturbed_by": {Code.MACHINE_BOUND: arm.machine_bound} if arm.machine_bound else None,
        "left_out": sorted(arm.left_out) or None,
        "lost_blocks": list(arm.lost_blocks) or None,
    }
    seconds = {
        name: _rounded(found)
        for name, found in arm.by_second.items()
        if name in asked.get(None, ())
    }
    topics = {
        name: _kept(found, asked[name]) for name, found in arm.topics.items() if name in asked
    }
    whole = _kept(arm, asked.get(None, set()))
    told = {b for one in (whole, *topics.values()) for v in one["per_trial"].values() for b, _ in v}
    silent = sorted(arm.blocks - told)
    return {
        **{key: value for key, value in about.items() if value is not None},
        # absent it would be that of files which are older than the choice
        **({"touch": None} if arm.touch is None else {}),
        **({"silent_blocks": silent} if silent else {}),
        **whole,
        **({"topics": topics} if topics else {}),
        **({"by_second": seconds} if seconds else {}),
    }


def _rounded(found: Seconds | None) -> list[list[float]] | None:
    """To five digits, which is more than a figure shows."""
    return None if found is None else [[n, float(f"{value:.5g}")] for n, value in found]


def _kept(found: Values, asked: set[str]) -> dict[str, Any]:
    """What is left of an arm's values, or of those in one topic."""
    names = sorted(asked.union(*map(told_by, asked)))
    return {
        "metrics": {name: document(found.metrics[name]) for name in names if name in found.metrics},
        "per_trial": {
            name: document(list(found.per_trial[name].items()))
            for name in names
            if name in found.per_trial
        },
    }


def _marked(items: Sequence[Any]) -> list[tuple[bool, Any]]:
    """Each with whether it is the last."""
    return [(place == len(items) - 1, item) for place, item in enumerate(items)]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
