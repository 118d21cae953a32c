"""A suite's report as the only claim of a source of its own, so that it is judged, kept and shown
as any claim is; what was measured of it, and whether its effect is seen here. All reports are a list:
a line each in a terminal, the site's page, and the document of `--json`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError
from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.claims.amounts import title_of
from rmwbench.published.claims.claims_file import Claim, Claims, ClaimTest
from rmwbench.published.claims.claims_ledger import state_of
from rmwbench.published.claims.judging.campaign_answers import (
    CellAnswer,
    MeasuredAnswer,
    other_answers,
)
from rmwbench.published.claims.judging.judge import answers
from rmwbench.published.claims.summary import json_text, machine_summary
from rmwbench.published.summaries import FOLDER as MEASURED
from rmwbench.published.summaries import campaigns_of, read
from rmwbench.report.view import On, Section, Table, TableCell, TableColumn, Text, Tone, View
from rmwbench.suite.file.candidate_list import layer_of
from rmwbench.suite.file.load import load, parse
from rmwbench.suite.file.suite_files import shipped_suites, source_directory, suite_file
from rmwbench.suite.predicate import Reported
from rmwbench.suite.suite import Suite
from rmwbench.words.numbers import counted

FOLDER = "reports"
"""The folder of the shipped suites that each show what one report is about."""


@dataclass(frozen=True)
class PublicReport:
    """`suite` is what `rmwbench run` takes; `needs_ros`: all of its arms run on ROS 2."""

    suite: str
    title: str
    reported: Reported
    claims: Claims
    needs_ros: bool

    @property
    def name(self) -> str:
        return self.suite.rpartition("/")[2]

    @property
    def claim(self) -> Claim:
        return self.claims.items[0]


def shipped_reports() -> list[PublicReport]:
    """Return one report for each suite of FOLDER, by name."""
    names = [name for name in shipped_suites() if name.startswith(f"{FOLDER}/")]
    reports = (_report(name, load(suite_file(name))) for name in names)
    return [report for report in reports if report is not None]


@lru_cache(maxsize=8)
def report_of(text: str, directory: Path) -> PublicReport | None:
    """Return the report in the text of a suite; None if it has none, or if this version, or this
    machine with its middlewares, cannot read the suite."""
    from rmwbench.lab.middleware import names_here

    try:
        suite = parse(text, where="suite", directory=directory, middlewares=names_here())
    except UserError:
        return None
    return _report(suite.suite, suite)


def _report(name: str, suite: Suite) -> PublicReport | None:
    reported = suite.reported
    if reported is None:
        return None
    layers = {arm.name: layer_of(arm.middleware) for arm in suite.arms}
    tests = [ClaimTest(suite=suite.suite, **seen.set_values()) for seen in reported.seen]
    layer = layers[tests[0].left]
    claim = Claim(
        id=re.sub("[^a-z0-9.-]", "-", name.rpartition("/")[2].casefold()),
        heading=reported.source,
        says=reported.effect,
        kind="comparison",
        inferred=f"reported in {reported.source}",
        test=tests[0],
        also=tuple(tests[1:]),
    )
    claims = Claims(
        claims=FOLDER,
        title=suite.title,
        published=reported.source,
        text=reported.link,
        layer=layer,
        sides={arm: (arm,) for arm in layers},
        items=(claim,),
    )
    needs_ros = all(layer in ("rclcpp", "rclpy") for layer in layers.values())
    return PublicReport(name, suite.title, reported, claims, needs_ros)


STATE_TEXTS = {
    "holds": "seen here",
    "does not hold": "not seen",
    "undecided": "undecided",
    "undecidable": "undecided",
    "machines differ": "seen on one machine and not on another",
    "no data": "no data",
    "open": "not measured yet",
}
"""What each state of a claim says about a report."""


@dataclass(frozen=True)
class JudgedReport:
    report: PublicReport
    state: str
    measured: MeasuredAnswer | None
    others: tuple[MeasuredAnswer, ...] = ()
    """The answers of other versions, if they differ from it."""

    @property
    def here(self) -> str:
        """`seen here: response latency, median of zenoh 6.20× [4.10–9.40] (5 blocks; zenoh
        1.10.2)`."""
        here = STATE_TEXTS[self.state]
        if self.measured is None:
            return here
        cell = _deciding_cell(self.measured)
        number = "" if cell is None else _number(cell, self.measured.arms)
        others = [f"{STATE_TEXTS[other.answer]}{other.with_versions}" for other in self.others]
        return "; ".join([f"{here}: {number}" if number else here, *others])

    @property
    def why(self) -> str:
        """Why it is not seen here: what the suite says, or else the version it was reported for."""
        reported = self.report.reported
        needs = "it needs ROS 2" if self.report.needs_ros and self.measured is None else ""
        unseen = "" if self.state == "holds" else reported.unseen
        if self.state == "does not hold" and not unseen and reported.versions:
            unseen = f"reported of {reported.versions}"
        return "; ".join(filter(None, (needs, unseen)))


def judged(
    report: PublicReport, campaigns: Sequence[MeasuredCampaign] | None = None
) -> JudgedReport:
    """Judge the report by these campaigns; None stands for what was measured for the shipped
    page."""
    if campaigns is None:
        campaigns = _shipped_campaigns(report)
    measured_answers = answers(report.claims, report.claim, campaigns)
    state = state_of(report.claim, measured_answers)
    if not measured_answers:
        return JudgedReport(report, state, None)
    return JudgedReport(report, state, measured_answers[0], tuple(other_answers(measured_answers)))


def summary_text(report: PublicReport, campaign: MeasuredCampaign) -> str | None:
    """Return the text of the file that keeps what a campaign measured; None if it says nothing."""
    summary = machine_summary(report.claims, [campaign])
    return None if summary is None else json_text(summary)


def _shipped_campaigns(report: PublicReport) -> list[MeasuredCampaign]:
    path = source_directory(FOLDER) / MEASURED / f"{report.name}.json"
    return campaigns_of(read(path)) if path.is_file() else []


def _deciding_cell(measured: MeasuredAnswer) -> CellAnswer | None:
    """Return the first cell that has the whole answer, or else any that says something."""
    cells = sorted(
        measured.cells, key=lambda cell: (cell.answer != measured.answer, cell.low is None)
    )
    return next(iter(cells), None)


def _number(cell: CellAnswer, arms: Sequence[str]) -> str:
    interval = cell.interval()
    if not interval:
        return cell.reason or ""
    sides = cell.left if cell.right in (None, cell.left) else f"{cell.left} against {cell.right}"
    numbers = f"{interval} ({counted(cell.blocks, 'block')}; {', '.join(arms)})"
    return f"{title_of(cell.metric)} of {sides} {numbers}"


ABOUT = (
    "Effects that people reported in public, each with a suite of a minute that shows it, and what "
    "was measured here. "
    "`rmwbench run reports/NAME` runs one; `rmwbench suites reports --measure DIR` runs all, and "
    "goes on where it was stopped.",
    "Seen and not seen are decided as claims are (docs/evaluations.md): by five blocks at least, "
    "with an interval. What is not seen may have been mended since, or need another machine.",
)
_TONES: dict[str, Tone] = {"holds": "good", "does not hold": "bad", "undecided": "open"}


def view(reports: Sequence[JudgedReport]) -> View:
    columns = [
        TableColumn("suite"),
        TableColumn("effect"),
        TableColumn("reported"),
        TableColumn("versions", on=On.DOCUMENT),
        TableColumn("here"),
        TableColumn("what helps", on=On.DOCUMENT),
    ]
    return View(
        title="Reported in public, reproduced",
        about=[Text(text, on=On.DOCUMENT) for text in ABOUT],
        answer=[],
        sections=[Section("", [Table(columns, list(map(_row, reports)))])],
    )


def _row(judged_report: JudgedReport) -> list[TableCell | str]:
    reported = judged_report.report.reported
    here = (
        f"{judged_report.here} – {judged_report.why}" if judged_report.why else judged_report.here
    )
    return [
        judged_report.report.name,
        reported.effect,
        f"{reported.source}: {reported.figures}",
        reported.versions or "–",
        TableCell(here, _TONES.get(judged_report.state, "muted")),
        reported.helps or "–",
    ]


def line(judged_report: JudgedReport) -> str:
    """Return the effect, as reported and as measured."""
    reported = judged_report.report.reported
    why = f" ({judged_report.why})" if judged_report.why else ""
    shows_remedy = reported.helps and judged_report.state == "holds"
    remedy = f" What helps: {reported.helps}." if shows_remedy else ""
    return (
        f"{reported.effect} Reported in {reported.source}: {reported.figures}. "
        f"Measured here: {judged_report.here}{why}.{remedy}"
    )


def document(judged_report: JudgedReport) -> dict[str, Any]:
    reported = judged_report.report.reported
    names = ("effect", "source", "figures", "versions", "helps", "unseen")
    return {
        "suite": judged_report.report.suite,
        "title": judged_report.report.title,
        **{name: getattr(reported, name) for name in names},
        "needs_ros": judged_report.report.needs_ros,
        "state": judged_report.state,
        "here": judged_report.here,
    }
