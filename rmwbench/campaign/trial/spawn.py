"""The start of a worker for one process of a cell: at the start of a trial, or in the place of a
killed one.

The kernel may refuse the workload's `real_time`. This is checked, because a process without it
gives no result for that level."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from rmwbench.campaign.plan.profile import NeededDaemon, Workers, address_environment
from rmwbench.campaign.trial.outcome import TrialOutcome
from rmwbench.lab.camera.frame_source import FrameSources
from rmwbench.lab.host import Container, Scheduling
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.suite.cells import Cell
from rmwbench.suite.process_conditions import CONTAINERS, OTHER_UID, PRIORITY, REAL_TIME


class NotGrantedError(Exception):
    """The kernel refused a part of `real_time`."""


def scheduling(cell: Cell, process: str) -> Scheduling | None:
    """Return the scheduling of a process; None for the default."""
    level = REAL_TIME[cell.workload.real_time]
    if level is None:
        return None
    usable = sorted(os.sched_getaffinity(0))
    index = [p.name for p in cell.processes].index(process)
    processors = (usable[index % len(usable)],) if level.pinned else ()
    return Scheduling(PRIORITY if level.fifo else 0, processors, level.locked)


def check_scheduling(cell: Cell, processes: TrialProcesses) -> None:
    """Raise NotGrantedError if a running worker did not get its scheduling."""
    for name, worker in processes.workers.items():
        expected = scheduling(cell, name)
        if expected is None or worker.pid is None:
            continue
        with suppress(ProcessLookupError):  # it has ended, which is a failure of its own
            for problem in _refused(expected, worker.pid):
                raise NotGrantedError(
                    f"real_time {cell.workload.real_time}: {problem}, for process {name}"
                )


def _refused(expected: Scheduling, pid: int) -> Iterator[str]:
    if expected.fifo_priority and os.sched_getscheduler(pid) != os.SCHED_FIFO:
        yield (
            "the kernel refused SCHED_FIFO; run as root, in a container with --cap-add SYS_NICE "
            "--ulimit rtprio=99"
        )
    if expected.processors and os.sched_getaffinity(pid) != set(expected.processors):
        yield f"the kernel refused processor {', '.join(map(str, expected.processors))}"
    if expected.locked and locked_bytes(pid) == 0:
        yield (
            "the kernel refused locked memory; run as root, in a container with --cap-add IPC_LOCK"
        )


def locked_bytes(pid: int) -> int | None:
    """Return the locked memory of a process (VmLck of proc(5)); None if it has ended."""
    try:
        with open(f"/proc/{pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        return None
    locked = lines.get("VmLck")
    return None if locked is None else int(locked.split()[0]) * 1024


def spawn_daemon(processes: TrialProcesses, cell: Cell, daemon: NeededDaemon, label: str) -> None:
    """Start a daemon of a trial under this label. Raises as `Spawner.spawn`."""
    worker = daemon.worker
    addresses = address_environment(cell, daemon.host)
    environment = {**worker.environment, **addresses, **daemon.environment}
    processes.spawn_daemon(daemon.name, worker.executable, environment, label, daemon.host)


@dataclass(frozen=True)
class Spawner:
    """The starter of one trial's workers. `files` maps process → its records file."""

    outcome: TrialOutcome
    processes: TrialProcesses
    workers: Workers
    files: Mapping[str, int]
    sources: FrameSources

    def spawn(self, process: str) -> None:
        """Start a worker without waiting for its hello. Raises UserError if the program does not
        exist."""
        cell = self.outcome.order.cell
        worker = self.workers[cell.sides[process].middleware]
        host = next(p.host for p in cell.processes if p.name == process)
        self.processes.spawn(
            process,
            worker.executable,
            self.files[process],
            environment={**worker.environment, **address_environment(cell, host)},
            host=host,
            additions=replace(
                self.sources.additions_for(process),
                count_allocations=cell.sampling.allocations,
                container=container(cell, process),
                scheduling=scheduling(cell, process),
            ),
        )


def container(cell: Cell, process: str) -> Container | None:
    """Return the container of a process by the workload's `containers`; None if it has none."""
    level = CONTAINERS[cell.workload.containers]
    if level is None:
        return None
    is_first = process == cell.processes[0].name
    return Container(
        level.own_ipc, level.shm_bytes, OTHER_UID if level.other_user and not is_first else 0
    )
