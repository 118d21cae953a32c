"""The questionnaire of a published evaluation, as data: what was asked of
each middleware, which measurements answer it, and what no measurement can answer, with its
evidence.

Two files beside the suites of the source: `questionnaire.yaml` has the questions, `evidence.yaml`
the answers that documents have or a command probed. `responses.py` puts them together.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, model_validator

from rmwbench.errors import UserError
from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.summaries import campaign_of, read_kept
from rmwbench.suite.fault import Fault, Strict, unknown
from rmwbench.suite.file.places import (
    EVIDENCE_FILE,
    QUESTIONNAIRE_FILE,
    read,
    shown,
    source_directory,
    source_file,
    suite_file,
)
from rmwbench.suite.file.tree import validated
from rmwbench.suite.predicate import Scalar, Text

M = TypeVar("M", bound=Strict)
Kind = Literal["self-declared", "probed", "third party", "unknown", "not applicable"]
"""Who says so: the project itself, a command of ours, somebody else; or nobody that was found."""

ANSWERS_FILE = "answers.json"
ANSWERS_SCHEMA, ANSWERS_VERSION = "rmwbench/questionnaire-answers", 2
"""Version 1 had what an earlier method measured (published/summaries.py, METHOD)."""


def _a_date(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise Fault("this is not a date", expected="YYYY-MM-DD", actual=text) from None
    return text


class Measurement(Strict):
    """Cells of a suite whose metrics answer a question: `workload` at the levels `at`, of every arm
    that runs the middleware, or of those `as_installed` alone. `suite` is a shipped name."""

    suite: Text
    metrics: Annotated[tuple[Text, ...], Field(strict=False, min_length=1)]
    workload: str | None = None
    as_installed: bool = False
    at: dict[str, Scalar] = Field(default_factory=dict)


class Question(Strict):
    """One question of the source: its heading there (a long one is cut with …), and what is asked
    in our words. `url`: where the committee asks it, for one that the source's text leaves out.
    `least_cells`: in how many cells it takes values to answer it, two where it is about what each
    further one costs."""

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
    """What one must know to read the measurements."""

    @property
    def suites(self) -> list[str]:
        return list(dict.fromkeys(measurement.suite for measurement in self.measured))

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(name for one in self.measured for name in one.metrics))


class Middleware(Strict):
    """A column: its name, and the middlewares of arms (at any layer) that it stands for."""

    name: Text
    arms: Annotated[tuple[Text, ...], Field(strict=False, min_length=1)]


class Questionnaire(Strict):
    questionnaire: Text
    title: Text
    text: Text
    """File name of the source's text, as kept beside the checkout."""
    middlewares: Annotated[tuple[Middleware, ...], Field(strict=False, min_length=1)]
    questions: Annotated[tuple[Question, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _ids_once(self) -> "Questionnaire":
        seen: set[str] = set()
        for n, question in enumerate(self.questions):
            if question.id in seen:
                raise Fault(
                    f"two questions have the id `{question.id}`",
                    expected="an id each",
                    at=("questions", n, "id"),
                )
            seen.add(question.id)
        return self


class QuestionEvidence(Strict):
    """An answer to a question for one middleware that was not measured. `url` is where it was read
    on `date`; one that was probed has the `command` of ours that shows it, and one that is unknown
    has its reason as `answer`."""

    question: Text
    middleware: Text
    kind: Kind
    answer: Text
    url: Annotated[str, Field(pattern=r"^https://\S+$")] | None = None
    date: Annotated[str, AfterValidator(_a_date)]
    command: str | None = None

    @model_validator(mode="after")
    def _has_its_source(self) -> "QuestionEvidence":
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
    """The shipped questionnaire of a source and its evidence. UserError, with file and line, for
    anything wrong, an answer to a question or of a middleware that the questionnaire does not have
    included."""
    directory = source_file(source, QUESTIONNAIRE_FILE, "questions").parent
    questionnaire = _read(directory / QUESTIONNAIRE_FILE, Questionnaire)
    answers = _read(directory / EVIDENCE_FILE, Answers)
    check(questionnaire, answers.items, str(directory / EVIDENCE_FILE))
    return questionnaire, answers.items


def check(questionnaire: Questionnaire, items: tuple[QuestionEvidence, ...], where: str) -> None:
    """Raises UserError for an answer that belongs to nothing."""
    questions = [question.id for question in questionnaire.questions]
    columns = [middleware.name for middleware in questionnaire.middlewares]
    for item in items:
        for kind, name, names in (
            ("question", item.question, questions),
            ("middleware", item.middleware, columns),
        ):
            if name not in names:
                fault = unknown(kind, name, names)
                raise UserError(
                    fault.what, where=where, expected=fault.expected, actual=name, fix=fault.fix
                )


def measured_here(source: str) -> list[MeasuredCampaign]:
    """What the shipped campaigns answered (`rmwbench published questionnaire --save`)."""
    return list(map(campaign_of, kept_answers(source_directory(source) / ANSWERS_FILE)))


def kept_answers(path: Path) -> list[dict[str, Any]]:
    """What is kept of campaigns in such a file (`reduced`); empty where there is none. UserError
    for a file of another kind."""
    if not path.exists():
        return []
    words = ("this is not a file of answers of campaigns", "these answers are of another kind")
    fix = "run their suites again, and keep what they answer in a new file"
    campaigns: list[dict[str, Any]] = read_kept(
        path, (ANSWERS_SCHEMA, ANSWERS_VERSION), words, fix
    )["campaigns"]
    return campaigns


def answers_text(documents: Sequence[Mapping[str, Any]]) -> str:
    """The file that `kept_answers` reads."""
    content = {"schema": ANSWERS_SCHEMA, "version": ANSWERS_VERSION, "campaigns": list(documents)}
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def name_in_bundles(suite: str) -> str:
    """What campaigns of a shipped suite say they are of: the name inside of its file."""
    return _name_inside(suite_file(suite)) or suite


@cache
def _name_inside(file: Path) -> str | None:
    match = re.search(r"^suite:\s*(\S+)\s*$", read(file), re.MULTILINE)
    return match[1] if match else None


def _read(path: Path, model: type[M]) -> M:
    return validated(read(path), where=shown(path), model=model)
