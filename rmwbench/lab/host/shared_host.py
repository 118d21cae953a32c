"""A host where namespaces cannot be made: its processes run in the namespaces of this process, and
are separated from others by names.

The kernel does not separate it from a live robot or from a second campaign. So all names that could
collide are chosen for this host alone: a number, and with it a DDS domain and ports that are unused
here; a directory, and with it the names of files, sockets and segments. A worker declares that it
uses loopback alone (`shared_host` of its description); a worker that does not is not started.
"""

import contextlib
import os
import random
import shutil
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rmwbench.lab.host import marker, shared_files
from rmwbench.lab.host.host import TARGETS, Host, HostBroken

NUMBERS = range(1, 51)
"""The numbers of the hosts that can exist at the same time in a network namespace. A number is a
DDS domain, whose ports end below FIRST_PORT and below the kernel's ephemeral ports; domain 0 is
that of robots."""
PORTS, FIRST_PORT = 100, 20_200
PLACE, PREFIX = Path("/tmp"), "rmwbench-"
VARIABLE = "RMWBENCH_SHARED_HOST"
"""The variable in which every process of the host has the name of its directory."""
GONE_TIMEOUT_S = 4.0
_TABLES = ("udp", "udp6", "tcp", "tcp6")
_INIT = str(Path(__file__).with_name("shared_init.py"))


@dataclass
class SharedPlace:
    """The number and the directory of a shared host; the name of `lock` reserves the number."""

    number: int
    directory: Path
    lock: socket.socket

    @property
    def first_port(self) -> int:
        return FIRST_PORT + PORTS * (self.number - 1)


def claim(owner: str) -> SharedPlace:
    """Claims an unused number, and makes the directory. Raises HostBroken."""
    used = frozenset(_used_ports())
    for number in random.SystemRandom().sample(NUMBERS, len(NUMBERS)):
        if not used.isdisjoint(_ports(number)):
            continue
        lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            lock.bind(f"\0rmwbench-shared-host-{number}")
        except OSError:  # the name is taken
            lock.close()
            continue
        directory = marker.new_path(PLACE, f"{PREFIX}{number}-")
        try:
            marker.make_directory(directory, owner)
        except OSError as error:
            lock.close()
            raise HostBroken(f"make a directory in {PLACE}", error.errno) from None
        return SharedPlace(number, directory, lock)
    raise HostBroken(f"all {len(NUMBERS)} numbers of shared hosts are taken on this machine")


def _ports(number: int) -> Iterator[int]:
    yield from shared_files.dds_ports(number)
    yield from range(FIRST_PORT + PORTS * (number - 1), FIRST_PORT + PORTS * number)


def _used_ports() -> Iterator[int]:
    """The ports of sockets in this network namespace, and the ports in the names of Fast DDS's
    files in shared memory: another container may share /dev/shm without sharing the network."""
    for table in _TABLES:
        with contextlib.suppress(OSError):
            for line in Path("/proc/net", table).read_text().splitlines()[1:]:
                yield int(line.split()[1].rpartition(":")[2], 16)
    with contextlib.suppress(OSError):
        for name in os.listdir(shared_files.SHARED_MEMORY):
            if (port := shared_files.port_of(name)) is not None:
                yield port


class SharedHost(Host):
    """A host in the namespaces of this process."""

    kind: ClassVar[str] = "shared"

    def __init__(self, name: str, *, targets: int = TARGETS):
        owner = marker.own_marker(name).text()
        self.place = claim(owner)
        self.domain_id, self.directory = self.place.number, str(self.place.directory)
        self.environment = {
            VARIABLE: self.place.directory.name,
            "RMWBENCH_FIRST_PORT": str(self.place.first_port),
            marker.VARIABLE: owner,
        }
        try:
            super().__init__(name, targets=targets)
        except BaseException:
            self._leave_place()
            raise

    def _command(
        self, fd: int, targets: int, device: str, clock_offset_s: int
    ) -> tuple[list[str], list[int]]:
        """The init inherits the lock, which frees the number at the end of the host."""
        self.shm_bytes = free_bytes()
        return [_INIT, str(fd), str(targets), self.directory], [self.place.lock.fileno()]

    def hold(self, fd: int) -> None:
        """Keeps a descriptor of ours open until the processes of the host are dead. A worker ends
        by itself at end of file, which must not come before its segments are known."""
        self._send({"hold": True}, [fd])

    def close(self, timeout_s: float = 5.0) -> None:
        """Ends the host, and removes the files that a killed init has left."""
        try:
            super().close(timeout_s)
        finally:
            self._leave_place()

    def _leave_place(self) -> None:
        if self.place.directory.exists():
            deadline = time.monotonic() + GONE_TIMEOUT_S
            while (pids := self._processes()) and time.monotonic() < deadline:
                for pid in pids:
                    shared_files.kill(pid, self._is_started_here)
                time.sleep(0.001)  # a process may have forked meanwhile
            shared_files.remove(str(self.place.directory))
        self.place.lock.close()

    def _processes(self) -> list[int]:
        return [pid for pid in shared_files.processes() if self._is_started_here(pid)]

    def _is_started_here(self, pid: int) -> bool:
        """Whether the host started the process or an ancestor of it, as far as visible."""
        word = f"{VARIABLE}={self.place.directory.name}".encode()
        return word in marker.environment_of(pid)


def free_bytes() -> int:
    """The free bytes of /dev/shm; 0 where there is no /dev/shm."""
    with contextlib.suppress(OSError):
        return shutil.disk_usage(shared_files.SHARED_MEMORY).free
    return 0


def stray_directories() -> list[Path]:
    """The directories of shared hosts whose orchestrator is gone."""
    return marker.abandoned_directories(PLACE, f"{PREFIX}[0-9]*-*")
