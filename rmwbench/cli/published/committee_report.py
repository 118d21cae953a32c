"""`rmwbench published report tsc --budget TIME [-o DIR]`: plans a committee's report over a budget,
measures its sections and writes it."""

import functools
import math
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from rmwbench.cli.console import (
    print_json,
    print_view,
    say,
    say_written,
    stderr_console,
    write_page,
)
from rmwbench.cli.options import (
    Candidates,
    With,
    Without,
    choice,
    json_option,
    parse_duration_s,
    with_options,
)
from rmwbench.cli.published.forms import deliver
from rmwbench.cli.runs import resume_command, run_stoppable
from rmwbench.command_name import command_line
from rmwbench.errors import UserError, not_one_of
from rmwbench.whole_file import make_directory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmwbench.published.committee.evaluation_session import CommitteeSession
    from rmwbench.published.committee.report_parts import CommunityPart, Report
    from rmwbench.published.committee.section_runs import SectionRuns
    from rmwbench.published.committee.sections import BudgetShare
    from rmwbench.suite.file.candidate_list import Choice

DEFAULT_BUDGET = "8h"
COMMUNITY = (
    ("github", "How the projects answer", "OWNER/NAME…"),
    ("rep2004", "Declared quality (REP-2004)", "FILE…"),
    ("survey", "What users say", "FILE.csv"),
)
ANSWERS = "community"
"""The folder of an evaluation for answers that replace the shipped ones of COMMUNITY."""


def register(app: typer.Typer) -> None:
    app.command(
        name="report",
        help="A committee's report: plan its sections over a budget; with -o DIR run them and "
        "write the document.",
        epilog="Exit code 0: every section is planned (with -o: measured), 1: one is not, 2: "
        "nothing is, 130: stopped. `rmwbench resume DIR` goes on where it was stopped, and writes "
        "the document again.",
    )(with_options(report))


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    evaluation: Annotated[str, typer.Argument(metavar="NAME", help="The evaluation: tsc.")] = "tsc"
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="For all sections together, such as 2h; 8h if absent."),
    ] = None
    candidates: Candidates = None
    added: With = None
    without: Without = None
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, show_default="0", help="Draws the order of trials and their schedules."
        ),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Run the sections, and write the report into this directory.",
        ),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="N|ADDRESS",
            help="Plan for N machines of a cluster, or with -o run on those at this address "
            "(docs/cluster.md).",
        ),
    ] = None
    as_json: Annotated[
        bool, json_option("Print the plan, or with -o the results, as one document.")
    ] = False

    @property
    def budget_s(self) -> float:
        return parse_duration_s(self.budget or DEFAULT_BUDGET)

    @property
    def choice(self) -> "Choice":
        return choice(self.candidates, self.added, self.without)


def report(options: ReportOptions) -> None:
    from rmwbench.published.committee.evaluation_session import check_place, is_session
    from rmwbench.published.committee.report_plan import ReportPlan, view
    from rmwbench.published.committee.sections import EVALUATIONS, budget_shares, costs

    name, out = options.evaluation, options.out
    if name not in EVALUATIONS:
        raise not_one_of(f"no evaluation is called `{name}`", name, EVALUATIONS)
    if out is not None:
        if is_session(out):
            _carry_out(_begun_session(out, options), options.as_json, options.cluster)
        check_place(out)
    machines = _machines(options.cluster, out)
    section_costs, absent = costs(
        EVALUATIONS[name], options.seed or 0, options.choice, machines or 1
    )
    shares = budget_shares(section_costs, options.budget_s)
    if out is not None:
        session = _new_session(out, options, shares, absent, machines)
        _carry_out(session, options.as_json, options.cluster)
    plan = ReportPlan(
        evaluation=name,
        budget_s=options.budget_s,
        shares=shares,
        absent=absent,
        machines=machines,
        options=(
            *options.choice.options,
            *(("--seed", str(options.seed)) if options.seed is not None else ()),
        ),
    )
    if options.as_json:
        print_json(plan.document())
    else:
        deliver(view(plan))
    any_planned = any(share.blocks for share in shares)
    raise typer.Exit(0 if plan.is_whole else 1 if any_planned else 2)


