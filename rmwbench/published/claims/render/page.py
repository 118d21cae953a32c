"""The ledger as a page: every claim of the sources, with what was found here and links to the
campaigns' reports."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from rmwbench.published.campaign import Campaign
from rmwbench.published.claims.ledger import Ledger
from rmwbench.published.claims.render.rows import Link, choices, counts, inside, item
from rmwbench.published.claims.state import STATES
from rmwbench.report.page import asset, render_page
from rmwbench.whole_file import write_whole

REPORT = "report.html"


def write_html(ledger: Ledger, campaigns: Sequence[Campaign], path: Path) -> None:
    """Writes the page of a ledger to `path`. Each of the campaigns that has its report
    beside it is linked to."""
    write_whole(path, render_html(ledger, _links(campaigns, path)))


def render_html(ledger: Ledger, link: Link) -> str:
    sources: list[dict[str, Any]] = []
    for source in ledger.sources:
        headings: dict[str, list[dict[str, Any]]] = {}
        for judged in source.claims:
            headings.setdefault(judged.claim.heading, []).append(item(source, judged, link))
        sources.append({"of": source, "headings": [_heading(*pair) for pair in headings.items()]})
    items = [
        one for source in sources for heading in source["headings"] for one in heading["claims"]
    ]
    first = [judged.today[0] for judged in ledger.claims if judged.today]
    return render_page(
        "claims.html.j2",
        [],
        ledger=ledger,
        sources=sources,
        states=STATES,
        choices=choices(items),
        places=list(dict.fromkeys(f"{one.machine}, {one.date}" for one in first if one.machine)),
        claims_style=style(),
    )


def _heading(name: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "claims": items, "counts": counts(items)}


def style() -> Markup:
    return Markup(asset("claims.css"))


def _links(campaigns: Sequence[Campaign], path: Path) -> Link:
    found = {}
    for one in campaigns:
        if one.directory and (report := Path(one.directory) / REPORT).is_file():
            found[one.name] = (
                inside(one),
                os.path.relpath(report.resolve(), path.resolve().parent),
            )

    def link(campaign: str, workload: str, arm: str, metric: str) -> str | None:
        within, report = found.get(campaign, (None, ""))
        anchor = within and within(campaign, workload, arm, metric)
        return f"{report}{anchor}" if anchor else None

    return link
