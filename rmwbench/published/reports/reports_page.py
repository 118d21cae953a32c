"""The list of reports: a line each in a terminal, the site's page, and `--json`."""

from collections.abc import Sequence
from typing import Any

from rmwbench.published.reports.judged_report import JudgedReport
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
        sections=[Section("", [Table(columns, [_row(one) for one in reports])])],
    )


def _row(one: JudgedReport) -> list[TableCell | str]:
    reported = one.report.reported
    here = f"{one.here} – {one.why}" if one.why else one.here
    return [
        one.report.name,
        reported.effect,
        f"{reported.source}: {reported.figures}",
        reported.versions or "–",
        TableCell(here, _TONES.get(one.state, "muted")),
        reported.helps or "–",
    ]


def line(one: JudgedReport) -> str:
    """The effect, as reported and as measured."""
    reported = one.report.reported
    why = f" ({one.why})" if one.why else ""
    helps = f" What helps: {reported.helps}." if reported.helps and one.state == "holds" else ""
    return (
        f"{reported.effect} Reported in {reported.source}: {reported.figures}. "
        f"Measured here: {one.here}{why}.{helps}"
    )


def document(one: JudgedReport) -> dict[str, Any]:
    """As `--json` has it."""
    reported = one.report.reported
    names = ("effect", "source", "figures", "versions", "helps", "unseen")
    return {
        "suite": one.report.suite,
        "title": one.report.title,
        **{name: getattr(reported, name) for name in names},
        "needs_ros": one.report.needs_ros,
        "state": one.state,
        "here": one.here,
    }
