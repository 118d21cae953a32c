"""`rmwbench published report tsc --budget TIME [-o DIR]`: a committee's report, planned over a
budget, measured and written."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from rmwbench.cli.console import print_json, print_view, say, say_written, stderr_console
from rmwbench.cli.options import (
    Candidates,
    With,
    Without,
    by_option,
    choice,
    parse_duration_s,
    taking,
)
from rmwbench.cli.published.forms import deliver
from rmwbench.cli.runs import end_stopped, guarded, resume_command
from rmwbench.errors import UserError, did_you_mean
from rmwbench.words.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmwbench.published.committee.evaluation_session import CommitteeSession
    from rmwbench.published.committee.report_parts import CommunityPart, Report
    from rmwbench.published.committee.section_runs import Sections
    from rmwbench.published.committee.sections import BudgetShare
    from rmwbench.suite.file.candidate_list import Choice


COMMUNITY = (
    ("github", "How the projects answer", "OWNER/NAME…"),
    ("rep2004", "Declared quality (REP-2004)", "FILE…"),
    ("survey", "What users say", "FILE.csv"),
)


def register(app: typer.Typer) -> None:
    app.command(
        name="report",
        help="A committee's report: plan its sections over a budget; with -o DIR run them and "
        "write the document.",
        epilog="Exit code 0: every section is planned (with -o: measured), 1: one is not, 2: "
        "nothing is, 130: stopped. `rmwbench resume DIR` goes on where it was stopped, and writes "
        "the document anew.",
    )(taking(ReportOptions, report))


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    evaluation: Annotated[str, typer.Argument(metavar="NAME", help="Which evaluation: tsc.")] = (
        "tsc"
    )
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
        bool,
        typer.Option("--json", help="Print the plan, or with -o what was found, as one document."),
    ] = False

    @property
    def budget_s(self) -> float:
        return parse_duration_s(self.budget or "8h")

    @property
    def choice(self) -> "Choice":
        return choice(self.candidates, self.added, self.without)


def report(options: ReportOptions) -> None:
    from rmwbench.published.committee.evaluation_session import check_place, is_session
    from rmwbench.published.committee.report_plan import ReportPlan, view
    from rmwbench.published.committee.sections import EVALUATIONS, costs, share

    if options.evaluation not in EVALUATIONS:
        raise UserError(
            f"no evaluation is called `{options.evaluation}`",
            expected="one of " + ", ".join(EVALUATIONS),
            fix=did_you_mean(options.evaluation, EVALUATIONS),
        )
    if options.out is not None and is_session(options.out):
        planning_options = {
            "--budget": options.budget,
            "--seed": options.seed,
            **by_option(options.candidates, options.added, options.without),
        }
        _carry_out(
            _begun(options.out, options.evaluation, planning_options, options.cluster),
            options.as_json,
            options.cluster,
        )
    if options.out is not None:
        check_place(options.out)
    machines = _machines(options.cluster, options.out)
    evaluation, seed = EVALUATIONS[options.evaluation], options.seed or 0
    section_costs, absent = costs(evaluation, seed, options.choice, machines or 1)
    shares = share(section_costs, options.budget_s)
    if options.out is not None:
        session = _new(options.out, options, shares, absent, machines)
        _carry_out(session, options.as_json, options.cluster)
    plan = ReportPlan(
        evaluation=options.evaluation,
        budget_s=options.budget_s,
        shares=shares,
        absent=absent,
        machines=machines,
    )
    if options.as_json:
        print_json(plan.document())
    else:
        deliver(view(plan))
    raise typer.Exit(0 if plan.is_whole else 1)


def _machines(cluster: str | None, out: Path | None) -> int | None:
    """How many machines to plan for; None: this one."""
    if cluster is None:
        return None
    if out is None:
        if cluster.isdecimal() and int(cluster) > 0:
            return int(cluster)
        raise UserError(
            "how many machines?",
            where="--cluster",
            expected="a number of machines to plan for; an address is asked once -o DIR says where "
            "the report goes",
            actual=cluster,
            fix="rmwbench published report tsc --cluster 8",
        )
    from rmwbench.cluster import cluster_start

    return cluster_start.machines(cluster)


def _new(
    directory: Path,
    options: ReportOptions,
    shares: "Sequence[BudgetShare]",
    absent: "Mapping[str, str]",
    machines: int | None,
) -> "CommitteeSession":
    from rmwbench.published.committee.evaluation_session import begin
    from rmwbench.published.committee.sections import EVALUATIONS

    if not any(budget_share.blocks for budget_share in shares):
        raise UserError(
            "no section fits into this time, so there is nothing to run",
            where="--budget",
            expected=f"at least {min((budget_share.cost.least_s for budget_share in shares), default=0.0):.0f}s",
            actual=f"{options.budget_s:g}s",
            fix=f"rmwbench published report {options.evaluation} shows what each section takes",
        )
    unable = {
        section.name: (section.title, section.suite, absent[section.name])
        for section in EVALUATIONS[options.evaluation]
        if section.name in absent
    }
    return begin(
        directory,
        options.evaluation,
        shares,
        unable,
        seed=options.seed or 0,
        budget_s=options.budget_s,
        choice=options.choice,
        machines=machines,
    )


def go_on(directory: Path, cluster: str | None) -> NoReturn:
    """Goes on with the evaluation that was begun in a directory; ends the verb. For `rmwbench
    resume`."""
    from rmwbench.published.committee.evaluation_session import load

    _carry_out(_begun(directory, load(directory).evaluation, {}, cluster), False, cluster)


def compare_reports(
    first: Path,
    second: Path,
    out: Path | None,
    judged_by: "Mapping[str, object]",
    as_json: bool,
) -> NoReturn:
    """Whether two runs of an evaluation come to the same verdicts; ends the verb. For `rmwbench
    compare`. Raises UserError for options of `judged_by`: runs are compared by their own verdicts."""
    from rmwbench.published.committee.agreement import compare_runs, view
    from rmwbench.report.render.html import render_html
    from rmwbench.report.render.markdown import render_markdown
    from rmwbench.whole_file import write_whole

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
        render = render_markdown if out.suffix.lower() == ".md" else render_html
        write_whole(out, render(runs_view))
    if as_json:
        print_json(runs.document())
    else:
        print_view(runs_view)
        if out is not None:
            say_written(out)
    raise typer.Exit(runs.exit_code)


def _begun(
    directory: Path, evaluation: str, planning_options: "Mapping[str, Any]", cluster: str | None
) -> "CommitteeSession":
    """The evaluation to go on with. Raises UserError for what would change its plan."""
    from rmwbench.published.committee.evaluation_session import load

    session = load(directory)
    if session.evaluation != evaluation:
        raise UserError(
            "another evaluation was begun in this directory",
            where=str(directory),
            expected=session.evaluation,
            actual=evaluation,
        )
    if session.waiting() and (cluster is None) != (session.machines is None):
        raise UserError(
            "this evaluation began here"
            if cluster
            else "this evaluation began on the machines of a cluster",
            where=str(directory),
            fix="leave --cluster out to go on" if cluster else "go on with --cluster ADDRESS",
        )
    for name, value in planning_options.items():
        if value not in (None, [], ()):
            raise UserError(
                f"an evaluation that was begun keeps its plan: {name} would change it",
                where=str(directory),
                fix=f"leave {name} out to go on, or choose another directory with --out",
            )
    return session


def _carry_out(session: "CommitteeSession", as_json: bool, cluster: str | None) -> NoReturn:
    """Runs what is left and writes the report; ends the verb."""
    from rmwbench.published.committee.section_runs import Sections

    command = resume_command(session.directory, cluster)
    console = stderr_console()
    runner = Sections(session) if cluster is None else _on(cluster, session)
    ending = guarded(lambda: runner.run(console), session.directory, command)
    if ending is not None and ending.stopped_by:
        look = command_line("report", session.directory)
        end_stopped(ending.stopped_by, session.directory, command, look)
    report, files = write(session)
    if as_json:
        print_json(report.document() | {"files": list(map(str, files))})
    else:
        say_files(files)
    measured = len(report.measured)
    raise typer.Exit(2 if not measured else 0 if measured == len(report.parts) else 1)


def _on(address: str, session: "CommitteeSession") -> "Sections":
    from rmwbench.cluster.cluster_start import new_campaign, resumed_campaign
    from rmwbench.published.committee.section_runs import Sections

    begin = functools.partial(new_campaign, address, None, None)
    return Sections(session, begin, functools.partial(resumed_campaign, address))


def write(session: "CommitteeSession") -> "tuple[Report, list[Path]]":
    """Writes the document of what has been measured so far, and says where no PDF could be made:
    the report, and its files. UserError where the document contradicts itself."""
    from rmwbench.published.committee import consistency
    from rmwbench.published.committee import report_page as page
    from rmwbench.published.committee import report_text as markdown
    from rmwbench.published.committee.report_parts import gather
    from rmwbench.published.committee.report_plan import TITLE

    report = gather(session, TITLE, _beside(session))
    markdown_file = markdown.write(report)[0]
    findings = consistency.check(report, markdown_file.read_text(encoding="utf-8"))
    html = session.directory / "report.html"
    page.write_html(markdown_file, html)
    files = [markdown_file, html]
    printer = page.browser()
    problem = (
        None if printer is None else page.write_pdf(html, session.directory / "report.pdf", printer)
    )
    if printer is None or problem is not None:
        warning = f"no PDF: {problem or 'no Chromium was found'}; print {html} from any browser"
        stderr_console().print(warning, markup=False)
    else:
        files.append(session.directory / "report.pdf")
    if findings:
        raise UserError(
            "the document contradicts its own tables",
            where=str(markdown_file),
            actual="; ".join(
                f"{finding.code} ({finding.where}: {finding.what})" for finding in findings
            ),
            fix="do not pass it on: this is a fault of rmwbench, which its developers need to know",
        )
    return report, files


def say_files(files: "Sequence[Path]") -> None:
    for path in files:
        say(f"report: {path}")


def _beside(session: "CommitteeSession") -> "list[CommunityPart]":
    """The parts in which nothing runs: ours of the admission, and what was put into
    DIR/community."""
    from rmwbench.published.committee.report_parts import CommunityPart
    from rmwbench.published.community import admission
    from rmwbench.published.community.community_views import replaceable, shipped, view_of

    folder = session.directory / "community"
    bar = admission.view(admission.judge(admission.OURS))
    community_parts = [
        CommunityPart(
            title="Admission of candidates",
            view=bar,
            command="rmwbench published community admission",
            opens=True,
        )
    ]
    for name, title, arguments in COMMUNITY:
        answer_file = folder / f"{name}.json"
        command = f"rmwbench published community {name} {arguments} --json"
        shipped_answer = shipped(name)
        view = (
            view_of(answer_file)
            if answer_file.is_file()
            else replaceable(view_of(shipped_answer), command, answer_file)
            if shipped_answer
            else None
        )
        community_parts.append(
            CommunityPart(title=title, view=view, command=f"{command} > {answer_file}")
        )
    return community_parts
