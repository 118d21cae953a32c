"""A view in the form that was asked for: a page, Markdown, or the terminal's."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rmwbench.cli.console import stdout_console
from rmwbench.cli.page_files import say_written

if TYPE_CHECKING:
    from rmwbench.report.view import View


def deliver(view: "View", path: Path | None = None, *, markdown: bool = False) -> None:
    """Writes the page to `path` and names it where there is one; else prints the view."""
    if path is not None:
        from rmwbench.report.render.html import write_html

        write_html(view, path)
        say_written(path)
    elif markdown:
        from rmwbench.report.render.markdown import render_markdown

        typer.echo(render_markdown(view), nl=False)
    else:
        from rmwbench.report.render.terminal import print_view

        print_view(view, stdout_console())
