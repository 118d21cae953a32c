"""`rmwbench doctor`: what on this machine will spoil or explain results, and the command that
changes it."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from rmwbench.cli.console import print_json, stdout_console
from rmwbench.typed import as_typed

if TYPE_CHECKING:
    from rich.console import Console

    from rmwbench.lab.machine.finding import Finding

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
    from rmwbench.cli.machine import fix as fixing
    from rmwbench.errors import UserError
    from rmwbench.lab import machine

    _check_options(fix=fix, undo=undo, only=bool(only), yes=yes)
    _check_live(live=live, domain=domain is not None, other=fix or undo)
    if live:
        _live(domain, as_json=as_json)
    if undo:
        raise typer.Exit(fixing.undo(yes=yes, as_json=as_json))
    try:
        found = machine.checkup(tools=_tools(), calibration=_calibration())
    except OSError as error:
        raise UserError(
            "cannot look at this machine",
            where=error.filename,
            expected="Linux with /proc and /sys",
            actual=error.strerror or str(error),
        ) from error
    if fix:
        raise typer.Exit(fixing.fix(found.findings, only or (), yes=yes, as_json=as_json))
    if as_json:
        print_json(found.document())
    else:
        _print(stdout_console(), found.summary, found.findings)
    raise typer.Exit(1 if found.level == "red" else 0)


def _check_options(*, fix: bool, undo: bool, only: bool, yes: bool) -> None:
    from rmwbench.errors import UserError

    if fix and undo:
        raise UserError("--fix and --undo contradict each other", fix="give one of them")
    if only and not fix:
        raise UserError("--only says what --fix is to change", expected="--fix besides")
    if yes and not (fix or undo):
        raise UserError("--yes answers what --fix or --undo asks", expected="one of them besides")


def _check_live(*, live: bool, domain: bool, other: bool) -> None:
    from rmwbench.errors import UserError

    if live and other:
        raise UserError("--live changes nothing", fix="leave --fix and --undo out")
    if domain and not live:
        raise UserError("--domain says where --live is to look", expected="--live besides")


def _live(domain: int | None, *, as_json: bool) -> NoReturn:
    """The running system instead of the machine; ends the verb."""
    from rmwbench.robot.live.live_checkup import checkup, summary

    found = checkup(domain)
    if as_json:
        print_json(found.document())
    else:
        _print(stdout_console(), summary(found), found.findings)
    raise typer.Exit(found.exit_code)


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
    made = datetime.strptime(document["created_utc"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    truths, pairs = document["truths"], document["aa"]
    summary = (
        f"recovered {truths['recovered']} of {truths['total']} injected truths, "
        f"A/A declared different in {pairs['different']} of {pairs['total']}"
    )
    return {"summary": summary, "age_days": (datetime.now(UTC) - made).total_seconds() / 86400}


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
