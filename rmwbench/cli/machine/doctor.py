"""`rmwbench doctor`: names what will spoil or explain results on this machine, each with the
command that changes it.

With `--fix` and `--undo` it prints the commands, asks once, and runs them; the earlier values are
stored, so that they can be set back."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from rmwbench.cli.console import print_json, stdout_console
from rmwbench.cli.options import json_option, with_options
from rmwbench.command_name import as_typed
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from rmwbench.lab.machine import Checkup
    from rmwbench.lab.machine.finding import Finding
    from rmwbench.lab.machine.fixes import FixOutcome, FixStep
    from rmwbench.robot.live.live_model import LiveCheckup

DONE, NOT_DONE = 0, 1
TOOLS = ("sampler", "load")
STYLES = {"red": "bold red", "yellow": "yellow", "unknown": "magenta", "green": "green"}


def register(app: typer.Typer) -> None:
    app.command(
        name="doctor",
        help="Name what will spoil or explain results on this machine, and how to fix it.",
        epilog="Exit code 0: nothing is red, 1: something is, 2: this machine cannot be examined. "
        "With --fix or --undo 0: all is set, 1: something is not, 2: there is no terminal to ask "
        "on. With --live 0: no finding, 1: a finding, 2: a process could not be read.",
    )(with_options(doctor))


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    as_json: Annotated[bool, json_option("Print the document of docs/doctor.md.")] = False
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Show the commands that can be undone, ask once, and run them. They hold until "
            "the next start of the machine.",
        ),
    ] = False
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHECK",
            help="With --fix: only this, such as 'receive buffer'; may be repeated.",
        ),
    ] = None
    undo: Annotated[
        bool, typer.Option("--undo", help="Set back what --fix has changed, and nothing else.")
    ] = False
    yes: Annotated[bool, typer.Option("--yes", help="With --fix or --undo: do not ask.")] = False
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Say instead why nothing arrives in the system that runs on this machine now. It "
            "only reads, and sends no packet.",
        ),
    ] = False
    domain: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, max=232, help="With --live: only this ROS domain."),
    ] = None


def doctor(options: DoctorOptions) -> None:
    _check_options(options)
    yes, as_json = options.yes, options.as_json
    if options.live:
        _live(options.domain, as_json=as_json)
    if options.undo:
        raise typer.Exit(undo_fixes(yes=yes, as_json=as_json))
    checkup = _checkup()
    if options.fix:
        only = options.only or ()
        raise typer.Exit(fix_findings(checkup.findings, only, yes=yes, as_json=as_json))
    _end_with(checkup, checkup.summary, 1 if checkup.level == "red" else 0, as_json=as_json)


def _checkup() -> "Checkup":
    from rmwbench.lab import machine

    try:
        return machine.checkup(tools=_tools(), calibration=_calibration())
    except OSError as error:
        raise UserError(
            "cannot examine this machine",
            where=error.filename,
            expected="Linux with /proc and /sys",
            actual=error.strerror or str(error),
        ) from error


def _check_options(options: DoctorOptions) -> None:
    changes = options.fix or options.undo
    if options.fix and options.undo:
        raise UserError("--fix and --undo contradict each other", fix="give one of them")
    if options.only and not options.fix:
        raise UserError("--only names what --fix changes", expected="--only together with --fix")
    if options.yes and not changes:
        raise UserError(
            "--yes answers the question of --fix or --undo",
            expected="--yes together with one of them",
        )
    if options.live and changes:
        raise UserError("--live changes nothing", fix="leave --fix and --undo out")
    if options.domain is not None and not options.live:
        raise UserError(
            "--domain limits --live to a ROS domain", expected="--domain together with --live"
        )


def _live(domain: int | None, *, as_json: bool) -> NoReturn:
    """Check the running system instead of the machine, and exit."""
    from rmwbench.robot.live.live_checkup import checkup, summary

    live_checkup = checkup(domain)
    _end_with(live_checkup, summary(live_checkup), live_checkup.exit_code, as_json=as_json)


def _end_with(
    checkup: "Checkup | LiveCheckup", summary: str, exit_code: int, *, as_json: bool
) -> NoReturn:
    if as_json:
        print_json(checkup.document())
    else:
        _print(stdout_console(), summary, checkup.findings)
    raise typer.Exit(exit_code)


def _tools() -> dict[str, dict[str, str]]:
    """Return why middlewares and tools cannot be used (name → reason, "" if they can), and the
    commands that change it for middlewares (name → command)."""
    from rmwbench.cli.machine.middlewares import document
    from rmwbench.lab.middleware import tool

    entries = document()["middlewares"]
    middlewares = {e["middleware"]: "" if e["built"] else e["reason"] for e in entries}
    commands = {e["middleware"]: e["command"] for e in entries if e["command"]}
    tools = {}
    for name in TOOLS:
        try:
            tool.find(name)
            tools[name] = ""
        except UserError as error:
            tools[name] = error.what
    return {"middlewares": middlewares, "commands": commands, "tools": tools}


def _calibration() -> dict[str, Any] | None:
    """Return `summary` and `age_days` of the newest calibration of this machine, None if it has
    none."""
    from datetime import UTC, datetime

    from rmwbench.campaign.calibrations import newest
    from rmwbench.lab import machine

    document = newest(machine.describe())
    if document is None:
        return None
    created = datetime.strptime(document["created_utc"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    truths, pairs = document["truths"], document["aa"]
    summary = (
        f"recovered {truths['recovered']} of {truths['total']} injected truths, "
        f"A/A declared different in {pairs['different']} of {pairs['total']}"
    )
    return {"summary": summary, "age_days": (datetime.now(UTC) - created).total_seconds() / 86400}


def _print(console: "Console", summary: str, findings: "Sequence[Finding]") -> None:
    from rich.markup import escape
    from rich.padding import Padding

    console.print(f"[bold]{escape(summary)}[/bold]")
    for finding in findings:
        if finding.level == "green":
            continue
        style = STYLES[finding.level]
        console.print()
        head = (
            f"[{style}]{finding.level}[/{style}] [bold]{escape(finding.check)}[/bold]: "
            f"{escape(finding.found)}"
        )
        console.print(head)
        for label, text, is_command in finding.lines():
            line = f"[dim]{label}:[/dim] {escape(text)}"
            if is_command:
                console.print(f"    {line}", soft_wrap=True)
            else:
                console.print(Padding.indent(line, 4))
    green = [finding.check for finding in findings if finding.level == "green"]
    if green:
        console.print()
        console.print(f"[green]green[/green] {escape(', '.join(green))}")
    if not findings:
        return
    console.print()
    counts = [(level, sum(f.level == level for f in findings)) for level in STYLES]
    total = ", ".join(f"[{STYLES[level]}]{count} {level}[/]" for level, count in counts if count)
    if os.geteuid() and any(finding.fix for finding in findings):
        total += "; commands that change the system are for root"
    console.print(total)
    if any(finding.changes and finding.level != "green" for finding in findings):
        console.print(as_typed("`rmwbench doctor --fix` asks, and runs those that can be undone"))


def fix_findings(
    findings: "Sequence[Finding]", only: Sequence[str], *, yes: bool, as_json: bool
) -> int:
    """Run the steps that mend these findings, and return the exit code. If this user may not take
    one of the steps, none is taken, and all commands are printed."""
    from rmwbench.lab.machine.fixes import MachineSettings, apply, command_of, fixable, steps_of

    kernel = MachineSettings()
    to_fix = fixable(findings, only)
    steps = steps_of(to_fix, kernel)
    if not steps:
        return _print_outcomes([], as_json, _why_no_step(findings, only))
    if denied_steps := [step for step in steps if not kernel.may(step)]:
        return _by_hand(steps, denied_steps, as_json)
    _show("This changes until the next start:", [command_of(step) for step in steps])
    if not (yes or _user_agrees()):
        return NOT_DONE
    outcomes = apply(steps, kernel)
    code = _print_outcomes(outcomes, as_json, as_typed("`rmwbench doctor --undo` sets it back."))
    commands = [finding.permanent for finding in to_fix if finding.permanent]
    if commands:
        _show("For good, as root, what a restart does not undo:", commands)
    return code


def undo_fixes(*, yes: bool, as_json: bool) -> int:
    """Set back what --fix has changed, and return the exit code."""
    from rmwbench.lab.machine.fixes import MachineSettings, command_of, saved_steps, undo

    kernel = MachineSettings()
    steps = [step for step in reversed(saved_steps(kernel)) if step.before is not None]
    if not steps:
        text = "Nothing is to be set back: --fix has changed nothing."
        return _print_outcomes([], as_json, text)
    if denied_steps := [step for step in steps if not kernel.may(step)]:
        return _by_hand(steps, denied_steps, as_json, back=True)
    _show("This sets back:", [command_of(step, step.before) for step in steps])
    if not (yes or _user_agrees()):
        return NOT_DONE
    return _print_outcomes(undo(kernel), as_json, "", back=True)


def _why_no_step(findings: "Sequence[Finding]", only: Sequence[str]) -> str:
    """Return why --fix changes nothing: all is good, or only a person can change what `only`
    names."""
    by_hand = [
        f"{finding.check}: {finding.found}" + (f" (by hand: {finding.fix})" if finding.fix else "")
        for finding in findings
        if finding.check in only and finding.level != "green"
    ]
    if by_hand:
        return "Nothing that --fix could set: " + "; ".join(by_hand)
    return "Nothing is to be changed: all that --fix can set is as it should be."


def _by_hand(
    steps: "Sequence[FixStep]", denied_steps: "Sequence[FixStep]", as_json: bool, back: bool = False
) -> int:
    """Print the commands of steps of which some are denied to this user; return the exit code."""
    from rmwbench.lab.machine.fixes import FixOutcome, command_of

    if as_json:
        outcomes = [FixOutcome(step, "not allowed") for step in steps]
        return _print_outcomes(outcomes, as_json, "", back=back)
    targets = ", ".join(dict.fromkeys(step.target for step in denied_steps))
    _show(
        f"This user may not change {targets}. As root (in a container: on its host):",
        [command_of(step, step.before if back else None, sudo=True) for step in steps],
    )
    return NOT_DONE


def _show(heading: str, lines: Sequence[str]) -> None:
    """Print on stderr, so that stdout is the document alone."""
    typer.echo(heading, err=True)
    for line in lines:
        typer.echo(f"  {line}", err=True)


def _user_agrees() -> bool:
    """Ask whether the commands are to be run. Raises UserError without a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError(
            "--fix and --undo ask first, and there is no terminal to ask on",
            expected="a terminal, or --yes",
        )
    return typer.confirm("Run them?", default=False, err=True)


def _print_outcomes(
    outcomes: "Sequence[FixOutcome]", as_json: bool, last_line: str, *, back: bool = False
) -> int:
    """Print the outcome of each step, which was set back if `back`, and return the exit code."""
    from rmwbench.lab.machine.fixes import SCHEMA, VERSION, command_of

    code = NOT_DONE if any(outcome.problem for outcome in outcomes) else DONE
    if as_json:
        rows = [
            {
                "kind": outcome.step.kind,
                "target": outcome.step.target,
                "before": outcome.step.before,
                "value": outcome.step.value,
                "problem": outcome.problem or None,
                "command": command_of(outcome.step, outcome.step.before if back else None),
            }
            for outcome in outcomes
        ]
        print_json({"schema": SCHEMA, "version": VERSION, "changes": rows})
        return code
    for outcome in outcomes:
        result = f"not set: {outcome.problem}" if outcome.problem else "done"
        print(f"{outcome.step.target}: {result}")
    if last_line:
        print(last_line)
    return code
