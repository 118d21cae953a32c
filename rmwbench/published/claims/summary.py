"""A small file of what campaigns say about a source's claims, with all that is needed to judge the
claims again (docs/formats/claims.md). Pure.

A summary holds only those arms and metrics of each campaign that a claim compares or a figure of
the source draws (also second by second), the metrics that explain a percentile without a value, the
primary metric of each workload, and, for the source's suites, the arms over ROS 2's RMWs, which
`claims --by-suite` counts; and their values trial by trial.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rmwbench.codes import Code
from rmwbench.errors import UserError
from rmwbench.published.campaign import CampaignArm, MeasuredCampaign, Seconds, Values
from rmwbench.published.claims.claims_file import Claims
from rmwbench.published.claims.judging.judge import compared_cells
from rmwbench.published.claims.judging.values import explaining_metrics
from rmwbench.published.sources import OVER_RMWS
from rmwbench.published.summaries import METHOD, SCHEMA, VERSION, campaigns_of, shipped
from rmwbench.results.model import document

if TYPE_CHECKING:
    from rmwbench.published.figures.figures_file import MeasuredFigure

MetricsOfTopic = dict[str | None, set[str]]
"""Topic -> the metrics that are kept of it; None stands for the whole workload."""
COUNTED = ("response_latency_p50", "loss")
"""The metrics that are kept of an arm over an RMW that no claim compares."""
FACTS = ("cores", "virtualization", "kernel", "load average", "steal since boot")


def machine_summary(
    source: Claims, campaigns: Sequence[MeasuredCampaign], drawn: "Sequence[MeasuredFigure]" = ()
) -> dict[str, Any] | None:
    """Return the summary of one machine's campaigns; None if they say nothing about this source's
    claims and about the cells of its figures (`drawn`). Raise UserError for campaigns of two
    machines."""
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
    """Return `2026-11-22t0855-2x-amd-epyc.json`, with the time at which its last campaign began:
    two sessions of one day have different names, and names are in the order of time."""
    begun = max(str(x["campaign"]["created_utc"])[:16] for x in summary["campaigns"])
    machine = str(summary["machine"]).partition(",")[0].replace(" × ", "x ")
    words = f"{begun.replace(':', '')} {machine}".casefold()
    return f"{re.sub(r'[^a-z0-9]+', '-', words).strip('-')}.json"


def json_text(summary: Mapping[str, Any]) -> str:
    """Return JSON with a line for each arm, so that two versions can be compared."""
    return f"{_lines(summary, ('campaigns', 'workloads', 'arms'))}\n"


def shipped_of(sources: Sequence[Claims]) -> dict[str, list[MeasuredCampaign]]:
    """Return source -> campaigns that were measured for the shipped ledger, as `ledger` takes them,
    the newest first."""
    return {
        source.claims: [
            campaign for summary in shipped(source.claims) for campaign in campaigns_of(summary)
        ]
        for source in sources
    }


def _campaign(
    source: Claims, campaign: MeasuredCampaign, drawn: "Sequence[MeasuredFigure]"
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
    if campaign.claim_ids is None:
        return summary
    return {"asked": [x.id for x in source.items if x.id in campaign.claim_ids], **summary}


def _metrics_of_arms(
    source: Claims, campaign: MeasuredCampaign, drawn: "Sequence[MeasuredFigure]"
) -> dict[tuple[str, str], MetricsOfTopic]:
    """Return (workload, arm) -> the metrics that a claim compares, a figure draws or `--by-suite`
    counts."""
    metrics: dict[tuple[str, str], MetricsOfTopic] = {}
    for claim in source.items:
        for workload, topic, arm, names in compared_cells(source, claim, campaign):
            metrics.setdefault((workload, arm), {}).setdefault(topic, set()).update(names)
    for place in _over_rmws(source, campaign):
        metrics.setdefault(place, {}).setdefault(None, set()).update(COUNTED)
    for figure in drawn:
        for place in _drawn_cells(figure, campaign):
            metrics.setdefault(place, {}).setdefault(None, set()).update(figure.metrics)
    return metrics


def _workloads(
    campaign: MeasuredCampaign, metrics: Mapping[tuple[str, str], MetricsOfTopic]
) -> list[dict[str, Any]]:
    """Return the workloads that have such an arm. An arm with metrics of the whole workload also
    has the primary metric."""
    workloads = []
    for workload in campaign.workloads:
        arms = []
        for arm in workload.arms:
            if names := metrics.get((workload.workload, arm.arm)):
                if None in names and workload.primary_metric:
                    names = {**names, None: names[None] | {workload.primary_metric}}
                arms.append(_arm(arm, names))
        if arms:
            length = {} if workload.steady_s is None else {"steady_s": workload.steady_s}
            workloads.append({"workload": workload.workload, **length, "arms": arms})
    return workloads


def _over_rmws(source: Claims, campaign: MeasuredCampaign) -> Iterator[tuple[str, str]]:
    """Yield (workload, arm) over each of ROS 2's RMWs, if the campaign is of one of the source's
    suites."""
    if source.has(campaign.suite):
        for workload in campaign.workloads:
            for arm in workload.arms:
                if arm.middleware in OVER_RMWS:
                    yield workload.workload, arm.arm


def _drawn_cells(figure: "MeasuredFigure", campaign: MeasuredCampaign) -> Iterator[tuple[str, str]]:
    """Yield (workload, arm) of the cells of a campaign that a figure draws."""
    from rmwbench.published.figures.figure_points import cell_values, is_drawn_by

    if not campaign.ran(figure.suite):
        return
    for workload in campaign.workloads:
        for arm in workload.arms:
            cell = cell_values(workload.name, arm.arm, arm.factors, arm.pair)
            has_metric = not {*arm.metrics, *arm.by_second}.isdisjoint(figure.metrics)
            if has_metric and not arm.is_floor and is_drawn_by(figure, cell):
                yield workload.workload, arm.arm


def _arm(arm: CampaignArm, names: MetricsOfTopic) -> dict[str, Any]:
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
        "left_out": sorted(arm.spoilt_blocks) or None,
        "lost_blocks": list(arm.lost_blocks) or None,
    }
    seconds = {
        name: _round_values(values)
        for name, values in arm.by_second.items()
        if name in names.get(None, ())
    }
    topics = {
        name: _values(values, names[name]) for name, values in arm.topics.items() if name in names
    }
    whole = _values(arm, names.get(None, set()))
    with_value = {
        block
        for values in (whole, *topics.values())
        for pairs in values["per_trial"].values()
        for block, _ in pairs
    }
    silent = sorted(arm.blocks - with_value)
    return {
        **{key: value for key, value in about.items() if value is not None},
        # A file without the key is older than the choice, and has another touch.
        **({"touch": None} if arm.touch is None else {}),
        **({"silent_blocks": silent} if silent else {}),
        **whole,
        **({"topics": topics} if topics else {}),
        **({"by_second": seconds} if seconds else {}),
    }


def _round_values(seconds: Seconds | None) -> list[list[float]] | None:
    """Return the values with five digits, which is more than a figure shows."""
    return None if seconds is None else [[n, float(f"{value:.5g}")] for n, value in seconds]


def _values(values: Values, metrics: set[str]) -> dict[str, Any]:
    """Return the kept values of an arm, or of an arm in one topic."""
    names = sorted(metrics.union(*map(explaining_metrics, metrics)))
    return {
        "metrics": {
            name: document(values.metrics[name]) for name in names if name in values.metrics
        },
        "per_trial": {
            name: document(list(values.per_trial[name].items()))
            for name in names
            if name in values.per_trial
        },
    }


def _lines(item: Mapping[str, Any], lists: Sequence[str]) -> str:
    """Return an item as JSON. `lists`: the keys of nested lists whose items have lines of their
    own."""
    if not lists:
        return _json(item)
    key, *inner = lists
    head = _json({name: value for name, value in item.items() if name != key})
    items = ",\n".join(_lines(inner_item, inner) for inner_item in item[key])
    return f'{head[:-1]}, "{key}": [\n{items}\n]}}'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
