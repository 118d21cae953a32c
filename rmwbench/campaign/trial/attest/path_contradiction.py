"""The comparison of the path that an arm asked for with the attested path, and the reason for a
difference.

A trial that asked for one path and took another is void: its numbers would have the wrong name. The
reason comes from the worker, which says at creation why its middleware does not use a path (a note
that begins with `path:`), or from the attestation's own note.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rmwbench.campaign.trial.attest.path import MAJORITY
from rmwbench.campaign.trial.outcome import TrialOutcome

NOTE = "path:"
"""The prefix of a worker's note on the path (docs/formats/worker-protocol.md)."""

# The path that an arm may ask for → the paths or interfaces of an attestation that grant it.
ASKED: Mapping[str, frozenset[str]] = {
    "shm": frozenset({"shm"}),
    "udp": frozenset({"udp", "network"}),
    "tcp": frozenset({"tcp", "network"}),
    "lo": frozenset({"lo"}),
    "eth0": frozenset({"eth0"}),
    # if the kernel does not report Unix sockets, an unknown remainder does not contradict this path
    "unix": frozenset({"unix", "other"}),
    "process": frozenset({"process"}),
}


def contradiction(
    asked_path: str | None, rows: Sequence[Mapping[str, Any]], reasons: Sequence[str] = ()
) -> str | None:
    """Return why the attested path is not the one that the arm asked for, with the `reasons`; None
    if it is."""
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
    """Return the workers' reasons why bytes do not take a path, each once, in the order of
    endpoints."""
    granted = outcome.endpoints.granted
    notes = (note for endpoint in sorted(granted) for note in granted[endpoint].get("notes") or [])
    reasons = [note.removeprefix(NOTE).strip() for note in notes if note.startswith(NOTE)]
    return list(dict.fromkeys(reasons))
