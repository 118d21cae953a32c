"""`rmwbench report [DIR]`: the answer of a campaign as a page for a browser, or as Markdown with pictures."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    html = "html"
    markdown = "markdown"


def register(app: typer.Typer) -> None:
    app.command(name="report", help="Write a campaign's report: one HTML file, or Markdown with SVG and PNG.")(report)


def report(
    directory: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="A campaign's directory; the newest below ./campaigns if absent."),
    ] = None,
    kind: Annotated[
        Format, typer.Option("--format", help="One self-contained HTML file, or Markdown with charts beside it.")
    ] = Format.html,
    out: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Where it goes; DIR/report.html or DIR/report.md if absent."),
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Open it in the browser or viewer.")] = False,
) -> None:
    from rmwbench.bundle import Bundle
    from rmwbench.bundle.newest import newest_campaign
    from rmwbench.errors import UserError
    from rmwbench.report.capacity import document as capacity
    from rmwbench.report.summary import summarise

    directory = directory or newest_campaign()
    path = out or directory / ("report.html" if kind is Format.html else "report.md")
    if path.is_dir():
        raise UserError(
            "the report is a file, and this is a directory", where=f"--out {path}", fix=f"--out {path / 'report.html'}"
        )
    bundle = Bundle(directory)  # first: without a campaign there is nothing to complain about but that
    if not path.parent.is_dir():
        raise UserError("the directory of the report does not exist", where=f"--out {path}", fix=f"mkdir {path.parent}")
    document = capacity.summarise(bundle) if capacity.is_capacity(bundle) else summarise(bundle)
    try:
        _write(kind, document, path)
    except OSError as error:
        raise UserError(
            "the report could not be written", where=str(path), actual=error.strerror, fix="--out PATH elsewhere"
        ) from error
    typer.echo(path)
    if open_it:
        typer.launch(str(path.resolve()))


def _write(kind: Format, document: dict, path: Path) -> None:
    if document["schema"] == "rmwbench/capacity":
        from rmwbench.report.capacity.html import write_html
        from rmwbench.report.capacity.markdown import write_markdown
    else:
        from rmwbench.report.html import write_html
        from rmwbench.report.markdown import write_markdown
    (write_html if kind is Format.html else write_markdown)(document, path)
