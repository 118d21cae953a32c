"""The directory of `rmwbench published report -o DIR`.

DIR/evaluation.json           what was asked for and planned, and what could not begin
DIR/campaigns/SECTION/        the campaign of a section, like any other
DIR/comments/NAME.md          a vendor's own comment, which the document quotes
DIR/community/*.json          what `rmwbench published community … --json` printed
DIR/report.md, .html, .pdf    the document; its charts are those of the sections
DIR/sections/SECTION.md       every table of a section, its charts beside it in SECTION-charts/
"""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmwbench.bundle import Bundle
from rmwbench.command_name import command_line
from rmwbench.published.state_file import StateFile, require_empty
from rmwbench.whole_file import make_directory

if TYPE_CHECKING:
    from rmwbench.published.committee.sections import BudgetShare, ReportSection
    from rmwbench.suite.file.candidate_list import Choice

STATE = StateFile("evaluation.json", "rmwbench published report", "rmwbench/evaluation-run", 1)


@dataclass
class PlannedSection:
    """A section as it was planned. `blocks`: 0 if the budget had no room for the `least_s` seconds
    that it needs; `budget_s`: its time from beginning to end; `machine_s`: the time of one machine
    that does all of it; `comparisons`: the conditions of its suite that fit into the budget, None
    for all; `problem`: why it cannot run here, or why it could not begin when it was last tried;
    `workloads`, `at`: the part of the suite that it runs, empty for the short version's; `added`:
    candidates beside the suite's own; `without`: arms of the suite that are left out; `asked`: the
    blocks that the needs take, below which no budget cuts it."""

    name: str
    title: str
    suite: str
    short: bool
    blocks: int
    budget_s: float
    least_s: float
    problem: str | None = None
    comparisons: list[str] | None = None
    machine_s: float | None = None
    workloads: list[str] = field(default_factory=list)
    at: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    asked: int = 0


@dataclass
class CommitteeSession:
    """`candidates`, `added` and `without` are words of the command line. `machines`: how many the
    cluster had for which it was planned; None if it runs here."""

    directory: Path
    evaluation: str
    seed: int
    budget_s: float
    created_utc: str
    candidates: list[str]
    added: list[str]
    without: list[str]
    sections: list[PlannedSection]
    machines: int | None = None

    def save(self) -> None:
        STATE.save(self)

    @property
    def choice_of_all(self) -> "Choice":
        """The arms that the command line chose, for all sections."""
        from rmwbench.suite.file.candidate_list import Choice  # with what reads suites

        return Choice(tuple(self.candidates), tuple(self.added), tuple(self.without))

    def choice(self, section: PlannedSection) -> "Choice":
        return self.choice_of_all.adding(section.added).leaving(section.without)

    def command(self, section: PlannedSection) -> str:
        """Return the command that runs the section by itself."""
        workloads = (word for name in section.workloads for word in ("--workload", name))
        levels = (word for level in section.at for word in ("--at", level))
        short = ("--short",) if section.short else ()
        options = self.choice(section).options
        return command_line("run", section.suite, *short, *workloads, *options, *levels)

    def place(self, section: PlannedSection) -> Path:
        """Return the directory of a section's campaign, which need not exist yet."""
        return self.directory / "campaigns" / section.name

    def has_begun(self, section: PlannedSection) -> bool:
        return (self.place(section) / "campaign.json").is_file()

    def waiting(self) -> list[PlannedSection]:
        """Return the unfinished sections, the shortest first, so that a run that is stopped has
        answered as many questions as possible. Sections that could not begin are among them, since
        their problem may be gone."""
        unfinished = [
            section
            for section in self.sections
            if section.blocks
            and not (self.has_begun(section) and Bundle(self.place(section)).journal.finished)
        ]
        return sorted(unfinished, key=lambda section: section.budget_s)


def begin(
    directory: Path,
    evaluation: str,
    shares: "Sequence[BudgetShare]",
    absent: "Iterable[tuple[ReportSection, str]]",
    *,
    seed: int,
    budget_s: float,
    choice: "Choice",
    machines: int | None = None,
) -> CommitteeSession:
    """Make the directory and return its session. `absent`: the sections that cannot run, with the
    reasons. Raise UserError as `check_place` does."""
    planned = list(map(_planned_section, shares))
    planned += [
        PlannedSection(
            section.name,
            section.title,
            section.suite,
            short=False,
            blocks=0,
            budget_s=0.0,
            least_s=0.0,
            problem=reason,
        )
        for section, reason in absent
    ]
    check_place(directory)
    make_directory(directory)
    session = CommitteeSession(
        directory=directory,
        evaluation=evaluation,
        seed=seed,
        budget_s=budget_s,
        created_utc=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        candidates=list(choice.candidates),
        added=list(choice.added),
        without=list(choice.without),
        sections=planned,
        machines=machines,
    )
    session.save()
    return session


def _planned_section(share: "BudgetShare") -> PlannedSection:
    section = share.cost.section
    return PlannedSection(
        name=section.name,
        title=section.title,
        suite=section.suite,
        short=share.cost.short,
        blocks=share.blocks,
        budget_s=_rounded_up_to_ms(share.seconds),
        least_s=round(share.cost.least_s, 1),
        comparisons=None if share.is_whole else [chosen.comparison for chosen in share.chosen],
        machine_s=_rounded_up_to_ms(share.machine_s),
        workloads=list(section.workloads),
        at=list(section.at),
        added=list(share.cost.added),
        without=list(share.cost.without),
        asked=min(share.blocks, share.cost.needed_blocks),
    )


def _rounded_up_to_ms(seconds: float) -> float:
    """A number that was rounded down would have no room for the last block."""
    return math.ceil(seconds * 1000) / 1000


def check_place(directory: Path) -> None:
    """Raise UserError if the directory holds anything. Planning takes seconds, so this is asked
    before."""
    require_empty(
        directory,
        "the directory is not empty, and no evaluation was begun in it",
        "choose another with --out",
    )


def is_session(directory: Path) -> bool:
    return STATE.is_in(directory)


def load(directory: Path) -> CommitteeSession:
    """Load the session of a directory. Raise UserError if its file is not one of ours."""

    def make(document: dict[str, Any]) -> CommitteeSession:
        sections = [PlannedSection(**section) for section in document.pop("sections")]
        return CommitteeSession(directory=directory, sections=sections, **document)

    return STATE.load(directory, make)
