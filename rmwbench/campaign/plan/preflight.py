"""The checks before the first trial, before anything is run or written. Each raises a UserError
that says what to do.

Some plans cannot answer their question, by arithmetic alone: too few blocks or messages for the
limits of the suite, or a network that carries too small a part of a cell's messages. Limits are
checked for the most blocks that the suite may run and for messages that all arrive: a limit that is
refused here stays undecided with any middleware. A short version, or the cells within a budget, may
be too small; then the report says so.

Many suites have a link that is slower than the load, so that is not a mistake. A link that carries
less than a fifth of the load is a mistake: with any middleware four messages of five are lost or
late, and the rest shows no difference between middlewares.
"""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.stats.intervals import clopper_pearson
from rmwbench.beside import from_features
from rmwbench.campaign.plan.machine_limits import MIB, memory_bytes, queue_bytes, written_bytes
from rmwbench.campaign.plan.plan import ComparedCells, Plan, Trial
from rmwbench.campaign.plan.profile import PATH_OPTION, resolved_profile
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.campaign.trial.attest.path import ASKED
from rmwbench.campaign.trial.outcome import keeps_spoilt
from rmwbench.errors import UserError, not_one_of
from rmwbench.lab.host import check_tap
from rmwbench.lab.host.host import available_memory_bytes
from rmwbench.lab.middleware import Worker, require_workers, tool
from rmwbench.lab.network import NetworkBroken
from rmwbench.lab.network.host_network import HOST_FIELDS, rehearse_host
from rmwbench.lab.network.switch import NAME as NETWORK_TOOL
from rmwbench.lab.sampling import loads, sampler
from rmwbench.suite.cells import Cell
from rmwbench.suite.limits import metric_of
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS, messages_needed
from rmwbench.words.numbers import concise, distinct

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
        tool.allocations_library()
    if any(loads.load_kinds(cell.conditions) for cell in plan.cells):
        tool.find(loads.TOOL)
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
            actual="a file" if not existing.is_dir() else "a directory that may not be written to",
            fix="choose another place with --out DIR",
        )
    free = status.f_bavail * status.f_frsize
    if free < needed_bytes:
        raise UserError(
            "not enough disk for this campaign",
            where=str(existing),
            expected=f"about {math.ceil(needed_bytes / MIB)} MiB free",
            actual=f"{free // MIB} MiB",
            fix="free some space, or choose another place with --out DIR"
            if remaining is None
            else "free some space, or move the campaign's directory to a larger disk",
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
            expected=f"about {math.ceil(needed_bytes / MIB)} MiB available",
            actual=f"{available // MIB} MiB",
            fix="end other programs, or run other workloads with --workload NAME",
        )
    if plan.host.shared:  # arms that do not fit are not supported (unsupported_cells.py)
        return
    # Half of the available memory is the limit of a host's /dev/shm (rmwbench/lab/host).
    most_shared = max(plan.supported, key=_shared_bytes)
    shared = _shared_bytes(most_shared)
    if shared > available // 2:
        raise UserError(
            "the messages of one trial do not fit into shared memory",
            where=f"workload {most_shared.workload.name}",
            expected=f"{math.ceil(shared / MIB)} MiB of /dev/shm",
            actual=f"{available // 2 // MIB} MiB, half of the available memory",
            fix="reduce the history depth or the message size",
        )


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
    tool.find(loads.TOOL)
    controls = CONGESTION_CONTROLS.read_text().split()
    for stream in traffic:
        if stream.congestion_control not in (None, *controls):
            raise UserError(
                f"the kernel has no congestion control `{stream.congestion_control}`",
                where=places.workload(cell, "network"),
                expected="one of " + ", ".join(sorted(controls)),
                actual=str(stream.congestion_control),
                fix=f"load it with `modprobe tcp_{stream.congestion_control}`, or name another one",
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


def check_enough(plan: Plan, places: Places) -> None:
    """Raise UserError for the first limit of `outcomes` that no number of good blocks can show to
    hold."""
    if plan.suite.outcomes is None or places.shortened:
        return
    blocks = max(plan.blocks, plan.suite.blocks.most)
    if blocks < DECIDABLE_BLOCKS:
        raise UserError(
            "too few blocks to decide what is acceptable, even if all messages arrive",
            where=places.at("outcomes"),
            expected=f"at least {DECIDABLE_BLOCKS} blocks",
            actual=f"{blocks}",
            fix="raise `blocks`, or leave `outcomes` out",
        )
    for comparison in plan.comparisons:
        if comparison.steady_messages is None:
            continue
        for key, limit in plan.suite.outcomes.acceptable.items():
            needed_messages = _needed(key, limit)
            messages = _messages(comparison) * blocks
            if messages < needed_messages:
                raise UserError(
                    f"too few messages to decide `{key}` in {comparison.key}, even if all arrive",
                    where=places.at("outcomes", "acceptable", key),
                    expected=f"at least {needed_messages} messages in all blocks",
                    actual=f"{messages} in {blocks} blocks",
                    fix="lengthen `steady_s`, add blocks, raise the rate, or loosen the limit",
                )


def _messages(comparison: ComparedCells) -> int:
    """Return the most messages that all readers of a trial together may get in its steady
    state."""
    readers = sum(endpoint.reads for endpoint in comparison.cells[0].endpoints)
    return (comparison.steady_messages or 0) * max(1, readers)


def _needed(key: str, limit: float) -> int:
    """Return the messages that a limit needs: for a quantile, n with n·(1−q) ≥ 10; for a fraction,
    the least n whose Clopper-Pearson interval of 0 of n ends at the limit."""
    metric = GLOSSARY[metric_of(key)]
    if metric.kind == "quantile":
        return messages_needed(metric.q)
    if metric.kind != "fraction":
        return 0
    low, high = 0, 1
    while clopper_pearson(0, high)[1] > limit:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if clopper_pearson(0, middle)[1] > limit else (low, middle)
    return high


MOST_TIMES = 5


@dataclass(frozen=True)
class Overload:
    """The load and the rate of a link or medium in bit/s. The load `asked_bps` is the least that
    any middleware sends: payloads alone, and each once per host that reads it, or once in all over
    a link up."""

    part: str
    asked_bps: float
    carried_bps: float

    @property
    def times(self) -> float:
        return self.asked_bps / self.carried_bps

    @property
    def text(self) -> str:
        """Return `medium air is asked for 74 Mbit/s of payload and carries 54 Mbit/s`."""
        load, rate = distinct(_mbps, self.asked_bps, self.carried_bps)
        return f"{self.part} is asked for {load} of payload and carries {rate}"


def check_overload(cells: Iterable[Cell], places: Places) -> None:
    """Raise UserError for the first cell whose network carries less than a fifth of its load,
    unless its workload has `overload: true`."""
    for cell in cells:
        if cell.workload.overload:
            continue
        worst = max(overloads(cell), key=lambda overload: overload.times, default=None)
        if worst is not None and worst.times > MOST_TIMES:
            raise UserError(
                f"{cell.comparison} sends more than {MOST_TIMES} times what {worst.part} carries",
                where=places.file,
                expected=f"at most {_mbps(MOST_TIMES * worst.carried_bps)}",
                actual=f"{_mbps(worst.asked_bps)} of payload",
                fix="lower the rate or the size, raise the `rate_mbps`, or write `overload: true` into "
                "the workload if it measures an overload",
            )


def overloads(cell: Cell) -> Iterator[Overload]:
    """Yield the load of every link and medium of the cell that has a rate."""
    if cell.links is None:
        return
    links = cell.links
    crossing = {
        (host, way): _crossing_bps(cell, host, way)
        for host in links.hosts
        for way in ("up", "down")
    }
    for (host, way), asked_bps in crossing.items():
        if rate := links.spec(host, way).rate_bps:
            yield Overload(f"the link {way} of host {host}", asked_bps, rate)
    for name, medium in links.network.media.items():
        asked_bps = sum(bps for port, bps in crossing.items() if links.spec(*port).medium == name)
        yield Overload(f"medium {name}", asked_bps, medium.rate_mbps * 1e6)


def _crossing_bps(cell: Cell, host: str, way: str) -> float:
    """Return the mean payload rate from a host (up) or to it (down), from the warm-up on. A message
    crosses once for all its readers there, and a reply for its own client alone."""
    span_s = cell.timeline.warmup_s + cell.timeline.steady_s
    by_number = {endpoint.endpoint: endpoint for endpoint in cell.endpoints}
    total = 0.0
    for endpoint in cell.endpoints:
        if not endpoint.writes or endpoint.saturating or not span_s:
            continue
        readers = [by_number[peer] for peer in endpoint.peers if by_number[peer].reads]
        if way == "up":
            beyond = [e for e in readers if endpoint.host == host != e.host]
        else:
            beyond = [e for e in readers if endpoint.host != host == e.host]
        messages = endpoint.sent if beyond else 0
        if endpoint.kind == "service":
            messages = sum(client.sent for client in beyond)
        total += 8 * written_bytes(endpoint) * messages / span_s
    return total


def _mbps(bps: float, digits: int = 3) -> str:
    return f"{concise(bps / 1e6, digits)} Mbit/s"
