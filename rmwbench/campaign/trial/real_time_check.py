"""What a workload's `real_time` asks for, and whether the kernel gave it: a process that did not
get it measures something else, and no result of its level."""

import os
from collections.abc import Iterator

from rmwbench.lab.host import Scheduling
from rmwbench.lab.process.crew import Crew
from rmwbench.suite.cells import Cell
from rmwbench.suite.process_conditions import PRIORITY, REAL_TIME


class NotGrantedError(Exception):
    """The kernel refused a part of it."""


def scheduling(cell: Cell, process: str) -> Scheduling | None:
    """What a process asks for; None where it is as any other."""
    level = REAL_TIME[cell.workload.real_time]
    if level is None:
        return None
    usable = sorted(os.sched_getaffinity(0))
    place = [one.name for one in cell.processes].index(process)
    processors = (usable[place % len(usable)],) if level.pinned else ()
    return Scheduling(PRIORITY if level.fifo else 0, processors, level.locked)


def check(cell: Cell, crew: Crew) -> None:
    """Raises NotGrantedError where a worker that has come up did not get what it was to have."""
    for name, worker in crew.workers.items():
        asked = scheduling(cell, name)
        if asked is None or worker.pid is None:
            continue
        for problem in _refused(asked, worker.pid):
            raise NotGrantedError(
                f"real_time {cell.workload.real_time}: {problem}, for process {name}"
            )


def _refused(asked: Scheduling, pid: int) -> Iterator[str]:
    if asked.fifo_priority and os.sched_getscheduler(pid) != os.SCHED_FIFO:
        yield (
            "the kernel refused SCHED_FIFO; run as root, in a container with --cap-add SYS_NICE "
            "--ulimit rtprio=99"
        )
    if asked.processors and os.sched_getaffinity(pid) != set(asked.processors):
        yield f"the kernel refused processor {', '.join(map(str, asked.processors))}"
    if asked.locked and not locked_bytes(pid):
        yield (
            "the kernel refused locked memory; run as root, in a container with --cap-add IPC_LOCK"
        )


def locked_bytes(pid: int) -> int:
    """What of a process's memory is locked (VmLck of proc(5)); 0 where it is gone."""
    try:
        with open(f"/proc/{pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        return 0
    return int(lines.get("VmLck", "0 kB").split()[0]) * 1024
