"""What was measured of a report, and whether its effect is seen here."""

from collections.abc import Sequence
from dataclasses import dataclass

from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.claims.amounts import title_of
from rmwbench.published.claims.claims_ledger import state_of
from rmwbench.published.claims.judging.judge import answers
from rmwbench.published.claims.judging.today import CellAnswer, Today
from rmwbench.published.claims.judging.versions import other_answers
from rmwbench.published.claims.summary import measured, text
from rmwbench.published.reports.public_report import FOLDER, PublicReport
from rmwbench.published.summaries import FOLDER as MEASURED
from rmwbench.published.summaries import expanded, read
from rmwbench.suite.file.places import source_directory
from rmwbench.words.numbers import counted

WORDS = {
    "holds": "seen here",
    "does not hold": "not seen",
    "undecided": "undecided",
    "undecidable": "undecided",
    "machines differ": "seen on one machine and not on another",
    "no data": "no data",
    "open": "not measured yet",
}
"""State of a claim -> what is said of a report."""


@dataclass(frozen=True)
class JudgedReport:
    report: PublicReport
    state: str
    today: Today | None
    others: tuple[Today, ...] = ()
    """The answers of other versions, where they differ from it."""

    @property
    def here(self) -> str:
        """`seen here: response latency, median of zenoh 6.20× [4.10–9.40] (5 blocks; zenoh 1.10.2)`."""
        if self.today is None:
            return WORDS[self.state]
        cell = _deciding(self.today)
        number = "" if cell is None else _number(cell, self.today.arms)
        here = f"{WORDS[self.state]}: {number}" if number else WORDS[self.state]
        others = [f"{WORDS[other.answer]}{other.with_versions}" for other in self.others]
        return "; ".join([here, *others])

    @property
    def why(self) -> str:
        """Why it is not seen here: what the suite says, else of which version it was reported."""
        reported = self.report.reported
        needs = "it needs ROS 2" if self.report.needs_ros and self.today is None else ""
        unseen = "" if self.state == "holds" else reported.unseen
        if self.state == "does not hold" and not unseen and reported.versions:
            unseen = f"reported of {reported.versions}"
        return "; ".join(filter(None, (needs, unseen)))


def judged(report: PublicReport, campaigns: Sequence[MeasuredCampaign] = ()) -> JudgedReport:
    """By these campaigns, or by what was measured for the shipped page where there are none."""
    measurements = campaigns or _shipped(report)
    todays = answers(report.claims, report.claim, measurements)
    if not todays:
        return JudgedReport(report, state_of(report.claim, todays), None)
    others = tuple(other_answers(todays))
    return JudgedReport(report, state_of(report.claim, todays), todays[0], others)


def summary_text(report: PublicReport, campaign: MeasuredCampaign) -> str | None:
    """The text of the file that keeps what a campaign measured; None where it says nothing."""
    summary = measured(report.claims, [campaign])
    return None if summary is None else text(summary)


def _shipped(report: PublicReport) -> list[MeasuredCampaign]:
    path = source_directory(FOLDER) / MEASURED / f"{report.name}.json"
    return expanded(read(path)) if path.is_file() else []


def _deciding(today: Today) -> CellAnswer | None:
    """The first cell that has the whole answer, or any that says something."""
    cells = sorted(today.cells, key=lambda cell: (cell.answer != today.answer, cell.low is None))
    return next(iter(cells), None)


def _number(cell: CellAnswer, arms: Sequence[str]) -> str:
    interval = cell.interval()
    if not interval:
        return cell.reason or ""
    sides = cell.left if cell.right in (None, cell.left) else f"{cell.left} against {cell.right}"
    numbers = f"{interval} ({counted(cell.blocks, 'block')}; {', '.join(arms)})"
    return f"{title_of(cell.metric)} of {sides} {numbers}"
