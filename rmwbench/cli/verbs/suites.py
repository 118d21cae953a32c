"""`rmwbench suites`: lists the shipped suites; `rmwbench suites reports`: lists the effects that
were reported in public, and whether each is measured here, too."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmwbench.cli.console import print_blocks, print_json, say, stderr_console
from rmwbench.cli.options import json_option, with_options
from rmwbench.errors import UserError, not_one_of

if TYPE_CHECKING:
    from rmwbench.suite.file.suite_files import ListedSuite

REPORTS = "reports"
FOLDERS = {
    "": "A choice for a robot: quick first",
    "degraded": "Networks as robots have them",
    "features": "One feature each",
    REPORTS: "Reported in public, reproduced",
    "published": "Published evaluations, to run again",
}
"""Folder of `suites/` -> the purpose of its suites."""


def register(app: typer.Typer) -> None:
    app.command(
        name="suites",
        help="List the shipped suites, one line each; `suites reports`: effects that people "
        "reported, and whether they are measured here, too.",
    )(with_options(suites))


@dataclass(frozen=True, kw_only=True)
class SuitesOptions:
    folder: Annotated[
        str | None,
        typer.Argument(metavar="[FOLDER]", help="Only those of one folder, such as reports."),
    ] = None
    grep: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Only those whose name, description or report has this text."
        ),
    ] = None
    measure: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="For reports: run each, or go on with it, in DIR/NAME, and judge by the result.",
        ),
    ] = None
    save: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --measure: save the measurements as DIR/NAME.json."),
    ] = None
    markdown: Annotated[
        bool, typer.Option("--markdown", help="For reports: print the page of the site.")
    ] = False
    as_json: Annotated[
        bool, json_option('Print a list of {"suite", "title"}; for reports with the results.')
    ] = False


def suites(options: SuitesOptions) -> None:
    from rmwbench.suite.file.suite_files import has_text, suite_list

    listed_suites, folder = suite_list(), options.folder
    if folder is not None:
        folders = list(dict.fromkeys(suite.folder for suite in listed_suites if suite.folder))
        if folder not in folders:
            raise not_one_of(f"there is no folder `{folder}` of suites", folder, folders)
        listed_suites = [suite for suite in listed_suites if suite.folder == folder]
    if options.grep is not None:
        listed_suites = [suite for suite in listed_suites if has_text(suite.name, options.grep)]
    if not listed_suites and not options.as_json:
        _list(listed_suites)
    elif folder == REPORTS:
        _reports(options, [suite.name for suite in listed_suites])
    elif options.measure or options.save or options.markdown:
        raise UserError(
            "only reports are measured together",
            where="--measure, --save, --markdown",
            fix="rmwbench suites reports --measure DIR",
        )
    elif options.as_json:
        print_json([{"suite": suite.name, "title": suite.title} for suite in listed_suites])
    else:
        _list(listed_suites)


def _list(listed_suites: "list[ListedSuite]") -> None:
    from rmwbench.report.view import Section, Table, TableCell, Text

    sections = []
    for folder, heading in FOLDERS.items():
        rows = [
            (TableCell(suite.name, "strong"), suite.title)
            for suite in listed_suites
            if suite.folder == folder
        ]
        if rows:
            sections.append(Section(heading, [Table(("suite", "what it asks"), rows)]))
    if not listed_suites:
        print_blocks(Text("No suite has that text."))
    print_blocks(*sections)
    say("\nThe plan of a suite: rmwbench plan SUITE. Your own suites: docs/suites.md.")


def _reports(options: SuitesOptions, names: list[str]) -> None:
    from rmwbench.cli.published.forms import deliver
    from rmwbench.published.reports.public_report import document, judged, shipped_reports, view

    reports = [report for report in shipped_reports() if report.suite in names]
    if options.save is not None and options.measure is None:
        raise UserError(
            "nothing is measured that could be saved", where="--save", fix="add --measure DIR"
        )
    if options.measure is None:
        judged_reports = [judged(report) for report in reports]
    else:
        from rmwbench.published.reports.measure import Stopped, measure

        console = stderr_console()
        try:
            judged_reports = measure(reports, options.measure, options.save, console)
        except Stopped as stopped:
            console.print(f"stopped by {stopped}; the same command goes on", markup=False)
            raise typer.Exit(130) from None
    if options.as_json:
        print_json([document(report) for report in judged_reports])
    else:
        deliver(view(judged_reports), markdown=options.markdown)
