"""The checks before the first trial, before anything is run or written. Each raises a UserError
that says what to do."""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rmwbench.beside import from_features
from rmwbench.campaign.plan.plan import Plan, Trial
from rmwbench.campaign.plan.profile import PATH_OPTION, resolved_profile
from rmwbench.campaign.plan.shared_host import MIB, queue_bytes
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.campaign.trial.attest.path_contradiction import ASKED
from rmwbench.campaign.trial.outcome import keeps_spoilt
from rmwbench.errors import UserError, not_one_of
from rmwbench.lab.camera.frame_source import ring_bytes, senders
from rmwbench.lab.host import allocations, check_tap
from rmwbench.lab.host.host import available_memory_bytes
from rmwbench.lab.middleware import Worker, require_workers, tool
from rmwbench.lab.network import NetworkBroken
from rmwbench.lab.network.host_network import HOST_FIELDS, rehearse_host
from rmwbench.lab.network.switch import NAME as NETWORK_TOOL
from rmwbench.lab.sampling import background, load_process, sampler
from rmwbench.suite.cells import Cell

CONGESTION_CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
# Parquet takes about a third of a slot, and half is reserved. Small tables and logs take about
# DISK_PER_TRIAL_BYTES per trial.
DISK_PER_SLOT_BYTE, DISK_PER_TRIAL_BYTES, DISK_RESERVE_BYTES = 0.5, 100_000, 100 * MIB
MEMORY_RESERVE_BYTES = 256 * MIB


def find_and_check(plan: Plan, places: Places) -> dict[str, Worker]:
    """Return the workers of the plan's arms. Check that they have the profiles of its cells, that
    the sampler and other tools are there, and that its networks can be made: one host per kind of
    network is made and removed. Nothing is written. An unsupported cell is no error
    (`unsupported_cells.py`). Raises UserError."""
    keeps_spoilt()  # an unknown value is refused here, and not in the first trial
    tool.find(sampler.NAME)
    if plan.suite.sampling.allocations:
        allocations.library()
    if any(background.load_kinds(cell.conditions) for cell in plan.cells):
        tool.find(load_process.TOOL)
    workers = require_workers(
        list(dict.fromkeys(name for cell in plan.cells for name in cell.middlewares))
    )
    if not plan.host.shared:  # a shared host has no networks
        _check_networks(plan.cells, places)
    for cell in plan.cells:
        _check_profiles(cell, workers, places)
        _check_path(cell, places)
    return workers


def check_disk(plan: Plan, directory: Path, remaining: Sequence[Trial] | None = None) -> None:
    """Check the disk space for the bundle and its bags, for all trials of a new campaign or the
    `remaining` trials of a resumed one."""
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
    """Return the trials for which there is time. A campaign by the clock plans more blocks, for
    arms that are open when others are decided."""
    if plan.within_s is None or not plan.block_s:
        return plan.trials
    blocks = math.ceil(plan.estimated_s / plan.block_s)
    return [trial for trial in plan.trials if trial.block < blocks]


def check_memory(plan: Plan) -> None:
    """Raise UserError if this machine has too little memory for the largest trial, the largest bag
    or the largest queues in shared memory."""
    list(from_features("plan", "check_memory", plan))
    largest = max(plan.supported, key=memory_bytes)
    needed_bytes, available = memory_bytes(largest) + MEMORY_RESERVE_BYTES, available_memory_bytes()
    if available < needed_bytes:
        raise UserError(
            "not enough memory for this campaign",
            where=f"workload {largest.workload.name}, arm {largest.arm.name}",
            expected=f"about {needed_bytes / MIB:.0f} MiB available",
            actual=f"{available / MIB:.0f} MiB",
            fix="end other programs, or run other workloads with --workload NAME",
        )
    if plan.host.shared:  # arms that do not fit are left out (shared_host.py)
        return
    # Half of the available memory is the limit of a host's /dev/shm (rmwbench/lab/host).
    most_shared = max(plan.supported, key=_shared_bytes)
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
    """Return the least memory of a trial: the record files, the rings of frames, and per endpoint a
    full history and two unfinished messages."""
    rings = sum(ring_bytes(endpoint.type.payload_bytes) for endpoint in senders(cell))
    return cell.record_bytes + rings + sum(queue_bytes(endpoint) for endpoint in cell.endpoints)


def _shared_bytes(cell: Cell) -> int:
    """Return the bytes of the full queues of the writers in shared memory."""
    return sum(queue_bytes(endpoint) for endpoint in cell.endpoints if endpoint.writes)


def _check_profiles(cell: Cell, workers: Mapping[str, Worker], places: Places) -> None:
    for process, side in cell.sides.items():
        try:
            resolved_profile(side.profile, workers[side.middleware])
        except UserError as error:
            error.where = places.side(cell, process, "profile")
            raise


def _check_networks(cells: Sequence[Cell], places: Places) -> None:
    """Make each kind of network once. Raises UserError if one cannot be made here."""
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
