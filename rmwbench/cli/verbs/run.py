"""`rmwbench run SUITE` and `rmwbench run --resume DIR`: run a campaign and show its answer."""

import contextlib
import errno
import functools
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol, TypeVar

import typer

from rmwbench.cli.choice import Candidates, With, Without, by_option, choice
from rmwbench.cli.console import say, stderr_console, stdout_console
from rmwbench.cli.gate import exit_code, limits
from rmwbench.cli.verbs.suites import complete_suite
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from rmwbench.campaign.run import Runner

E = TypeVar("E", covariant=True)


class Runs(Protocol[E]):
    """What runs trials until its end or a signal."""

    def run(self, console: "Console") -> E: ...


def register(app: typer.Typer) -> None:
    app.command(
        name="run",
        help="Run a suite, or finish a campaign that was stopped, and show the answer.",
        epilog="Exit code 0: finished with at least one good trial, 130: stopped, 2: otherwise. Where the suite says "
        "what is acceptable (`outcomes`, docs/suites.md): 0 where all is, 1 where it is not, 2 where that could not be "
        "told.",
    )(run)


def run(
    suite: Annotated[
        str | None,
        typer.Argument(
            metavar="[SUITE]",
            help="A shipped suite such as `quick` (`rmwbench suites` lists them), or the path of a suite file (.yaml).",
            autocompletion=complete_suite,
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Where the campaign goes; ./campaigns/SUITE-DATE-TIME if absent. With --cluster also s3://… and the "
            "like: a copy there after each block.",
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="Fit whole blocks into this time, such as 5m.")
    ] = None,
    short: Annotated[
        bool, typer.Option("--short", help="The suite's short version: the same factors, fewer levels, shorter trials.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, show_default="0", help="Draws the order of trials and their schedules.")
    ] = None,
    workload: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this workload; may be repeated.")
    ] = None,
    arm: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this arm; may be repeated.")] = None,
    candidates: Candidates = None,
    added: With = None,
    without: Without = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Finish the campaign in this directory; no finished trial is repeated."),
    ] = None,
    series: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Sample CPU, memory and network within the window, such as 10Hz."),
    ] = None,
    threads: Annotated[bool, typer.Option("--threads", help="CPU and wait of every thread as well.")] = False,
    schedule: Annotated[
        bool,
        typer.Option(
            "--schedule",
            help="Trace when each thread got a processor. It disturbs: latencies of traced trials are not comparable.",
        ),
    ] = False,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run the trials on the machines of this Ray cluster: auto, HOST:PORT or ray://HOST:PORT.",
        ),
    ] = None,
    place: Annotated[
        str | None,
        typer.Option(
            metavar="HOST=MACHINE,…",
            help="With --cluster: each host of a workload is this machine, over the network that is really between "
            "them; MACHINE@ADDRESS where the others reach it at another address than Ray.",
        ),
    ] = None,
    gang: Annotated[
        bool,
        typer.Option("--gang", help="With --cluster: the same on any like machines, as many trials at once as fit."),
    ] = False,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Run only; `rmwbench show DIR` gives the answer later.")
    ] = False,
    claims: Annotated[
        bool,
        typer.Option(
            "--claims",
            help="Run what the open claims of a published evaluation need (SUITE is then its name, or the id of one "
            "claim; all of them if absent), within --budget, 30m if absent.",
        ),
    ] = False,
    verdict: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="With --claims: only those that the shipped ledger calls so, such as undecided; may be repeated.",
        ),
    ] = None,
) -> None:
    from rmwbench.campaign.start import new_campaign, resumed_campaign
    from rmwbench.evaluations.claims.campaign.session import is_session

    if claims or (resume is not None and is_session(resume)):
        from rmwbench.cli.evaluations.claims_run import run_claims

        unsuited = {
            "SUITE": suite if resume else None,
            "--out": out if resume else None,
            "--seed": seed if resume else None,
            "--short": short or None,
            "--workload": workload,
            "--arm": arm,
            **by_option(candidates, added, without),
            "--series": series,
            "--threads": threads or None,
            "--schedule": schedule or None,
            "--cluster": cluster,
            "--place": place,
            "--gang": gang or None,
            "--verdict": verdict if resume else None,
        }
        run_claims(
            suite,
            unsuited,
            verdicts=verdict or (),
            out=out,
            budget=budget,
            seed=seed or 0,
            resume=resume,
            no_report=no_report,
        )
        return

    if verdict:
        raise UserError(
            "--verdict goes with --claims", where="--verdict", fix="rmwbench run --claims --verdict undecided"
        )
    if resume is not None:
        given = {"SUITE": suite, "--out": out, "--budget": budget, "--seed": seed, "--workload": workload, "--arm": arm}
        given |= by_option(candidates, added, without)
        given |= {
            "--short": short or None,
            "--series": series,
            "--threads": threads or None,
            "--schedule": schedule or None,
            "--place": place,
            "--gang": gang or None,
        }
        for name, value in given.items():
            if value not in (None, [], ()):
                raise UserError(
                    f"{name} and --resume contradict each other",
                    where="--resume",
                    fix=f"a campaign keeps its plan: leave {name} out",
                )
        directory = resume
        campaign = resumed_campaign(directory) if cluster is None else _resumed_on(cluster, directory)
    elif suite is None:
        raise UserError(
            "which suite?", expected="rmwbench run SUITE, or rmwbench run --resume DIR", fix="rmwbench run quick"
        )
    else:
        from rmwbench.bundle.newest import CAMPAIGNS
        from rmwbench.cli.verbs.plan import parse_duration_s

        remote = out is not None and "://" in out
        default = CAMPAIGNS / f"{Path(suite).stem}-{time.strftime('%Y%m%d-%H%M%S')}"
        directory = default if out is None or remote else Path(out)
        if remote and cluster is None:
            raise UserError(
                "only a campaign on a cluster writes to another filesystem",
                where="--out",
                expected="a directory, or --cluster ADDRESS besides",
                actual=out,
                fix="run it into a directory, then copy that",
            )
        budget_s = None if budget is None else parse_duration_s(budget)
        begin = new_campaign if cluster is None else _new_on(cluster, out if remote else None, place, gang)
        if cluster is None and (place is not None or gang):
            raise UserError(
                f"{'--place' if place is not None else '--gang'} is about the machines of a cluster",
                expected="--cluster ADDRESS besides",
                fix="see docs/cluster.md; without both, hosts are namespaces of this machine",
            )
        campaign = begin(
            suite,
            directory,
            seed=seed or 0,
            budget_s=budget_s,
            workloads=workload or (),
            arms=arm or (),
            sampling=_sampling(series, threads, schedule),
            shortened=short,
            choice=choice(candidates, added, without),
        )

    console = stderr_console()
    if any(cell.sampling.traced for cell in campaign.plan.cells):
        console.print("traced: every thread's schedule is recorded; latencies are not comparable with other trials")
    with campaign.writer, getattr(campaign, "fleet", contextlib.nullcontext()):
        if not campaign.course.finished:
            ending = guarded(campaign, directory, console)
        else:
            done = "everything was decided" if campaign.course.decided else "every trial of this campaign is finished"
            console.print(f"{done}: nothing is left to run")
            ending = None
    if ending is not None and ending.stopped_by:
        console.print(f"stopped by {ending.stopped_by}; {directory} is a valid campaign of what was finished")
        console.print(f"go on:   rmwbench run --resume {directory}\nlook:    rmwbench show {directory}")
        raise typer.Exit(130)
    code = _answer(directory, no_report)
    if copy := getattr(campaign, "copy", None):
        copy.update()  # the report, too
        print(f"copy: {copy.address}")
    raise typer.Exit(code)


