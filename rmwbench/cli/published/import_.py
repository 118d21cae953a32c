"""`rmwbench published import [KIND] PATH`: imports published data as a bundle, with its figures as
published and as corrected."""

import re
import signal
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from rmwbench.cli.console import print_answer, print_json, print_view
from rmwbench.cli.options import json_option
from rmwbench.errors import UserError
from rmwbench.input_file import name_of


def register(app: typer.Typer) -> None:
    app.command(
        name="import",
        help="Import published data (perf_test logs, TSC reports, gscam, ddsperf, …) as a bundle.",
        epilog="Exit code 0: imported, 2: the data is not as its format says; then nothing is left "
        "behind.",
    )(import_)


def import_(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KIND] PATH",
            help="What to import: a file, a directory or a tar archive. KIND is recognised.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where the bundle goes; ./campaigns/KIND-DATE-TIME if absent."
        ),
    ] = None,
    figures: Annotated[
        bool,
        typer.Option(
            "--figures", help="Print every figure: as published and as corrected, side by side."
        ),
    ] = False,
    list_kinds: Annotated[
        bool, typer.Option("--list", help="Name the kinds and what their paths may be.")
    ] = False,
    as_json: Annotated[
        bool, json_option("Print the imported document (docs/importers.md).")
    ] = False,
) -> None:
    if list_kinds:
        _print_kinds(as_json)
        return
    from rmwbench.bundle import Bundle
    from rmwbench.bundle.newest import new_directory
    from rmwbench.published.imported import summarise, view
    from rmwbench.published.importers import import_published

    kind, path = _kind_and_path(words or [])
    _end_on_signals()
    name = kind or "import-" + re.sub(r"[^\w.-]", "_", name_of(path))
    import_result = import_published(path, out or new_directory(name), kind)
    imported = summarise(Bundle(import_result.directory))
    print_answer(imported, partial(view, figures=figures), as_json=as_json)


def _kind_and_path(words: list[str]) -> tuple[str | None, str]:
    from rmwbench.published.importers import KINDS

    if len(words) == 1 and words[0] in KINDS and not Path(words[0]).exists():
        raise UserError(
            "no path to import", where=words[0], fix=f"rmwbench published import {words[0]} PATH"
        )
    if "" in words:
        raise UserError(
            "an empty path",
            expected="rmwbench published import [KIND] PATH",
            actual="''",
            fix="name a file, a directory or an archive; `.` is the directory you are in",
        )
    if not 1 <= len(words) <= 2:
        raise UserError(
            "one path to import is needed",
            expected="rmwbench published import [KIND] PATH",
            actual=f"{len(words)} words",
            fix="`rmwbench published import --list` names the kinds",
        )
    return (None, words[0]) if len(words) == 1 else (words[0], words[1])


def _end_on_signals() -> None:
    """Let SIGTERM and SIGHUP raise an exception, as Ctrl-C does, so that an import leaves nothing
    behind."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, end)


def _print_kinds(as_json: bool) -> None:
    from rmwbench.published.importers import KINDS

    if as_json:
        print_json([{"kind": k.name, "title": k.title, "path": k.path} for k in KINDS.values()])
        return
    from rmwbench.report.view import Table, View

    heads = ("kind", "what", "path")
    rows = [(kind.name, kind.title, kind.path) for kind in KINDS.values()]
    print_view(View(title="What can be imported", about=[Table(heads, rows)]))
