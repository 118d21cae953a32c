"""`rmwbench middlewares`, `… show NAME`, `… profile NAME` and `… build NAME`: the middlewares that
are built, those that are not with the reason and the command that changes it, and their
profiles."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmwbench.cli.console import PlainGroup, print_blocks, print_json, say
from rmwbench.cli.options import json_option, with_options
from rmwbench.errors import not_one_of
from rmwbench.words.numbers import duration
from rmwbench.words.printable import printable

if TYPE_CHECKING:
    from rmwbench.report.view import Block, TableCell

SCHEMA, VERSION = "rmwbench/middlewares", 1
COLUMNS = ("ready", "version", "released", "layer", "services", "loans", "modes", "transports")


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        cls=PlainGroup,
        help="List the middlewares that can be run here, or build them.",
        invoke_without_command=True,
    )
    group.callback()(list_all)
    group.command(
        name="show", help="The capabilities of these middlewares, with reasons, and their profiles."
    )(show)
    group.command(
        name="profile",
        help="The profiles that a middleware ships, with their comments.",
    )(profile)
    group.command(
        name="build", help="Build workers (those named, or the first set) and our tools."
    )(with_options(build))
    app.add_typer(group, name="middlewares")


def list_all(
    context: typer.Context,
    as_json: Annotated[
        bool, json_option("Print the document of docs/formats/middlewares.md.")
    ] = False,
) -> None:
    if context.invoked_subcommand is not None:
        return
    listing = document()
    if as_json:
        print_json(listing)
    else:
        _print_list(listing)


def document() -> dict[str, Any]:
    """Return the document of docs/formats/middlewares.md."""
    from rmwbench.lab.middleware import find_workers, recipes, ros2
    from rmwbench.lab.middleware.find import status
    from rmwbench.suite.arm import bare

    recipe_of, workers = recipes(), find_workers()
    # rclcpp is listed once per RMW if it is built, else by its own name.
    recipe_of |= {} if any(name.startswith(f"{ros2.NAME}/") for name in workers) else ros2.recipes()
    names = [*recipe_of, *(name for name in workers if name not in recipe_of)]
    entries = [
        status(name, recipe_of.get(name) or recipe_of.get(bare(name)), workers.get(name))
        for name in names
    ]
    return {"schema": SCHEMA, "version": VERSION, "middlewares": entries}


def show(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Middlewares; all if none; `rclcpp` is each of its RMWs."
        ),
    ] = None,
    as_json: Annotated[
        bool, json_option("Print the document of docs/formats/middlewares.md, of these alone.")
    ] = False,
) -> None:
    listing = document()
    entries = {entry["middleware"]: entry for entry in listing["middlewares"]}
    chosen: dict[str, dict[str, Any]] = {}
    for name in names or entries:
        matching = {
            middleware: entry
            for middleware, entry in entries.items()
            if name in (middleware, middleware.partition("/")[0])
        }
        if not matching:
            raise not_one_of(f"no middleware is called `{name}`", name, entries)
        chosen |= matching
    if as_json:
        print_json(listing | {"middlewares": list(chosen.values())})
    else:
        _print_whole(chosen.values())


def profile(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A middleware, or a candidate of one.")
    ],
    profile: Annotated[
        str | None,
        typer.Argument(
            metavar="[PROFILE]",
            help="This one alone; all if absent. With -o also a candidate (`rmwbench candidates`).",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Write it for the robot: the file, env.sh to be sourced, and sysctl.conf.",
        ),
    ] = None,
) -> None:
    from rmwbench.lab.middleware import require_workers
    from rmwbench.suite.file.candidates_file import middleware_of

    middleware = middleware_of(name)
    arm = profile or (name if middleware != name else "untouched")
    worker = require_workers([middleware])[middleware]
    assert worker.description is not None, "require_workers gives workers that are ready"
    if out is not None:
        from rmwbench.robot.deployment import write

        for path in write(middleware, arm, worker, Path(out)):
            say(path)
        return
    if profile is not None:
        typer.echo(printable(worker.profile(profile)["text"]))
        return
    for shipped in worker.description["profiles"]:
        say(f"=== {shipped['name']} ({shipped['format']}) {shipped.get('summary', '')}".rstrip())
        typer.echo(printable(shipped["text"]))


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Middlewares; the first set if none."),
    ] = None
    partly: Annotated[
        bool,
        typer.Option(
            "--partly",
            help="Leave out what cannot be built here; fail only for a tool, or if none can. With "
            "--newest: build the system's version alone if the newest is not available.",
        ),
    ] = False
    newest: Annotated[
        bool,
        typer.Option(
            "--newest",
            help="Beside what the system has, build Debian's newest version (of fastdds), from its "
            "source package.",
        ),
    ] = False


def build(options: BuildOptions) -> None:
    """Build workers and tools, and exit: 0 if all are built, or with `--partly` every tool and any
    of the named middlewares; 1 otherwise; 2 if something is missing before anything is built."""
    from rmwbench.lab.middleware import build as building
    from rmwbench.lab.middleware import source_build
    from rmwbench.lab.middleware.catalogue import apt_command, tool_recipes

    def announce(text: str) -> None:
        print(text, flush=True)

    tools = tool_recipes().keys()
    chosen = building.choose(options.names or [])
    has_middleware = any(recipe.middleware not in tools for recipe in chosen)
    newer = source_build.with_newest_source(chosen) if options.newest else []
    for name, packages in building.missing_packages(chosen if options.partly else newer).items():
        say(f"{name}: left out, it needs {', '.join(packages)}: {apt_command(packages)}")
        chosen = [recipe for recipe in chosen if recipe.middleware != name]
    building.check(chosen)
    source_results = source_build.build_all(newer, options.partly, announce)
    for recipe in chosen:
        if removed := source_build.remove_orphan(recipe):
            say(f"{recipe.middleware}: removed {removed}, whose libraries are gone")
    chosen = building.with_newest(chosen, newer)
    start_s = time.monotonic()
    results = building.build(chosen, announce)
    took_s = time.monotonic() - start_s
    source_build.remove_replaced(
        chosen, {result.middleware for result in results if not result.problem}
    )
    results += [result for result in source_results if result.problem]
    if built := [result.middleware for result in results if not result.problem]:
        say(f"built in {duration(took_s)}: {', '.join(built)}")
    for result in results:
        if result.problem:
            say(f"{result.middleware}: {result.problem}")
    for text in source_build.offers(chosen):
        say(text)
    failed = {result.middleware for result in results if result.problem}
    if options.partly and not failed & tools and (set(built) - tools or not has_middleware):
        for name in sorted(failed):
            middleware, _, version = name.partition(" ")
            say(
                f"{name}: its arms are left out until it is built: rmwbench middlewares build "
                f"{middleware}{' --newest' if version else ''}"
            )
        raise typer.Exit(0)
    raise typer.Exit(1 if failed or options.partly else 0)


def _print_list(listing: dict[str, Any]) -> None:
    """Print a line per middleware: nobody could read a table of every capability."""
    from rmwbench.report.view import Table, Text

    built = [_row(entry) for entry in listing["middlewares"] if entry["built"]]
    blocks: list[Block] = [Table(COLUMNS, built), Text("")] if built else []
    for entry in listing["middlewares"]:
        if not entry["built"]:
            blocks.append(Text(f"{entry['middleware']} not ready: {entry['reason']}"))
            if entry["command"]:
                blocks.append(Text(f"  do: {entry['command']}"))
    end = "All capabilities of a middleware, with reasons: rmwbench middlewares show NAME"
    print_blocks(*blocks, Text(f"\n{end}"))


def _row(entry: dict[str, Any]) -> "tuple[TableCell | str, ...]":
    from rmwbench.report.view import TableCell
    from rmwbench.suite.arm import MODES

    can, modes = entry["capabilities"], entry["modes"] or {}
    possible_modes = [name for name, answer in modes.items() if not answer.startswith("no")]
    return (
        TableCell(entry["middleware"], "strong"),
        entry["version"],
        (entry["release_date"] or "–")[:7],
        entry["layer"],
        *(can.get(name, "–").partition(":")[0] for name in ("services", "loan")),
        f"{len(possible_modes)}/{len(MODES)}" if possible_modes else "–",
        modes["transport"].replace("|", " ") if "transport" in possible_modes else "–",
    )


def _print_whole(entries: Iterable[dict[str, Any]]) -> None:
    from rmwbench.report.view import Facts, Text

    for entry in entries:
        headline = f"not ready: {entry['reason']}"
        if entry["built"]:
            date = entry["release_date"]
            release = f"released {date}" if date else "release date not known"
            headline = f"{entry['version']}, {release}, layer {entry['layer']}"
        title = Text(f"{entry['middleware']} {headline}", "strong")
        print_blocks(title, Facts(_facts(entry)), Text(""))


def _facts(entry: dict[str, Any]) -> list[tuple[str, str]]:
    """Return label and text of each fact about a middleware, without empty ones."""
    facts = [("what", entry["summary"])]
    if not entry["built"]:
        return [*facts, ("do", entry["command"])] if entry["command"] else facts
    profiles = [_with_reason(p["name"], p["summary"]) for p in entry["profiles"]]
    facts.append(("profiles", "; ".join(profiles)))
    for label, wanted_answer in (("can", "yes"), ("can partly", "partly"), ("cannot", "no")):
        capabilities = [
            _with_reason(name, answer.partition(": ")[2])
            for name, answer in entry["capabilities"].items()
            if answer.partition(": ")[0] == wanted_answer
        ]
        facts.append((label, (", " if wanted_answer == "yes" else "; ").join(capabilities)))
    levels_of_mode: list[str] = []
    missing_modes: list[str] = []
    for mode, levels in (entry["modes"] or {}).items():
        if levels.startswith("no"):
            missing_modes.append(_with_reason(mode, levels.partition(": ")[2]))
        else:
            levels_of_mode.append(f"{mode} {levels}")
    facts += [("modes", "; ".join(levels_of_mode)), ("no mode", "; ".join(missing_modes))]
    return [(label, text) for label, text in facts if text]


def _with_reason(name: str, reason: str | None) -> str:
    return f"{name} ({reason})" if reason else name
