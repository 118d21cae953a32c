"""The questionnaire of a published evaluation, as data: what was asked about each middleware, which
measurements answer it, and what no measurement can answer, with its evidence.

Two files lie beside the suites of the source: `questionnaire.yaml` with the questions, and
`evidence.yaml` with the answers that documents give or that a command found by a probe.
`responses.py` puts them together.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.sources import require_distinct_ids
from rmwbench.published.summaries import campaign_of, read_campaigns
from rmwbench.suite.fault import Fault, Strict, unknown
from rmwbench.suite.file.suite_files import (
    EVIDENCE_FILE,
    QUESTIONNAIRE_FILE,
    path_text,
    read,
    source_directory,
    source_file,
)
from rmwbench.suite.file.tree import validated
from rmwbench.suite.predicate import Scalar, Text

Kind = Literal["self-declared", "probed", "third party", "unknown", "not applicable"]
"""Who gave the answer: the project itself, a command of ours, somebody else, or nobody who was
found."""

ANSWERS_FILE = "answers.json"
ANSWERS_SCHEMA, ANSWERS_VERSION = "rmwbench/questionnaire-answers", 2
"""Version 1 held what an earlier method measured (published/summaries.py, METHOD)."""


def _require_date(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise Fault("this is not a date", expected="YYYY-MM-DD", actual=text) from None
    return text


class Measurement(Strict):
    """Cells of a suite whose metrics answer a question: `workload` at the levels `at`, of every arm
    that runs the middleware, or of the `as_installed` arms alone. `suite` is a shipped name."""

    suite: Text
    metrics: Annotated[tuple[Text, ...], Field(strict=False, min_length=1)]
    workload: str | None = None
    as_installed: bool = False
    at: dict[str, Scalar] = Field(default_factory=dict)


class Question(Strict):
    """One question of the source: its heading there (a long one is cut with …), and what is asked,
    in our words. `url`: where the committee asks it, if the source's text leaves it out.
    `least_cells`: the number of cells with values that it takes to answer the question; two if it
    is about what each further one costs."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    section: Text
    heading: Text
    asks: Text
    url: Annotated[str, Field(pattern=r"^https://\S+$")] | None = None
    measured: Annotated[tuple[Measurement, ...], Field(strict=False)] = ()
    least_cells: int = Field(default=1, ge=1)
    not_measured: str | None = None
    """The part of the question that no measurement here can answer."""
    remark: str | None = None
    """What a reader must know to understand the measurements."""

    @property
    def suites(self) -> list[str]:
        return list(dict.fromkeys(measurement.suite for measurement in self.measured))

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(name for x in self.measured for name in x.metrics))


class Middleware(Strict):
    """A column: its name, and the middlewares of arms (at any layer) that it stands for."""

    name: Text
    arms: Annotated[tuple[Text, ...], Field(strict=False, min_length=1)]


class Questionnaire(Strict):
    questionnaire: Text
    title: Text
    text: Text
    """The name of the file with the source's text, which is kept beside the checkout."""
    middlewares: Annotated[tuple[Middleware, ...], Field(strict=False, min_length=1)]
    questions: Annotated[tuple[Question, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _require_distinct_ids(self) -> "Questionnaire":
        ids = enumerate(question.id for question in self.questions)
        require_distinct_ids("questions", ids, key="questions")
        return self


class QuestionEvidence(Strict):
    """An answer to a question for one middleware that was not measured. It was read at `url` on
    `date`; a probed one has the `command` of ours that shows it, and an unknown one has the reason
    as its `answer`."""

    question: Text
    middleware: Text
    kind: Kind
    answer: Text
    url: Annotated[str, Field(pattern=r"^https://\S+$")] | None = None
    date: Annotated[str, AfterValidator(_require_date)]
    command: str | None = None

    @model_validator(mode="after")
    def _require_source(self) -> "QuestionEvidence":
        if self.kind in ("self-declared", "third party") and self.url is None:
            raise Fault(
                f"an answer that is {self.kind} has no source",
                expected="`url: https://…`",
                at=("kind",),
            )
        if (self.kind == "probed") != (self.command is not None):
            raise Fault(
                "what is probed has the command that shows it, and nothing else has one",
                expected="`kind: probed` with `command: rmwbench …`",
                actual=f"kind {self.kind}, command {self.command}",
                at=("kind",),
            )
        return self


class Answers(Strict):
    """The file `evidence.yaml`."""

    evidence: Text
    items: Annotated[tuple[QuestionEvidence, ...], Field(strict=False)]


def load(source: str) -> tuple[Questionnaire, tuple[QuestionEvidence, ...]]:
    """Return the shipped questionnaire of a source and its evidence. Raise UserError, with file and
    line, for anything wrong, such as an answer to a question or about a middleware that is not in
    the questionnaire."""
    directory = source_file(source, QUESTIONNAIRE_FILE, "questions").parent
    questions_path, evidence_path = directory / QUESTIONNAIRE_FILE, directory / EVIDENCE_FILE
    questionnaire = validated(
        read(questions_path), where=path_text(questions_path), model=Questionnaire
    )
    answers = validated(read(evidence_path), where=path_text(evidence_path), model=Answers)
    check(questionnaire, answers.items, str(evidence_path))
    return questionnaire, answers.items


def check(questionnaire: Questionnaire, items: tuple[QuestionEvidence, ...], where: str) -> None:
    """Raise UserError for an answer to an unknown question or about an unknown middleware."""
    questions = [question.id for question in questionnaire.questions]
    columns = [middleware.name for middleware in questionnaire.middlewares]
    for item in items:
        for kind, name, names in (
            ("question", item.question, questions),
            ("middleware", item.middleware, columns),
        ):
            if name not in names:
                raise unknown(kind, name, names).user_error(where)


def measured_here(source: str) -> list[MeasuredCampaign]:
    """Return what the shipped campaigns answered (`rmwbench published questionnaire --save`)."""
    return list(map(campaign_of, saved_answers(source_directory(source) / ANSWERS_FILE)))


def saved_answers(path: Path) -> list[dict[str, Any]]:
    """Return what such a file keeps of campaigns (`reduced_document`); an empty list if there is no file.
    Raise UserError for a file of another kind."""
    if not path.exists():
        return []
    whats = ("this is not a file of answers of campaigns", "these answers are of another kind")
    fix = "run their suites again, and keep what they answer in a new file"
    document = read_campaigns(path, (ANSWERS_SCHEMA, ANSWERS_VERSION), whats, fix)
    return list(document["campaigns"])


def answers_text(documents: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of the file that `saved_answers` reads."""
    content = {"schema": ANSWERS_SCHEMA, "version": ANSWERS_VERSION, "campaigns": list(documents)}
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
