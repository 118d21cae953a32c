"""`rmwbench explain [DIR]`: where the time goes at the median, which path the bytes took, where
messages went missing, why the slowest were slow, and what helps."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from rmwbench.cli.console import Out, page, print_answer
from rmwbench.cli.options import taking
from rmwbench.errors import not_one_of


def register(app: typer.Typer) -> None:
    app.command(
        name="explain",
        help="Why: where the time goes, where messages went missing, what made the slowest slow, what "
        "helps.",
    )(taking(ExplainOptions, explain))


@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    directory: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="A campaign's directory; the newest below ./campaigns if absent."
        ),
    ] = None
    workload: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this workload; may be repeated.")
    ] = None
    arm: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this arm; may be repeated.")
    ] = None
    trial: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="The slowest messages of this trial, not of each arm's worst."
        ),
    ] = None
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print medians, paths, losses, tails (docs/formats/show.md)."),
    ] = False
    out: Out = None


def explain(options: ExplainOptions) -> None:
    from rmwbench.bundle import Bundle
    from rmwbench.bundle.newest import newest_campaign
    from rmwbench.report.explain.explain_view import view
    from rmwbench.results.explain.explain_document import explanations

    path = page(options.out)
    bundle = Bundle(options.directory or newest_campaign())
    explained = explanations(bundle, options.trial)
    for option, names in (("workload", options.workload), ("arm", options.arm)):
        known_names = list(dict.fromkeys(getattr(explanation, option) for explanation in explained))
        for name in names or ():
            if name not in known_names:
                raise not_one_of(
                    f"this campaign has no {option} `{name}`"
                    + ("" if options.trial is None else f" in trial {options.trial}"),
                    name,
                    known_names,
                    where=f"--{option}",
                )
        if names:
            explained = tuple(
                explanation for explanation in explained if getattr(explanation, option) in names
            )
    print_answer(explained, view, as_json=options.as_json, page=path)
