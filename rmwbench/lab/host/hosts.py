"""All hosts of a trial: their kind, their common directory, and the removal of what they leave.

A lone host has no network to others. Several hosts have a TAP device each and a common directory,
and one more host, which no suite names, runs the network between them (rmwbench/lab/network).
Starting does not wait, so that a campaign can have the hosts of the next trial ready while it
writes the tables of the last one.

The common directory holds the files that all hosts need, such as the keys of a trial with security,
because each host has a /tmp of its own. It is removed when its hosts end, in any way.

A host has namespaces of its own or, where none can be made, shares the machine's. The kind is
decided once per process by trying; the variable RMWBENCH_HOST_KIND sets it, so that both kinds can
be compared on a machine that has both. The kernel removes all that lived in namespaces;
`remove_strays` ends the processes of shared hosts whose orchestrator is gone, and
`remove_directories` removes their directories.
"""

import errno
import functools
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rmwbench.errors import UserError, did_you_mean
from rmwbench.lab.host import marker, shared_files
from rmwbench.lab.host.host import (
    MOST_FDS,
    READY_TIMEOUT_S,
    TARGETS,
    Host,
    HostBroken,
    attainable_file_limit,
    ready_host,
)
from rmwbench.lab.host.marker import Stray, strays
from rmwbench.lab.host.remote_host import RemoteHost
from rmwbench.lab.host.shared_host import SharedHost, stray_directories

COMMON_VARIABLE = "RMWBENCH_COMMON_DIRECTORY"
"""The environment variable with the path of the common directory."""
COMMON_PARENT = Path("/var/tmp")
COMMON_PREFIX = "rmwbench-hosts-"


def make_common(directory: Path, name: str) -> None:
    """Makes the common directory for the hosts of that name. Raises HostBroken."""
    try:
        marker.make_directory(directory, marker.own_marker(name).text())
    except OSError as error:
        raise HostBroken(f"make {directory}", error.errno) from None


KIND_VARIABLE = "RMWBENCH_HOST_KIND"
OWN, SHARED = "own", "shared"
WITHOUT_NAMESPACES = (
    "loopback only, with a DDS domain, ports and names of each trial's own; arms are shown with an "
    "asterisk; workloads over several hosts, and shared memory that does not fit into this "
    "/dev/shm, are left out"
)


@dataclass(frozen=True)
class HostKind:
    """The kind of hosts: `own` or `shared`, and the reason for shared ones."""

    name: str
    reason: str | None = None

    @property
    def shared(self) -> bool:
        return self.name == SHARED

    def document(self) -> dict[str, str | None]:
        return {"kind": self.name, "reason": self.reason}

    def text(self) -> str:
        """A sentence for people about a shared host."""
        return (
            f"trials run on the shared host, without namespaces ({self.reason}): "
            f"{WITHOUT_NAMESPACES}"
        )


NAMESPACES = HostKind(OWN)


def host_kind() -> HostKind:
    """The kind of hosts that trials get here. Raises UserError for a wrong variable."""
    name = os.environ.get(KIND_VARIABLE) or None
    if name not in (None, OWN, SHARED):
        raise UserError(
            f"{KIND_VARIABLE} names no kind of host",
            where=KIND_VARIABLE,
            expected=f"{OWN} or {SHARED}, or nothing",
            actual=name,
            fix=did_you_mean(str(name), (OWN, SHARED)),
        )
    if name is None:
        return _kind_by_trying()
    return HostKind(name, f"{KIND_VARIABLE}={SHARED}" if name == SHARED else None)


def _kind_by_trying() -> HostKind:
    broken = why_not_own()
    if broken is None or not _is_denied(broken):
        return NAMESPACES
    return HostKind(SHARED, str(broken))


@functools.cache
def why_not_own() -> HostBroken | None:
    """The reason why no host with namespaces of its own can be made here; None where it can."""
    try:
        with Host("check") as host:
            host.wait_ready()
    except HostBroken as broken:
        return broken
    return None


def _is_denied(broken: HostBroken) -> bool:
    """Whether namespaces or mounts are forbidden here. Any other failure must be shown."""
    denied = (errno.EPERM, errno.EACCES, errno.ENOSPC, errno.EUSERS, errno.EINVAL, errno.ENOSYS)
    return broken.errno in denied


def make(name: str, *, targets: int = TARGETS) -> Host:
    """Makes a host of the kind that trials get here. Raises HostBroken."""
    return SharedHost(name, targets=targets) if host_kind().shared else Host(name, targets=targets)


