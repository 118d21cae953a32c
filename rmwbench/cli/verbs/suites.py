"""`rmwbench suites` and the names of suites for the shell's completion."""

from typing import Annotated

import typer

from rmwbench.cli.console import print_json, stdout_console

FOLDERS = {
    "": "A choice for a robot: quick first",
    "degraded": "Networks as robots have them",
    "features": "One feature each",
    "published": "Published evaluations, to run again",
}
"""Folder of `suites/` -> what its suites are for."""


def register(app: typer.Typer) -> None:
    app.command(name="suites", help="List the shipped suites, one line each.")(suites)


def suites(
    as_json: Annotated[
        bool, typer.Option("--json", help='Print a list of {"suite", "title"}.')
    ] = False,
) -> None:
    from rmwbench.suite.file.places import listed

    found = listed()
    if as_json:
        print_json([{"suite": one.name, "title": one.title} for one in found])
        return
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for folder, what in FOLDERS.items():
        table.add_row(Text(what, style="dim"), "")
        for one in found:
            if one.folder == folder:
                table.add_row(Text(f"  {one.name}", style="bold"), one.title)
    console = stdout_console()
    console.print(table)
    console.print("\nWhat one would do: rmwbench plan SUITE. Your own: docs/suites.md.")


def complete_suite(incomplete: str) -> list[str]:
    """Names of shipped suites that begin so; the shell adds files by itself."""
    from rmwbench.suite.file.places import shipped_suites

    return [name for name in shipped_suites() if name.startswith(incomplete)]
