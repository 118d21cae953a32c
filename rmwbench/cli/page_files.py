"""The option that writes an answer as a page: `--out FILE`, the same in every verb that has one."""

from pathlib import Path
from typing import Annotated

import typer

from rmwbench.whole_file import check_page, is_written_through

Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="FILE", help="Write it as a page: one HTML file, with charts."
    ),
]
Html = Annotated[Path | None, typer.Option("--html", hidden=True)]
"""An earlier name of `--out`, still taken."""


def page(out: Path | None, earlier: Path | None = None) -> Path | None:
    """The page that was asked for. Raises UserError where it cannot be written, before any work was
    done for it."""
    path = out or earlier
    if path is not None:
        check_page(path)
    return path


def say_written(path: Path) -> None:
    """Names the file that was written, unless that would end up behind it in a pipe."""
    if not is_written_through(path):
        typer.echo(path)
