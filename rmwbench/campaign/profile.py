"""The configuration that an arm runs with: the user's file, or what the worker carries under that name."""

from typing import Any

from rmwbench.campaign.judge import PATH_OPTION
from rmwbench.lab.middleware import Worker
from rmwbench.suite.cells import Cell


def resolved_profile(cell: Cell, worker: Worker) -> dict[str, Any]:
    """Name, format and text. Raises UserError for a name that the worker does not have."""
    profile = cell.arm.profile
    if profile.text is not None:
        return {"name": profile.name, "format": profile.format or "", "text": profile.text}
    embedded = worker.profile(profile.name)
    return {key: embedded[key] for key in ("name", "format", "text")}


def forced(cell: Cell, worker: Worker) -> str | None:
    """What isolation or the worker forces on an embedded profile, in its words; None where nothing is."""
    profile = cell.arm.profile
    return None if profile.text is not None else worker.profile(profile.name).get("forced")


def open_fields(cell: Cell, worker: Worker, nonce: int) -> dict[str, Any]:
    """The protocol's `open` for the cell's arm. The option `path` is not for the worker: it says what to attest."""
    options = {name: value for name, value in cell.arm.options.items() if name != PATH_OPTION}
    profile = resolved_profile(cell, worker)
    return {"trial_nonce": f"{nonce:016x}", "domain_id": 0, "profile": profile, "options": options}


def daemons(cell: Cell, worker: Worker) -> list[str]:
    """Names of the daemons that must serve before workers open with an embedded profile, in the order of their start."""
    profile = cell.arm.profile
    return [] if profile.text is not None else worker.profile(profile.name).get("daemons", [])
