"""`rmwbench resume DIR`: goes on with a campaign that was stopped, with the campaigns of `published
claims run`, or with a committee's report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmwbench.cli.runs import ENDING, NoReport, carry_out
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from rmwbench.campaign.run import Runner, TrialSource


def register(app: typer.Typer) -> None:
    app.command(name="resume", help="Finish what was stopped, and show the answer.", epilog=ENDING)(
        resume
    )


def resume(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="The campaign, or what `published claims run` or `published report -o` began. It "
            "keeps its plan, and no finished trial is repeated.",
        ),
    ],
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="For `published claims run`: this budget instead of the rest of the first one; "
            "after all is finished, for new campaigns of the claims that are still open.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Go on with a campaign of a cluster there: auto, HOST:PORT or ray://HOST:PORT.",
        ),
    ] = None,
    no_report: NoReport = False,
) -> None:
    from rmwbench.published.claims.claims_session import is_session as is_of_claims
    from rmwbench.published.committee.evaluation_session import is_session as is_evaluation

    if is_of_claims(directory):
        from rmwbench.cli.published.claims import resume_claims

        _refuse("--cluster", cluster, "the campaigns of claims run on this machine")
        resume_claims(directory, budget=budget, no_report=no_report)
    _refuse(
        "--budget",
        budget,
        "a campaign keeps its plan; only the campaigns of claims get a new budget",
    )
    if is_evaluation(directory):
        from rmwbench.cli.published.committee_report import go_on

        _refuse("--no-report", no_report or None, "an evaluation always writes its document")
        go_on(directory, cluster)
    carry_out(_resumed(directory, cluster), directory, no_report, cluster)


def _resumed(directory: Path, cluster: str | None) -> "Runner[TrialSource]":
    if cluster is None:
        from rmwbench.campaign.start import resumed_campaign

        return resumed_campaign(directory)
    from rmwbench.cluster import cluster_start

    return cluster_start.resumed_campaign(cluster, directory)


def _refuse(option: str, value: object, why: str) -> None:
    if value is not None:
        raise UserError(
            f"{option} does not go with this: {why}", where=option, fix=f"leave {option} out"
        )
