"""One cell per level and arm: the workload at the level, with a window as long as the limit's
percentile asks for.

A p99 needs 1 000 messages whatever the rate, so a low rate needs a long window; never below a
second (a queue must have time to grow) unless a second is more messages than tell anything new.

How far an arm can be pushed on this machine before the machine, not the middleware, is what ends
it.

Found before anything runs: an arm that spins needs a core for each spinner and one more (rule 10),
and a trial's processes and messages must fit into memory. A bound found here ends the range of the
arm's levels, with its reason; the answer then is "at least up to".
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from rmwbench.campaign.capacity.axis import Axis
from rmwbench.lab.host.host import available_memory_bytes
from rmwbench.lab.machine import describe
from rmwbench.suite.arm import Arm
from rmwbench.suite.cells import Cell
from rmwbench.suite.suite import Suite
from rmwbench.suite.timeline import Timeline
from rmwbench.suite.workload.arrival import Poisson
from rmwbench.suite.workload.endpoints import Endpoint, endpoints
from rmwbench.suite.workload.workload import Workload

FEWEST_MESSAGES = 50
"""Per trial, whatever the limit: below this nobody sees whether a queue grows."""
WINDOW_S = 1.0
ENOUGH_MESSAGES = 200_000
"""Per reader and window; more make the bundle large and the answer no better."""
COUNTED_S = 1000.0
FIXED_COST_S = 0.6
"""What a probe takes besides its timeline: start, match, collect, clean up, and measuring what
came."""


class SearchCells:
    """The cells of one capacity search: `suite` with the workload searched, an axis, and the
    messages a trial needs."""

    def __init__(self, suite: Suite, workload: Workload, along: Axis, messages: int):
        self.suite, self.workload, self.along = suite, workload, along
        self.messages = max(messages, FEWEST_MESSAGES)
        self._timeline = workload.timeline.over(suite.timeline)
        self.at_level = lru_cache(maxsize=None)(self._at_level)

    def cell(self, arm: Arm, level: float, number: int = 0) -> Cell:
        """The cell of an arm at a level. Raises Fault where the level contradicts the workload."""
        changed, timeline, graph = self.at_level(level)
        return Cell(
            number,
            self.suite.suite,
            changed,
            arm,
            {self.along.factor: self._shown(level)},
            timeline,
            graph,
        )

    def probe_s(self, level: float) -> float:
        """About how long one probe at the level takes."""
        return self.at_level(level)[1].duration_s + FIXED_COST_S

    def _at_level(self, level: float) -> tuple[Workload, Timeline, tuple[Endpoint, ...]]:
        changed = self.along.at(self.workload, level)
        long = self._timeline.lasting(COUNTED_S)
        drafts = endpoints(changed, long)
        per_s = min((e.steady_messages for e in drafts if e.reads), default=0) / COUNTED_S
        poisson = any(isinstance(e.arrival, Poisson) for e in drafts)
        # a window may begin just after a message was due; a Poisson draw may be short by four
        # standard deviations
        wanted = self.messages + (4 * math.sqrt(self.messages) if poisson else 1)
        seconds = max(min(WINDOW_S, ENOUGH_MESSAGES / per_s), wanted / per_s) if per_s else WINDOW_S
        timeline = self._timeline.lasting(math.ceil(seconds * 100) / 100)
        return changed, timeline, endpoints(changed, timeline)

    def _shown(self, level: float) -> float | int:
        return int(level) if float(level).is_integer() else level


def numbered(cell: Cell, number: int) -> Cell:
    return replace(cell, number=number)


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
