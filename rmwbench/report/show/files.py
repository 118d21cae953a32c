"""A campaign's report as a file."""

from pathlib import Path

from altair.utils.schemapi import debug_mode

from rmwbench.report.evaluated import NOT_EVALUATED, Evaluated
from rmwbench.report.render import html, markdown
from rmwbench.report.show.suite_view import view
from rmwbench.results.show_model import SuiteAnswer


def write_html(doc: SuiteAnswer, path: Path | str, evaluated: Evaluated = NOT_EVALUATED) -> None:
    """One page of about 3 MB; beside it NAME-figures.html where its suite repeats figures of a
    published evaluation."""
    redrawn = evaluated.write_figures(Path(path))
    with debug_mode(False):  # the schema's checks of what we write take longer than to write it
        html.write_html(view(doc, evaluated, draw=True, redrawn=redrawn), path)


def write_markdown(
    doc: SuiteAnswer,
    path: Path | str,
    evaluated: Evaluated = NOT_EVALUATED,
    *,
    bitmaps: bool = True,
    charts: tuple[str, ...] | None = None,
) -> list[Path]:
    """The text and its charts; every path written."""
    with debug_mode(False):
        shown = view(doc, evaluated, draw=True)
    return markdown.write_markdown(shown, path, bitmaps=bitmaps, charts=charts)
