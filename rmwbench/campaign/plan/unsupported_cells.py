"""The cells that cannot run at all, with the reason: their middleware does not have this quality of
service, mode or service. This is neither a failure nor a mistake of the user: a suite over many
middlewares asks each for everything.

This module has the reasons in a worker's description, `rehearsal.py` those that only its `open`
shows; the first trial shows the others.

Where trials share the host (rmwbench/lab/host/shared_host.py), a worker describes how it restricts
itself, and which daemons it cannot run there; its profiles have their need of /dev/shm, which in a
container is mostly 64 MiB.
"""

import itertools
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rmwbench.beside import from_features
from rmwbench.campaign.plan.machine_limits import MIB, queue_bytes
from rmwbench.campaign.plan.plan import Plan
from rmwbench.campaign.plan.profile import Workers, daemons
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.codes import SENDERS
from rmwbench.errors import UserError
from rmwbench.lab.camera import frame_source
from rmwbench.lab.host import HostKind
from rmwbench.lab.host.hosts import NAMESPACES
from rmwbench.lab.host.shared_host import free_bytes
from rmwbench.lab.machine.machine_facts import CAP_IPC_LOCK, CAP_SYS_NICE, has_capability
from rmwbench.lab.middleware import Worker, find_workers, why_not_ready
from rmwbench.lab.middleware.ros2 import NAME as LAYER
from rmwbench.lab.network.kernel import why_not
from rmwbench.suite.arm import Arm, Side
from rmwbench.suite.cells import Cell
from rmwbench.suite.process_conditions import CONTAINERS, REAL_TIME

NOT_SUPPORTED = "not supported"
NAMED = 3
WITHIN_A_HOST = ("shm", "unix", "intra_process")
"""Levels of the mode `transport` that reach no other host."""
AS_ROOT = "run as root, in a container with --cap-add"
POOL_MODE = "shm_pool_bytes"
WITHOUT_SHARED_MEMORY = ("udp", "tcp", "unix", "intra_process")
"""Levels of the mode `transport` that need almost nothing of /dev/shm."""
SHARED_HOST_FIX = (
    "run as root on the machine itself, or give the container --cap-add SYS_ADMIN --cap-add "
    "NET_ADMIN"
)


def unsupported_reasons(
    cells: Sequence[Cell], workers: Workers, kind: HostKind = NAMESPACES
) -> dict[int, str]:
    """Return cell → the reason why its workers' descriptions, the kind of its host or this machine
    do not support it; without supported cells."""
    reasons = description_reasons(cells, workers, kind)
    return reasons | machine_reasons(
        [cell for cell in cells if cell.number not in reasons], workers, kind
    )


def description_reasons(
    cells: Sequence[Cell], workers: Workers, kind: HostKind = NAMESPACES
) -> dict[int, str]:
    """Return the same as `unsupported_reasons` without this machine's reasons: trials may run on
    others."""
    return {
        cell.number: reason
        for cell in cells
        if (
            reason := shared_host_reason(cell, workers, kind)
            or _in_pieces(cell)
            or next(_lacking(cell, workers), None)
        )
    }


def machine_reasons(
    cells: Sequence[Cell], workers: Workers, kind: HostKind = NAMESPACES
) -> dict[int, str]:
    """Return cell → the reason why this machine does not support it: its kernel, the user's
    permissions, or the installed programs."""
    return {
        cell.number: reason
        for cell in cells
        if (
            reason := (why_not(cell.links) if cell.links is not None else None)
            or _containers(cell, kind)
            or _real_time(cell)
            or next(filter(None, from_features("plan", "missing", cell, workers, kind)), None)
            or frame_source.unavailable_reason(cell)
        )
    }


def _containers(cell: Cell, kind: HostKind) -> str | None:
    level = CONTAINERS[cell.workload.containers]
    if level is None:
        return None
    if kind.shared:
        return "containers are namespaces, which cannot be made here"
    if cell.real is not None:
        return "processes on other machines are not put into containers"
    if level.other_user and os.geteuid() != 0:
        return "only root can start a process as another user"
    return None


def _real_time(cell: Cell) -> str | None:
    level = REAL_TIME[cell.workload.real_time]
    if level is None:
        return None
    if cell.real is not None:
        return "processes on other machines are scheduled as usual"
    if level.fifo and not has_capability(CAP_SYS_NICE):
        return f"SCHED_FIFO needs CAP_SYS_NICE: {AS_ROOT} SYS_NICE --ulimit rtprio=99"
    if level.locked and not has_capability(CAP_IPC_LOCK):
        return f"locked memory needs CAP_IPC_LOCK: {AS_ROOT} IPC_LOCK"
    if level.fifo and cell.arm.wait == "poll":
        return (
            "a thread of SCHED_FIFO that polls leaves its processor to nobody else: use "
            "`wait: block` or `wait: callback`"
        )
    return None


