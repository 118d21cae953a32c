"""`rmwbench candidates`: lists the arms that suites name, their sets, and whether each is ready
here."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmwbench.cli.console import print_blocks, print_json
from rmwbench.cli.options import complete_candidate, json_option
from rmwbench.errors import UserError
from rmwbench.words.level_names import level_text, named_level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmwbench.lab.middleware import Worker
    from rmwbench.report.view import Block
    from rmwbench.suite.file.candidate_list import Candidate, Candidates

SCHEMA, VERSION = "rmwbench/candidates", 1
COLUMNS = ("candidate", "ready", "layer", "middleware", "profile", "how")


def register(app: typer.Typer) -> None:
    summary = "List candidates, their sets, and which of them are ready here."
    app.command(name="candidates", help=summary)(candidates)


def candidates(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Candidates, sets or your own file of candidates; all if none.",
            autocompletion=complete_candidate,
        ),
    ] = None,
    as_json: Annotated[bool, json_option("Print the document of docs/candidates.md.")] = False,
) -> None:
    listing = document(names or [])
    if as_json:
        print_json(listing)
    else:
        _print(listing)


def document(names: list[str]) -> dict[str, Any]:
    """Return the document of docs/candidates.md. Raises UserError for a name that is neither a
    candidate's nor a set's."""
    from rmwbench.lab.middleware import find_workers

    known_set, chosen = _chosen(names)
    workers = find_workers({str(candidate.arm["middleware"]) for candidate in chosen} | {"rclcpp"})
    sets = {
        name: [candidate.name for candidate in chosen if name in candidate.sets]
        for name in known_set.sets
    }
    listed_middlewares = {candidate.arm["middleware"] for candidate in known_set.by_name.values()}
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "sets": [
            {
                "set": name,
                "what": known_set.sets[name],
                "candidates": members,
                "no_loan": dict(known_set.no_loan.get(name, {})),
            }
            for name, members in sets.items()
            if members
        ],
        "candidates": [_entry(candidate, workers) for candidate in chosen],
        "unlisted": sorted(
            name
            for name in workers
            if name.startswith("rclcpp/") and name not in listed_middlewares
        ),
    }


def _chosen(names: list[str]) -> "tuple[Candidates, list[Candidate]]":
    """Return all known candidates, with those of the files among the names, and the named ones."""
    from rmwbench.suite.fault import Fault
    from rmwbench.suite.file.candidate_list import is_file
    from rmwbench.suite.file.candidates_file import candidates_of, known_candidates

    known_set = known_candidates()
    chosen: list[Candidate] = [] if names else list(known_set.by_name.values())
    for name in names:
        if is_file(name):
            file_candidates = candidates_of(Path(name))
            known_set = known_set.and_those(file_candidates)
            chosen += file_candidates.by_name.values()
            continue
        try:
            chosen += known_set.members_of(name)
        except Fault as fault:
            raise UserError(
                fault.what, expected=fault.expected, actual=fault.actual, fix=fault.fix
            ) from fault
    return known_set, list({candidate.name: candidate for candidate in chosen}.values())


def _entry(candidate: "Candidate", workers: "dict[str, Worker]") -> dict[str, Any]:
    from rmwbench.lab.middleware import not_ready

    arm = candidate.arm
    lack = not_ready(str(arm["middleware"]), workers)
    description = None if lack else workers[str(arm["middleware"])].description
    return {
        "candidate": candidate.name,
        "middleware": arm["middleware"],
        "layer": candidate.layer,
        "profile": arm.get("profile", "untouched"),
        "how": {
            key: value
            for key, value in arm.items()
            if key not in ("name", "middleware", "profile", "optional")
        },
        "sets": list(candidate.sets),
        "needs": candidate.needs,
        "where": candidate.where,
        "ready": lack is None,
        "version": description["version"] if description else None,
        "reason": lack.reason if lack else None,
        "command": lack.command if lack else None,
    }


def _print(listing: dict[str, Any]) -> None:
    from rmwbench.report.view import Items, Table, TableCell, Text

    blocks: list[Block] = []
    for candidate_set in listing["sets"]:
        blocks.append(Text(f"{candidate_set['set']}: {candidate_set['what']}", "strong"))
        without_loan = [
            f"{name} without a loan: {why}" for name, why in candidate_set["no_loan"].items()
        ]
        blocks.append(Items([", ".join(candidate_set["candidates"]), *without_loan], mark=""))
    rows = [
        (
            TableCell(candidate["candidate"], "strong"),
            candidate["version"] if candidate["ready"] else TableCell("no", "open"),
            candidate["layer"],
            candidate["middleware"],
            candidate["profile"],
            _settings_text(candidate["how"]),
        )
        for candidate in listing["candidates"]
    ]
    blocks += [Text(""), Table(COLUMNS, rows)]
    print_blocks(*blocks, *_reasons(listing))


def _settings_text(settings: dict[str, Any]) -> str:
    words = []
    for key, value in settings.items():
        if isinstance(value, dict):
            words += [named_level(name, level) for name, level in value.items()]
        else:
            words.append(f"{key} {level_text(value)}")
    return ", ".join(words)


def _reasons(listing: dict[str, Any]) -> "Iterator[Block]":
    """Yield each reason why candidates are not ready once, with the command that changes it, and
    the RMWs that are installed but no candidates."""
    from rmwbench.report.view import Text, Verbatim

    names_of_reason: dict[tuple[str, str | None, str | None], list[str]] = {}
    for candidate in listing["candidates"]:
        if not candidate["ready"]:
            names_of_reason.setdefault(
                (candidate["reason"], candidate["command"], candidate["needs"]), []
            ).append(candidate["candidate"])
    for (reason, command, needs), names in names_of_reason.items():
        needs_text = f"; it needs {needs}" if needs else ""
        yield Text(f"\n{', '.join(names)} not ready: {reason}{needs_text}")
        if command:
            yield Text(f"  do: {command}")
    for name in listing["unlisted"]:
        line = (
            f"{{name: {name.replace('/rmw_', '/').removesuffix('_cpp')}, in: [ros2, tsc], "
            f"middleware: {name}"
        )
        yield Text(
            f"\n{name} is installed and not a candidate. In a file that RMWBENCH_CANDIDATES names:"
        )
        yield Verbatim(f"  candidates: [{line}, wait: callback, optional: true}}]")
