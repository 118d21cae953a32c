"""The directory of `rmwbench evaluate -o DIR`.

DIR/evaluation.json           what was asked for and planned, and what could not begin
DIR/campaigns/SECTION/        the campaign of a section, like any other
DIR/comments/NAME.md          a vendor's own comment, which the document quotes
DIR/community/*.json          documents of `rmwbench community github|rep2004|survey --json`
DIR/report.md, .html, .pdf    the document; its charts are those of the sections
DIR/sections/SECTION.md       every table of a section, with its charts in DIR/sections/SECTION-charts/
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rmwbench.bundle import Bundle
from rmwbench.errors import UserError
from rmwbench.evaluations.committee.sections import Share
from rmwbench.input_file import parse_json, read_input
from rmwbench.suite.file.candidates import Choice
from rmwbench.whole_file import write_whole

STATE = "evaluation.json"
SCHEMA, VERSION = "rmwbench/evaluation-run", 1


@dataclass
class Planned:
    """A section as it was planned. `blocks`: 0 where the budget had no room for the `least_s` seconds that it needs;
    `problem`: why it cannot run here, None where it can."""

    name: str
    title: str
    suite: str
    short: bool
    blocks: int
    budget_s: float
    least_s: float
    problem: str | None = None


@dataclass
class Session:
    """`candidates`, `added` and `without` are the words of the command line."""

    directory: Path
    evaluation: str
    seed: int
    budget_s: float
    created_utc: str
    candidates: list[str]
    added: list[str]
    without: list[str]
    sections: list[Planned]

    def save(self) -> None:
        document = {"schema": SCHEMA, "version": VERSION, **asdict(self)}
        del document["directory"]
        write_whole(self.directory / STATE, json.dumps(document, indent=1) + "\n")

    def choice(self) -> Choice:
        return Choice(tuple(self.candidates), tuple(self.added), tuple(self.without))

    def place(self, section: Planned) -> Path:
        """Where its campaign is, or will be."""
        return self.directory / "campaigns" / section.name

    def has_begun(self, section: Planned) -> bool:
        return (self.place(section) / "campaign.json").is_file()

    def waiting(self) -> list[Planned]:
        """What is still to be run, in the order of importance."""
        return [
            one
            for one in self.sections
            if one.blocks
            and one.problem is None
            and not (self.has_begun(one) and Bundle(self.place(one)).journal.finished)
        ]


def begin(
    directory: Path,
    evaluation: str,
    shares: Sequence[Share],
    absent: Mapping[str, tuple[str, str, str]],
    *,
    seed: int,
    budget_s: float,
    choice: Choice,
) -> Session:
    """Makes the directory. `absent`: section -> (its title, its suite, why it cannot run). UserError where something
    else is there."""
    if directory.exists() and any(directory.iterdir()):
        raise UserError(
            "the directory is not empty, and no evaluation was begun in it",
            where=str(directory),
            fix="choose another with --out",
        )
    planned = [
        Planned(
            name=one.cost.section.name,
            title=one.cost.section.title,
            suite=one.cost.section.suite,
            short=one.cost.short,
            blocks=one.blocks,
            budget_s=round(one.seconds, 1),
            least_s=round(one.cost.least * one.cost.block_s, 1),
        )
        for one in shares
    ]
    planned += [
        Planned(name, title, suite, short=False, blocks=0, budget_s=0.0, least_s=0.0, problem=why)
        for name, (title, suite, why) in absent.items()
    ]
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError("the directory cannot be made", where=str(directory), actual=error.strerror) from None
    session = Session(
        directory,
        evaluation,
        seed,
        budget_s,
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        list(choice.candidates),
        list(choice.added),
        list(choice.without),
        planned,
    )
    session.save()
    return session


def is_session(directory: Path) -> bool:
    return (directory / STATE).is_file()


def load(directory: Path) -> Session:
    """UserError where the file is none of ours."""
    path = directory / STATE
    try:
        document: dict[str, Any] = parse_json(read_input(path))
        if document.pop("schema") != SCHEMA or document.pop("version") != VERSION:
            raise ValueError("another schema or version")
        sections = [Planned(**one) for one in document.pop("sections")]
        return Session(directory=directory, sections=sections, **document)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError("this is no directory of `rmwbench evaluate`", where=str(path), actual=str(error)) from None
