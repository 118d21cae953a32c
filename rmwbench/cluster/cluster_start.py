"""Starts a new campaign on the machines of a cluster, or resumes one, by means of
rmwbench/campaign/start.py."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rmwbench.bundle import Bundle
from rmwbench.campaign import start
from rmwbench.campaign.blocks import BlockSource
from rmwbench.campaign.plan.request import Request
from rmwbench.campaign.run import Runner
from rmwbench.cluster.batch_schedule import Schedule
from rmwbench.cluster.filesystem import Copy
from rmwbench.cluster.fleet import SHARED, Fleet
from rmwbench.cluster.machine_parts import PartSource
from rmwbench.cluster.placed_fleet import PlacedFleet, Placing
from rmwbench.errors import UserError
from rmwbench.suite.file.candidate_list import NO_CHOICE, Choice


def new_campaign(
    address: str,
    copy_to: str | None,
    placing: Placing | None,
    request: Request,
    directory: Path,
    *,
    choice: Choice = NO_CHOICE,
    machine_s: float | None = None,
) -> Runner[PartSource]:
    """Start a campaign. `placing`: which machines the hosts are; None: a trial is on one machine.
    The request's budget is time of the cluster: the plan gets as many blocks as the machines run in
    that time. Raises UserError before anything is written. The caller closes the fleet."""
    copy = None if copy_to is None else Copy(directory, copy_to)
    if copy is not None and not copy.is_empty():
        raise UserError(
            "there is something already", where=copy_to, fix="choose another place for the campaign"
        )
    request = replace(request, placed=None if placing is None else placing.option)
    fleet = _fleet(address, placing)
    try:
        fleet.copy = copy
        runner = start.new_campaign(
            request, directory, choice=choice, lab=fleet, machine_s=machine_s
        )
        return _on(runner, fleet, request.budget_s)
    except BaseException:
        fleet.close()
        raise


def _on(runner: Runner[BlockSource], fleet: Fleet, cluster_s: float | None) -> Runner[PartSource]:
    """Return the same campaign on a fleet. `cluster_s`: the budget in time of the cluster."""
    schedule = Schedule(runner.source.plan, Bundle(runner.writer.directory).journal.lines)
    source = PartSource(runner.source.name, schedule, runner.writer, fleet, cluster_s=cluster_s)
    return Runner(source, fleet, runner.workers, runner.writer, runner.machine)


def machines(address: str) -> int:
    """Return how many machines of the cluster can take part. Raises UserError if none can, or if
    the cluster does not answer."""
    with _fleet(address, None) as fleet:
        return len(fleet.machines)


def resumed_campaign(address: str, directory: Path) -> Runner[PartSource]:
    """Resume a campaign on machines like those that it began on, however many there are now."""
    campaign = Bundle(directory).campaign
    cluster = campaign.cluster or {}
    placement = cluster.get("placement")
    placing = None if placement is None else Placing.of_document(placement)
    fleet = _fleet(address, placing, campaign.machine.document(), placement)
    try:
        if cluster.get("copy_to"):
            fleet.copy = Copy(directory, cluster["copy_to"])
        return _on(start.resumed_campaign(directory, lab=fleet), fleet, None)
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
    hosts = (placement or {}).get("hosts", {})
    before = {host: machine["facts"] for host, machine in hosts.items()}
    return PlacedFleet(address, placing, like, shared, before)
