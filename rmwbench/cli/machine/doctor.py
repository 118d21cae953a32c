"""`rmwbench doctor`: what on this machine will spoil or explain results, and the command that
changes it.

`rmwbench doctor --fix` and `--undo`: the commands are shown, one question is asked, and what was
before is kept, so that it can be set back."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from rmwbench.cli.console import print_json, stdout_console
from rmwbench.command_name import as_typed
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from rmwbench.lab.machine import Checkup
    from rmwbench.lab.machine.finding import Finding
    from rmwbench.lab.machine.fixes import FixOutcome, FixStep
    from rmwbench.robot.live.live_model import LiveCheckup

DONE, NOT_DONE = 0, 1


def fix_findings(
    findings: "Sequence[Finding]", only: Sequence[str], *, yes: bool, as_json: bool
) -> int:
    """The exit code. Changes nothing where one of the steps is not this user's to do: then it says
    what to type."""
    from rmwbench.lab.machine.fixes import KernelFiles, apply, command_of, fixable, steps_of

    kernel = KernelFiles()
    to_fix = fixable(findings, only)
    steps = steps_of(to_fix, kernel)
    if not steps:
        return _end([], as_json, _nothing(findings, only))
    if denied := [step for step in steps if not kernel.may(step)]:
        return _by_hand(steps, denied, as_json)
    _show("This changes, until the machine starts anew:", [command_of(step) for step in steps])
    if not _agreed("Run them?", yes):
        return NOT_DONE
    outcomes = apply(steps, kernel)
    code = _end(outcomes, as_json, as_typed("`rmwbench doctor --undo` sets it back."))
    lasting = [finding.permanent for finding in to_fix if finding.permanent]
    if lasting:
        _show("For good, as root, what a restart does not undo:", lasting)
    return code


def undo_fixes(*, yes: bool, as_json: bool) -> int:
    """The exit code."""
    from rmwbench.lab.machine.fixes import KernelFiles, command_of, kept_steps, undo

    kernel = KernelFiles()
    steps = [step for step in reversed(kept_steps(kernel)) if step.before is not None]
    if not steps:
        return _end([], as_json, "Nothing is to be set back: --fix has changed nothing.")
    if denied := [step for step in steps if not kernel.may(step)]:
        return _by_hand(steps, denied, as_json, back=True)
    _show("This sets back:", [command_of(step, step.before) for step in steps])
    if not _agreed("Run them?", yes):
        return NOT_DONE
    return _end(undo(kernel), as_json, "")


def _nothing(findings: "Sequence[Finding]", only: Sequence[str]) -> str:
    """Why there is nothing to change: what was asked for by name is good, or only a person can
    change it."""
    by_hand = [
        f"{finding.check}: {finding.found}" + (f" (by hand: {finding.fix})" if finding.fix else "")
        for finding in findings
        if finding.check in only and finding.level != "green"
    ]
    if by_hand:
        return "Nothing that --fix could set: " + "; ".join(by_hand)
    return "Nothing is to be changed: all that --fix can set is as it should be."


def _by_hand(
    steps: "Sequence[FixStep]", denied: "Sequence[FixStep]", as_json: bool, back: bool = False
) -> int:
    from rmwbench.lab.machine.fixes import FixOutcome, command_of

    if as_json:
        return _end([FixOutcome(step, "not allowed") for step in steps], as_json, "")
    targets = ", ".join(dict.fromkeys(step.target for step in denied))
    _show(
        f"This user may not change {targets}. As root (in a container: on its host):",
        [command_of(step, step.before if back else None, sudo=True) for step in steps],
    )
    return NOT_DONE


def _show(heading: str, lines: Sequence[str]) -> None:
    """Prints on stderr, so that stdout is the document alone."""
    typer.echo(heading, err=True)
    for line in lines:
        typer.echo(f"  {line}", err=True)


def _agreed(question: str, yes: bool) -> bool:
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError(
            "nothing is changed without being asked, and there is no terminal to ask on",
            expected="a terminal, or --yes",
        )
    return typer.confirm(question, default=False, err=True)


def _end(outcomes: "Sequence[FixOutcome]", as_json: bool, last_line: str) -> int:
    from rmwbench.lab.machine.fixes import SCHEMA, VERSION, command_of

    code = NOT_DONE if any(outcome.problem for outcome in outcomes) else DONE
    if as_json:
        rows = [
            {
                "kind": outcome.step.kind,
                "target": outcome.step.target,
                "before": outcome.step.before,
            }
            | {"value": outcome.step.value, "problem": outcome.problem or None}
            | {"command": command_of(outcome.step)}
            for outcome in outcomes
        ]
        print_json({"schema": SCHEMA, "version": VERSION, "changes": rows})
        return code
    for outcome in outcomes:
        if outcome.problem:
            print(f"{outcome.step.target}: not set: {outcome.problem}")
        else:
            print(f"{outcome.step.target}: done")
    if last_line:
        print(last_line)
    return code


TOOLS = ("sampler", "load")
STYLES = {"red": "bold red", "yellow": "yellow", "unknown": "magenta", "green": "green"}


def register(app: typer.Typer) -> None:
    app.command(
        name="doctor",
        help="Say what on this machine will spoil or explain results, and how to fix it.",
        epilog="Exit code 0: nothing is red, 1: something is, 2: this machine cannot be looked at. "
        "With --fix or --undo 0: all of it is so now, 1: something is not, 2: nobody could be "
        "asked. With --live 0: nothing was found, 1: something was, 2: not every process could be "
        "read.",
    )(doctor)


def doctor(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the document of docs/doctor.md.")
    ] = False,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Show the commands that can be taken back, ask once, and run them. They hold "
            "until the machine starts anew.",
        ),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHECK",
            help="With --fix: only this, such as 'receive buffer'; may be repeated.",
        ),
    ] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Set back what --fix has changed, and nothing else.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --fix or --undo: do not ask.")] = False,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Say instead why nothing arrives in what runs on this machine now. It reads, and "
            "sends no packet.",
        ),
    ] = False,
    domain: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, max=232, help="With --live: only this ROS domain."),
    ] = None,
) -> None:
    _check_options(
        fix=fix, undo=undo, only=bool(only), yes=yes, live=live, domain=domain is not None
    )
    if live:
        _live(domain, as_json=as_json)
    if undo:
        raise typer.Exit(undo_fixes(yes=yes, as_json=as_json))
    now = _checkup()
    if fix:
        raise typer.Exit(fix_findings(now.findings, only or (), yes=yes, as_json=as_json))
    _tell(now, now.summary, 1 if now.level == "red" else 0, as_json=as_json)


def _checkup() -> "Checkup":
    from rmwbench.lab import machine

    try:
        return machine.checkup(tools=_tools(), calibration=_calibration())
    except OSError as error:
        raise UserError(
            "cannot look at this machine",
            where=error.filename,
            expected="Linux with /proc and /sys",
            actual=error.strerror or str(error),
        ) from error


def _check_options(
    *, fix: bool, undo: bool, only: bool, yes: bool, live: bool, domain: bool
) -> None:
    if fix and undo:
        raise UserError("--fix and --undo contradict each other", fix="give one of them")
    if only and not fix:
        raise UserError("--only says what --fix is to change", expected="--fix besides")
    if yes and not (fix or undo):
        raise UserError("--yes answers what --fix or --undo asks", expected="one of them besides")
    if live and (fix or undo):
        raise UserError("--live changes nothing", fix="leave --fix and --undo out")
    if domain and not live:
        raise UserError("--domain says where --live is to look", expected="--live besides")


def _live(domain: int | None, *, as_json: bool) -> NoReturn:
    """The running system instead of the machine; ends the verb."""
    from rmwbench.robot.live.live_checkup import checkup, summary

    live_checkup = checkup(domain)
    _tell(live_checkup, summary(live_checkup), live_checkup.exit_code, as_json=as_json)


def _tell(
    checkup: "Checkup | LiveCheckup", summary: str, exit_code: int, *, as_json: bool
) -> NoReturn:
    """Prints what was looked at; ends the verb."""
    if as_json:
        print_json(checkup.document())
    else:
        _print(stdout_console(), summary, checkup.findings)
    raise typer.Exit(exit_code)


def _tools() -> dict[str, dict[str, str]]:
    """Name → why it cannot be used, or ""; of middlewares also name → the command that changes it,
    where one does."""
    from rmwbench.cli.machine.middlewares import document
    from rmwbench.errors import UserError
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
    """The newest calibration of this machine as the rules want it: `summary` and `age_days`."""
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
        console.print(
            as_typed("`rmwbench doctor --fix` asks, and runs those that can be taken back")
        )