def _new_on(address: str, copy_to: str | None, place: str | None, gang: bool) -> "Callable[..., Runner]":
    from rmwbench.cluster import placing
    from rmwbench.cluster.start import new_campaign

    if place is not None and gang:
        raise UserError(
            "--place and --gang contradict each other", fix="--place names the machines, --gang takes any like ones"
        )
    placed = placing.parse(place) if place is not None else placing.Placing() if gang else None
    return functools.partial(new_campaign, address, copy_to, placed)


def _resumed_on(address: str, directory: Path) -> "Runner":
    from rmwbench.cluster.start import resumed_campaign

    return resumed_campaign(address, directory)


def _sampling(series: str | None, threads: bool, schedule: bool) -> dict[str, float | bool]:
    """What was asked for beyond the suite's own `sampling`. Raises UserError."""
    asked: dict[str, float | bool] = {name: True for name, on in (("threads", threads), ("schedule", schedule)) if on}
    if series is not None:
        number = series.strip().lower().removesuffix("hz").strip()
        try:
            rate = float(number)
        except ValueError:
            rate = -1.0
        if not 0 < rate <= 100:
            raise UserError(
                "this is no rate for a series", where="--series", expected="10Hz; at most 100Hz", actual=series
            )
        asked["series_hz"] = rate
    return asked


def guarded(runs: "Runs[E]", directory: Path, console: "Console", go_on: str | None = None) -> "E":
    """What stops a campaign from being written, mostly a full disk, costs the trial under way and nothing else.
    `go_on`: the command that goes on; `rmwbench run --resume` where None."""
    try:
        return runs.run(console)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO):
            raise
        what, where, actual = "the campaign cannot be written", error.filename or str(directory), error.strerror
    except UserError as error:
        what, where, actual = error.what, error.where, error.actual
    raise UserError(
        what,
        where=where,
        actual=actual,
        fix="what was finished is a valid campaign: make room (is the disk full?), then "
        f"{go_on or f'rmwbench run --resume {directory}'}",
    )


def _answer(directory: Path, no_report: bool) -> int:
    """Shows and writes what the campaign found; the exit code."""
    from rmwbench.bundle import Bundle

    bundle = Bundle(directory)
    nothing = 0 if bundle.trials("done") else 2
    if no_report and (nothing or not limits(bundle)):
        say(directory)
        return nothing
    from rmwbench.evaluations.beside import evaluated
    from rmwbench.report.html import write_html
    from rmwbench.report.terminal import print_show
    from rmwbench.results.show import summarise

    document = summarise(bundle)
    if no_report:
        say(directory)
        return exit_code(document)
    beside = evaluated(document)
    print_show(document, stdout_console(), beside)
    path = directory / "report.html"
    write_html(document, path, beside)
    say(f"report: {path}")
    return nothing or exit_code(document)
