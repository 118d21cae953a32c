"""A campaign carried out for somebody at a terminal: what stops it costs as little as possible, how
to go on is said, and its answer is shown."""

import errno
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeVar

import typer

from rmwbench.cli.console import print_view, say, stderr_console
from rmwbench.cli.gate import exit_code, limits, own_failed
from rmwbench.errors import UserError
from rmwbench.words.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmwbench.campaign.run import Runner, TrialSource

E = TypeVar("E")

ENDING = (
    "Exit code 0: finished with at least one good trial, 130: stopped, 2: otherwise, or where an "
    "arm of your own failed in every trial. Where the "
    "suite says what is acceptable (`outcomes`, docs/suites.md): 0 where all is, 1 where it is "
    "not, 2 where that could not be told."
)
NoReport = Annotated[
    bool, typer.Option("--no-report", help="Run only; `rmwbench show DIR` gives the answer later.")
]


def carry_out(
    campaign: "Runner[TrialSource]", directory: Path, no_report: bool, cluster: str | None
) -> NoReturn:
    """Runs what a campaign lacks, on the cluster at this address if one is named, and shows its
    answer; ends the verb."""
    run_to_end(
        campaign, directory, resume_command(directory, cluster), command_line("show", directory)
    )
    code = _answer(directory, no_report)
    if copy := campaign.lab.copy:
        copy.update()  # the report, too
        print(f"copy: {copy.address}")
    raise typer.Exit(code)


def resume_command(directory: Path, cluster: str | None = None) -> str:
    return command_line("resume", directory, *(["--cluster", cluster] if cluster else []))


def end_stopped(signal: str, directory: Path, go_on: str, look: str) -> NoReturn:
    """Ends a verb that a signal stopped, with the commands that go on, and that look at what there
    is."""
    text = f"stopped by {signal}; what was finished stays in {directory}"
    stderr_console().print(f"{text}\ngo on:   {go_on}\nlook:    {look}", markup=False)
    raise typer.Exit(130)


def run_to_end(campaign: "Runner[TrialSource]", directory: Path, go_on: str, look: str) -> None:
    """Runs what a campaign lacks; where a signal stops it, ends the verb as `end_stopped`."""
    console = stderr_console()
    if any(cell.sampling.traced for cell in campaign.source.plan.cells):
        console.print(
            "traced: every thread's schedule is recorded; latencies are not comparable with other "
            "trials"
        )
    with campaign.writer, campaign.lab:
        if not campaign.source.finished:
            ending = guarded(lambda: campaign.run(console), directory, go_on)
        else:
            outcome = (
                "everything was decided"
                if campaign.source.decided
                else "every trial of this campaign is finished"
            )
            console.print(f"{outcome}: nothing is left to run")
            ending = None
    if ending is not None and ending.stopped_by:
        end_stopped(ending.stopped_by, directory, go_on, look)


def guarded(run: "Callable[[], E]", directory: Path, go_on: str) -> "E":
    """Runs; an error that stops the campaign keeps its own advice, followed by the command `go_on`.
    Such an error, mostly a full disk, costs the trial under way and nothing else."""
    try:
        return run()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO):
            raise
        stop = UserError(
            "the campaign cannot be written",
            where=error.filename or str(directory),
            actual=error.strerror,
            fix="make room or give access there",
        )
    except UserError as error:
        stop = error
    further = f"what was finished is a valid campaign, and `{go_on}` goes on with it"
    raise UserError(
        stop.what,
        where=stop.where,
        expected=stop.expected,
        actual=stop.actual,
        fix=f"{stop.fix}; {further}" if stop.fix else further,
    )


def _answer(directory: Path, no_report: bool) -> int:
    """Shows and writes what the campaign found; the exit code."""
    from rmwbench.bundle import Bundle

    bundle = Bundle(directory)
    nothing = 0 if bundle.trials("done") and not own_failed(bundle) else 2
    if no_report and (nothing or not limits(bundle)):
        say(directory)
        return nothing
    from rmwbench.published.campaign_section import evaluated
    from rmwbench.report.show.files import write_html
    from rmwbench.report.show.suite_view import view
    from rmwbench.results.suite_document import summarise

    answer = summarise(bundle)
    if no_report:
        say(directory)
        return exit_code(answer)
    evaluations = evaluated(answer)
    print_view(view(answer, evaluations))
    path = directory / "report.html"
    write_html(answer, path, evaluations)
    say(f"report: {path}")
    return nothing or exit_code(answer)
