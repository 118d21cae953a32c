"""The cells that cannot run where trials share the host (rmwbench/lab/host/shared_host.py), with the
reason; and the flags of the others.

A worker describes how it restricts itself to such a host, and which daemons it cannot run there;
its profiles have their need of /dev/shm, which in a container is mostly 64 MiB.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from rmwbench.campaign.plan.machine_limits import MIB, queue_bytes
from rmwbench.campaign.plan.profile import Workers, daemons
from rmwbench.errors import UserError
from rmwbench.lab.host import HostKind
from rmwbench.lab.host.shared_host import free_bytes
from rmwbench.lab.middleware import Worker
from rmwbench.suite.cells import Cell
from rmwbench.suite.side import Side

POOL_MODE = "shm_pool_bytes"
WITHOUT_SHARED_MEMORY = ("udp", "tcp", "unix", "intra_process")
"""Levels of the mode `transport` that need almost nothing of /dev/shm."""
FIX = (
    "run as root on the machine itself, or give the container --cap-add SYS_ADMIN --cap-add "
    "NET_ADMIN"
)


def lacking(cell: Cell, workers: Workers, kind: HostKind) -> str | None:
    """Return why the cell cannot run on a shared host; None if it can, or if hosts are not
    shared."""
    if not kind.shared:
        return None
    if len(cell.hosts) > 1:
        return "several hosts and the links between them need namespaces, which cannot be made here"
    return next(itertools.chain(_refused(cell, workers), _too_large(cell, workers)), None)


def check(cells: Sequence[Cell], kind: HostKind, where: str) -> None:
    """Raise UserError if no cell of a suite can run, because all need several hosts."""
    if kind.shared and all(len(cell.hosts) > 1 for cell in cells):
        raise UserError(
            "this suite needs several hosts, which are namespaces, and they cannot be made here",
            where=where,
            actual=kind.reason,
            fix=FIX,
        )


def flag(side: Side, worker: Worker) -> str:
    """Return the flag that is shown with an arm's profile."""
    shared = _shared_description(worker)
    return (
        "on the shared host: "
        f"{shared['forced'] if shared else 'its worker does not say what it forces'}"
    )


def _refused(cell: Cell, workers: Workers) -> Iterator[str]:
    for side in cell.sides.values():
        worker = workers.get(side.middleware)
        if worker is None or worker.description is None:
            continue
        shared = _shared_description(worker)
        if shared is None:
            yield (
                f"{side.middleware} does not keep to the loopback interface and to names of its "
                "own on a shared host"
            )
            continue
        if side.profile.text is None and not worker.has_profile(side.profile.name):
            continue  # `preflight` refuses it, with its line
        without = dict(shared.get("without", ()))
        for name in daemons(side, worker):
            if name in without:
                yield f"{side.middleware} has no daemon {name} on a shared host: {without[name]}"


def _too_large(cell: Cell, workers: Workers) -> Iterator[str]:
    needed_bytes, free = shared_memory_bytes(cell, workers), free_bytes()
    if needed_bytes > free:
        yield (
            f"it takes about {-(-needed_bytes // MIB)} MiB of /dev/shm, where {free // MIB} MiB are free"
        )


def shared_memory_bytes(cell: Cell, workers: Workers) -> int:
    """Return the need of a cell's processes for /dev/shm: the amount of the profile, or of the mode
    `shm_pool_bytes`, per process, and, if histories lie there, a full history and two unfinished
    messages per writing endpoint."""
    total = 0
    for process, side in cell.sides.items():
        worker = workers.get(side.middleware)
        shared = None if worker is None else _memory(side, worker)
        if shared is None:
            continue
        total += int(side.modes.get(POOL_MODE, shared["process_bytes"]))
        if shared["histories"]:
            total += sum(
                queue_bytes(e) for e in cell.endpoints if e.process == process and e.writes
            )
    return total


def _memory(side: Side, worker: Worker) -> dict[str, Any] | None:
    """Return the worker's description of a process's need for /dev/shm, or None. The need of a
    user's own profile is unknown, so that of the untouched profile is used."""
    if side.modes.get("transport") in WITHOUT_SHARED_MEMORY:
        return None
    name = side.profile.name if side.profile.text is None else "untouched"
    profiles = (worker.description or {}).get("profiles", [])
    return next(
        (profile.get("shared_memory") for profile in profiles if profile["name"] == name), None
    )


def _shared_description(worker: Worker) -> dict[str, Any] | None:
    return (worker.description or {}).get("shared_host")
