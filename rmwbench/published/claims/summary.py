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
from rmwbench.published.claims.judging.judge import compared_cells
from rmwbench.published.claims.judging.values import explaining_metrics
from rmwbench.published.summaries import METHOD, SCHEMA, VERSION, expanded, shipped
from rmwbench.results.model import document

if TYPE_CHECKING:
    from rmwbench.published.figures.figures_file import MeasuredFigure as Drawn

KeptMetrics = dict[str | None, set[str]]
"""Topic -> the metrics that are kept of it; None for the whole workload."""
COUNTED = ("response_latency_p50", "loss")
"""What is kept of an arm over an RMW that no claim compares."""
FACTS = ("cores", "virtualization", "kernel", "load average", "steal since boot")


def measured(
    source: Claims, campaigns: Sequence[MeasuredCampaign], drawn: "Sequence[Drawn]" = ()
) -> dict[str, Any] | None:
    """The summary of one machine's campaigns; None where they say nothing of this source's claims
    and of its figures' cells (`drawn`). Raises UserError for campaigns of two machines."""
    summaries = [summary for each in campaigns if (summary := _campaign(source, each, drawn))]
    if not summaries:
        return None
    hosts = list(dict.fromkeys(campaign.host for campaign in campaigns))
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
        "date": max(str(summary["campaign"]["created_utc"])[:10] for summary in summaries),
        "machine": campaigns[0].machine,
        "campaigns": summaries,
    }


def file_name(summary: Mapping[str, Any]) -> str:
    """`2026-11-22t0855-2x-amd-epyc.json`, by when its last campaign began: two sessions of one day
    stay apart, and names are in the order of time."""
    begun = max(str(of["campaign"]["created_utc"])[:16] for of in summary["campaigns"])
    machine = str(summary["machine"]).partition(",")[0].replace(" × ", "x ")
    words = f"{begun.replace(':', '')} {machine}".casefold()
    return f"{re.sub(r'[^a-z0-9]+', '-', words).strip('-')}.json"


def text(summary: Mapping[str, Any]) -> str:
    """As JSON with a line per arm, so that two versions can be compared."""
    return f"{_lines(summary, ('campaigns', 'workloads', 'arms'))}\n"


def shipped_of(sources: Sequence[Claims]) -> dict[str, list[MeasuredCampaign]]:
    """Source -> what was measured for the shipped ledger, as `ledger` takes it, the newest
    first."""
    return {
        source.claims: [
            campaign for summary in shipped(source.claims) for campaign in expanded(summary)
        ]
        for source in sources
    }


def _campaign(
    source: Claims, campaign: MeasuredCampaign, drawn: "Sequence[Drawn]"
) -> dict[str, Any] | None:
    workloads = _workloads(campaign, _metrics_of_arms(source, campaign, drawn))
    if not workloads:
        return None
    summary = {
        "method": METHOD,
        "campaign": {
            "name": campaign.name,
            "suite": campaign.suite,
            "created_utc": campaign.created_utc,
            "seed": campaign.seed,
            "tool_version": campaign.tool_version,
            "blocks_complete": campaign.blocks_complete,
            **({} if campaign.wall_s is None else {"wall_s": campaign.wall_s}),
        },
        "machine": {
            "summary": campaign.machine,
            **{fact.name: fact.value for fact in campaign.facts if fact.name in FACTS},
        },
        "workloads": workloads,
    }
    if campaign.asked is None:
        return summary
    return {"asked": [x.id for x in source.items if x.id in campaign.asked], **summary}


def _metrics_of_arms(
    source: Claims, campaign: MeasuredCampaign, drawn: "Sequence[Drawn]"
) -> dict[tuple[str, str], KeptMetrics]:
    """(workload, arm) -> the metrics that a claim compares, a figure draws or `--by-suite`
    counts."""
    metrics: dict[tuple[str, str], KeptMetrics] = {}
    for claim in source.items:
        for workload, topic, arm, names in compared_cells(source, claim, campaign):
            metrics.setdefault((workload, arm), {}).setdefault(topic, set()).update(names)
    for place in _over_rmws(source, campaign):
        metrics.setdefault(place, {}).setdefault(None, set()).update(COUNTED)
    for part in drawn:
        for place in _cells_of(part, campaign):
            metrics.setdefault(place, {}).setdefault(None, set()).update(part.metrics)
    return metrics


