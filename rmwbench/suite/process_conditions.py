"""The conditions of a workload's processes: containers, real-time scheduling, and the load and idle
states of the machine. They belong to the machine and are no settings of a middleware.

**Containers** of one host, as `docker run --network=host` makes them: which readers still receive
messages, and by which path? All of them have the host's network; they differ in shared memory. At
every level but `none` a process has mounts, /tmp and PIDs of its own.

**Real time**: a scheduling class, a processor and locked memory for each process (docs.ros.org,
"Building realtime Linux for ROS 2", and the demo `pendulum_control`). Every trial reads back the
settings that the kernel granted (rmwbench/campaign/trial/real_time_check.py).

**The machine**: a background load of a known kind, and processors that are kept awake or not.
`rmwbench-load` makes both (docs/formats/load.md).
"""

from typing import Annotated, NamedTuple

from rmwbench.suite.fault import one_of

BACKGROUNDS = {
    "idle": "nothing of ours",
    "cpu50": "half of every processor computes, in periods of 10 ms",
    "cpu100": "every processor computes all the time",
    "membw": "half of every processor copies memory that no cache holds",
    "traffic": "10 000 datagrams of 1400 bytes per second over lo, 112 Mbit/s",
}
HOST_IDLE = {
    "as_found": "processors sleep as the machine lets them",
    "awake": "/dev/cpu_dma_latency held at 0, and a spinner that gives way to everything on each "
    "processor",
}

Background = Annotated[str, one_of("background", BACKGROUNDS)]
HostIdle = Annotated[str, one_of("host_idle", HOST_IDLE)]

DOCKER_SHM_BYTES = 64 << 20
"""The default size of a container's /dev/shm (--shm-size of `docker run`)."""
OTHER_UID = 1000
"""The UID of the first user on most distributions."""


class ContainerLevel(NamedTuple):
    """`own_ipc`: each process has its own IPC and a /dev/shm of `shm_bytes` (0: read-only);
    `other_user`: every process but the first has another user."""

    text: str
    own_ipc: bool = False
    shm_bytes: int = 0
    other_user: bool = False


CONTAINERS: dict[str, ContainerLevel | None] = {
    "none": None,
    "same_ipc": ContainerLevel("one IPC and one /dev/shm for all (--ipc=host)"),
    "own_ipc": ContainerLevel(
        "IPC and a /dev/shm of 64 MiB for each, as Docker's default", True, DOCKER_SHM_BYTES
    ),
    "no_shm": ContainerLevel("IPC for each, and a /dev/shm that is read-only", True),
    "other_user": ContainerLevel(
        "as same_ipc, and every process but the first is user 1000", other_user=True
    ),
}
"""Level -> its containers; None: the processes of a host share everything."""

Containers = Annotated[str, one_of("containers", CONTAINERS)]

PRIORITY = 50
"""The priority of SCHED_FIFO, in the middle, as of the interrupt threads of a kernel with
PREEMPT_RT."""


class RealTimeLevel(NamedTuple):
    """`fifo`: every thread has SCHED_FIFO with PRIORITY; `pinned`: each process has one processor,
    assigned in turn; `locked`: touched memory is locked (mlockall)."""

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
"""Level -> its scheduling; None: that of any process."""

RealTime = Annotated[str, one_of("real_time", REAL_TIME)]
