"""The directory of `rmwbench published claims run`: claims.json, and per suite a campaign with the
suite it was derived from.

DIR/claims.json                 what was asked for, and the time that is used up
DIR/galactic-2020-pubsub.yaml   the derived suite
DIR/galactic-2020-pubsub/       its campaign, like any other
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rmwbench.bundle import Bundle
from rmwbench.published.state_file import StateFile, make_empty
from rmwbench.words.shell import command_line

STATE = StateFile("claims.json", "rmwbench published claims run", "rmwbench/claims-run", 1)


@dataclass
class ClaimsSession:
    """`settled`: claim's id -> what decided it before. `only`: the ids that were asked for; all
    where empty. `campaigns`: name of a campaign's directory -> its suite, its claims and its round;
    a round is a budget."""

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
        state = asdict(self)
        del state["directory"]
        STATE.save(self.directory, state)

    def place(self, name: str) -> Path:
        """Where the campaign of a suite with that name goes in this round."""
        return self.directory / (name + (f"-{self.round}" if self.round > 1 else ""))

    def of_round(self) -> dict[str, dict[str, Any]]:
        return {name: one for name, one in self.campaigns.items() if one["round"] == self.round}

    def unfinished(self) -> list[str]:
        """Names of this round's campaigns that were stopped. What was noted and never begun is
        forgotten."""
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
    """Makes the directory. Raises UserError where something is there."""
    fix = (
        command_line("resume", directory) if is_session(directory) else "choose another with --out"
    )
    make_empty(directory, "the directory is not empty", fix)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    session = ClaimsSession(
        directory, list(sources), seed, budget_s, created, settled=dict(settled), only=list(only)
    )
    session.save()
    return session


def is_session(directory: Path) -> bool:
    return STATE.is_in(directory)


def load(directory: Path) -> ClaimsSession:
    """Raises UserError where the file is not one of ours."""
    return STATE.load(directory, lambda document: ClaimsSession(directory=directory, **document))


def campaigns(directory: Path) -> dict[Path, list[str]]:
    """The campaigns of a session's directory, in the order in which they were begun, with the
    claims that they ran for."""
    ran = {directory / name: run["claims"] for name, run in load(directory).campaigns.items()}
    return {path: claims for path, claims in ran.items() if (path / "campaign.json").is_file()}
