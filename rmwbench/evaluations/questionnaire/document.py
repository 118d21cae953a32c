"""Questions, evidence and campaigns -> the questionnaire's document (docs/questionnaire.md), from
which all its forms are made. Pure.

An answer that was measured is a metric of an arm in a cell, as the campaign's own report has it:
value, interval, number of messages. Nothing is averaged over arms or cells, and nothing is
compared: verdicts are the reports' business.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rmwbench.evaluations.questionnaire.model import (
    Evidence,
    Measurement,
    Middleware,
    Question,
    Questionnaire,
    name_in_bundles,
)
from rmwbench.words import numbers as fmt

SCHEMA, VERSION = "rmwbench/questionnaire", 1
MEASURED, ANSWERED, UNKNOWN, NOT_APPLICABLE, OPEN = (
    "measured",
    "answered by evidence",
    "unknown",
    "not applicable",
    "not measured yet",
)
STATES = (MEASURED, ANSWERED, UNKNOWN, NOT_APPLICABLE, OPEN)
LOAD = "load average"
CORRECTED = "2026-11-23"
"""Since this day slow messages are not lost at a short drain, costs are divided by what arrived in
the window, and blocks are repeated as a whole (evaluations/claims/measured_files.py, METHOD).
Campaigns from before say so."""
_OF_CAMPAIGN = ("name", "suite", "title", "directory", "created_utc")
_OF_ARM = ("arm", "middleware", "layer", "version", "profile", "factors", "pair", "not_supported")


def document(
    asked: Questionnaire, evidence: Sequence[Evidence], shown: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """`shown`: the show documents of the campaigns that answer, the newest last."""
    questions = [
        _question(question, asked.middlewares, evidence, shown) for question in asked.questions
    ]
    states = [answer["state"] for question in questions for answer in question["answers"]]
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "source": asked.questionnaire,
        "title": asked.title,
        "middlewares": [middleware.name for middleware in asked.middlewares],
        "campaigns": [_campaign(one) for one in shown],
        "summary": {"questions": len(questions)} | {state: states.count(state) for state in STATES},
        "questions": questions,
    }


def _campaign(shown: Mapping[str, Any]) -> dict[str, Any]:
    campaign = shown["campaign"]
    found = {name: campaign.get(name) for name in _OF_CAMPAIGN} | {
        "machine": shown["machine"]["summary"]
    }
    load = next((fact["value"] for fact in shown["machine"]["facts"] if fact["name"] == LOAD), None)
    return found | {
        "load_average": load,
        "before_correction": str(found["created_utc"] or CORRECTED) < CORRECTED,
    }


def reduced(asked: Questionnaire, shown: Mapping[str, Any]) -> dict[str, Any]:
    """A show document with what answers questions and nothing else: small enough to be kept beside
    them."""
    meant = [
        (measurement, middleware)
        for question in asked.questions
        for measurement in question.measured
        if shown["campaign"]["suite"] == name_in_bundles(measurement.suite)
        for middleware in asked.middlewares
    ]
    metrics = {metric for measurement, _ in meant for metric in measurement.metrics}
    workloads = []
    for workload in shown["workloads"]:
        arms = [arm for arm in workload["arms"] if any(_fits(*one, workload, arm) for one in meant)]
        kept = [
            {name: arm.get(name) for name in _OF_ARM}
            | {
                "metrics": {
                    name: value for name, value in arm["metrics"].items() if name in metrics
                }
            }
            for arm in arms
        ]
        if kept:
            workloads.append({"workload": workload["workload"], "arms": kept})
    facts = [fact for fact in shown["machine"]["facts"] if fact["name"] == LOAD]
    return {
        "campaign": {
            name: shown["campaign"].get(name) for name in _OF_CAMPAIGN if name != "directory"
        },
        "machine": {"summary": shown["machine"]["summary"], "facts": facts},
        "workloads": workloads,
        "glossary": {
            name: {"title": shown["glossary"][name]["title"]}
            for name in metrics & shown["glossary"].keys()
        },
    }


def renewed(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Reduced documents: the new ones that answer anything, and of the old ones the arms that were
    not measured again in the same workload of the same suite."""
    new = [one for one in new if one["workloads"]]
    again = {key for one in new for workload in one["workloads"] for key in _arms_of(one, workload)}
    found = list(new)
    for one in old:
        workloads = []
        for workload in one["workloads"]:
            keys = _arms_of(one, workload)
            arms = [
                arm for arm, key in zip(workload["arms"], keys, strict=True) if key not in again
            ]
            workloads += [{**workload, "arms": arms}] if arms else []
        found += [{**one, "workloads": workloads}] if workloads else []
    return found


