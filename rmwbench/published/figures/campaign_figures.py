"""A campaign's own figures page: those figures of the published evaluations that it measures, with
the shipped points of the originals. It lies beside the report and is linked there; campaigns of
other suites have none.
"""

from pathlib import Path
from typing import Any

from rmwbench.published.about import sources_about
from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.figures import versions as redrawn
from rmwbench.published.figures.figures_file import load, published_file
from rmwbench.published.figures.figures_view import view
from rmwbench.published.figures.points import read
from rmwbench.report.render.html import write_html
from rmwbench.suite.file.places import FIGURES_FILE
from rmwbench.whole_file import is_written_through

SHIPPED = "the points extracted from the published data, five digits"


def document(campaign: MeasuredCampaign) -> dict[str, Any] | None:
    """The figures document of a campaign with what it measures alone; None where it measures no
    figure."""
    about = sources_about(str(campaign.suite), FIGURES_FILE)
    files = [(name, load(name)) for name in about]
    found = []
    for name, file in files:
        shipped = published_file(name)
        rows = read(shipped) if shipped.is_file() else {}
        found.append((file, rows, SHIPPED if rows else "what its text prints, where it prints any"))
    made = redrawn.only_measured(redrawn.document(found, [campaign]))
    made["sources"] = [source for source in made["sources"] if source["figures"]]
    return made if made["sources"] else None


def write_beside(campaign: MeasuredCampaign, report: Path) -> str | None:
    """Writes the page beside a report; its name, or None where there is nothing to draw or, as
    beside /dev/stdout, no place for it."""
    made = None if is_written_through(report) else document(campaign)
    if made is None:
        return None
    path = report.with_name(f"{report.stem}-figures.html")
    write_html(view(made, draw=True), path)
    return path.name
