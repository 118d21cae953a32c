"""`rmwbench published questionnaire`: answers the questions that ROS 2's technical steering
committee asked in 2021."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmwbench.cli.console import Html, Out, page, print_json
from rmwbench.cli.options import json_option
from rmwbench.cli.published.forms import (
    campaigns_in,
    deliver,
    refuse_beside_save,
    require_one_form,
)
from rmwbench.errors import UserError, not_one_of

if TYPE_CHECKING:
    from rmwbench.published.questionnaire.questions_file import Questionnaire

SOURCE = "fastdds-2021"
WHO = "answers"


def register(app: typer.Typer) -> None:
    app.command(
        name="questionnaire",
        help="Answer the questions of the ROS 2 TSC from measurements and evidence.",
    )(questionnaire)


def questionnaire(
    campaign: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Answer with this campaign (or those of `claims run`), not with the shipped ones; "
            "repeatable.",
        ),
    ] = None,
    question: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this question; repeatable.")
    ] = None,
    out: Out = None,
    html: Html = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print it as Markdown.")] = False,
    as_json: Annotated[bool, json_option("Print the document.")] = False,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="Save the answers of these campaigns alone. The answers of other cells stay in the "
            "file.",
        ),
    ] = None,
) -> None:
    from rmwbench.published.questionnaire.questions_file import load, measured_here
    from rmwbench.published.questionnaire.responses import answer_questions

    path = page(out, html)
    require_one_form({"--out": path, "--markdown": markdown, "--json": as_json, "--save": save})
    questions, evidence = load(SOURCE)
    if save is not None:
        refuse_beside_save({"--question": question})
        if not campaign:
            raise UserError(
                "there is nothing to save",
                where="--save",
                expected="--save together with --campaign DIR",
            )
        _save(questions, campaign, save)
        return typer.echo(f"saved: {save}")
    questions = _selected(questions, question or [])
    campaigns = campaigns_in(campaign, WHO) if campaign else measured_here(SOURCE)
    answers = answer_questions(questions, evidence, campaigns)
    if as_json:
        return print_json(answers.document())
    from rmwbench.published.questionnaire.questionnaire_view import view

    deliver(view(answers, generated=not campaign), path, markdown=markdown)


def _selected(questions: "Questionnaire", ids: list[str]) -> "Questionnaire":
    """Return the questionnaire with the questions of these ids alone, or with all if there are
    none."""
    known_ids = [question.id for question in questions.questions]
    for name in ids:
        if name not in known_ids:
            raise not_one_of(f"there is no question `{name}`", name, known_ids, where="--question")
    chosen = tuple(question for question in questions.questions if not ids or question.id in ids)
    return questions.model_copy(update={"questions": chosen})


def _save(questions: "Questionnaire", campaigns: list[Path], path: Path) -> None:
    from rmwbench.published.questionnaire.questions_file import answers_text, saved_answers
    from rmwbench.published.questionnaire.responses import merged_documents, reduced_document
    from rmwbench.whole_file import write_whole

    new_answers = [
        reduced_document(questions, campaign) for campaign in campaigns_in(campaigns, WHO)
    ]
    write_whole(path, answers_text(merged_documents(saved_answers(path), new_answers)))
