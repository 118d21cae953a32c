"""Which kind of host trials get here: one with namespaces of its own, or, where none can be made, a
shared one.

The choice is made once per process by trying, or by the variable RMWBENCH_HOST_KIND, so that both
kinds can be compared on a machine that has both.
"""

import errno
import functools
import os
from dataclasses import dataclass

from rmwbench.errors import UserError, did_you_mean
from rmwbench.lab.host.host import TARGETS, Host, HostBroken, checked
from rmwbench.lab.host.shared import SharedHost

VARIABLE = "RMWBENCH_HOST_KIND"
OWN, SHARED = "own", "shared"
LOST = (
    "loopback only, with a DDS domain, ports and names of each trial's own; arms are shown with an "
    "asterisk; workloads over several hosts, and shared memory that does not fit into this "
    "/dev/shm, are left out"
)


@dataclass(frozen=True)
class HostKind:
    """`name` is `own` or `shared`; `reason` is why it is shared, None where it is not."""

    name: str
    reason: str | None = None

    @property
    def shared(self) -> bool:
        return self.name == SHARED

    def document(self) -> dict[str, str | None]:
        return {"kind": self.name, "reason": self.reason}

    def told(self) -> str:
        """One sentence for people; only of a shared host."""
        return f"trials run on the shared host, without namespaces ({self.reason}): {LOST}"


NAMESPACES = HostKind(OWN)


def host_kind() -> HostKind:
    """Raises UserError for a value of the variable that names no kind."""
    asked = os.environ.get(VARIABLE) or None
    if asked not in (None, OWN, SHARED):
        raise UserError(
            f"{VARIABLE} names no kind of host",
            where=VARIABLE,
            expected=f"{OWN} or {SHARED}, or nothing",
            actual=asked,
            fix=did_you_mean(str(asked), (OWN, SHARED)),
        )
    if asked is None:
        return _found()
    return HostKind(asked, f"{VARIABLE}={SHARED}" if asked == SHARED else None)


def _found() -> HostKind:
    broken = why_not_own()
    if broken is None or not _is_denied(broken):
        return NAMESPACES
    return HostKind(SHARED, str(broken))


@functools.cache
def why_not_own() -> HostBroken | None:
    """Why no host with namespaces of its own can be made here; None where one can."""
    try:
        with Host("check") as host:
            host.wait_ready()
    except HostBroken as broken:
        return broken
    return None


def _is_denied(broken: HostBroken) -> bool:
    """Whether it is this place that forbids namespaces or mounts. Anything else is a fault that
    must be seen."""
    denied = (errno.EPERM, errno.EACCES, errno.ENOSPC, errno.EUSERS, errno.EINVAL, errno.ENOSYS)
    return broken.errno in denied


def make(name: str, *, targets: int = TARGETS) -> Host:
    """A host of the kind that trials get here. Raises HostBroken where a shared one finds no
    place."""
    return SharedHost(name, targets=targets) if host_kind().shared else Host(name, targets=targets)


def check() -> Host:
    """A host that proves that hosts can be made here. Raises UserError that names what is
    missing."""
    return checked(lambda: make("check"))


def check_own() -> Host:
    """The same of one with namespaces of its own, whatever trials get here."""
    return checked(lambda: Host("check"))
