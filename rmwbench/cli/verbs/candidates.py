"""`rmwbench candidates`: what suites compare by name, in which sets, and what of it is ready
here."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmwbench.cli.console import print_json, stdout_console
from rmwbench.cli.options import complete_candidate
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from rmwbench.lab.middleware import Worker
    from rmwbench.suite.file.candidate_list import Candidate, Candidates

SCHEMA, VERSION = "rmwbench/candidates", 1


def register(app: typer.Typer) -> None:
    what = "List what suites compare by name: candidates, their sets, what is ready here."
    app.command(name="candidates", help=what)(candidates)


def candidates(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Candidates, sets or your own file of candidates; all if none.",
            autocompletion=complete_candidate,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the document of docs/candidates.md.")
    ] = False,
) -> None:
    found = document(names or [])
    if as_json:
        print_json(found)
    else:
        _print(found)


def document(names: list[str]) -> dict[str, Any]:
    """The document of docs/candidates.md. Raises UserError for a name that is not a candidate's."""
    from rmwbench.lab.middleware import find_workers

    known, chosen = _chosen(names)
    workers = find_workers({str(one.arm["middleware"]) for one in chosen} | {"rclcpp"})
    sets = {name: [one.name for one in chosen if name in one.sets] for name in known.sets}
    listed = {one.arm["middleware"] for one in known.known.values()}
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "sets": [
            {"set": name, "what": known.sets[name], "candidates": of}
            | {"no_loan": dict(known.no_loan.get(name, {}))}
            for name, of in sets.items()
            if of
        ],
        "candidates": [_entry(one, workers) for one in chosen],
        "unlisted": sorted(
            name for name in workers if name.startswith("rclcpp/") and name not in listed
        ),
    }


def _chosen(names: list[str]) -> "tuple[Candidates, list[Candidate]]":
    from pathlib import Path

    from rmwbench.suite.fault import Fault
    from rmwbench.suite.file.candidate_list import is_file
    from rmwbench.suite.file.candidates_file import candidates_of, known_candidates

    known = known_candidates()
    wanted: list[Candidate] = []
    for name in names:
        if is_file(name):
            own = candidates_of(Path(name))
            known = known.and_those(own)
            wanted += own.known.values()
            continue
        try:
            wanted += known.named(name)
        except Fault as fault:
            raise UserError(
                fault.what, expected=fault.expected, actual=fault.actual, fix=fault.fix
            ) from fault
    chosen = {one.name: one for one in (wanted if names else known.known.values())}
    return known, list(chosen.values())


def _entry(one: "Candidate", workers: "dict[str, Worker]") -> dict[str, Any]:
    from rmwbench.lab.middleware import not_ready

    arm = one.arm
    lack = not_ready(str(arm["middleware"]), workers)
    described = None if lack else workers[str(arm["middleware"])].description
    return {
        "candidate": one.name,
        "middleware": arm["middleware"],
        "layer": one.layer,
        "profile": arm.get("profile", "untouched"),
        "how": {
            key: value
            for key, value in arm.items()
            if key not in ("name", "middleware", "profile", "optional")
        },
        "sets": list(one.sets),
        "needs": one.needs,
        "where": one.where,
        "ready": lack is None,
        "version": described["version"] if described else None,
        "reason": lack.reason if lack else None,
        "command": lack.command if lack else None,
    }


def _print(found: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    console = stdout_console()
    for one in found["sets"]:
        console.print(f"[bold]{escape(one['set'])}[/bold]: {escape(one['what'])}")
        console.print(f"  {escape(', '.join(one['candidates']))}")
        for middleware, reason in one["no_loan"].items():
            console.print(f"  {escape(f'{middleware} without a loan: {reason}')}")
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for heading in ("candidate", "ready", "layer", "middleware", "profile"):
        table.add_column(heading, no_wrap=True)
    table.add_column("how", overflow="fold")
    for one in found["candidates"]:
        ready = escape(one["version"]) if one["ready"] else "[yellow]no[/yellow]"
        name = f"[bold]{escape(one['candidate'])}[/bold]"
        table.add_row(
            name,
            ready,
            one["layer"],
            one["middleware"],
            escape(one["profile"]),
            escape(_how(one["how"])),
        )
    console.print()
    console.print(table)
    _print_lacking(console, found)


def _how(how: dict[str, Any]) -> str:
    words = []
    for key, value in how.items():
        words += (
            [f"{name}={level}" for name, level in value.items()]
            if isinstance(value, dict)
            else [f"{key} {value}"]
        )
    return ", ".join(words)


def _print_lacking(console: Any, found: dict[str, Any]) -> None:
    """Each reason once, with the command that changes it."""
    from rich.markup import escape

    from rmwbench.typed import as_typed

    lacking: dict[tuple[str, str | None, str | None], list[str]] = {}
    for one in found["candidates"]:
        if not one["ready"]:
            lacking.setdefault((one["reason"], one["command"], one["needs"]), []).append(
                one["candidate"]
            )
    for (reason, command, needs), names in lacking.items():
        more = f"; it needs {needs}" if needs else ""
        console.print(
            f"\n{escape(', '.join(names))} [yellow]not ready[/yellow]: {escape(reason + more)}"
        )
        if command:
            console.print(f"  do: {escape(as_typed(command))}")
    for name in found["unlisted"]:
        line = (
            f"{{name: {name.replace('/rmw_', '/').removesuffix('_cpp')}, in: [ros2, tsc], "
            f"middleware: {name}"
        )
        console.print(
            f"\n{escape(name)} is installed and not a candidate. In a file that "
            "RMWBENCH_CANDIDATES names:"
        )
        console.print(
            f"  candidates: [{escape(line)}, wait: callback, optional: true}}]", soft_wrap=True
        )
