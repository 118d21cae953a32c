"""`rmwbench questionnaire`: the questions that ROS 2's technical steering committee asked in 2021, answered."""

from pathlib import Path
from typing import Annotated, Any

import typer

SOURCE = "fastdds-2021"


def register(app: typer.Typer) -> None:
    app.command(name="questionnaire", help="What the ROS 2 TSC asked its middlewares: from measurements and evidence.")(
        questionnaire
    )


def questionnaire(
    campaign: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Answer with this campaign and not with the shipped ones; may be repeated."),
    ] = None,
    question: Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this question; repeatable.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE.html", help="Write it as a page.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print it as Markdown (docs/questionnaire.md).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the document (docs/questionnaire.md).")] = False,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Keep what these campaigns answer, and no more.")
    ] = None,
) -> None:
    from rmwbench.errors import UserError
    from rmwbench.report.questionnaire.document import document, reduced
    from rmwbench.suite.questionnaire import answers_text, load, measured_here

    if sum((html is not None, markdown, as_json, save is not None)) > 1:
        raise UserError("one form at a time", where="--html, --markdown, --json, --save", expected="one of them")
    asked, evidence = load(SOURCE)
    if save is not None:
        if not campaign:
            raise UserError("there is nothing to keep", where="--save", expected="--campaign DIR with it")
        save.write_text(answers_text([reduced(asked, _shown(one)) for one in campaign]), encoding="utf-8")
        return typer.echo(f"kept: {save}")
    asked = _only(asked, question or [])
    shown = [_shown(directory) for directory in campaign] if campaign else measured_here(SOURCE)
    made = document(asked, evidence, shown)
    if html is not None:
        from rmwbench.report.questionnaire.html import write_html

        write_html(made, html)
        typer.echo(f"page: {html}")
    elif as_json:
        import json

        typer.echo(json.dumps(made, ensure_ascii=False, allow_nan=False))
    elif markdown:
        from rmwbench.report.questionnaire.markdown import page

        typer.echo(page(made, generated=not campaign), nl=False)
    else:
        from rich.console import Console
        from rich.text import Text

        from rmwbench.report.questionnaire.terminal import lines

        console = Console(highlight=False)
        for style, text in lines(made):
            console.print(Text(text, style=style))


def _only(asked: Any, wanted: list[str]) -> Any:
    from rmwbench.errors import UserError, did_you_mean

    known = [question.id for question in asked.questions]
    for name in wanted:
        if name not in known:
            raise UserError(
                f"there is no question `{name}`",
                where="--question",
                expected="one of " + ", ".join(known),
                actual=name,
                fix=did_you_mean(name, known),
            )
    kept = tuple(question for question in asked.questions if not wanted or question.id in wanted)
    return asked.model_copy(update={"questions": kept})


def _shown(directory: Path) -> dict[str, Any]:
    from rmwbench.report.measured import measured

    return measured(directory, "answers")
