"""A campaign on the machines at an address, new or resumed. The work is done by
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
from rmwbench.cluster.placed_fleet import PlacedFleet
from rmwbench.cluster.placing import Placing
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
    """`placing`: which machines hosts are; None: a trial is on one machine whole. The request's
    budget is time of the cluster: the plan gets as many blocks as its machines run in that time.
    Raises UserError before anything is written. The fleet is open: close it."""
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
    """The same campaign on a fleet. `cluster_s`: time of the cluster that was asked for."""
    schedule = Schedule(runner.source.plan, Bundle(runner.writer.directory).journal.lines)
    source = PartSource(runner.source.name, schedule, runner.writer, fleet, cluster_s=cluster_s)
    return Runner(source, fleet, runner.workers, runner.writer, runner.machine)


def machines(address: str) -> int:
    """How many machines of the cluster can take part. Raises UserError where none can, or nothing
    answers."""
    with _fleet(address, None) as fleet:
        return len(fleet.machines)


def resumed_campaign(address: str, directory: Path) -> Runner[PartSource]:
    """The campaign on machines like those that it began on, however many there are now."""
    stored = Bundle(directory).campaign
    cluster = stored.cluster or {}
    placement = cluster.get("placement")
    placing = None if placement is None else Placing.of_document(placement)
    fleet = _fleet(address, placing, stored.machine.document(), placement)
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