def check() -> Host:
    """Makes a host, to prove that hosts can be made here. Raises UserError with what is missing."""
    return ready_host(lambda: make("check"))


def check_own() -> Host:
    """Makes a host with namespaces of its own. Raises UserError as `check` does."""
    return ready_host(lambda: Host("check"))


NO_OFFSETS: Mapping[str, int] = {}
NO_BESIDE: Mapping[str, Sequence[str]] = {}


class Hosts:
    """The hosts by their names, in the order of the names. Use it as a context manager, or
    `close()` it. `network` is the host of the process that runs the network, None for a lone host.
    `clock_offsets_s` are those of `Host`, by name; `beside` are the names of each host's devices
    besides `eth0` that lead to other hosts."""

    def __init__(
        self,
        name: str,
        hosts: Sequence[str],
        clock_offsets_s: Mapping[str, int] = NO_OFFSETS,
        beside: Mapping[str, Sequence[str]] = NO_BESIDE,
    ):
        several = len(hosts) > 1
        self._by_name: dict[str, Host | RemoteHost] = {}
        self.network: Host | None = None
        # It is made once the network's host is ready, which removes it in any case.
        self._common = marker.new_path(COMMON_PARENT, COMMON_PREFIX) if several else None
        try:
            for host in hosts:
                offset_s, devices = clock_offsets_s.get(host, 0), beside.get(host, ())
                own_name = f"{name}/{host}" if several else name
                if several or offset_s:
                    new_host = Host(own_name, tap=several, beside=devices, clock_offset_s=offset_s)
                else:
                    new_host = make(own_name)
                if self._common is not None:
                    new_host.environment = {COMMON_VARIABLE: str(self._common)}
                self._by_name[host] = new_host
            if several:
                # It is given the devices of every host, and a file for each trace.
                targets = TARGETS + min(MOST_FDS, attainable_file_limit() // 4)
                self.network = Host(f"{name}/network", targets=targets, removes=self._common)
        except BaseException:
            self.close()
            raise

    @classmethod
    def of(cls, hosts: Mapping[str, Host | RemoteHost]) -> "Hosts":
        """The Hosts of hosts that were made before, without a network of ours between them."""
        self = cls.__new__(cls)
        self._by_name, self.network, self._common = dict(hosts), None, None
        return self

    @property
    def remote(self) -> dict[str, RemoteHost]:
        """The hosts on other machines."""
        return {name: host for name, host in self._by_name.items() if isinstance(host, RemoteHost)}

    def __enter__(self) -> "Hosts":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __getitem__(self, name: str) -> Host | RemoteHost:
        return self._by_name[name]

    @property
    def first(self) -> Host | RemoteHost:
        return next(iter(self._by_name.values()))

    @property
    def all(self) -> list[Host | RemoteHost]:
        """Every host, that of the network included."""
        return [*self._by_name.values(), *([self.network] if self.network else [])]

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Returns once processes can be spawned on all hosts. Raises HostBroken."""
        deadline = time.monotonic() + timeout_s
        for host in self.all:
            host.wait_ready(max(0.1, deadline - time.monotonic()))
        if self.network is not None and self._common is not None and not self._common.exists():
            make_common(self._common, self.network.name)

    def close(self) -> None:
        """Ends every process of every host and waits until they are gone; may be called twice."""
        for host in self.all:
            host.leave()
        for host in self.all:
            host.close()
        if self._common is not None:
            shutil.rmtree(self._common, ignore_errors=True)


GONE_TIMEOUT_S = 5.0


def remove_strays(dry_run: bool = False) -> list[Stray]:
    """Kills the strays, unless `dry_run`, and waits until they are gone. Returns them."""
    abandoned = strays()
    if dry_run:
        return abandoned
    for stray in abandoned:
        shared_files.kill(stray.pid, marker.is_stray)
    deadline = time.monotonic() + GONE_TIMEOUT_S
    while any(stray in abandoned for stray in strays()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return abandoned


def remove_directories(dry_run: bool = False) -> list[Path]:
    """Removes, unless `dry_run`, the directories of hosts whose orchestrator is gone, and the
    segments that carry the names of shared ones. Returns the directories."""
    shared_host_directories = stray_directories()
    common_directories = marker.abandoned_directories(COMMON_PARENT, f"{COMMON_PREFIX}*")
    if not dry_run:
        for directory in shared_host_directories:
            shared_files.remove(str(directory))
        for directory in common_directories:
            shutil.rmtree(directory, ignore_errors=True)
    return shared_host_directories + common_directories
