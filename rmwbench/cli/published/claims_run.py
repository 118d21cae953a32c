"""`rmwbench published claims run [SOURCE]`, `rmwbench published claims plan [SOURCE]`, and
`rmwbench resume` of campaigns that the first began."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from rmwbench.cli.console import print_json, say, stderr_console
from rmwbench.cli.options import Seed, json_option, parse_duration_s
from rmwbench.cli.runs import NoReport, resume_command, run_stoppable
from rmwbench.errors import UserError
from rmwbench.words.shell import command_line

if TYPE_CHECKING:
    from rmwbench.published.claims.campaign.claims_plan import ClaimsPlan
    from rmwbench.published.claims.campaign.claims_session import ClaimsSession
    from rmwbench.published.claims.claims_file import Claims
    from rmwbench.published.claims.claims_ledger import ClaimsLedger

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


def plan(
    source: Source = None,
    budget: Budget = DEFAULT_BUDGET,
    verdict: Verdicts = None,
    as_json: Annotated[bool, json_option("Print the plan (docs/formats/claims.md).")] = False,
) -> None:
    from rmwbench.published.claims.campaign.claims_plan import lines

    _, files, only = _selected_claims(source, verdict or ())
    claims_plan = _plan(files, only, _settled_here(files), parse_duration_s(budget))
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
    from rmwbench.published.claims.campaign.claims_session import begin

    budget_s = parse_duration_s(budget)
    names, files, only = _selected_claims(source, verdict or ())
    directory = out or new_directory("claims")
    settled = _settled_here(files)
    session = begin(directory, names, seed=seed, budget_s=budget_s, settled=settled, only=only)
    _carry_out(session, files, no_report)


def resume_claims(directory: Path, budget: str | None, no_report: bool) -> NoReturn:
    """Go on with campaigns that `claims run` began, and exit as it does."""
    session, files = _resumed(directory, None if budget is None else parse_duration_s(budget))
    _carry_out(session, files, no_report)


def _carry_out(session: "ClaimsSession", files: "list[Claims]", no_report: bool) -> NoReturn:
    """Run the campaigns, print the answers and exit: 0 if a trial was done, 130 if a signal stopped
    them, 2 otherwise."""
    from rmwbench.published.claims.campaign.claim_campaigns import ClaimCampaigns
    from rmwbench.published.claims.campaign.claims_plan import lines

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
    from rmwbench.published.claims.campaign.claim_campaigns import settled_in
    from rmwbench.published.claims.campaign.claims_session import load
    from rmwbench.published.claims.claims_file import load as load_claims

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
    from rmwbench.published.claims.campaign.claim_campaigns import open_claims
    from rmwbench.published.claims.campaign.claims_plan import make_claims_plan, undecidable
    from rmwbench.published.claims.campaign.offers import GatheredOffers, gather

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


def _settled_here(files: "list[Claims]") -> dict[str, str]:
    """Return the claims that a shipped measurement of this very machine decides: id -> its
    date."""
    from rmwbench.lab import machine
    from rmwbench.published.claims.campaign.claim_campaigns import settled_by
    from rmwbench.published.summaries import campaigns_of, shipped

    this_machine = machine.describe()["summary"]
    dates_of_claims: dict[str, str] = {}
    for file in files:
        summaries = [
            summary for summary in shipped(file.claims) if summary["machine"] == this_machine
        ]
        measured = [campaign for summary in summaries for campaign in campaigns_of(summary)]
        dates = ", ".join(sorted({summary["date"] for summary in summaries}))
        dates_of_claims |= settled_by([file], measured, f"shipped, {dates}")
    return dates_of_claims


def _answer(session: "ClaimsSession", files: "list[Claims]", no_report: bool) -> bool:
    """Print and write the answers; return whether any trial was done."""
    from rmwbench.bundle import Bundle
    from rmwbench.published.campaign import of_shown
    from rmwbench.published.campaign_section import evaluated
    from rmwbench.published.claims.campaign.claims_session import campaigns
    from rmwbench.published.claims.claims_ledger import ledger
    from rmwbench.published.claims.ledger_view import REPORT, link_to_reports, view
    from rmwbench.report.render.html import write_html
    from rmwbench.report.show.files import write_html as write_report
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
    page = session.directory / "claims.html"
    write_html(view(judged_ledger, link=link_to_reports(measured, page)), page)
    for line in _ledger_lines(judged_ledger):
        print(line)
    print(f"report: {page}")
    say(f"ledger: {command_line('published', 'claims', '--campaign', session.directory)}")
    return any_done


def _ledger_lines(judged_ledger: "ClaimsLedger") -> "list[str]":
    """Return a line for each answered claim, then one with the counts."""
    from rmwbench.words.printable import printable

    lines = []
    for judged in judged_ledger.claims:
        if judged.today:
            claim, today = judged.claim, judged.today[0]
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
