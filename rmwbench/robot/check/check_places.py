"""The directories of checks: each check is a campaign, in a folder of its suite and its machine
below the user's state directory. The folder depends on the suite's name, not on the place of its
file, and on the machine's hardware, as that of a calibration."""

import re
import time
from pathlib import Path

from rmwbench import home
from rmwbench.bundle import Bundle
from rmwbench.campaign.calibrations import possible_fingerprints
from rmwbench.errors import UserError
from rmwbench.lab.machine import machine_card


def checks_of(suite: str, network: str | None = None) -> Path:
    """The folder of a suite's checks on this machine; those over a network have their own. Raises
    UserError where the user has no home."""
    title = suite if network is None else f"{suite} over {network}"
    name = re.sub(r"[^\w.-]+", "-", title).strip(".-") or "suite"
    places = [
        home.state() / "checks" / fingerprint / name
        for fingerprint in possible_fingerprints(machine_card.describe())
    ]
    return next((place for place in places if place.is_dir()), places[0])


def new_place(checks: Path) -> Path:
    """The directory of a new check, whose name is its time in UTC."""
    return checks / time.strftime("%Y%m%d-%H%M%S", time.gmtime())


def newest(checks: Path) -> Bundle:
    """The last check, finished or not. Raises UserError where there is none."""
    bundles = _bundles(checks)
    if not bundles:
        raise UserError(
            "this suite was not checked on this machine yet",
            where=str(checks),
            fix="leave --last out",
        )
    return bundles[-1]


def before(bundle: Bundle) -> Bundle | None:
    """The last finished check before this one; None where this is the first."""
    earlier = [
        check
        for check in _bundles(bundle.directory.parent)
        if check.directory.name < bundle.directory.name and check.journal.finished
    ]
    return earlier[-1] if earlier else None


def _bundles(checks: Path) -> list[Bundle]:
    """The checks in the order of time, without broken campaigns."""
    bundles = []
    for path in sorted(checks.glob("*/campaign.json")):
        try:
            bundles.append(Bundle(path.parent))
        except UserError:
            continue
    return bundles
