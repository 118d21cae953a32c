"""The configuration that an arm runs with: the user's file, or what the worker carries under that name."""

from typing import Any

from rmwbench.campaign.judge import PATH_OPTION
from rmwbench.lab.middleware import Worker
from rmwbench.suite.cells import Cell

DAEMONS_OPTION = "daemons"
"""The arm's option that names the daemons of a user's own profile, separated by spaces; it is for us and not for the
worker, which knows those of the profiles that it carries."""


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
    """The protocol's `open` for the cell's arm. Left out are the options that are for us: what path to attest,
    which daemons to start."""
    options = {name: value for name, value in cell.arm.options.items() if name not in (PATH_OPTION, DAEMONS_OPTION)}
    profile = resolved_profile(cell, worker)
    return {"trial_nonce": f"{nonce:016x}", "domain_id": 0, "profile": profile, "options": options}


def daemons(cell: Cell, worker: Worker) -> list[str]:
    """Daemons that must serve before workers open with the arm's profile, in the order of their start."""
    profile, asked = cell.arm.profile, cell.arm.options.get(DAEMONS_OPTION)
    if asked is not None:
        return str(asked).split()
    return [] if profile.text is not None else worker.profile(profile.name).get("daemons", [])
