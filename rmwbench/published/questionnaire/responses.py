"""Questions, evidence and campaigns -> the questionnaire's document, from
which all its forms are made. Pure.

An answer that was measured is a metric of an arm in a cell, as the campaign's own report has it:
value, interval, number of messages. Nothing is averaged over arms or cells, and nothing is
compared: verdicts are the reports' business.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rmwbench.published.campaign import CampaignArm, CampaignWorkload, MeasuredCampaign
from rmwbench.published.questionnaire.questions_file import (
    Measurement,
    Middleware,
    Question,
    QuestionEvidence,
    Questionnaire,
    name_in_bundles,
)
from rmwbench.results.model import Estimate
from rmwbench.results.model import document as plain
from rmwbench.words import numbers as fmt

SCHEMA, VERSION = "rmwbench/questionnaire", 1
MEASURED, IN_PART, ANSWERED, UNKNOWN, NOT_APPLICABLE, NO_DATA, OPEN = (
    "measured",
    "measured in part",
    "answered by evidence",
    "unknown",
    "not applicable",
    "no data",
    "not measured yet",
)
STATES = (MEASURED, IN_PART, ANSWERED, UNKNOWN, NOT_APPLICABLE, NO_DATA, OPEN)
"""`measured in part`: in fewer cells than the question takes. `no data`: its suites were run, and
for the reasons in its rows no value came of it."""
LOAD = "load average"


def document(
    questionnaire: Questionnaire,
    evidence: Sequence[QuestionEvidence],
    campaigns: Sequence[MeasuredCampaign],
) -> dict[str, Any]:
    """`campaigns`: those that answer; a row has the `number` of its campaign among them, from 1."""
    questions = [
        _question(question, questionnaire.middlewares, evidence, campaigns)
        for question in questionnaire.questions
    ]
    states = [answer["state"] for question in questions for answer in question["answers"]]
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "source": questionnaire.questionnaire,
        "title": questionnaire.title,
        "middlewares": [middleware.name for middleware in questionnaire.middlewares],
        "campaigns": [_campaign(campaign) for campaign in campaigns],
        "summary": {"questions": len(questions)} | {state: states.count(state) for state in STATES},
        "questions": questions,
    }


def _campaign(campaign: MeasuredCampaign) -> dict[str, Any]:
    return {
        "name": campaign.name,
        "suite": campaign.suite,
        "title": campaign.title,
        "directory": campaign.directory,
        "created_utc": campaign.created_utc,
        "machine": campaign.machine,
        "load_average": campaign.fact(LOAD),
    }


def reduced(questionnaire: Questionnaire, campaign: MeasuredCampaign) -> dict[str, Any]:
    """What of a campaign answers questions and nothing else: small enough to be kept beside
    them."""
    meant = [
        (measurement, middleware)
        for question in questionnaire.questions
        for measurement in question.measured
        if campaign.suite == name_in_bundles(measurement.suite)
        for middleware in questionnaire.middlewares
    ]
    metrics = {metric for measurement, _ in meant for metric in measurement.metrics}
    workloads = []
    for workload in campaign.workloads:
        arms = [
            _kept(arm, metrics)
            for arm in workload.arms
            if any(_fits(*pair, workload, arm) for pair in meant)
        ]
        if arms:
            workloads.append({"workload": workload.workload, "arms": arms})
    return {
        "campaign": {
            "name": campaign.name,
            "suite": campaign.suite,
            "title": campaign.title,
            "created_utc": campaign.created_utc,
        },
        "machine": {
            "summary": campaign.machine,
            "facts": plain([fact for fact in campaign.facts if fact.name == LOAD]),
        },
        "workloads": workloads,
        "glossary": {
            name: {"title": title} for name, title in campaign.titles.items() if name in metrics
        },
    }


def _kept(arm: CampaignArm, metrics: Collection[str]) -> dict[str, Any]:
    return {
        "arm": arm.arm,
        "middleware": arm.middleware,
        "layer": arm.layer,
        "version": arm.version,
        "profile": arm.profile,
        "as_installed": arm.as_installed,
        "factors": dict(arm.factors),
        "pair": arm.pair,
        "not_supported": arm.not_supported,
        "metrics": {
            name: plain(estimate) for name, estimate in arm.metrics.items() if name in metrics
        },
    }


def renewed(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Reduced documents: the new ones that answer anything, and of the old ones the arms of which
    nothing new was measured in the same workload of the same suite."""
    new = [doc for doc in new if doc["workloads"]]
    again = {
        key
        for doc in new
        for workload in doc["workloads"]
        for arm, key in zip(workload["arms"], _arms_of(doc, workload), strict=True)
        if any(metric.get("no_data") is None for metric in arm["metrics"].values())
    }
    documents = list(new)
    for doc in old:
        workloads = []
        for workload in doc["workloads"]:
            keys = _arms_of(doc, workload)
            arms = [
                arm for arm, key in zip(workload["arms"], keys, strict=True) if key not in again
            ]
            workloads += [{**workload, "arms": arms}] if arms else []
        documents += [{**doc, "workloads": workloads}] if workloads else []
    return documents


