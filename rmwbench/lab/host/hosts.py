"""All hosts of one trial: their kind, what they share, and what is removed when they are gone.

A single host stands alone. Several hosts have a TAP device each and a common directory, and one
more host, which no suite names, runs the network between them (rmwbench/lab/network). Starting does
not wait, so that a campaign can have the next trial's hosts ready while it writes the last one's
tables.

The common directory holds what the hosts must agree on, such as the keys of a trial with security,
because each host has a /tmp of its own. It goes when its hosts go, however they end.

A host has namespaces of its own or, where none can be made, shares the machine's. The kind is found
once per process by trying; the variable RMWBENCH_HOST_KIND chooses it, so that both can be compared
on a machine that has both. The kernel removes what lived in namespaces; `remove_strays` removes the
processes of shared hosts whose orchestrator is gone, and the common directories.
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
from rmwbench.lab.host.host import READY_TIMEOUT_S, TARGETS, Host, checked
from rmwbench.lab.host.host_broken import HostBroken
from rmwbench.lab.host.marker import Stray, strays
from rmwbench.lab.host.remote_host import RemoteHost
from rmwbench.lab.host.shared_host import SharedHost, stray_directories

COMMON_VARIABLE = "RMWBENCH_COMMON_DIRECTORY"
"""What every process of such a host finds it by."""
PLACE = Path("/var/tmp")
COMMON_PREFIX = "rmwbench-hosts-"


def make_common(directory: Path, name: str) -> None:
    """For the hosts of that name. Raises HostBroken."""
    try:
        marker.make_directory(directory, marker.of_this_process(name).text())
    except OSError as error:
        raise HostBroken(f"make {directory}", error.errno) from None


VARIABLE = "RMWBENCH_HOST_KIND"
OWN, SHARED = "own", "shared"
WITHOUT_NAMESPACES = (
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

    def text(self) -> str:
        """A sentence for people; only of a shared host."""
        return (
            f"trials run on the shared host, without namespaces ({self.reason}): "
            f"{WITHOUT_NAMESPACES}"
        )


NAMESPACES = HostKind(OWN)


def host_kind() -> HostKind:
    """Raises UserError for a value of the variable that names no kind."""
    name = os.environ.get(VARIABLE) or None
    if name not in (None, OWN, SHARED):
        raise UserError(
            f"{VARIABLE} names no kind of host",
            where=VARIABLE,
            expected=f"{OWN} or {SHARED}, or nothing",
            actual=name,
            fix=did_you_mean(str(name), (OWN, SHARED)),
        )
    if name is None:
        return _kind_by_trying()
    return HostKind(name, f"{VARIABLE}={SHARED}" if name == SHARED else None)


def _kind_by_trying() -> HostKind:
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
    """As `check`, with namespaces of its own, whatever trials get here."""
    return checked(lambda: Host("check"))


NO_OFFSETS: Mapping[str, int] = {}
NO_BESIDE: Mapping[str, Sequence[str]] = {}


class Hosts:
    """Name → Host, in the order of the names. Use as a context manager, or `close()` it. `network`
    is the host of the network's own process, None where one host is alone. `clock_offsets_s`: as
    `Host`'s, by name. `beside`: the names of their devices besides `eth0` that lead to others."""

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
        # Made once a host is there that removes it, however we end.
        self._common = marker.new_path(PLACE, COMMON_PREFIX) if several else None
        try:
            for host in hosts:
                offset_s, devices = clock_offsets_s.get(host, 0), beside.get(host, ())
                own_name = f"{name}/{host}" if several else name
                if several or offset_s:
                    made = Host(own_name, tap=several, beside=devices, clock_offset_s=offset_s)
                else:
                    made = make(own_name)
                if self._common is not None:
                    made.environment = {COMMON_VARIABLE: str(self._common)}
                self._by_name[host] = made
            if several:
                ports = len(hosts) + sum(map(len, beside.values()))
                self.network = Host(
                    f"{name}/network", targets=TARGETS + ports, removes=self._common
                )
        except BaseException:
            self.close()
            raise

    @classmethod
    def of(cls, hosts: Mapping[str, Host | RemoteHost]) -> "Hosts":
        """Hosts that were made beforehand, with no network of ours between them."""
        self = cls.__new__(cls)
        self._by_name, self.network, self._common = dict(hosts), None, None
        return self

    @property
    def remote(self) -> dict[str, RemoteHost]:
        """Those on other machines."""
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
        """Every one, the network's own included."""
        return [*self._by_name.values(), *([self.network] if self.network else [])]

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Returns once processes can be spawned on all of them. Raises HostBroken."""
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
    of_shared = stray_directories()
    common = marker.abandoned_directories(PLACE, f"{COMMON_PREFIX}*")
    if not dry_run:
        for directory in of_shared:
            shared_files.remove(str(directory))
        for directory in common:
            shutil.rmtree(directory, ignore_errors=True)
    return of_shared + common
