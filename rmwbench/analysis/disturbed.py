"""What the machine did to an arm's trials without voiding them: the flags that were raised when they ran, as one text
per rule (docs/doctor.md)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

USUAL = {"background": "idle", "host_idle": "as_found"}
EVENT = "flag"
SHARE = 0.5
"""An arm is marked where at least this share of its trials has the flag; what happens to a few, blocks carry."""


def texts(trials: Sequence[int], events: Mapping[int, Iterable[Mapping[str, Any]]]) -> list[str]:
    """`machine: RULE in N of M trials; the last: …`, in alphabetical order; empty for an arm that was left in peace."""
    found: dict[str, dict[int, str]] = {}
    for trial in trials:
        for row in events.get(trial, ()):
            if row["event"] == EVENT and row["text"]:
                rule, _, text = row["text"].partition(": ")
                found.setdefault(rule, {})[trial] = text  # a rule may flag a trial for several links
    return [
        f"machine: {rule} in {len(said)} of {len(trials)} trials; the last: {list(said.values())[-1]}"
        for rule, said in sorted(found.items())
        if len(said) >= SHARE * len(trials)
    ]


def conditions(definition: Mapping[str, Any]) -> str | None:
    """What else the machine did, as a cell stores it; None for a bundle that does not say."""
    found = definition.get("conditions")
    if not found:
        return None
    asked = [f"{name} {level}" for name, level in found.items() if level != USUAL.get(name)]
    return ", ".join(asked) or "nothing else running"
