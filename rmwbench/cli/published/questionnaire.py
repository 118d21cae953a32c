"""`rmwbench published questionnaire`: the questions that ROS 2's technical steering committee asked
in 2021, answered."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rmwbench.cli.console import Html, Out, page, print_json
from rmwbench.cli.published.forms import campaigns_in, deliver

SOURCE = "fastdds-2021"
WHO = "answers"


def register(app: typer.Typer) -> None:
    app.command(
        name="questionnaire",
        help="What the ROS 2 TSC asked its middlewares: from measurements and evidence.",
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
    as_json: Annotated[bool, typer.Option("--json", help="Print the document.")] = False,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="Keep what these campaigns answer, and no more. What the file has of other cells "
            "stays.",
        ),
    ] = None,
) -> None:
    from rmwbench.errors import UserError
    from rmwbench.published.questionnaire.questions_file import load, measured_here
    from rmwbench.published.questionnaire.responses import document

    path = page(out, html)
    if sum((path is not None, markdown, as_json, save is not None)) > 1:
        raise UserError(
            "one form at a time", where="--out, --markdown, --json, --save", expected="one of them"
        )
    asked, evidence = load(SOURCE)
    if save is not None:
        if not campaign:
            raise UserError(
                "there is nothing to keep", where="--save", expected="--campaign DIR with it"
            )
        _save(asked, campaign, save)
        return typer.echo(f"kept: {save}")
    asked = _only(asked, question or [])
    given = campaigns_in(campaign, WHO) if campaign else measured_here(SOURCE)
    made = document(asked, evidence, given)
    if as_json:
        return print_json(made)
    from rmwbench.published.questionnaire.questionnaire_view import view

    deliver(view(made, generated=not campaign), path, markdown=markdown)


def _only(asked: Any, wanted: list[str]) -> Any:
    from rmwbench.errors import not_one_of

    known = [question.id for question in asked.questions]
    for name in wanted:
        if name not in known:
            raise not_one_of(f"there is no question `{name}`", name, known, where="--question")
    kept = tuple(question for question in asked.questions if not wanted or question.id in wanted)
    return asked.model_copy(update={"questions": kept})


def _save(asked: Any, campaigns: list[Path], path: Path) -> None:
    from rmwbench.published.questionnaire.questions_file import answers_text, kept_answers
    from rmwbench.published.questionnaire.responses import reduced, renewed
    from rmwbench.whole_file import write_whole

    new = [reduced(asked, one) for one in campaigns_in(campaigns, WHO)]
    write_whole(path, answers_text(renewed(kept_answers(path), new)))
