"""What must hold before the first trial, found before anything is run or written: each a UserError
that says what to do."""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rmwbench.beside import from_features
from rmwbench.campaign.plan.plan import Plan, Trial
from rmwbench.campaign.plan.profile import PATH_OPTION, resolved_profile
from rmwbench.campaign.plan.shared_host import queue_bytes
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.campaign.trial.attest import ASKED
from rmwbench.errors import UserError, not_one_of
from rmwbench.lab.camera.frame_source import ring_bytes, senders
from rmwbench.lab.host import allocations, check_tap
from rmwbench.lab.host.host import available_memory_bytes
from rmwbench.lab.middleware import Worker, require_workers, tool
from rmwbench.lab.network import NetworkBroken
from rmwbench.lab.network.plumbing import HOST_FIELDS, rehearse_host
from rmwbench.lab.network.switch import NAME as NETWORK_TOOL
from rmwbench.lab.sampling import background, load_process, sampler
from rmwbench.suite.cells import Cell

CONGESTION_CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
MIB = 1 << 20
# Parquet takes about a third of a slot, and half is reserved; small tables and logs take about this
# much per trial.
DISK_PER_SLOT_BYTE, DISK_PER_TRIAL_BYTES, DISK_RESERVE_BYTES = 0.5, 100_000, 100 * MIB
MEMORY_RESERVE_BYTES = 256 * MIB


def find_and_check(plan: Plan, places: Places) -> dict[str, Worker]:
    """The workers of the plan's arms, with the profiles that its cells ask for, and the sampler.
    Writes nothing; runs `--describe`, and makes and drops one host per kind of network. What a
    middleware cannot do is not an error (`unsupported.py`)."""
    tool.find(sampler.NAME)
    if plan.suite.sampling.allocations:
        allocations.library()
    if any(background.asks(cell.conditions) for cell in plan.cells):
        tool.find(load_process.TOOL)
    workers = require_workers(
        list(dict.fromkeys(name for cell in plan.cells for name in cell.middlewares))
    )
    if not plan.host.shared:  # there are no networks to make on a shared host
        _check_networks(plan.cells, places)
    for cell in plan.cells:
        _check_profiles(cell, workers, places)
        _check_path(cell, places)
    return workers


def check_disk(plan: Plan, directory: Path, remaining: Sequence[Trial] | None = None) -> None:
    """Disk for the bundle and its bags: for all trials of a new campaign, or the `remaining`
    ones of one that is resumed."""
    trials = _in_time(plan) if remaining is None else remaining
    slots = sum(plan.cell(trial.cell).record_bytes for trial in trials)
    needed_bytes = (
        int(slots * DISK_PER_SLOT_BYTE) + len(trials) * DISK_PER_TRIAL_BYTES + DISK_RESERVE_BYTES
    )
    needed_bytes += sum(from_features("plan", "disk_bytes", plan, trials))
    existing = next(
        parent
        for parent in [directory.absolute(), *directory.absolute().parents]
        if parent.exists()
    )
    status = os.statvfs(existing)
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK) or not status.f_blocks:
        raise UserError(
            "a campaign cannot be written here",
            where=str(existing),
            expected="a directory that may be written to",
            actual="a file" if not existing.is_dir() else "a directory that may not",
            fix="choose another place with --out DIR",
        )
    free = status.f_bavail * status.f_frsize
    if free < needed_bytes:
        raise UserError(
            "not enough disk for this campaign",
            where=str(existing),
            expected=f"about {needed_bytes / MIB:.0f} MiB free",
            actual=f"{free / MIB:.0f} MiB",
            fix="free some, or choose another place with --out DIR"
            if remaining is None
            else "free some, or move the campaign's directory to where there is more",
        )


def _in_time(plan: Plan) -> Sequence[Trial]:
    """The trials for which there is time: a campaign by the clock plans blocks beyond it, for arms
    that are open when others have left."""
    if plan.within_s is None or not plan.block_s:
        return plan.trials
    blocks = math.ceil(plan.estimated_s / plan.block_s)
    return [trial for trial in plan.trials if trial.block < blocks]


