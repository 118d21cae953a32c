"""What the machine did to an arm's trials without voiding them: the flags that were raised when
they ran, one per code (docs/doctor.md)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

USUAL = {"background": "idle", "host_idle": "as_found"}
EVENT = "flag"
SHARE = 0.5
"""An arm is marked where at least this share of its trials has the flag; what happens to a few,
blocks carry."""


@dataclass(frozen=True)
class Disturbance:
    """A flag that at least half of an arm's trials have. `code` is one of rmwbench/codes.py; of a
    bundle from before there were codes it is the first word of the flag's text."""

    code: str
    trials: int
    of: int
    last: str

    @property
    def text(self) -> str:
        return f"machine: {self.code} in {self.trials} of {self.of} trials; the last: {self.last}"


def disturbances(
    trials: Sequence[int], events: Mapping[int, Iterable[Mapping[str, Any]]]
) -> list[Disturbance]:
    """In alphabetical order of their codes; empty for an arm that was left in peace."""
    flagged: dict[str, dict[int, str]] = {}
    for trial in trials:
        for row in events.get(trial, ()):
            if row["event"] == EVENT and row["text"]:
                prefix, _, text = row["text"].partition(": ")
                # A rule may flag a trial for several links: the last one is told.
                flagged.setdefault(row.get("code") or prefix, {})[trial] = text
    return [
        Disturbance(code, len(texts), len(trials), list(texts.values())[-1])
        for code, texts in sorted(flagged.items())
        if len(texts) >= SHARE * len(trials)
    ]


def conditions(definition: Mapping[str, Any]) -> str | None:
    """What else the machine did, as a cell stores it; None for a bundle that does not say."""
    found = definition.get("conditions")
    if not found:
        return None
    asked = [f"{name} {level}" for name, level in found.items() if level != USUAL.get(name)]
    return ", ".join(asked) or "nothing else running"