def _machines(cluster: str | None, out: Path | None) -> int | None:
    """Return how many machines to plan for, None for this machine."""
    if cluster is None:
        return None
    if out is None:
        if cluster.isdecimal() and int(cluster) > 0:
            return int(cluster)
        raise UserError(
            "how many machines?",
            where="--cluster",
            expected="a number of machines to plan for; an address needs -o DIR, too",
            actual=cluster,
            fix="rmwbench published report tsc --cluster 8",
        )
    from rmwbench.cluster import cluster_start

    return cluster_start.machines(cluster)


def _new_session(
    directory: Path,
    options: ReportOptions,
    shares: "Sequence[BudgetShare]",
    absent: "Mapping[str, str]",
    machines: int | None,
) -> "CommitteeSession":
    from rmwbench.published.committee.evaluation_session import begin
    from rmwbench.published.committee.sections import EVALUATIONS

    if not shares:
        raise UserError(
            "no section can run here",
            actual="; ".join(f"{name}: {why}" for name, why in absent.items()),
            fix="`rmwbench middlewares` lists what is not ready, and what would change that",
        )
    if not any(share.blocks for share in shares):
        raise UserError(
            "no section fits into this time, so there is nothing to run",
            where="--budget",
            expected=f"at least {math.ceil(min(share.cost.least_s for share in shares))}s",
            actual=options.budget or DEFAULT_BUDGET,
            fix=f"rmwbench published report {options.evaluation} shows what each section takes",
        )
    sections = EVALUATIONS[options.evaluation]
    return begin(
        directory,
        options.evaluation,
        shares,
        [(section, absent[section.name]) for section in sections if section.name in absent],
        seed=options.seed or 0,
        budget_s=options.budget_s,
        choice=options.choice,
        machines=machines,
    )


def go_on(directory: Path, cluster: str | None) -> NoReturn:
    """Go on with the evaluation in a directory, and exit. For `rmwbench resume`."""
    from rmwbench.published.committee.evaluation_session import load

    _carry_out(load(directory), False, cluster)


def compare_reports(
    first: Path,
    second: Path,
    out: Path | None,
    judged_by: "Mapping[str, object]",
    as_json: bool,
) -> NoReturn:
    """Compare the verdicts of two runs of an evaluation, and exit. For `rmwbench compare`. Raises
    UserError for an option in `judged_by` that has a value: the runs' own verdicts are compared."""
    from rmwbench.published.committee.agreement import compare_runs, view

    for option, value in judged_by.items():
        if value:
            raise UserError(
                "two evaluations are compared by their own verdicts",
                where=option,
                fix=f"leave {option} out",
            )
    runs = compare_runs(first, second)
    runs_view = view(runs)
    if out is not None:
        write_page(runs_view, out)
    if as_json:
        print_json(runs.document())
    else:
        print_view(runs_view)
        if out is not None:
            say_written(out)
    raise typer.Exit(runs.exit_code)


def _begun_session(directory: Path, options: ReportOptions) -> "CommitteeSession":
    """Return the evaluation to go on with. Raises UserError for options that would change its
    plan."""
    from rmwbench.published.committee.evaluation_session import load

    session = load(directory)
    if session.evaluation != options.evaluation:
        raise UserError(
            "another evaluation was begun in this directory",
            where=str(directory),
            expected=session.evaluation,
            actual=options.evaluation,
        )
    planning_options = {
        "--budget": options.budget,
        "--seed": options.seed,
        "--candidates": options.candidates,
        "--with": options.added,
        "--without": options.without,
    }
    for name, value in planning_options.items():
        if value not in (None, [], ()):
            raise UserError(
                f"an evaluation that was begun keeps its plan: {name} would change it",
                where=str(directory),
                fix=f"leave {name} out to go on, or choose another directory with --out",
            )
    return session


