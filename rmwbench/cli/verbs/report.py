"""`rmwbench report [DIR]`: the answer of a campaign as a page for a browser, or as Markdown with
pictures."""

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmwbench.cli.console import say, say_written, stderr_console
from rmwbench.command_name import command_line
from rmwbench.errors import UserError
from rmwbench.whole_file import check_page, is_written_through

if TYPE_CHECKING:
    from rmwbench.bundle import Bundle
    from rmwbench.results.selection import Selection


class ReportFormat(StrEnum):
    html = "html"
    markdown = "markdown"


def register(app: typer.Typer) -> None:
    app.command(
        name="report",
        help="Write a campaign's report: one HTML file, or Markdown with SVG and PNG; an "
        "evaluation's so far.",
    )(report)


def report(
    campaign: Annotated[
        str | None,
        typer.Argument(
            metavar="[DIR[:SELECTION]]",
            help="A campaign's directory, or an evaluation's; the newest campaign below "
            "./campaigns if absent. With a selection in the form of `compare`, its cells are judged "
            "among themselves: DIR:layer=rclcpp.",
        ),
    ] = None,
    kind: Annotated[
        ReportFormat,
        typer.Option(
            "--format", help="One self-contained HTML file, or Markdown with charts beside it."
        ),
    ] = ReportFormat.html,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where it goes; DIR/report.html or DIR/report.md if absent, of a selection "
            "DIR/report-SELECTION.html.",
        ),
    ] = None,
    open_it: Annotated[
        bool, typer.Option("--open", help="Open it in the browser or viewer.")
    ] = False,
) -> None:
    from rmwbench.published.committee.evaluation_session import is_session
    from rmwbench.results.selection import is_capacity, open_selection, refuse_selection

    if campaign and is_session(Path(campaign)):
        _write_evaluation(Path(campaign), out, open_it=open_it)
        return
    bundle, selection = open_selection(campaign)
    path = out or bundle.directory / _file_name(kind, selection)
    _check_path(kind, path)
    if is_capacity(bundle):
        refuse_selection(selection, command_line("report", bundle.directory))
        _write_capacity(kind, bundle, path)
    else:
        _write(kind, bundle, path, selection)
    say_written(path)
    if open_it:
        _open(path)


def _write_evaluation(directory: Path, out: Path | None, *, open_it: bool) -> None:
    """Write the committee's report of all that has been measured so far."""
    from rmwbench.cli.published.committee_report import write
    from rmwbench.published.committee.evaluation_session import load

    if out is not None:
        raise UserError(
            "the report of an evaluation is written into its own directory, beside the pages of "
            "its sections",
            where="--out",
            fix="leave --out out",
        )
    _, files = write(load(directory))
    for path in files:
        say(f"report: {path}")
    if open_it:
        _open(directory / "report.html")


def _open(path: Path) -> None:
    """Open a report in the browser or viewer. If nothing opens it, a line on stderr says so."""
    if typer.launch(str(path.resolve())):
        stderr_console().print("nothing opens it here: there is no xdg-open")


def _file_name(kind: ReportFormat, selection: "Selection | None") -> str:
    """Return the report's file name. That of a selection differs, so that the whole report
    stays."""
    stem = "report"
    if selection is not None:
        stem += "-" + re.sub(r"[^A-Za-z0-9_.]+", "-", selection.words)
    return stem + (".html" if kind is ReportFormat.html else ".md")


def _check_path(kind: ReportFormat, path: Path) -> None:
    """Raises UserError if a report of this format cannot be written to this path."""
    check_page(path, "Markdown" if kind is ReportFormat.markdown else "HTML")
    format_of_name = {
        ".md": ReportFormat.markdown,
        ".html": ReportFormat.html,
        ".htm": ReportFormat.html,
    }.get(path.suffix.lower(), kind)
    if format_of_name is not kind:
        raise UserError(
            "the name of the report has the ending of another format",
            where=str(path),
            expected=kind.value,
            actual=format_of_name.value,
            fix=f"--format {format_of_name.value}",
        )
    if kind is ReportFormat.markdown and is_written_through(path):
        raise UserError(
            "a report in Markdown has pictures beside it, and there is no place for them here",
            where=str(path),
            fix="name a file in a directory",
        )


def _write_capacity(kind: ReportFormat, bundle: "Bundle", path: Path) -> None:
    from rmwbench.report.capacity.capacity_view import view
    from rmwbench.report.render.html import write_html
    from rmwbench.report.render.markdown import write_markdown
    from rmwbench.results.capacity.capacity_document import summarise

    capacity_view = view(summarise(bundle), draw=True)
    (write_html if kind is ReportFormat.html else write_markdown)(capacity_view, path)


def _write(kind: ReportFormat, bundle: "Bundle", path: Path, selection: "Selection | None") -> None:
    from rmwbench.published.campaign_section import evaluated
    from rmwbench.report.show.suite_view import write_html, write_markdown
    from rmwbench.results.show_document import summarise

    answer = summarise(bundle, selection=selection)
    (write_html if kind is ReportFormat.html else write_markdown)(answer, path, evaluated(answer))
