"""`rmwbench compare A B`: did something get worse?"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from rmwbench.cli.console import Html, Out, page, print_answer, print_json, print_view, say_written
from rmwbench.cli.options import taking


def register(app: typer.Typer) -> None:
    app.command(
        name="compare",
        help="Compare two campaigns, or two arms of one: environment first, then a verdict per "
        "metric. For two runs of an evaluation: whether they come to the same verdicts.",
        epilog="Exit code 0: all equivalent or better, 1: something is worse, 2: could not tell. "
        "For evaluations 0: no verdict of one is contrary to the other's, 1: one is.",
    )(taking(CompareOptions, compare))


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="The baseline: DIR, DIR:ARM, or DIR:KEY=VALUE,… (arm, workload, a factor of the "
            "suite, …).",
        ),
    ]
    b: Annotated[
        str, typer.Argument(metavar="B", help="What is judged against it, in the same form.")
    ]
    margin: Annotated[
        str | None,
        typer.Option(metavar="PERCENT", help="The smallest difference that matters; 5% if absent."),
    ] = None
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="Judge by this metric, and by loss where the loss differs, instead of the primary "
            "metric, CPU and memory. May be repeated."
        ),
    ] = None
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the compare document (docs/formats/compare.md).")
    ] = False
    out: Out = None
    html: Html = None


def compare(options: CompareOptions) -> None:
    from rmwbench.published.committee.evaluation_session import is_session
    from rmwbench.report.comparison_view import view
    from rmwbench.results.compare.compare_document import compare as compared
    from rmwbench.results.selection import select

    path = page(options.out, options.html)
    if is_session(Path(options.a)) and is_session(Path(options.b)):
        _check_plain(options.margin, options.metric)
        _evaluations(Path(options.a), Path(options.b), path, as_json=options.as_json)
    comparison = compared(
        select(options.a),
        select(options.b),
        margin=_margin(options.margin),
        metrics=options.metric or (),
    )
    print_answer(comparison, view, as_json=options.as_json, page=path)
    raise typer.Exit(comparison.exit_code)


def _check_plain(margin: str | None, metric: list[str] | None) -> None:
    """Raises UserError for options that two evaluations do not take: they are compared by their own
    verdicts."""
    from rmwbench.errors import UserError

    for option, value in (("--margin", margin), ("--metric", metric)):
        if value:
            raise UserError(
                "two evaluations are compared by their own verdicts",
                where=option,
                fix=f"leave {option} out",
            )


def _evaluations(a: Path, b: Path, path: Path | None, *, as_json: bool) -> NoReturn:
    """Whether two runs of an evaluation come to the same verdicts; ends the verb."""
    from rmwbench.published.committee import agreement
    from rmwbench.published.committee.evaluation_session import load
    from rmwbench.published.committee.report_parts import gather
    from rmwbench.report.render.html import render_html
    from rmwbench.report.render.markdown import render_markdown
    from rmwbench.whole_file import write_whole

    document = agreement.document(
        *(gather(load(directory), "", [], needs=()) for directory in (a, b))
    )
    agreement_view = agreement.view(document)
    if path is not None:
        render = render_markdown if path.suffix.lower() == ".md" else render_html
        write_whole(path, render(agreement_view))
    if as_json:
        print_json(document)
    else:
        print_view(agreement_view)
        if path is not None:
            say_written(path)
    raise typer.Exit(document["exit_code"])


def _margin(text: str | None) -> float | None:
    """`5%`, `5 %` and `0.05` are the same; a bare number from 1 on is too likely to mean per
    cent."""
    from rmwbench.errors import UserError

    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", text)
    value = float(match[1]) / (100 if match[2] else 1) if match else 0.0
    if not 0 < value < 1:
        raise UserError(
            "this is not a valid margin",
            where=f"--margin {text}",
            expected="a percentage above 0 and below 100, such as 5%",
            fix=f"--margin {match[1]}%" if match and not match[2] and 1 <= value < 100 else None,
        )
    return value
