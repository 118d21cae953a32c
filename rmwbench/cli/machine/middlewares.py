"""`rmwbench middlewares`, `… show NAME`, `… profile NAME` and `… build NAME`: what is built, what is
not, why, and the command that changes it."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmwbench.cli.console import print_blocks, print_json, say
from rmwbench.cli.help import PlainGroup
from rmwbench.cli.options import taking
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
        name="show", help="All that these can and cannot do, with reasons, and their profiles."
    )(show)
    group.command(
        name="profile",
        help="The profiles that a middleware brings, as it gets them, with their comments.",
    )(profile)
    group.command(
        name="build", help="Build workers (those named, or the first set) and our tools."
    )(taking(BuildOptions, build))
    app.add_typer(group, name="middlewares")


def list_all(
    context: typer.Context,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the document of docs/formats/middlewares.md.")
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
    """docs/formats/middlewares.md."""
    from rmwbench.lab.middleware import find_workers, recipes, ros2
    from rmwbench.lab.middleware.find import status
    from rmwbench.suite.side import bare

    recipe_of, workers = recipes(), find_workers()
    # It is listed once per RMW where it is built, and by its own name where it could be.
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
        bool,
        typer.Option(
            "--json", help="Print the document of docs/formats/middlewares.md, of these alone."
        ),
    ] = False,
) -> None:
    entries = {entry["middleware"]: entry for entry in document()["middlewares"]}
    chosen: list[str] = []
    for name in names or entries:
        matching = [
            middleware
            for middleware in entries
            if name in (middleware, middleware.partition("/")[0])
        ]
        if not matching:
            raise not_one_of(f"no middleware is called `{name}`", name, entries)
        chosen += matching
    shown_entries = [entries[name] for name in dict.fromkeys(chosen)]
    if as_json:
        print_json({"schema": SCHEMA, "version": VERSION, "middlewares": shown_entries})
    else:
        _print_whole(shown_entries)


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
    assert worker.description is not None, "it is ready"
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
            "--newest: the system's version alone where the newest cannot be had.",
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
    """Exit status: 0 when all were built, or with `--partly` every tool and any middleware; 1
    otherwise, and 2 where something is missing before anything is built."""
    from rmwbench.lab.middleware import build as building
    from rmwbench.lab.middleware import tool
    from rmwbench.lab.middleware.catalogue import apt_command
    from rmwbench.lab.middleware.newest import source_build

    def announce(text: str) -> None:
        print(text, flush=True)

    chosen = building.choose(options.names or [])
    newer = source_build.with_newest_source(chosen) if options.newest else []
    for name, packages in building.without_packages(chosen if options.partly else newer).items():
        say(f"{name}: left out, it needs {', '.join(packages)}: {apt_command(packages)}")
        chosen = [recipe for recipe in chosen if recipe.middleware != name]
    building.check(chosen)
    problems = source_build.build_all(newer, options.partly, announce)
    for recipe in chosen:
        if removed := source_build.remove_orphan(recipe):
            say(f"{recipe.middleware}: removed {removed}, whose libraries are gone")
    chosen = building.with_newest(chosen, newer)
    begun = time.monotonic()
    results = building.build(chosen, announce)
    took_s = time.monotonic() - begun
    source_build.remove_replaced(
        chosen, {result.middleware for result in results if not result.problem}
    )
    results += [result for result in problems if result.problem]
    if built := [result.middleware for result in results if not result.problem]:
        say(f"built in {duration(took_s)}: {', '.join(built)}")
    for result in results:
        if result.problem:
            say(f"{result.middleware}: {result.problem}")
    for text in source_build.offers(chosen):
        say(text)
    failed = {result.middleware for result in results if result.problem}
    if (
        options.partly
        and not failed & tool.recipes().keys()
        and len(failed) < len(chosen) - len(tool.recipes())
    ):
        for name in sorted(failed):
            bare, version = name.partition(" ")[::2]
            say(
                f"{name}: its arms are left out until it is built: rmwbench middlewares build "
                f"{bare}{' --newest' if version else ''}"
            )
        raise typer.Exit(0)
    raise typer.Exit(1 if failed else 0)


def _print_list(listing: dict[str, Any]) -> None:
    """A line each: a wide table of every capability could not be read."""
    from rmwbench.report.view import Table, Text

    built = [_row(entry) for entry in listing["middlewares"] if entry["built"]]
    blocks: list[Block] = [Table(COLUMNS, built), Text("")] if built else []
    for entry in listing["middlewares"]:
        if not entry["built"]:
            blocks.append(Text(f"{entry['middleware']} not ready: {entry['reason']}"))
            if entry["command"]:
                blocks.append(Text(f"  do: {entry['command']}"))
    end = "Everything that one can and cannot do, and why: rmwbench middlewares show NAME"
    print_blocks(*blocks, Text(f"\n{end}"))


def _row(entry: dict[str, Any]) -> "tuple[TableCell | str, ...]":
    from rmwbench.report.view import TableCell
    from rmwbench.suite.side import MODES

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


def _print_whole(entries: list[dict[str, Any]]) -> None:
    from rmwbench.report.view import Facts, Text

    for entry in entries:
        headline = f"{entry['version']}, {_released(entry)}, layer {entry['layer']}"
        headline = headline if entry["built"] else f"not ready: {entry['reason']}"
        title = Text(f"{entry['middleware']} {headline}", "strong")
        print_blocks(title, Facts(_lines(entry)), Text(""))


def _released(entry: dict[str, Any]) -> str:
    date = entry["release_date"]
    return f"released {date}" if date else "release date not known"


def _lines(entry: dict[str, Any]) -> list[tuple[str, str]]:
    lines = [("what", entry["summary"])]
    if not entry["built"]:
        return [*lines, ("do", entry["command"] or "")] if entry["command"] else lines
    profiles = (
        f"{p['name']} ({p['summary']})" if p["summary"] else p["name"] for p in entry["profiles"]
    )
    lines.append(("profiles", "; ".join(profiles)))
    answers = [
        (name, *answer.partition(": ")[::2]) for name, answer in entry["capabilities"].items()
    ]
    for label, wanted_answer in (("can", "yes"), ("can partly", "partly"), ("cannot", "no")):
        capabilities = [
            f"{name} ({reason})" if reason else name
            for name, answer, reason in answers
            if answer == wanted_answer
        ]
        if capabilities:
            lines.append((label, (", " if wanted_answer == "yes" else "; ").join(capabilities)))
    modes = (entry["modes"] or {}).items()
    lines.append(
        (
            "modes",
            "; ".join(f"{name} {levels}" for name, levels in modes if not levels.startswith("no")),
        )
    )
    missing_modes = [
        (name, levels.partition(": ")[2]) for name, levels in modes if levels.startswith("no")
    ]
    lines.append(
        (
            "no mode",
            "; ".join(f"{name} ({reason})" if reason else name for name, reason in missing_modes),
        )
    )
    return [(label, text) for label, text in lines if text]