def _arms_of(one: Mapping[str, Any], workload: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (one["campaign"]["suite"], workload["workload"], arm["arm"]) for arm in workload["arms"]
    ]


def _question(
    question: Question,
    middlewares: Sequence[Middleware],
    evidence: Sequence[Evidence],
    shown: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    answers = []
    for middleware in middlewares:
        measured = [
            row
            for measurement in question.measured
            for one in shown
            if one["campaign"]["suite"] == name_in_bundles(measurement.suite)
            for row in _measured(measurement, middleware, one)
        ]
        found = [
            e for e in evidence if (e.question, e.middleware) == (question.id, middleware.name)
        ]
        answers.append(
            {
                "middleware": middleware.name,
                "state": _state(bool(question.measured), measured, found),
                "measured": measured,
                "evidence": [_evidence(item) for item in found],
            }
        )
    return {
        "id": question.id,
        "section": question.section,
        "heading": question.heading,
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
    measurable: bool, measured: Sequence[Mapping[str, Any]], evidence: Sequence[Evidence]
) -> str:
    kinds = {item.kind for item in evidence}
    if any(row["value"] is not None or row["bound"] is not None for row in measured):
        return MEASURED
    if kinds & {"self-declared", "probed", "third party"}:
        return ANSWERED
    if "not applicable" in kinds:
        return NOT_APPLICABLE
    return OPEN if measurable else UNKNOWN


def _evidence(item: Evidence) -> dict[str, Any]:
    return {name: getattr(item, name) for name in ("kind", "answer", "url", "date", "command")}


def _measured(
    measurement: Measurement, middleware: Middleware, shown: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """A row per metric of each arm of the middleware in each cell that is meant."""
    return [
        _row(shown, workload, arm, metric)
        for workload in shown["workloads"]
        for arm in workload["arms"]
        if _fits(measurement, middleware, workload, arm)
        for metric in measurement.metrics
    ]


def _fits(
    measurement: Measurement,
    middleware: Middleware,
    workload: Mapping[str, Any],
    arm: Mapping[str, Any],
) -> bool:
    levels = arm.get("factors") or {}
    return (
        measurement.workload in (None, workload["workload"].partition(" [")[0])
        and measurement.profile in (None, arm["profile"])
        and arm["middleware"] in middleware.arms
        and arm.get("pair") is None
        and all(levels.get(factor) == level for factor, level in measurement.at.items())
    )


def _row(
    shown: Mapping[str, Any], workload: Mapping[str, Any], arm: Mapping[str, Any], metric: str
) -> dict[str, Any]:
    value = arm["metrics"].get(metric)
    if arm.get("not_supported"):
        value = {"no_data": f"not supported: {arm['not_supported']}"}
    told = fmt.metric(value)
    value = value or {}
    return {
        "campaign": shown["campaign"]["name"],
        "suite": shown["campaign"]["suite"],
        "workload": workload["workload"],
        "arm": arm["arm"],
        "version": arm["version"],
        "layer": arm["layer"],
        "profile": arm["profile"],
        "metric": metric,
        "title": shown["glossary"].get(metric, {}).get("title", metric),
        "unit": value.get("unit"),
        "value": value.get("value"),
        "low": value.get("low"),
        "high": value.get("high"),
        "bound": value.get("at_least"),
        "text": told.full,
        "basis": told.basis,
    }