def _in_pieces(cell: Cell) -> str | None:
    """Return why the two middlewares of a pair cannot read each other's messages: ROS 2 serialises
    a message in pieces, the others carry its payload as one array."""
    piecewise = next((e.type for e in cell.endpoints if e.type.piece_bytes is not None), None)
    layers = {name.partition("/")[0] == LAYER for name in cell.middlewares}
    if piecewise is None or len(layers) == 1:
        return None
    return (
        f"{' and '.join(cell.middlewares)} do not read each other's {piecewise.name}: {LAYER} alone "
        "serialises its transforms, others carry their numbers as one array"
    )


def absent_arms(arms: Iterable[Arm]) -> dict[str, str]:
    """Return the arms that cannot run here because a middleware of theirs is not ready, with the
    reason and, if there is one, the command that changes it. The others run. If none is left, an
    arm that is not `optional` stays, so that preflight says what to build."""
    arms = list(arms)
    names = {name for arm in arms for name in arm.middlewares}
    workers = find_workers(names) if names else {}
    reasons = {name: why_not_ready(name, workers) for name in names}
    absent = {
        arm.name: reason
        for arm in arms
        if (reason := next((why for name in arm.middlewares if (why := reasons[name])), None))
    }
    if len(absent) < len(arms):
        return absent
    return {arm.name: absent[arm.name] for arm in arms if arm.optional}


def unsupported_lines(plan: Plan, reasons: Mapping[int, str]) -> list[str]:
    """Return `ARM in COMPARISONS: REASON` for each arm and reason."""
    places: dict[tuple[str, str], list[str]] = {}
    for number, reason in reasons.items():
        cell = plan.cell(number)
        places.setdefault((cell.arm.name, reason), []).append(cell.comparison)
    return [
        f"{arm} in {few(comparisons)}: {reason}" for (arm, reason), comparisons in places.items()
    ]


def few(names: Sequence[str], most: int = NAMED) -> str:
    """Return `a, b, c and 2 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def check_arms_left(
    arms_left: Sequence[str], absent: Mapping[str, str], where: str, added: Collection[str] = ()
) -> None:
    """Raise UserError, with each reason once, if all arms are absent, or all that the command line
    `added`."""
    if arms_left and not (added and absent.keys() >= {*added}):
        return
    arms_of: dict[str, list[str]] = {}
    for arm, reason in absent.items():
        if arms_left and arm not in added:
            continue
        arms_of.setdefault(reason, []).append(arm)
    reasons = "; ".join(f"{few(arms)}: {reason}" for reason, arms in arms_of.items())
    missing = "no arm that was added" if arms_left else "no arm of this suite"
    raise UserError(f"{missing} can be run here", where=where, actual=reasons)


def check_some_left(plan: Plan, unsupported: dict[int, str], places: Places) -> None:
    """Raise UserError if no cell is left to run, or no cell of the arms that the command line
    added: the user asked for these."""
    added = [cell for cell in plan.cells if cell.arm.name in places.added]
    cells = plan.cells if len(unsupported) == len(plan.cells) else added
    if not cells or any(cell.number not in unsupported for cell in cells):
        return
    cell = cells[0]
    raise UserError(
        f"arm `{cell.arm.name}` cannot do what workload `{cell.workload.name}` asks of "
        f"{', '.join(cell.middlewares)}",
        where="--with" if cells is added else places.arm(cell),
        actual=unsupported[cell.number],
        fix="choose another setting, or exclude the combination under `exclude`",
    )


def _lacking(cell: Cell, workers: Workers) -> Iterator[str]:
    for process, side in cell.sides.items():
        if side.middleware not in workers or workers[side.middleware].description is None:
            continue  # a plan can be made before everything is built
        capabilities = (workers[side.middleware].description or {}).get("capabilities", {})
        requirements = list(_needed_capabilities(cell, process))
        for capability, why in requirements:
            # an older worker does not have every name: its trial shows whether it supports it
            answer = capabilities.get(capability, "yes")
            if answer.startswith("no"):
                yield (
                    f"{side.middleware} has no {capability}, needed because {why}{_reason(answer)}"
                )
        modes = (workers[side.middleware].description or {}).get("modes")
        for mode in side.modes:
            answer = "no: its worker has no modes" if modes is None else modes.get(mode, "no")
            if answer.startswith("no"):
                yield f"{side.middleware} has no mode {mode}{_reason(answer)}"
        if any(capability == "inter_host" for capability, _ in requirements):
            yield from _limits_to_one_host(side, workers[side.middleware])
            if cell.real is not None and side.modes.get("security"):
                yield (
                    "security: each machine would make keys of its own, so that none trusts another"
                )


def _limits_to_one_host(side: Side, worker: Worker) -> Iterator[str]:
    """Yield the reasons why the profile or the transport does not reach another host: a trial would
    end in `no match`, after the whole wait."""
    if side.profile.text is None:
        bound = worker.profile(side.profile.name).get("one_host")
        if bound is not None and not set(bound.get("unless", ())) & set(side.modes):
            yield (
                f"{side.middleware}'s profile {side.profile.name} is for one host: "
                f"{bound['reason']}"
            )
    if (transport := side.modes.get("transport")) in WITHIN_A_HOST:
        yield f"transport: {transport} reaches no other host"


def _reason(answer: str) -> str:
    reason = answer.partition(": ")[2]
    return f": {reason}" if reason else ""


def _needed_capabilities(cell: Cell, process: str) -> Iterator[tuple[str, str]]:
    """Yield the protocol's capabilities that a process of a cell needs, each with the reason."""
    process_of = {endpoint.endpoint: endpoint.process for endpoint in cell.endpoints}
    host = {endpoint.endpoint: endpoint.host for endpoint in cell.endpoints}
    endpoints = [endpoint for endpoint in cell.endpoints if endpoint.process == process]
    for endpoint in endpoints:
        owner = f"node {endpoint.node}"
        if endpoint.kind in ("client", "service"):
            yield "services", f"{owner} has a {endpoint.kind}"
        qos = endpoint.qos.wire()
        yield qos["reliability"], f"{owner} asks for it"
        yield qos["history"], f"{owner} asks for it"
        if qos["durability"] == "transient_local":
            yield "transient_local", f"{owner} asks for it"
        for name in ("content_filter", "instance_key"):
            if qos.get(name):
                yield name, f"{owner} asks for it"
        for peer in endpoint.peers:
            is_same_process = process_of[peer] == endpoint.process
            yield (
                ("intra_process", f"{owner} has a peer in its process")
                if is_same_process
                else ("inter_process", f"{owner} has a peer in another")
            )
            if host[peer] != endpoint.host:
                yield "inter_host", f"{owner} has a peer on another host"
    if any(endpoint.reads for endpoint in endpoints):
        yield cell.arm.wait, f"the arm's wait is {cell.arm.wait}"
    if cell.arm.take == "raw" and any(endpoint.kind == "subscription" for endpoint in endpoints):
        yield "take_raw", "the arm's take is raw"
    if not any(endpoint.kind in SENDERS for endpoint in endpoints):
        return
    if cell.arm.loan:
        yield "loan", "the arm publishes by loan"
    if cell.arm.publish_mode != "default":
        yield (
            f"publish_{cell.arm.publish_mode}",
            f"the arm's publish_mode is {cell.arm.publish_mode}",
        )