def _workloads(
    campaign: MeasuredCampaign, metrics: Mapping[tuple[str, str], KeptMetrics]
) -> list[dict[str, Any]]:
    """Those that have such an arm; beside whole metrics stands what the workload is judged by."""
    workloads = []
    for workload in campaign.workloads:
        arms = []
        for arm in workload.arms:
            if kept := metrics.get((workload.workload, arm.arm)):
                if None in kept and workload.primary_metric:
                    kept = {**kept, None: kept[None] | {workload.primary_metric}}
                arms.append(_arm(arm, kept))
        if arms:
            length = {} if workload.steady_s is None else {"steady_s": workload.steady_s}
            workloads.append({"workload": workload.workload, **length, "arms": arms})
    return workloads


def _over_rmws(source: Claims, campaign: MeasuredCampaign) -> Iterator[tuple[str, str]]:
    """(workload, arm) of a campaign of one of the source's suites, over each of ROS 2's RMWs."""
    if source.has(campaign.suite):
        for workload in campaign.workloads:
            for arm in workload.arms:
                if arm.middleware in OVER_RMWS:
                    yield workload.workload, arm.arm


def _cells_of(part: "Drawn", campaign: MeasuredCampaign) -> Iterator[tuple[str, str]]:
    """(workload, arm) of the cells of a campaign that a figure draws."""
    from rmwbench.published.figures import measured_points as cells

    if not campaign.ran(part.suite):
        return
    for workload in campaign.workloads:
        for arm in workload.arms:
            cell = cells.cell_values(workload.name, arm.arm, arm.factors, arm.pair)
            has = (*arm.metrics, *arm.by_second)
            if arm.is_floor or not any(name in has for name in part.metrics):
                continue
            if cells.is_asked(part, cell):
                yield workload.workload, arm.arm


def _arm(arm: CampaignArm, asked: KeptMetrics) -> dict[str, Any]:
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
        name: _rounded(values)
        for name, values in arm.by_second.items()
        if name in asked.get(None, ())
    }
    topics = {
        name: _kept(values, asked[name]) for name, values in arm.topics.items() if name in asked
    }
    whole = _kept(arm, asked.get(None, set()))
    valued = {
        block
        for kept in (whole, *topics.values())
        for pairs in kept["per_trial"].values()
        for block, _ in pairs
    }
    silent = sorted(arm.blocks - valued)
    return {
        **{key: value for key, value in about.items() if value is not None},
        # absent it would be that of files which are older than the choice
        **({"touch": None} if arm.touch is None else {}),
        **({"silent_blocks": silent} if silent else {}),
        **whole,
        **({"topics": topics} if topics else {}),
        **({"by_second": seconds} if seconds else {}),
    }


def _rounded(seconds: Seconds | None) -> list[list[float]] | None:
    """To five digits, which is more than a figure shows."""
    return None if seconds is None else [[n, float(f"{value:.5g}")] for n, value in seconds]


def _kept(held: Values, asked: set[str]) -> dict[str, Any]:
    """What is left of an arm's values, or of those in one topic."""
    names = sorted(asked.union(*map(explaining_metrics, asked)))
    return {
        "metrics": {name: document(held.metrics[name]) for name in names if name in held.metrics},
        "per_trial": {
            name: document(list(held.per_trial[name].items()))
            for name in names
            if name in held.per_trial
        },
    }


def _lines(item: Mapping[str, Any], lists: Sequence[str]) -> str:
    """`lists`: the keys under which items lie in items, each of which has lines of its own."""
    if not lists:
        return _json(item)
    key, *inner = lists
    about = _json({name: value for name, value in item.items() if name != key})
    items = ",\n".join(_lines(inner_item, inner) for inner_item in item[key])
    return f'{about[:-1]}, "{key}": [\n{items}\n]}}'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
