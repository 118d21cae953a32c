"""From an address to a campaign on the machines there, new or resumed: as
rmwbench/campaign/start.py, which does the work."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rmwbench.bundle import Bundle
from rmwbench.campaign import start
from rmwbench.cluster.filesystem import Copy
from rmwbench.cluster.fleet import SHARED, Fleet
from rmwbench.cluster.placed_fleet import PlacedFleet
from rmwbench.cluster.placing import Placing
from rmwbench.cluster.run import ClusterCampaign
from rmwbench.errors import UserError


def new_campaign(
    address: str,
    copy_to: str | None,
    placing: Placing | None,
    suite: str,
    directory: Path,
    *,
    budget_s: float | None,
    **request: Any,
) -> ClusterCampaign:
    """`placing`: which machines hosts are; None: a trial is on one machine whole. `budget_s` is
    time of the cluster: the plan gets as many blocks as its machines run in that time. Raises
    UserError before anything is written. The fleet is open: close it."""
    copy = None
    if copy_to is not None:
        copy = Copy(directory, copy_to)
        if not copy.is_empty():
            raise UserError(
                "there is something already",
                where=copy_to,
                fix="choose another place for the campaign",
            )
    fleet = _fleet(address, placing)
    try:
        fleet.copy_to = copy_to
        made = start.new_campaign(
            suite,
            directory,
            budget_s=budget_s,
            lab=fleet,
            placed=placing and placing.option,
            **request,
        )
        return ClusterCampaign.on(made, fleet, copy, budget_s)
    except BaseException:
        fleet.close()
        raise


def machines(address: str) -> int:
    """How many machines of the cluster can take part. Raises UserError where none can, or nothing
    answers."""
    with _fleet(address, None) as fleet:
        return len(fleet.machines)


def resumed_campaign(address: str, directory: Path) -> ClusterCampaign:
    """On machines like those that it began on, however many there are now."""
    stored = Bundle(directory).campaign
    found = (stored.get("cluster") or {}).get("placement")
    fleet = _fleet(
        address, None if found is None else Placing.of_document(found), stored.get("machine"), found
    )
    try:
        fleet.copy_to = (stored.get("cluster") or {}).get("copy_to")
        made = start.resumed_campaign(directory, lab=fleet)
        copy = Copy(directory, fleet.copy_to) if fleet.copy_to else None
        return ClusterCampaign.on(made, fleet, copy, None)
    except BaseException:
        fleet.close()
        raise


def _fleet(
    address: str,
    placing: Placing | None,
    like: Mapping[str, Any] | None = None,
    placement: Mapping[str, Any] | None = None,
) -> Fleet:
    """`like` and `placement`: the machine and the placement of the campaign to resume."""
    shared = bool(os.environ.get(SHARED))
    if placing is None:
        return Fleet(address, like, shared)
    before = {host: one["facts"] for host, one in (placement or {}).get("hosts", {}).items()}
    return PlacedFleet(address, placing, like, shared, before)
