"""Processes as a real-time robot runs them: a scheduling class of their own, a processor of their
own, memory that stays (docs.ros.org, "Building realtime Linux for ROS 2", and the demo
`pendulum_control`).

What the kernel gave is read back in every trial (rmwbench/campaign/trial/real_time_check.py).
"""

from typing import Annotated, NamedTuple

from pydantic import AfterValidator

from rmwbench.suite.fault import unknown

PRIORITY = 50
"""The priority of SCHED_FIFO: in the middle, where interrupt threads of a kernel with PREEMPT_RT are, too."""


class RealTimeLevel(NamedTuple):
    """`fifo`: every thread is SCHED_FIFO with PRIORITY; `pinned`: each process has one processor,
    dealt out in turn; `locked`: memory that was touched once stays (mlockall)."""

    text: str
    fifo: bool = False
    pinned: bool = False
    locked: bool = False


REAL_TIME: dict[str, RealTimeLevel | None] = {
    "none": None,
    "pinned": RealTimeLevel("each process on one processor, in turn", pinned=True),
    "fifo": RealTimeLevel(f"SCHED_FIFO, priority {PRIORITY}", fifo=True),
    "locked": RealTimeLevel("locked memory (mlockall)", locked=True),
    "all": RealTimeLevel(
        f"SCHED_FIFO, priority {PRIORITY}, locked memory, one processor each", True, True, True
    ),
}
"""None: as any process."""


def _real_time(level: str) -> str:
    if level not in REAL_TIME:
        raise unknown("real_time", level, list(REAL_TIME))
    return level


RealTime = Annotated[str, AfterValidator(_real_time)]