def shared_host_reason(cell: Cell, workers: Workers, kind: HostKind) -> str | None:
    """Return why the cell cannot run on a shared host; None if it can, or if hosts are not
    shared."""
    if not kind.shared:
        return None
    if len(cell.hosts) > 1:
        return "several hosts and the links between them need namespaces, which cannot be made here"
    return next(
        itertools.chain(_refused_on_shared_host(cell, workers), _too_large(cell, workers)), None
    )


def check_hosts(cells: Sequence[Cell], kind: HostKind, where: str) -> None:
    """Raise UserError if no cell of a suite can run, because all need several hosts."""
    if kind.shared and all(len(cell.hosts) > 1 for cell in cells):
        raise UserError(
            "this suite needs several hosts, which are namespaces, and they cannot be made here",
            where=where,
            actual=kind.reason,
            fix=SHARED_HOST_FIX,
        )


def shared_host_flag(side: Side, worker: Worker) -> str:
    """Return the flag that is shown with an arm's profile."""
    shared = _shared_description(worker)
    return (
        "on the shared host: "
        f"{shared['forced'] if shared else 'its worker does not say what it forces'}"
    )


def _refused_on_shared_host(cell: Cell, workers: Workers) -> Iterator[str]:
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
        shared = None if worker is None else _described_memory(side, worker)
        if shared is None:
            continue
        total += int(side.modes.get(POOL_MODE, shared["process_bytes"]))
        if shared["histories"]:
            total += sum(
                queue_bytes(e) for e in cell.endpoints if e.process == process and e.writes
            )
    return total


def _described_memory(side: Side, worker: Worker) -> dict[str, Any] | None:
    """Return the worker's description of a process's need for /dev/shm, or None. The need of a
    user's own profile is unknown, so the need of the untouched profile is used."""
    if side.modes.get("transport") in WITHOUT_SHARED_MEMORY:
        return None
    name = side.profile.name if side.profile.text is None else "untouched"
    profiles = (worker.description or {}).get("profiles", [])
    return next(
        (profile.get("shared_memory") for profile in profiles if profile["name"] == name), None
    )


def _shared_description(worker: Worker) -> dict[str, Any] | None:
    return (worker.description or {}).get("shared_host")
