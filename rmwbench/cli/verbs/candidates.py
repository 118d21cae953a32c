"""`rmwbench candidates`: what suites compare by name, in which sets, and what of it is ready
here."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmwbench.cli.console import print_blocks, print_json
from rmwbench.cli.options import complete_candidate
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmwbench.lab.middleware import Worker
    from rmwbench.report.view import Block
    from rmwbench.suite.file.candidate_list import Candidate, Candidates

SCHEMA, VERSION = "rmwbench/candidates", 1
COLUMNS = ("candidate", "ready", "layer", "middleware", "profile", "how")


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
    from rmwbench.report.view import Items, Table, TableCell, Text

    blocks: list[Block] = []
    for one in found["sets"]:
        blocks.append(Text(f"{one['set']}: {one['what']}", "strong"))
        without = [f"{name} without a loan: {why}" for name, why in one["no_loan"].items()]
        blocks.append(Items([", ".join(one["candidates"]), *without], mark=""))
    rows = [
        (
            TableCell(one["candidate"], "strong"),
            one["version"] if one["ready"] else TableCell("no", "open"),
            one["layer"],
            one["middleware"],
            one["profile"],
            _how(one["how"]),
        )
        for one in found["candidates"]
    ]
    blocks += [Text(""), Table(COLUMNS, rows)]
    print_blocks(*blocks, *_lacking(found))


def _how(how: dict[str, Any]) -> str:
    words = []
    for key, value in how.items():
        words += (
            [f"{name}={level}" for name, level in value.items()]
            if isinstance(value, dict)
            else [f"{key} {value}"]
        )
    return ", ".join(words)


def _lacking(found: dict[str, Any]) -> "Iterator[Block]":
    """Each reason once, with the command that changes it."""
    from rmwbench.report.view import Text, Verbatim

    lacking: dict[tuple[str, str | None, str | None], list[str]] = {}
    for one in found["candidates"]:
        if not one["ready"]:
            lacking.setdefault((one["reason"], one["command"], one["needs"]), []).append(
                one["candidate"]
            )
    for (reason, command, needs), names in lacking.items():
        more = f"; it needs {needs}" if needs else ""
        yield Text(f"\n{', '.join(names)} not ready: {reason}{more}")
        if command:
            yield Text(f"  do: {command}")
    for name in found["unlisted"]:
        line = (
            f"{{name: {name.replace('/rmw_', '/').removesuffix('_cpp')}, in: [ros2, tsc], "
            f"middleware: {name}"
        )
        yield Text(
            f"\n{name} is installed and not a candidate. In a file that RMWBENCH_CANDIDATES names:"
        )
        yield Verbatim(f"  candidates: [{line}, wait: callback, optional: true}}]")
