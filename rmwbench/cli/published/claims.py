"""`rmwbench published claims [SOURCE|CLAIM…]`: the claims of the published evaluations with their
verdicts; `… plan` and `… run` measure the open ones, and `rmwbench resume` goes on with that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from rmwbench.cli.console import (
    Html,
    NamesOrVerbs,
    Out,
    page,
    print_json,
    say,
    stderr_console,
)
from rmwbench.cli.options import Seed, json_option, parse_duration_s, with_options
from rmwbench.cli.published.forms import (
    campaigns_in,
    deliver,
    refuse_beside_save,
    require_one_form,
)
from rmwbench.cli.runs import NoReport, resume_command, run_stoppable
from rmwbench.command_name import command_line
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from rmwbench.published.campaign import MeasuredCampaign
    from rmwbench.published.claims.by_suite import SuiteRow
    from rmwbench.published.claims.claims_file import Claims, ClaimSelection
    from rmwbench.published.claims.claims_ledger import ClaimsLedger
    from rmwbench.published.claims.claims_plan import ClaimsPlan
    from rmwbench.published.claims.claims_session import ClaimsSession
    from rmwbench.published.claims.ledger_view import Depth

DEFAULT_BUDGET = "30m"
Source = Annotated[
    str | None,
    typer.Argument(
        metavar="[SOURCE|CLAIM]",
        help="A published evaluation, a claims file, or the id of one claim; all claims that are "
        "open if absent.",
    ),
]
Budget = Annotated[str, typer.Option(metavar="TIME", help="For all campaigns together.")]
Verdicts = Annotated[
    list[str] | None,
    typer.Option(
        "--verdict",
        metavar="NAME",
        help="Only claims that the shipped ledger calls so, such as undecided; may be repeated.",
    ),
]


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
        plan
    )
    group.command(
        name="run",
        help="Measure what the open claims need, and show their answers.",
        epilog="Exit code 0: at least one good trial, 130: stopped, 2: otherwise.",
    )(run)
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
            "no campaign is named to be saved", where="--save", fix="add --campaign DIR"
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


def plan(
    source: Source = None,
    budget: Budget = DEFAULT_BUDGET,
    verdict: Verdicts = None,
    as_json: Annotated[bool, json_option("Print the plan (docs/formats/claims.md).")] = False,
) -> None:
    from rmwbench.published.claims.claim_campaigns import settled_here
    from rmwbench.published.claims.claims_plan import lines

    _, files, only = _selected_claims(source, verdict or ())
    claims_plan = _plan(files, only, settled_here(files), parse_duration_s(budget))
    if as_json:
        print_json(claims_plan.document())
    else:
        typer.echo("\n".join(lines(claims_plan)))


def run(
    source: Source = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Where the campaigns go; ./campaigns/claims-DATE-TIME if absent.",
        ),
    ] = None,
    budget: Budget = DEFAULT_BUDGET,
    seed: Seed = 0,
    verdict: Verdicts = None,
    no_report: NoReport = False,
) -> None:
    from rmwbench.bundle.newest import new_directory
    from rmwbench.published.claims.claim_campaigns import settled_here
    from rmwbench.published.claims.claims_session import begin

    budget_s = parse_duration_s(budget)
    names, files, only = _selected_claims(source, verdict or ())
    directory = out or new_directory("claims")
    settled = settled_here(files)
    session = begin(directory, names, seed=seed, budget_s=budget_s, settled=settled, only=only)
    _carry_out(session, files, no_report)


def resume_claims(directory: Path, budget: str | None, no_report: bool) -> NoReturn:
    """Go on with campaigns that `claims run` began, and exit as it does."""
    session, files = _resumed(directory, None if budget is None else parse_duration_s(budget))
    _carry_out(session, files, no_report)


def _carry_out(session: "ClaimsSession", files: "list[Claims]", no_report: bool) -> NoReturn:
    """Run the campaigns, print the answers and exit: 0 if a trial was done, 130 if a signal stopped
    them, 2 otherwise."""
    from rmwbench.published.claims.claim_campaigns import ClaimCampaigns
    from rmwbench.published.claims.claims_plan import lines

    console, directory = stderr_console(), session.directory
    left_s = session.budget_s - session.used_s
    begun_suites = {campaign["suite"] for campaign in session.of_round().values()}
    claims_plan = _plan(files, session.only, session.settled, left_s, without=begun_suites)
    unfinished = session.unfinished()
    if unfinished:
        console.print(f"first the stopped campaigns: {', '.join(unfinished)}\n", markup=False)
    if claims_plan.ids_of_suite or not unfinished:
        for line in lines(claims_plan):
            console.print(line, markup=False)
        console.print()
    if not claims_plan.ids_of_suite and not unfinished:
        console.print(
            "nothing fits into this time"
            if claims_plan.omitted
            else "nothing is open that can be decided here"
        )
    campaigns = ClaimCampaigns(session, files, claims_plan.gathered)
    look = command_line("published", "claims", "--campaign", directory)
    run_stoppable(lambda: campaigns.run(console), directory, resume_command(directory), look)
    raise typer.Exit(0 if _answer(session, files, no_report) else 2)


def _selected_claims(
    source: str | None, verdicts: Sequence[str]
) -> "tuple[list[str], list[Claims], list[str]]":
    """Return the names of the sources (paths as absolute ones), their claims, and the ids of the
    claims to run: the named claim, or the claims with such a verdict in the shipped ledger; no id
    stands for all claims."""
    from rmwbench.published.claims.claims_file import select_claims
    from rmwbench.published.claims.claims_ledger import ledger, verdict_names
    from rmwbench.published.claims.summary import shipped_of
    from rmwbench.suite.file.suite_files import SUFFIXES

    selection = select_claims([source] if source else [])
    paths = {
        name: str(Path(word).absolute())
        for name, word in selection.given.items()
        if Path(word).suffix in SUFFIXES
    }
    names = [paths.get(file.claims, file.claims) for file in selection.files]
    ids = [name for source_ids in selection.ids.values() for name in sorted(source_ids)]
    if verdicts:
        judged_ledger = ledger(
            selection.files,
            shipped=shipped_of(selection.files),
            ids=selection.ids,
            verdicts=verdict_names(verdicts, "--verdict"),
        )
        ids = [judged.claim.id for judged in judged_ledger.claims if judged.claim.test]
        if not ids:
            raise UserError(
                "no claim of such a verdict has an experiment",
                where="--verdict",
                actual=", ".join(verdicts),
                fix="`rmwbench published claims --verdict undecided` lists those that more trials may decide",
            )
    return names, selection.files, ids


def _resumed(directory: Path, budget_s: float | None) -> "tuple[ClaimsSession, list[Claims]]":
    """Return the session to go on with. A new budget begins a new round: new campaigns of the
    claims that are still open. Without one the rest of the old budget is used."""
    from rmwbench.published.claims.claim_campaigns import settled_in
    from rmwbench.published.claims.claims_file import load as load_claims
    from rmwbench.published.claims.claims_session import load

    session = load(directory)
    files = [load_claims(name) for name in session.sources]
    if budget_s is not None and not session.unfinished():
        session.settled |= settled_in(files, session)
        session.round += 1
        session.budget_s, session.used_s = budget_s, 0.0
    elif budget_s is not None:
        session.budget_s, session.used_s = budget_s, 0.0
    elif session.used_s >= session.budget_s and not session.unfinished():
        raise UserError(
            "the budget is used up",
            where=str(directory),
            fix=f"{command_line('resume', directory, '--budget', '30m')} goes on with what is open",
        )
    session.save()
    return session, files


def _plan(
    files: "list[Claims]",
    only: Sequence[str],
    settled: Mapping[str, str],
    budget_s: float,
    without: set[str] | frozenset[str] = frozenset(),
) -> "ClaimsPlan":
    from rmwbench.published.claims.claim_campaigns import open_claims
    from rmwbench.published.claims.claims_plan import (
        GatheredOffers,
        gather,
        make_claims_plan,
        undecidable,
    )

    candidates = [
        judged
        for judged in open_claims(files, settled, only)
        if judged.claim.test and judged.claim.test.suite not in without
    ]
    # A user who names a claim wants it to be tried.
    undecidable_claims = {} if only else undecidable(files)
    refused = {
        judged.claim.id: undecidable_claims[judged.claim.id]
        for judged in candidates
        if judged.claim.id in undecidable_claims
    }
    gathered_offers = gather([judged for judged in candidates if judged.claim.id not in refused])
    gathered = GatheredOffers(gathered_offers.offers, {**gathered_offers.refused, **refused})
    return make_claims_plan(gathered, settled, budget_s)


def _answer(session: "ClaimsSession", files: "list[Claims]", no_report: bool) -> bool:
    """Print and write the answers; return whether any trial was done."""
    from rmwbench.bundle import Bundle
    from rmwbench.published.campaign import of_shown
    from rmwbench.published.campaign_section import evaluated
    from rmwbench.published.claims.claims_ledger import ledger
    from rmwbench.published.claims.claims_session import campaigns
    from rmwbench.published.claims.ledger_view import REPORT, link_to_reports, view
    from rmwbench.report.render.html import write_html
    from rmwbench.report.show.suite_view import write_html as write_report
    from rmwbench.results.show_document import summarise

    ids_of_bundle = {
        Bundle(directory): ids for directory, ids in campaigns(session.directory).items()
    }
    any_done = any(bundle.trials("done") for bundle in ids_of_bundle)
    if no_report or not any_done:
        print(session.directory)
        return any_done
    measured = []
    for bundle, ids in ids_of_bundle.items():
        if bundle.trials("done"):
            answer = summarise(bundle)
            write_report(answer, Path(answer.campaign.directory) / REPORT, evaluated(answer))
            measured.append(of_shown(answer, ids))
    judged_ledger = ledger(files, measured)
    path = session.directory / "claims.html"
    write_html(view(judged_ledger, link=link_to_reports(measured, path)), path)
    for line in _ledger_lines(judged_ledger):
        print(line)
    print(f"report: {path}")
    say(f"ledger: {command_line('published', 'claims', '--campaign', session.directory)}")
    return any_done


def _ledger_lines(judged_ledger: "ClaimsLedger") -> "list[str]":
    """Return a line for each answered claim, then one with the counts."""
    from rmwbench.words.printable import printable

    lines = []
    for judged in judged_ledger.claims:
        if judged.measured:
            claim, today = judged.claim, judged.measured[0]
            measured = f"  {value}" if (value := today.seen()) else ""
            proxy = " (proxy)" if judged.is_proxy else ""
            statement = f"{claim.says}{today.with_versions}{measured}"
            lines.append(f"{today.answer + proxy:<22} {claim.id:<24} {statement}")
    counts = ", ".join(f"{name} {n}" for name, n in judged_ledger.summary.answers.items()) or "none"
    return [
        *(printable(line) for line in sorted(lines)),
        "",
        f"claims that these campaigns answer: {counts}",
    ]
