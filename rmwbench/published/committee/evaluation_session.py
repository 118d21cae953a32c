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
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from rmwbench.bundle import Bundle
from rmwbench.published.state_file import StateFile, check_empty, make_empty

if TYPE_CHECKING:
    from rmwbench.published.committee.sections import BudgetShare
    from rmwbench.suite.file.candidate_list import Choice

STATE = StateFile("evaluation.json", "rmwbench published report", "rmwbench/evaluation-run", 1)
_OCCUPIED = (
    "the directory is not empty, and no evaluation was begun in it",
    "choose another with --out",
)


@dataclass
class PlannedSection:
    """A section as it was planned. `blocks`: 0 where the budget had no room for the `least_s`
    seconds that it needs; `budget_s`: from its beginning to its end, `machine_s`: of one machine
    that does it all; `comparisons`: the conditions of its suite that the budget holds, None where
    that is all of them; `problem`: why it cannot run here, or could not when it was last tried;
    None where it can. `workloads`, `at`: what of the suite it runs, the version's where there are
    none; `added`: candidates beside its own; `without`: arms of it that are left out; `asked`:
    blocks that its needs ask for, below which no budget cuts it."""

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

    @property
    def command(self) -> str:
        """What runs the section by itself."""
        words = ["rmwbench run", self.suite, *(["--short"] if self.short else [])]
        words += [f"--workload {name}" for name in self.workloads]
        words += [f"--with {quote(name)}" for name in self.added]
        words += [f"--without {quote(name)}" for name in self.without]
        return " ".join([*words, *(f"--at {level}" for level in self.at)])


@dataclass
class CommitteeSession:
    """`candidates`, `added` and `without` are the words of the command line. `machines`: of the
    cluster that it was planned for; None: it runs here."""

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
        state = asdict(self)
        del state["directory"]
        STATE.save(self.directory, state)

    def choice(self, section: PlannedSection) -> "Choice":
        """What is said of a section's arms."""
        from rmwbench.suite.file.candidate_list import Choice  # with what reads suites

        whole = Choice(tuple(self.candidates), tuple(self.added), tuple(self.without))
        return whole.adding(section.added).leaving(section.without)

    def place(self, section: PlannedSection) -> Path:
        """Where its campaign is, or will be."""
        return self.directory / "campaigns" / section.name

    def has_begun(self, section: PlannedSection) -> bool:
        return (self.place(section) / "campaign.json").is_file()

    def waiting(self) -> list[PlannedSection]:
        """What is still to be run, the shortest first: so a run that is stopped has answered most
        questions. What could not begin is among it, since whoever goes on may have changed that."""
        left = [
            section
            for section in self.sections
            if section.blocks
            and not (self.has_begun(section) and Bundle(self.place(section)).journal.finished)
        ]
        return sorted(left, key=lambda section: section.budget_s)


def begin(
    directory: Path,
    evaluation: str,
    shares: "Sequence[BudgetShare]",
    absent: Mapping[str, tuple[str, str, str]],
    *,
    seed: int,
    budget_s: float,
    choice: "Choice",
    machines: int | None = None,
) -> CommitteeSession:
    """Makes the directory. `absent`: section -> (its title, its suite, why it cannot run).
    UserError where something else is there."""
    planned = list(map(_planned, shares))
    planned += [
        PlannedSection(
            name, title, suite, short=False, blocks=0, budget_s=0.0, least_s=0.0, problem=why
        )
        for name, (title, suite, why) in absent.items()
    ]
    make_empty(directory, *_OCCUPIED)
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


def _planned(share: "BudgetShare") -> PlannedSection:
    section = share.cost.section
    return PlannedSection(
        name=section.name,
        title=section.title,
        suite=section.suite,
        short=share.cost.short,
        blocks=share.blocks,
        budget_s=_whole_ms(share.seconds),
        least_s=round(share.cost.least_s, 1),
        comparisons=None if share.is_whole else [chosen.comparison for chosen in share.chosen],
        machine_s=_whole_ms(share.machine_s),
        workloads=list(section.workloads),
        at=list(section.at),
        added=list(share.cost.added),
        without=list(share.cost.without),
        asked=min(share.blocks, share.cost.asked),
    )


def _whole_ms(seconds: float) -> float:
    """Rounded up: rounded down it would not hold the last block."""
    return math.ceil(seconds * 1000) / 1000


def check_place(directory: Path) -> None:
    """Before an evaluation is planned, which takes seconds. UserError where `begin` would end so,
    since something else is there."""
    check_empty(directory, *_OCCUPIED)


def is_session(directory: Path) -> bool:
    return STATE.is_in(directory)


def load(directory: Path) -> CommitteeSession:
    """Raises UserError where the file is not one of ours."""

    def make(document: dict[str, Any]) -> CommitteeSession:
        sections = [PlannedSection(**section) for section in document.pop("sections")]
        return CommitteeSession(directory=directory, sections=sections, **document)

    return STATE.load(directory, make)
