"""A campaign's show document, set beside the published evaluations: what its report shows of
them."""

from functools import partial
from pathlib import Path
from typing import Any

from rmwbench.evaluations.claims.render.rows import ANSWERS, of_campaign
from rmwbench.evaluations.claims.render.short import lines, table
from rmwbench.report.evaluated import Evaluated


def evaluated(document: dict[str, Any]) -> Evaluated:
    """What the shipped claims and figures say of the campaign; `document` is as `summarise` made
    it."""
    section = of_campaign(document)
    return Evaluated(
        section=section,
        answers=ANSWERS,
        lines=lines(section),
        table=table(section),
        write_figures=partial(_write_figures, document),
    )


def _write_figures(document: dict[str, Any], report: Path) -> str | None:
    """Charts take long to import: an answer in the terminal has none."""
    from rmwbench.evaluations.figures.beside import write_beside

    return write_beside(document, report)
