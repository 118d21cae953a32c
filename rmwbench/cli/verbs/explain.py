"""`rmwbench explain [DIR]`: explains where the time goes at the median, which path the bytes took,
where messages were lost, why the slowest messages were slow, and what helps."""

from dataclasses import dataclass
from typing import Annotated

import typer

from rmwbench.cli.console import Out, page, print_answer
from rmwbench.cli.options import Arms, CampaignDirectory, Workloads, json_option, with_options
from rmwbench.errors import not_one_of


def register(app: typer.Typer) -> None:
    app.command(
        name="explain",
        help="Explain where the time goes, where messages are lost, why the slowest ones are slow, "
        "and what helps.",
    )(with_options(explain))


@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    directory: CampaignDirectory = None
    workload: Workloads = None
    arm: Arms = None
    trial: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="The slowest messages of this trial, not of each arm's worst."
        ),
    ] = None
    as_json: Annotated[
        bool, json_option("Print medians, paths, losses, tails (docs/formats/show.md).")
    ] = False
    out: Out = None


def explain(options: ExplainOptions) -> None:
    from rmwbench.bundle import Bundle
    from rmwbench.bundle.newest import newest_campaign
    from rmwbench.report.explain.explain_view import view
    from rmwbench.results.explain.explain_document import explanations

    path = page(options.out)
    bundle = Bundle(options.directory or newest_campaign())
    chosen = explanations(bundle, options.trial)
    within = "" if options.trial is None else f" in trial {options.trial}"
    for option, names in (("workload", options.workload), ("arm", options.arm)):
        known_names = list(dict.fromkeys(getattr(explanation, option) for explanation in chosen))
        for name in names or ():
            if name not in known_names:
                what = f"this campaign has no {option} `{name}`{within}"
                raise not_one_of(what, name, known_names, where=f"--{option}")
        if names:
            chosen = tuple(
                explanation for explanation in chosen if getattr(explanation, option) in names
            )
            within += f" in {option} {' or '.join(names)}"
    print_answer(chosen, view, as_json=options.as_json, page=path)
