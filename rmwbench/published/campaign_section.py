"""What a campaign's report shows of the published evaluations that it is about."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rmwbench.published.campaign import MeasuredCampaign, of_shown
from rmwbench.published.sources import sources_about
from rmwbench.report.evaluated import Evaluated
from rmwbench.results.show_model import SuiteAnswer
from rmwbench.suite.file.suite_files import CLAIMS_FILE, FIGURES_FILE, suites_directory

Items = Sequence[Mapping[str, Any]]
"""Claims as claims/claim_items.py makes them."""


def evaluated(shown: SuiteAnswer) -> Evaluated:
    """Return what the shipped claims and figures say of the campaign."""
    campaign = of_shown(shown)
    items: Items = ()
    if sources_about(str(campaign.suite), CLAIMS_FILE):
        from rmwbench.published.claims.claim_items import of_campaign

        items = of_campaign(campaign)
    return Evaluated(
        markup=partial(_markup, items),
        lines=[(item["measured"][0]["of"].answer, _line(item)) for item in items],
        table=[_row(item) for item in items],
        write_figures=partial(_write_figures, campaign),
        reported=_report_line(campaign),
    )


def _report_line(campaign: MeasuredCampaign) -> str:
    """Return the line about the public report that the campaign's own suite is about."""
    directory = campaign.directory
    if directory is None or not Path(directory, "campaign.json").is_file():
        return ""  # a document alone
    from rmwbench.bundle import Bundle

    text = Bundle(Path(directory)).campaign.suite.text or ""
    if "\nreported:" not in f"\n{text}":
        return ""
    from rmwbench.published.reports.public_report import judged, line, report_of

    report = report_of(text, suites_directory())
    return "" if report is None else line(judged(report, [campaign]))


def _line(item: Mapping[str, Any]) -> str:
    statement, published, _, here = _row(item)
    verdict = "ours" if item["of"].inferred else f"as published: {published}"
    return f"{statement} ({verdict}) {here}"


def _row(item: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Return (claim, as published, as corrected, here)."""
    from rmwbench.published.claims.judging.campaign_answers import other_answers

    claim, measured_answers = item["of"], [entry["of"] for entry in item["measured"]]
    measured = measured_answers[0]
    published, corrected = (
        "" if x is None else x.verdict for x in (claim.published, claim.corrected)
    )
    values = f" {text}" if (text := measured.seen()) else ""
    proxy = " (proxy)" if item["proxy"] else ""
    others = "".join(
        f"; {other.name}{other.with_versions}" for other in other_answers(measured_answers)
    )
    here = f"{measured.name}{measured.with_versions}{proxy}, {measured.layer}{values}{others}"
    return f"{claim.id}: {claim.says}", published, corrected, here


def _markup(items: Items) -> str:
    from markupsafe import Markup

    from rmwbench.published.claims.claim_items import READING, choices, state_counts
    from rmwbench.published.claims.claims_ledger import ANSWERS
    from rmwbench.report.render.html import asset, fragment

    return fragment(
        "claims_section.html.j2",
        items=items,
        counts=state_counts(item["state"] for item in items),
        choices=choices(items),
        answers=ANSWERS,
        reading=READING,
        claims_style=Markup(asset("claims.css")),
    )


def _write_figures(campaign: MeasuredCampaign, report: Path) -> str | None:
    """Write the figures page. Charts take long to import, so an answer in the terminal does
    without, and most reports have no figures of an evaluation."""
    if not sources_about(str(campaign.suite), FIGURES_FILE):
        return None
    from rmwbench.published.figures.figures_view import write_beside

    return write_beside(campaign, report)