def check_memory(plan: Plan) -> None:
    """Raises UserError where this machine has not the memory for the largest trial, the largest bag
    or the largest queues in shared memory."""
    list(from_features("plan", "check_memory", plan))
    largest = max(plan.cells, key=memory_bytes)
    needed_bytes, available = memory_bytes(largest) + MEMORY_RESERVE_BYTES, available_memory_bytes()
    if available < needed_bytes:
        raise UserError(
            "not enough memory for this campaign",
            where=f"workload {largest.workload.name}, arm {largest.arm.name}",
            expected=f"about {needed_bytes / MIB:.0f} MiB available",
            actual=f"{available / MIB:.0f} MiB",
            fix="end other programs, or run other workloads with --workload NAME",
        )
    if plan.host.shared:  # what does not fit there is left out, arm by arm (shared_host.py)
        return
    # Half of the available memory is the limit of a host's /dev/shm (rmwbench/lab/host).
    most_shared = max(plan.cells, key=_shared_bytes)
    shared = _shared_bytes(most_shared)
    if shared > available // 2:
        raise UserError(
            "the messages of one trial do not fit into shared memory",
            where=f"workload {most_shared.workload.name}",
            expected=f"{shared / MIB:.0f} MiB of /dev/shm",
            actual=f"{available // 2 / MIB:.0f} MiB, half of the available memory",
            fix="reduce the history depth or the message size",
        )


def memory_bytes(cell: Cell) -> int:
    """What a trial keeps in memory at least: the record files, the rings of frames, and of every
    endpoint a full history of messages with two in the making."""
    rings = sum(ring_bytes(endpoint.type.payload_bytes) for endpoint in senders(cell))
    return cell.record_bytes + rings + sum(queue_bytes(endpoint) for endpoint in cell.endpoints)


def _shared_bytes(cell: Cell) -> int:
    """What the full queues of its writers take where they lie in shared memory."""
    return sum(queue_bytes(endpoint) for endpoint in cell.endpoints if endpoint.writes)


def _check_profiles(cell: Cell, workers: Mapping[str, Worker], places: Places) -> None:
    for process, side in cell.sides.items():
        try:
            resolved_profile(side, workers[side.middleware])
        except UserError as error:
            error.where = places.side(cell, process, "profile")
            raise


def _check_networks(cells: Sequence[Cell], places: Places) -> None:
    """Whether hosts can be joined here as the cells ask for, each kind of network once."""
    tried: set[str] = set()
    for cell in cells:
        if cell.links is None:
            continue
        if not tried:
            tool.find(NETWORK_TOOL)
            check_tap()
        _check_cross_traffic(cell, places)
        for host in cell.links.hosts:
            content = repr(
                (
                    host,
                    cell.links.network.up(host).nic(),
                    cell.links.network.model_dump(include=HOST_FIELDS),
                )
            )
            if content in tried:
                continue
            tried.add(content)
            try:
                rehearse_host(cell.links, host)
            except NetworkBroken as broken:
                raise UserError(
                    f"the network of workload `{cell.workload.name}` cannot be made here",
                    where=places.workload(cell, "network"),
                    actual=str(broken),
                ) from None


def _check_cross_traffic(cell: Cell, places: Places) -> None:
    assert cell.links is not None
    traffic = cell.links.network.cross_traffic
    if not traffic:
        return
    tool.find(load_process.TOOL)
    controls = CONGESTION_CONTROLS.read_text().split()
    for stream in traffic:
        if stream.congestion_control not in (None, *controls):
            raise UserError(
                f"the kernel has no congestion control `{stream.congestion_control}`",
                where=places.workload(cell, "network"),
                expected="one of " + ", ".join(sorted(controls)),
                actual=str(stream.congestion_control),
                fix=f"`modprobe tcp_{stream.congestion_control}` where it is a module, or name "
                "another one",
            )


def _check_path(cell: Cell, places: Places) -> None:
    path = cell.arm.options.get(PATH_OPTION)
    if path is not None and path not in ASKED:
        raise not_one_of(
            f"unknown path `{path}`",
            str(path),
            ASKED,
            where=places.arm(cell, "options", PATH_OPTION),
        )
