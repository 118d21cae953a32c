"""Makes the answers from questions, evidence and campaigns; all forms of the questionnaire are made
from these answers. Pure.

A measured answer is a metric of an arm in a cell, as the campaign's own report has it: value,
interval, number of messages. Nothing is averaged over arms or cells, and nothing is compared:
verdicts are the reports' business.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rmwbench.published.campaign import CampaignArm, CampaignWorkload, MeasuredCampaign
from rmwbench.published.questionnaire.questions_file import (
    Measurement,
    Middleware,
    Question,
    QuestionEvidence,
    Questionnaire,
)
from rmwbench.results.model import Estimate
from rmwbench.results.model import document as plain
from rmwbench.suite.file.suite_files import name_in_bundles
from rmwbench.words import numbers as fmt

SCHEMA, VERSION = "rmwbench/questionnaire", 1
STATES = MEASURED, IN_PART, ANSWERED, UNKNOWN, NOT_APPLICABLE, NO_DATA, OPEN = (
    "measured",
    "measured in part",
    "answered by evidence",
    "unknown",
    "not applicable",
    "no data",
    "not measured yet",
)
"""`measured in part`: in fewer cells than the question takes. `no data`: its suites were run, but
gave no value, for the reasons in its rows."""
LOAD = "load average"


@dataclass(frozen=True, kw_only=True)
class MeasuredValue:
    """A metric of an arm in a cell. `number`: the number of its campaign among those that answer,
    from 1."""

    number: int
    campaign: MeasuredCampaign
    workload: str
    arm: CampaignArm
    metric: str

    @property
    def estimate(self) -> Estimate | None:
        return None if self.arm.not_supported else self.arm.metrics.get(self.metric)

    @property
    def number_text(self) -> fmt.NumberText:
        reason = self.arm.not_supported
        not_supported = Estimate(unit="", no_data=f"not supported: {reason}")
        return fmt.metric(not_supported if reason else self.estimate)

    @property
    def title(self) -> str:
        return self.campaign.titles.get(self.metric, self.metric)

    @property
    def has_value(self) -> bool:
        return self.estimate is not None and self.estimate.value is not None

    @property
    def has_value_or_bound(self) -> bool:
        bound = None if self.estimate is None else self.estimate.at_least
        return self.has_value or bound is not None

    def document(self) -> dict[str, Any]:
        estimate = self.estimate
        return {
            "number": self.number,
            "campaign": self.campaign.name,
            "suite": self.campaign.suite,
            "workload": self.workload,
            "arm": self.arm.arm,
            "version": self.arm.version,
            "layer": self.arm.layer,
            "profile": self.arm.profile,
            "metric": self.metric,
            "title": self.title,
            "unit": estimate and estimate.unit,
            "value": estimate and plain(estimate.value),
            "low": estimate and plain(estimate.low),
            "high": estimate and plain(estimate.high),
            "bound": estimate and plain(estimate.at_least),
            "text": self.number_text.full,
            "basis": self.number_text.basis,
        }


@dataclass(frozen=True, kw_only=True)
class MiddlewareAnswer:
    question: Question
    middleware: str
    measured: Sequence[MeasuredValue]
    evidence: Sequence[QuestionEvidence]

    @cached_property
    def state(self) -> str:
        kinds = {item.kind for item in self.evidence}
        values = [value for value in self.measured if value.has_value_or_bound]
        cells = {(value.campaign.suite, value.workload) for value in values}
        if cells:
            return MEASURED if len(cells) >= self.question.least_cells else IN_PART
        if kinds & {"self-declared", "probed", "third party"}:
            return ANSWERED
        if "not applicable" in kinds:
            return NOT_APPLICABLE
        if self.measured:
            return NO_DATA
        return OPEN if self.question.measured else UNKNOWN

    @property
    def without(self) -> list[str]:
        """The suites of the question that have no value of the middleware."""
        answering = {value.campaign.suite for value in self.measured if value.has_value_or_bound}
        return [suite for suite in self.question.suites if name_in_bundles(suite) not in answering]

    def document(self) -> dict[str, Any]:
        keys = ("kind", "answer", "url", "date", "command")
        return {
            "middleware": self.middleware,
            "state": self.state,
            "without": self.without,
            "measured": [value.document() for value in self.measured],
            "evidence": [{key: getattr(item, key) for key in keys} for item in self.evidence],
        }


@dataclass(frozen=True, kw_only=True)
class QuestionnaireAnswers:
    """`campaigns`: those that answer. `answers`: the answers to each question, in the order of the
    middlewares."""

    questionnaire: Questionnaire
    campaigns: Sequence[MeasuredCampaign]
    answers: Sequence[Sequence[MiddlewareAnswer]]

    @property
    def middlewares(self) -> list[str]:
        return [middleware.name for middleware in self.questionnaire.middlewares]

    @property
    def by_question(self) -> Iterable[tuple[Question, Sequence[MiddlewareAnswer]]]:
        return zip(self.questionnaire.questions, self.answers, strict=True)

    @property
    def counts(self) -> dict[str, int]:
        """How many answers are in each state; a state that no answer has is listed too."""
        states = [answer.state for answers in self.answers for answer in answers]
        return {state: states.count(state) for state in STATES}

    def document(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "source": self.questionnaire.questionnaire,
            "title": self.questionnaire.title,
            "middlewares": self.middlewares,
            "campaigns": [_campaign(campaign) for campaign in self.campaigns],
            "summary": {"questions": len(self.answers)} | self.counts,
            "questions": [
                {
                    "id": question.id,
                    "section": question.section,
                    "heading": question.heading,
                    "url": question.url,
                    "asks": question.asks,
                    "suites": question.suites,
                    "metrics": question.metrics,
                    "not_measured": question.not_measured,
                    "remark": question.remark,
                    "answers": [answer.document() for answer in answers],
                }
                for question, answers in self.by_question
            ],
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


def answer_questions(
    questionnaire: Questionnaire,
    evidence: Sequence[QuestionEvidence],
    campaigns: Sequence[MeasuredCampaign],
) -> QuestionnaireAnswers:
    answers = [
        [
            MiddlewareAnswer(
                question=question,
                middleware=middleware.name,
                measured=_values(question, middleware, campaigns),
                evidence=[
                    item
                    for item in evidence
                    if (item.question, item.middleware) == (question.id, middleware.name)
                ],
            )
            for middleware in questionnaire.middlewares
        ]
        for question in questionnaire.questions
    ]
    return QuestionnaireAnswers(questionnaire=questionnaire, campaigns=campaigns, answers=answers)


def _values(
    question: Question, middleware: Middleware, campaigns: Sequence[MeasuredCampaign]
) -> list[MeasuredValue]:
    """Return each metric of each arm of the middleware in each matching cell, once even if several
    measurements of a question name the cell."""
    values = (
        MeasuredValue(
            number=number, campaign=campaign, workload=workload.workload, arm=arm, metric=metric
        )
        for measurement in question.measured
        for number, campaign in enumerate(campaigns, 1)
        if campaign.suite == name_in_bundles(measurement.suite)
        for workload in campaign.workloads
        for arm in workload.arms
        if _fits(measurement, middleware, workload, arm)
        for metric in measurement.metrics
    )
    return list({(v.number, v.workload, v.arm.arm, v.metric): v for v in values}.values())


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


def reduced_document(questionnaire: Questionnaire, campaign: MeasuredCampaign) -> dict[str, Any]:
    """Return what of a campaign answers questions, and nothing else: it is small enough to be kept
    beside them."""
    pairs = [
        (measurement, middleware)
        for question in questionnaire.questions
        for measurement in question.measured
        if campaign.suite == name_in_bundles(measurement.suite)
        for middleware in questionnaire.middlewares
    ]
    metrics = {metric for measurement, _ in pairs for metric in measurement.metrics}
    workloads = []
    for workload in campaign.workloads:
        arms = [
            _reduced_arm(arm, metrics)
            for arm in workload.arms
            if any(_fits(*pair, workload, arm) for pair in pairs)
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


def _reduced_arm(arm: CampaignArm, metrics: Collection[str]) -> dict[str, Any]:
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


def merged_documents(
    old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the reduced documents to keep: the new ones that answer anything, and from the old
    ones the arms for which nothing new was measured in the same workload of the same suite."""
    documents = [doc for doc in new if doc["workloads"]]
    measured_anew = {
        _key(doc, workload, arm)
        for doc in documents
        for workload in doc["workloads"]
        for arm in workload["arms"]
        if any(metric.get("no_data") is None for metric in arm["metrics"].values())
    }
    for doc in old:
        workloads = []
        for workload in doc["workloads"]:
            arms = [x for x in workload["arms"] if _key(doc, workload, x) not in measured_anew]
            workloads += [{**workload, "arms": arms}] if arms else []
        documents += [{**doc, "workloads": workloads}] if workloads else []
    return documents


def _key(
    doc: Mapping[str, Any], workload: Mapping[str, Any], arm: Mapping[str, Any]
) -> tuple[str, str, str]:
    return doc["campaign"]["suite"], workload["workload"], arm["arm"]
