"""How far an arm can be pushed on this machine before the machine, not the middleware, is what ends
it.

Found before anything runs: an arm that spins needs a core for each spinner and one more (rule 10),
and a trial's processes and messages must fit into memory. A bound found here ends the range of the
arm's levels, with its reason; the answer then is "at least up to".
"""

from collections.abc import Callable, Sequence

from rmwbench.campaign.capacity.cells import SearchCells
from rmwbench.lab.host.host import available_memory_bytes
from rmwbench.lab.machine import describe
from rmwbench.suite.arm import Arm
from rmwbench.suite.cells import Cell

PROCESS_BYTES = 48 << 20
"""A worker with a middleware inside, roughly; the guard is against hundreds of them."""
RESERVE_BYTES = 512 << 20


def spin_reason(cell: Cell, cores: int) -> str | None:
    """Why the arm's spinning readers do not fit onto the machine, or None."""
    if cell.arm.wait != "poll":
        return None
    spinners = len({e.process for e in cell.endpoints if e.reads})
    if cores > spinners:
        return None
    return f"not testable here: {spinners} spinning and {cores} cores; it needs {spinners + 1}"


def memory_reason(cell: Cell, available_bytes: int) -> str | None:
    """Why a trial of this cell does not fit into memory, or None."""
    # records, a full history of each publisher, and the same again on the readers' side
    queues = sum(e.type.payload_bytes * ((e.qos.wire()["depth"] or 1) + 2) for e in cell.endpoints)
    wanted = cell.record_bytes + queues + len(cell.processes) * PROCESS_BYTES + RESERVE_BYTES
    if wanted <= available_bytes:
        return None
    return (
        f"a trial would need about {wanted >> 20} MiB of memory, and {available_bytes >> 20} "
        "MiB are available"
    )


def testable(cells: SearchCells, arm: Arm, levels: Sequence[float]) -> tuple[int, str | None]:
    """(how many of the levels, from the easiest, can be tested, why not the next). More is harder
    on memory and cores along every axis, so the first that does not fit is found by halving."""
    cores, available = int(describe()["hardware"]["cores_usable"]), available_memory_bytes()

    def reason(place: int) -> str | None:
        cell = cells.cell(arm, levels[place])
        return spin_reason(cell, cores) or memory_reason(cell, available)

    count = first_true(len(levels), lambda place: reason(place) is not None)
    return count, reason(count) if count < len(levels) else None


def first_true(count: int, test: Callable[[int], bool]) -> int:
    """The smallest place where a monotone test is true, `count` where it never is."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if test(middle):
            high = middle
        else:
            low = middle + 1
    return low
