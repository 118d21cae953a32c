"""The directory of `rmwbench published claims run`: claims.json, and for each suite a campaign
beside the suite file that was derived for it.

DIR/claims.json                 what was asked for, and the time that is used up
DIR/galactic-2020-pubsub.yaml   the derived suite
DIR/galactic-2020-pubsub/       its campaign, like any other
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rmwbench.bundle import Bundle
from rmwbench.command_name import command_line
from rmwbench.published.state_file import StateFile, require_empty
from rmwbench.whole_file import make_directory

STATE = StateFile("claims.json", "rmwbench published claims run", "rmwbench/claims-run", 1)


@dataclass
class ClaimsSession:
    """`settled`: id -> what decided the claim before. `only`: the ids that the user named; empty
    for all. `campaigns`: name of a campaign's directory -> its suite, its claims and its round.
    Each budget is a round."""

    directory: Path
    sources: list[str]
    seed: int
    budget_s: float
    created_utc: str
    used_s: float = 0.0
    round: int = 1
    settled: dict[str, str] = field(default_factory=dict)
    only: list[str] = field(default_factory=list)
    campaigns: dict[str, dict[str, Any]] = field(default_factory=dict)

    def save(self) -> None:
        STATE.save(self)

    def place(self, name: str) -> Path:
        """Return the directory of a suite's campaign in this round."""
        return self.directory / (name + (f"-{self.round}" if self.round > 1 else ""))

    def of_round(self) -> dict[str, dict[str, Any]]:
        return {name: run for name, run in self.campaigns.items() if run["round"] == self.round}

    def unfinished(self) -> list[str]:
        """Return the names of this round's campaigns that were stopped. Campaigns that were noted
        but never begun are removed."""
        for name in self.of_round():
            if not (self.directory / name / "campaign.json").is_file():
                del self.campaigns[name]
        return [
            name for name in self.of_round() if not Bundle(self.directory / name).journal.finished
        ]


def begin(
    directory: Path,
    sources: Sequence[str],
    *,
    seed: int,
    budget_s: float,
    settled: Mapping[str, str],
    only: Sequence[str] = (),
) -> ClaimsSession:
    """Make the directory and return its session. Raise UserError if the directory holds
    anything."""
    fix = (
        command_line("resume", directory) if is_session(directory) else "choose another with --out"
    )
    require_empty(directory, "the directory is not empty", fix)
    make_directory(directory)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    session = ClaimsSession(
        directory, list(sources), seed, budget_s, created, settled=dict(settled), only=list(only)
    )
    session.save()
    return session


def is_session(directory: Path) -> bool:
    return STATE.is_in(directory)


def load(directory: Path) -> ClaimsSession:
    """Load the session of a directory. Raise UserError if its file is not one of ours."""
    return STATE.load(directory, lambda document: ClaimsSession(directory=directory, **document))


def campaigns(directory: Path) -> dict[Path, list[str]]:
    """Return the campaigns of a session's directory, in the order in which they were begun, with
    the ids of their claims."""
    ran = {directory / name: run["claims"] for name, run in load(directory).campaigns.items()}
    return {path: claims for path, claims in ran.items() if (path / "campaign.json").is_file()}
