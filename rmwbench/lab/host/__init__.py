"""A host is an isolated set of network, mount, PID and IPC namespaces, in which the processes of a
trial run.

A benchmark must never touch a live robot or another campaign, and files and processes that a
middleware leaves behind must end with its trial. Both follow from one rule: everything of a trial
lives below one init process (init.py), and ends with it. Where namespaces cannot be made, a host is
shared (shared_host.py); hosts.py decides which kind is used here.
"""

from rmwbench.lab.host.host import (
    Configured,
    Container,
    Exited,
    Host,
    HostBroken,
    Scheduling,
    Spawned,
    SpawnFailed,
    check_tap,
)
from rmwbench.lab.host.hosts import HostKind, Hosts, check, check_own, host_kind, make
from rmwbench.lab.host.remote_host import RemoteHost
from rmwbench.lab.host.shared_host import SharedHost

__all__ = [
    "Configured",
    "Container",
    "Exited",
    "Host",
    "HostBroken",
    "HostKind",
    "Hosts",
    "RemoteHost",
    "Scheduling",
    "SharedHost",
    "SpawnFailed",
    "Spawned",
    "check",
    "check_own",
    "check_tap",
    "host_kind",
    "make",
]