def _carry_out(session: "CommitteeSession", as_json: bool, cluster: str | None) -> NoReturn:
    """Run the sections that are left, write the report, and exit. Raise UserError if the session
    began on this machine and goes on in a cluster, or the other way round."""
    from rmwbench.published.committee.section_runs import SectionRuns

    directory = session.directory
    if session.waiting() and (cluster is None) != (session.machines is None):
        raise UserError(
            "this evaluation began here"
            if cluster
            else "this evaluation began on the machines of a cluster",
            where=str(directory),
            fix="leave --cluster out to go on" if cluster else "go on with --cluster ADDRESS",
        )
    console = stderr_console()
    sections = SectionRuns(session) if cluster is None else _sections_on(cluster, session)
    run_stoppable(
        lambda: sections.run(console),
        directory,
        resume_command(directory, cluster),
        command_line("report", directory),
    )
    report, files = write(session)
    if as_json:
        print_json(report.document() | {"files": list(map(str, files))})
    else:
        for path in files:
            say(f"report: {path}")
    measured = len(report.measured)
    raise typer.Exit(2 if not measured else 0 if measured == len(report.parts) else 1)


def _sections_on(address: str, session: "CommitteeSession") -> "SectionRuns":
    from rmwbench.cluster.cluster_start import new_campaign, resumed_campaign
    from rmwbench.published.committee.section_runs import SectionRuns

    begin = functools.partial(new_campaign, address, None, None)
    return SectionRuns(session, begin, functools.partial(resumed_campaign, address))


def write(session: "CommitteeSession") -> "tuple[Report, list[Path]]":
    """Write the report of all that has been measured so far; return it with its files. A line on
    stderr tells if no PDF can be made. Raises UserError if the document contradicts itself."""
    from rmwbench.published.committee import consistency
    from rmwbench.published.committee import report_page as page
    from rmwbench.published.committee import report_text as markdown
    from rmwbench.published.committee.report_parts import gather
    from rmwbench.published.committee.report_plan import TITLE

    make_directory(session.directory / ANSWERS)  # a shell makes none for the commands of the report
    report = gather(session, TITLE, _community_parts(session))
    markdown_file = markdown.write(report)[0]
    findings = consistency.check(report, markdown_file.read_text(encoding="utf-8"))
    html, pdf = session.directory / "report.html", session.directory / "report.pdf"
    page.write_html(markdown_file, html)
    files = [markdown_file, html]
    browser = page.browser()
    problem = page.write_pdf(html, pdf, browser) if browser else "no Chromium was found"
    if problem is None:
        files.append(pdf)
    else:
        warning = f"no PDF: {problem}; print {html} from any browser"
        stderr_console().print(warning, markup=False)
    if findings:
        raise UserError(
            "the document contradicts its own tables",
            where=str(markdown_file),
            actual="; ".join(
                f"{finding.code} ({finding.where}: {finding.what})" for finding in findings
            ),
            fix="do not pass it on, and report this mistake of rmwbench to its developers",
        )
    return report, files


def _community_parts(session: "CommitteeSession") -> "list[CommunityPart]":
    """Return the parts for which nothing runs: the admission of our candidates, and the answers in
    DIR/community, or else the shipped ones."""
    from rmwbench.published.committee.report_parts import CommunityPart
    from rmwbench.published.community import admission
    from rmwbench.published.community.community_views import replaceable, shipped, view_of

    parts = [
        CommunityPart(
            title="Admission of candidates",
            view=admission.view(admission.judge(admission.OURS)),
            command="rmwbench published community admission",
            opens=True,
        )
    ]
    for name, title, arguments in COMMUNITY:
        answer_file = session.directory / ANSWERS / f"{name}.json"
        command = f"rmwbench published community {name} {arguments} --json"
        view = None
        if answer_file.is_file():
            view = view_of(answer_file)
        elif shipped_answer := shipped(name):
            view = replaceable(view_of(shipped_answer), command, answer_file)
        parts.append(
            CommunityPart(
                title=title, view=view, command=f"{command} > {shlex.quote(str(answer_file))}"
            )
        )
    return parts
