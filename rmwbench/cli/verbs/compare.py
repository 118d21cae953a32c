"""`rmwbench compare A B`: did something get worse?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from rmwbench.cli.console import Html, Out, page, print_answer
from rmwbench.cli.options import json_option, parse_fraction, with_options
from rmwbench.errors import UserError


def register(app: typer.Typer) -> None:
    app.command(
        name="compare",
        help="Compare two campaigns, or two arms of one: environment first, then a verdict per "
        "metric. For two runs of an evaluation: whether they come to the same verdicts.",
        epilog="Exit code 0: all equivalent or better, 1: something is worse, 2: could not tell. "
        "For evaluations 0: no verdict of one is contrary to the other's, 1: one is.",
    )(with_options(compare))


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
        bool, json_option("Print the compare document (docs/formats/compare.md).")
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
        from rmwbench.cli.published.committee_report import compare_reports

        judged_by = {"--margin": options.margin, "--metric": options.metric}
        compare_reports(Path(options.a), Path(options.b), path, judged_by, options.as_json)
    comparison = compared(
        select(options.a),
        select(options.b),
        margin=_margin(options.margin),
        metrics=options.metric or (),
    )
    print_answer(comparison, view, as_json=options.as_json, page=path)
    raise typer.Exit(comparison.exit_code)


def _margin(text: str | None) -> float | None:
    """Return the margin as a fraction. A bare number of 1 or more is refused, since it probably
    means per cent."""
    if text is None:
        return None
    value = parse_fraction(text) or 0.0
    if not 0 < value < 1:
        is_bare = "%" not in text and 1 <= value < 100
        raise UserError(
            "this is not a valid margin",
            where=f"--margin {text}",
            expected="a percentage above 0 and below 100, such as 5%",
            fix=f"--margin {text.strip()}%" if is_bare else None,
        )
    return value
