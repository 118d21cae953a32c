"""The path that an arm asked for, held against the one that was attested; and, where they differ,
why.

A trial that asked for one path and took another is void: its numbers would stand under the wrong
name. The reason comes from whoever knows it: the worker says at creation what keeps its middleware
from a path (a note that begins with `path:`), and counters say what happened on the way.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rmwbench.campaign.trial.attest.path import MAJORITY
from rmwbench.campaign.trial.outcome import TrialOutcome

NOTE = "path:"
"""How a worker's note on the path begins (docs/formats/worker-protocol.md)."""

# What an arm may ask for → the rows of an attestation that grant it: path, or interface.
ASKED: Mapping[str, frozenset[str]] = {
    "shm": frozenset({"shm"}),
    "udp": frozenset({"udp", "network"}),
    "tcp": frozenset({"tcp", "network"}),
    "lo": frozenset({"lo"}),
    "eth0": frozenset({"eth0"}),
    # without the kernel's word on Unix sockets, neither mapped segments nor an unknown remainder
    # contradict one
    "unix": frozenset({"unix", "other"}),
    "process": frozenset({"process"}),
}


def contradiction(
    asked_path: str | None, rows: Sequence[Mapping[str, Any]], reasons: Sequence[str] = ()
) -> str | None:
    """Why the attested path is not the one that the arm asked for, or None. `reasons` are told with
    it."""
    if asked_path is None or not rows:
        return None
    granted_fraction = sum(row["fraction"] for row in rows if _grants(asked_path, row))
    if granted_fraction >= MAJORITY:
        return None
    text = ", ".join(
        f"{row['path']}{' on ' + row['interface'] if row['interface'] else ''} "
        f"{100 * row['fraction']:.0f} % ({row['label']})"
        for row in rows
        if row["fraction"] >= 0.005
    )
    notes = [row["note"] for row in rows if row["path"] == "other" and row["fraction"] >= MAJORITY]
    why = (
        f"; {'; '.join(reasons or notes)}"
        if reasons or notes
        else "; the middleware gave no reason"
    )
    return f"path: asked for {asked_path}, but only {100 * granted_fraction:.0f} % of the bytes took it: {text}{why}"


def _grants(asked_path: str, row: Mapping[str, Any]) -> bool:
    if row["path"] in ASKED[asked_path] or row["interface"] in ASKED[asked_path]:
        return True
    return asked_path == "unix" and row["path"] == "shm" and row["label"] == "inferred"


def reasons(outcome: TrialOutcome) -> list[str]:
    """What the workers said keeps bytes from a path, each once, in the order of endpoints."""
    granted = outcome.endpoints.granted
    notes = (note for endpoint in sorted(granted) for note in granted[endpoint].get("notes") or [])
    reasons = [note.removeprefix(NOTE).strip() for note in notes if note.startswith(NOTE)]
    return list(dict.fromkeys(reasons))
