"""The list of reports: one line each in a terminal, the site's page, and the document of
`--json`."""

from collections.abc import Sequence
from typing import Any

from rmwbench.published.reports.public_report import JudgedReport
from rmwbench.report.view import On, Section, Table, TableCell, TableColumn, Text, Tone, View

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


def _row(judged: JudgedReport) -> list[TableCell | str]:
    reported = judged.report.reported
    here = f"{judged.here} – {judged.why}" if judged.why else judged.here
    return [
        judged.report.name,
        reported.effect,
        f"{reported.source}: {reported.figures}",
        reported.versions or "–",
        TableCell(here, _TONES.get(judged.state, "muted")),
        reported.helps or "–",
    ]


def line(judged: JudgedReport) -> str:
    """Return the effect, as reported and as measured."""
    reported = judged.report.reported
    why = f" ({judged.why})" if judged.why else ""
    shows_remedy = reported.helps and judged.state == "holds"
    remedy = f" What helps: {reported.helps}." if shows_remedy else ""
    return (
        f"{reported.effect} Reported in {reported.source}: {reported.figures}. "
        f"Measured here: {judged.here}{why}.{remedy}"
    )


def document(judged: JudgedReport) -> dict[str, Any]:
    reported = judged.report.reported
    names = ("effect", "source", "figures", "versions", "helps", "unseen")
    return {
        "suite": judged.report.suite,
        "title": judged.report.title,
        **{name: getattr(reported, name) for name in names},
        "needs_ros": judged.report.needs_ros,
        "state": judged.state,
        "here": judged.here,
    }
