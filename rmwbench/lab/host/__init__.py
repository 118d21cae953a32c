"""Hosts: one isolated set of network, mount, PID and IPC namespaces, in which the processes of a trial run.

A benchmark must never touch a live robot, nor its neighbour campaign; and what a middleware leaves behind must end with
its trial. Both follow from one rule: everything of a trial lives below one init process (init.py), and dies with it.
"""

from rmwbench.lab.host.host import Configured, Exited, Host, HostBroken, Spawned, SpawnFailed, check, check_tap
from rmwbench.lab.host.hosts import Hosts
from rmwbench.lab.host.remote import RemoteHost

__all__ = [
    "Configured",
    "Exited",
    "Host",
    "HostBroken",
    "Hosts",
    "RemoteHost",
    "SpawnFailed",
    "Spawned",
    "check",
    "check_tap",
]
