"""Processes in containers of their own on one host, as `docker run --network=host` makes them: who
still hears whom, and by which path?

The network is the host's in all of them; what differs is what shared memory needs. A process of a
container has mounts, /tmp and PIDs of its own at every level but `none`.
"""

from typing import Annotated, NamedTuple

from pydantic import AfterValidator

from rmwbench.suite.fault import unknown

DOCKER_SHM_BYTES = 64 << 20
"""/dev/shm of a container where `docker run` says nothing of it (--shm-size)."""
OTHER_UID = 1000
"""The first user's on most distributions."""


class ContainerLevel(NamedTuple):
    """`own_ipc`: IPC and a /dev/shm of `shm_bytes` (0: read-only) are each process's own;
    `other_user`: every process but the first is another user."""

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
"""None: processes share all that a host has."""


def _containers(level: str) -> str:
    if level not in CONTAINERS:
        raise unknown("containers", level, list(CONTAINERS))
    return level


Containers = Annotated[str, AfterValidator(_containers)]
