"""`rmwbench compare A B`: did something get worse?"""

import re
from typing import Annotated

import typer

from rmwbench.cli.console import print_json, stdout_console
from rmwbench.cli.pages import Html, Out, page, say_written


def register(app: typer.Typer) -> None:
    app.command(
        name="compare",
        help="Compare two campaigns, or two arms of one: environment first, then a verdict per metric.",
        epilog="Exit code 0: all equivalent or better, 1: something is worse, 2: could not tell.",
    )(compare)


def compare(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="The baseline: DIR, DIR:ARM, or DIR:KEY=VALUE,… (arm, workload, a factor of the suite, …).",
        ),
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="What is judged against it, in the same form.")],
    margin: Annotated[
        str | None,
        typer.Option(metavar="PERCENT", help="The smallest difference that matters; 5% if absent."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="Judge by this metric instead of primary metric, loss, CPU and memory; may be repeated."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the compare document (docs/formats/compare.md).")
    ] = False,
    out: Out = None,
    html: Html = None,
) -> None:
    from rmwbench.results.compare.document import compare as compared
    from rmwbench.results.compare.select import side

    path = page(out, html)
    document = compared(side(a), side(b), margin=_margin(margin), metrics=metric or ())
    if path is not None:
        from rmwbench.report.compare.html import write_html

        write_html(document, path)
    if as_json:
        print_json(document)
    else:
        from rmwbench.report.compare.terminal import print_compare

        print_compare(document, stdout_console())
        if path is not None:
            say_written(path)
    raise typer.Exit(document["exit_code"])


def _margin(text: str | None) -> float | None:
    """`5%`, `5 %` and `0.05` are the same; a bare number from 1 on is too likely to mean per cent."""
    from rmwbench.errors import UserError

    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", text)
    value = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < value < 1:
        raise UserError(
            "the margin is no small part of a ratio",
            where=f"--margin {text}",
            expected="a percentage above 0 and below 100, such as 5%",
            fix=f"--margin {found[1]}%" if found and not found[2] and 1 <= value < 100 else None,
        )
    return value