def _arms_of(one: Mapping[str, Any], workload: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (one["campaign"]["suite"], workload["workload"], arm["arm"]) for arm in workload["arms"]
    ]


def _question(
    question: Question,
    middlewares: Sequence[Middleware],
    evidence: Sequence[QuestionEvidence],
    campaigns: Sequence[MeasuredCampaign],
) -> dict[str, Any]:
    answers = []
    for middleware in middlewares:
        measured = _each_once(
            row
            for measurement in question.measured
            for number, campaign in enumerate(campaigns, 1)
            if campaign.suite == name_in_bundles(measurement.suite)
            for row in _measured(measurement, middleware, campaign, number)
        )
        own = [e for e in evidence if (e.question, e.middleware) == (question.id, middleware.name)]
        answers.append(
            {
                "middleware": middleware.name,
                "state": _state(question, measured, own),
                "without": _without(question, middleware, measured),
                "measured": measured,
                "evidence": [_evidence(item) for item in own],
            }
        )
    return {
        "id": question.id,
        "section": question.section,
        "heading": question.heading,
        "url": question.url,
        "asks": question.asks,
        "suites": list(dict.fromkeys(measurement.suite for measurement in question.measured)),
        "metrics": list(
            dict.fromkeys(name for measurement in question.measured for name in measurement.metrics)
        ),
        "not_measured": question.not_measured,
        "remark": question.remark,
        "answers": answers,
    }


def _state(
    question: Question, measured: Sequence[Mapping[str, Any]], evidence: Sequence[QuestionEvidence]
) -> str:
    kinds = {item.kind for item in evidence}
    cells = {(row["suite"], row["workload"]) for row in measured if _has_value(row)}
    if cells:
        return MEASURED if len(cells) >= question.least_cells else IN_PART
    if kinds & {"self-declared", "probed", "third party"}:
        return ANSWERED
    if "not applicable" in kinds:
        return NOT_APPLICABLE
    if measured:
        return NO_DATA
    return OPEN if question.measured else UNKNOWN


def _has_value(row: Mapping[str, Any]) -> bool:
    return row["value"] is not None or row["bound"] is not None


def _without(
    question: Question, middleware: Middleware, measured: Sequence[Mapping[str, Any]]
) -> list[str]:
    """The suites of a question that have no value of a middleware."""
    having = {row["suite"] for row in measured if _has_value(row)}
    suites = dict.fromkeys(measurement.suite for measurement in question.measured)
    return [suite for suite in suites if name_in_bundles(suite) not in having]


def _each_once(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """A cell that several measurements of a question name is one answer."""
    keys = ("number", "workload", "arm", "metric")
    return list({tuple(row[key] for key in keys): row for row in rows}.values())


def _evidence(item: QuestionEvidence) -> dict[str, Any]:
    return {name: getattr(item, name) for name in ("kind", "answer", "url", "date", "command")}


def _measured(
    measurement: Measurement, middleware: Middleware, campaign: MeasuredCampaign, number: int
) -> list[dict[str, Any]]:
    """A row per metric of each arm of the middleware in each cell that is meant."""
    return [
        {"number": number} | _row(campaign, workload, arm, metric)
        for workload in campaign.workloads
        for arm in workload.arms
        if _fits(measurement, middleware, workload, arm)
        for metric in measurement.metrics
    ]


def _fits(
    measurement: Measurement, middleware: Middleware, workload: CampaignWorkload, arm: CampaignArm
) -> bool:
    return (
        measurement.workload in (None, workload.name)
        and (arm.as_installed or not measurement.as_installed)
        and arm.middleware in middleware.arms
        and arm.pair is None
        and all(arm.factors.get(factor) == level for factor, level in measurement.at.items())
    )


def _row(
    campaign: MeasuredCampaign, workload: CampaignWorkload, arm: CampaignArm, metric: str
) -> dict[str, Any]:
    estimate = None if arm.not_supported else arm.metrics.get(metric)
    why = f"not supported: {arm.not_supported}"
    shown = fmt.metric(Estimate(unit="", no_data=why) if arm.not_supported else estimate)
    return {
        "campaign": campaign.name,
        "suite": campaign.suite,
        "workload": workload.workload,
        "arm": arm.arm,
        "version": arm.version,
        "layer": arm.layer,
        "profile": arm.profile,
        "metric": metric,
        "title": campaign.titles.get(metric, metric),
        "unit": estimate and estimate.unit,
        "value": estimate and plain(estimate.value),
        "low": estimate and plain(estimate.low),
        "high": estimate and plain(estimate.high),
        "bound": estimate and plain(estimate.at_least),
        "text": shown.full,
        "basis": shown.basis,
    }
