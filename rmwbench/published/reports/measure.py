"""Measures all reports one after another, into a directory with a campaign each. A stopped campaign
goes on, and a finished one is not run again."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from rmwbench.bundle import Bundle
from rmwbench.campaign.plan.request import Request
from rmwbench.campaign.start import new_campaign, resumed_campaign
from rmwbench.errors import UserError
from rmwbench.published.campaign import MeasuredCampaign, of_shown
from rmwbench.published.reports.public_report import (
    JudgedReport,
    PublicReport,
    judged,
    summary_text,
)
from rmwbench.results.show_document import summarise
from rmwbench.whole_file import make_directory, write_whole


class Stopped(Exception):
    """A signal stopped the run; the text names it."""


def measure(
    reports: Sequence[PublicReport], directory: Path, save: Path | None, console: Console
) -> list[JudgedReport]:
    """Measure the reports. `save`: where to keep what was measured besides, as `NAME.json`. A
    report that cannot be run here does not stop the others. Raise Stopped."""
    judged_reports = []
    for number, report in enumerate(reports, 1):
        console.print(f"[bold]{escape(report.suite)}[/bold] ({number} of {len(reports)})")
        campaign = _measure_one(report, directory / report.name, console)
        judged_reports.append(judged(report, [campaign] if campaign else []))
        if campaign and save is not None and (text := summary_text(report, campaign)):
            make_directory(save)
            write_whole(save / f"{report.name}.json", text)
        console.print(f"  {escape(judged_reports[-1].here)}")
    return judged_reports


def _measure_one(
    report: PublicReport, directory: Path, console: Console
) -> MeasuredCampaign | None:
    try:
        _run(report, directory, console)
    except UserError as error:
        console.print(f"{escape(report.suite)} cannot be run here: {escape(error.render())}")
    if not (directory / "campaign.json").is_file():
        return None
    bundle = Bundle(directory)
    return of_shown(summarise(bundle)) if bundle.trials("done") else None


def _run(report: PublicReport, directory: Path, console: Console) -> None:
    begun = (directory / "campaign.json").is_file()
    if begun and Bundle(directory).journal.finished:
        return
    campaign = (
        resumed_campaign(directory) if begun else new_campaign(Request(report.suite), directory)
    )
    with campaign.writer, campaign.lab:
        if not campaign.source.finished:
            ending = campaign.run(console)
            if ending.stopped_by:
                raise Stopped(ending.stopped_by)
