"""`rmwbench published claims [SOURCE|CLAIM…]`: the claims of the published evaluations with their
verdicts; `… run` and `… plan` measure the open ones."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmwbench.cli.console import Html, Out, page, print_json
from rmwbench.cli.help import NamesOrVerbs
from rmwbench.cli.options import json_option, with_options
from rmwbench.cli.published import claims_run
from rmwbench.cli.published.forms import (
    campaigns_in,
    deliver,
    refuse_beside_save,
    require_one_form,
)
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from rmwbench.published.campaign import MeasuredCampaign
    from rmwbench.published.claims.by_suite import SuiteRow
    from rmwbench.published.claims.claims_file import ClaimSelection
    from rmwbench.published.claims.ledger_view import Depth


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        cls=NamesOrVerbs,
        help="What seven published evaluations claim: as published, as corrected, as measured.",
        epilog="`rmwbench published claims [SOURCE|CLAIM…]` is short for `rmwbench published claims show "
        "[SOURCE|CLAIM…]`.",
    )
    group.command(
        name="show",
        help="The claims with their verdicts, of some sources or all; one claim with all its "
        "cells.",
    )(with_options(show))
    group.command(name="plan", help="What `claims run` would run, and what it could not decide.")(
        claims_run.plan
    )
    group.command(
        name="run",
        help="Measure what the open claims need, and show their answers.",
        epilog="Exit code 0: at least one good trial, 130: stopped, 2: otherwise.",
    )(claims_run.run)
    app.add_typer(group, name="claims")


@dataclass(frozen=True, kw_only=True)
class ClaimsShowOptions:
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE|CLAIM…]",
            help="Shipped sources, claims files, ids of claims; all in brief if absent.",
        ),
    ] = None
    campaign: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Judge with this campaign, or with those of `claims run`; may be repeated.",
        ),
    ] = None
    heading: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only claims of headings with this text.")
    ] = None
    verdict: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only claims of this verdict: holds, open, contradicted …; may be repeated.",
        ),
    ] = None
    shipped: Annotated[
        bool,
        typer.Option(
            "--shipped/--no-shipped", help="Use the measurements of the shipped ledger, too."
        ),
    ] = True
    out: Out = None
    html: Html = None
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write what these campaigns measured to DIR/SOURCE/measured, to be shipped with "
            "the claims.",
        ),
    ] = None
    as_json: Annotated[bool, json_option("Print the ledger (docs/formats/claims.md).")] = False
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the ledger as Markdown.")] = (
        False
    )
    suites: Annotated[
        bool,
        typer.Option(
            "--by-suite",
            help="Print what is measured of each suite, and what became of it "
            "(docs/evaluations.md).",
        ),
    ] = False


def show(options: ClaimsShowOptions) -> None:
    from rmwbench.published.claims.by_suite import by_suite
    from rmwbench.published.claims.claims_file import select_claims
    from rmwbench.published.claims.claims_ledger import (
        document,
        ledger,
        require_heading,
        verdict_names,
    )
    from rmwbench.published.claims.ledger_view import link_to_reports, suite_table, view
    from rmwbench.published.claims.summary import shipped_of
    from rmwbench.report.render.markdown import render_blocks

    path = page(options.out, options.html)
    require_one_form(
        {
            "--json": options.as_json,
            "--markdown": options.markdown,
            "--by-suite": options.suites,
            "--out": path,
            "--save": options.save,
        }
    )
    verdicts = verdict_names(options.verdict or (), "--verdict")
    selection = select_claims(options.words or ())
    files = selection.files
    campaigns = campaigns_in(options.campaign or (), "claims")
    if options.save is not None:
        _save(options.save, selection, campaigns, options)
        return
    if options.heading:
        require_heading(files, options.heading, selection.ids, "--heading")
    shipped = shipped_of(files) if options.shipped else {}
    judged_ledger = ledger(
        files,
        campaigns,
        heading=options.heading,
        shipped=shipped,
        ids=selection.ids,
        verdicts=verdicts,
        given=selection.given,
    )
    if options.as_json:
        print_json(document(judged_ledger))
        return
    rows: list[SuiteRow] = []
    if options.markdown or options.suites:
        measured = {file.claims: [*campaigns, *shipped.get(file.claims, ())] for file in files}
        rows = by_suite(files, judged_ledger, measured)
    if options.suites:
        typer.echo("\n".join(render_blocks([suite_table(rows)], level=2)).strip())
        return
    link = None if path is None else link_to_reports(campaigns, path)
    ledger_view = view(judged_ledger, _depth(selection, options), suites=rows, link=link)
    deliver(ledger_view, path, markdown=options.markdown)


def _depth(selection: "ClaimSelection", options: ClaimsShowOptions) -> "Depth":
    """Return how much of each claim a terminal shows."""
    if selection.ids:
        return "cells"
    return "reasons" if options.words or options.heading or options.verdict else "brief"


def _save(
    directory: Path,
    selection: "ClaimSelection",
    campaigns: "list[MeasuredCampaign]",
    options: ClaimsShowOptions,
) -> None:
    """Write what these campaigns measured of the selected sources, and print the files."""
    from rmwbench.published.claims.summary import file_name, json_text, machine_summary
    from rmwbench.published.figures.figures_file import measured_figures
    from rmwbench.published.summaries import FOLDER
    from rmwbench.whole_file import make_directory, write_whole

    ids = sorted(id_ for source_ids in selection.ids.values() for id_ in source_ids)
    choices = {"--heading": options.heading, "--verdict": options.verdict, ", ".join(ids): ids}
    refuse_beside_save(choices)
    if not campaigns:
        raise UserError(
            "what is to be saved?", where="--save", fix="name the campaigns with --campaign DIR"
        )
    # Skip a source if these campaigns ran none of its suites: saving it was not asked for.
    summaries = [
        summary
        for file in selection.files
        if any(file.has(campaign.suite) for campaign in campaigns)
        and (summary := machine_summary(file, campaigns, measured_figures(file.claims)))
    ]
    if not summaries:
        raise UserError("these campaigns answer none of these claims", where="--save")
    for summary in summaries:
        path = directory / summary["source"] / FOLDER / file_name(summary)
        make_directory(path.parent)
        write_whole(path, json_text(summary))
        typer.echo(path)
