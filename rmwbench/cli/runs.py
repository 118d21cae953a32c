"""Runs a campaign for a user at a terminal: an error or a signal costs as little as possible, the
command that goes on is printed, and so is the campaign's answer.

The exit code of `run` and `show` follows from what the suite calls acceptable (`outcomes:` makes a
gate of them), and from whether the user's own arms fail.
"""

import errno
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, Protocol

import typer

from rmwbench.cli.console import print_view, say, stderr_console
from rmwbench.command_name import command_line
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmwbench.bundle import Bundle
    from rmwbench.campaign.run import Runner, TrialSource
    from rmwbench.results.show_model import LevelsOutcome, SuiteAnswer


ENDING = (
    "Exit code 0: finished with at least one good trial, 130: stopped, 2: otherwise, or if an arm "
    "of your own failed in every trial. If the suite says what is acceptable (`outcomes`, "
    "docs/suites.md): 0 if all conditions are, 1 if one is not, 2: could not tell."
)
NoReport = Annotated[
    bool, typer.Option("--no-report", help="Run only; `rmwbench show DIR` gives the answer later.")
]
REACHED = "meets"
OPEN = ("open", "unknown")
"""Outcomes of a condition (`rmwbench.analysis.verdicts.limit_outcomes`). Every other outcome misses
a limit, and so does an open one that may be all but REACHED."""


class Stoppable(Protocol):
    """The ending of a campaign, or of several."""

    @property
    def stopped_by(self) -> str | None:
        """The signal that stopped it, None if nothing did."""


def carry_out(
    campaign: "Runner[TrialSource]", directory: Path, no_report: bool, cluster: str | None
) -> NoReturn:
    """Run the rest of a campaign, on the cluster at this address if one is named, print its answer
    and exit."""
    run_to_end(
        campaign, directory, resume_command(directory, cluster), command_line("show", directory)
    )
    code = _answer(directory, no_report)
    if copy := campaign.lab.copy:
        copy.update()  # the report is new
        print(f"copy: {copy.address}")
    raise typer.Exit(code)


def resume_command(directory: Path, cluster: str | None = None) -> str:
    return command_line("resume", directory, *(["--cluster", cluster] if cluster else []))


def run_to_end(campaign: "Runner[TrialSource]", directory: Path, go_on: str, look: str) -> None:
    """Run the rest of a campaign as `run_stoppable` does."""
    console = stderr_console()
    if any(cell.sampling.traced for cell in campaign.source.plan.cells):
        console.print(
            "traced: every thread's schedule is recorded; latencies are not comparable with other "
            "trials"
        )
    with campaign.writer, campaign.lab:
        if not campaign.source.finished:
            run_stoppable(lambda: campaign.run(console), directory, go_on, look)
        else:
            outcome = (
                "everything was decided"
                if campaign.source.decided
                else "every trial of this campaign is finished"
            )
            console.print(f"{outcome}: nothing is left to run")


def run_stoppable(
    run: "Callable[[], Stoppable | None]", directory: Path, go_on: str, look: str
) -> None:
    """Run campaigns. If a signal stops them, print the commands that go on and that look at the
    results, and exit with code 130.

    An error that stops them, mostly a full disk, costs the trial under way and nothing else. Its
    UserError keeps its own advice, followed by the command `go_on`.
    """
    try:
        ending = run()
        if ending is None or not ending.stopped_by:
            return
        text = f"stopped by {ending.stopped_by}; what was finished stays in {directory}"
        stderr_console().print(f"{text}\ngo on:   {go_on}\nlook:    {look}", markup=False)
        raise typer.Exit(130)
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
    advice = f"what was finished is a valid campaign, and `{go_on}` goes on with it"
    raise UserError(
        stop.what,
        where=stop.where,
        expected=stop.expected,
        actual=stop.actual,
        fix=f"{stop.fix}; {advice}" if stop.fix else advice,
    )


def _answer(directory: Path, no_report: bool) -> int:
    """Print the campaign's answer and write its report, or print its directory alone where
    `no_report`; return the exit code."""
    from rmwbench.bundle import Bundle

    bundle = Bundle(directory)
    failure = 0 if bundle.trials("done") and not own_arm_failed(bundle) else 2
    if no_report and (failure or bundle.campaign.plan.outcomes is None):
        say(directory)
        return failure
    from rmwbench.published.campaign_section import evaluated
    from rmwbench.report.show.suite_view import view, write_html
    from rmwbench.results.show_document import summarise

    answer = summarise(bundle)
    if no_report:
        say(directory)
        return exit_code(answer)
    evaluations = evaluated(answer)
    print_view(view(answer, evaluations))
    path = directory / "report.html"
    write_html(answer, path, evaluations)
    say(f"report: {path}")
    return failure or exit_code(answer)


def exit_code(answer: "SuiteAnswer") -> int:
    """Return 0 if every condition meets the limits or there are no limits, 1 if a condition misses
    one, 2 if that is not known."""
    if answer.outcomes is None:
        return 0
    conditions = answer.outcomes.conditions
    if any(map(_misses_limit, conditions)):
        return 1
    return 0 if conditions and all(condition.outcome == REACHED for condition in conditions) else 2


def own_arm_failed(bundle: "Bundle") -> bool:
    """Whether an arm of the user's own failed in every trial: the user's question is not answered
    then, whatever the other arms did. An arm is the user's own if it is no shipped candidate and in
    no shipped suite."""
    arms = {cell["cell"]: cell["arm"]["name"] for cell in bundle.campaign.plan.cells}
    statuses: dict[str, set[str]] = {}
    for trial in bundle.trials():
        statuses.setdefault(arms[trial.cell], set()).add(trial.status)
    failed = {
        arm
        for arm, arm_statuses in statuses.items()
        if "failed" in arm_statuses and "done" not in arm_statuses
    }
    return bool(failed) and not failed <= _shipped_arms(bundle)


def _shipped_arms(bundle: "Bundle") -> set[str]:
    from rmwbench.suite.file.candidates_file import shipped_candidates
    from rmwbench.suite.file.load import plain
    from rmwbench.suite.file.suite_files import read, suites_directory

    suite = Path((bundle.campaign.request or {}).get("suite_file") or "")
    names = set(shipped_candidates().by_name)
    if suite.is_relative_to(suites_directory()):
        names |= {arm["name"] for arm in plain(read(suite), where=str(suite))["arms"]}
    return names


def _misses_limit(condition: "LevelsOutcome") -> bool:
    """Whether a condition misses a limit, or has an open outcome that can only be a miss."""
    if condition.outcome in OPEN:
        return bool(condition.may) and REACHED not in condition.may
    return condition.outcome != REACHED
