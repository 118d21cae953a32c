"""A campaign, set beside the published evaluations: what its report shows of them."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rmwbench.published.about import sources_about
from rmwbench.published.campaign import Campaign, of_shown
from rmwbench.published.claims.render.short import lines, table
from rmwbench.report.evaluated import Evaluated
from rmwbench.results.shown import Shown
from rmwbench.suite.file.places import CLAIMS_FILE, FIGURES_FILE


def evaluated(shown: Shown) -> Evaluated:
    """What the shipped claims and figures say of the campaign."""
    campaign = of_shown(shown)
    section = None
    if sources_about(str(campaign.suite), CLAIMS_FILE):
        from rmwbench.published.claims.render.rows import of_campaign

        section = of_campaign(campaign)
    return Evaluated(
        markup=partial(_markup, section),
        lines=lines(section),
        table=table(section),
        write_figures=partial(_write_figures, campaign),
    )


def _markup(section: Mapping[str, Any] | None) -> str:
    from rmwbench.published.claims.render.page import style
    from rmwbench.published.claims.state import ANSWERS
    from rmwbench.report.page import fragment

    return fragment(
        "claims_section.html.j2", claimed=section, answers=ANSWERS, claims_style=style()
    )


def _write_figures(campaign: Campaign, report: Path) -> str | None:
    """Charts take long to import: an answer in the terminal has none, and most reports have none of
    an evaluation."""
    if not sources_about(str(campaign.suite), FIGURES_FILE):
        return None
    from rmwbench.published.figures.beside import write_beside

    return write_beside(campaign, report)
