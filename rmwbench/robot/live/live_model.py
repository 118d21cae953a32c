"""What a look at a running system found: processes of middlewares, and findings about them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from rmwbench.lab.machine.finding import Finding

SCHEMA, VERSION = "rmwbench/doctor-live", 1
BASE_PORT, DOMAIN_PORTS, FIRST_INDEX = 7400, 250, 10
"""DDSI-RTPS 2.5, 9.6.1.1: discovery of a domain is at 7400 + 250·domain, a participant's own port
for it at that + 10 + 2·index."""

ZENOH_PORT = 7447
ROUTER = f"tcp/localhost:{ZENOH_PORT}"
"""The router of its host, to which a session of rmw_zenoh connects where its configuration does not
say otherwise."""


class LiveCode(StrEnum):
    SHM_OTHER_PLACE = "shm_other_place"
    SHM_OTHER_USER = "shm_other_user"
    NO_ROUTER = "no_router"
    PARTICIPANT_INDEX = "participant_index"
    DATAGRAMS_DROPPED = "datagrams_dropped"
    VARIABLE_IGNORED = "variable_ignored"
    TWO_RMWS = "two_rmws"
    DISCOVERY_RANGE = "discovery_range"


@dataclass(frozen=True, kw_only=True)
class Socket:
    """`peer_port`: 0 of a socket without a peer. `drops`: datagrams that the kernel threw away
    because the socket was full; `buffer_bytes`: its SO_RCVBUF as the kernel counts, None where that
    cannot be read."""

    inode: int
    port: int
    peer_port: int = 0
    listens: bool = False
    uid: int = 0
    drops: int = 0
    buffer_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class SharedFile:
    """A file of a middleware in /dev/shm that a process maps or holds open."""

    name: str
    middleware: str
    uid: int
    mode: int


@dataclass(frozen=True, kw_only=True)
class LiveProcess:
    """`network`, `ipc`: its namespaces; `shm`: (device, inode) of what it sees as /dev/shm, None
    where that cannot be read. `rmw`: the one that it has loaded, else asks for. `environment`: its
    variables of ROS 2 and of middlewares, when it was started."""

    pid: int
    name: str
    uid: int
    network: int
    ipc: int
    shm: tuple[int, int] | None
    rmw: str | None
    environment: Mapping[str, str]
    udp: tuple[Socket, ...]
    tcp: tuple[Socket, ...]
    files: tuple[SharedFile, ...]

    @property
    def domains(self) -> tuple[int, ...]:
        """The domains at whose discovery port the process listens; else the one that its
        environment names."""
        by_port = {
            (socket.port - BASE_PORT) // DOMAIN_PORTS
            for socket in self.udp
            if socket.port >= BASE_PORT and (socket.port - BASE_PORT) % DOMAIN_PORTS == 0
        }
        if by_port or self.rmw is None:
            return tuple(sorted(by_port))
        domain = self.environment.get("ROS_DOMAIN_ID", "")
        return (int(domain) if domain.isdecimal() else 0,)


@dataclass(frozen=True, kw_only=True)
class LiveSystem:
    """`udp`, `tcp`: network namespace -> all of its sockets. `unread`: processes of other users
    that look like a middleware's and cannot be read. `sysctls`: of the machine."""

    processes: tuple[LiveProcess, ...]
    udp: Mapping[int, tuple[Socket, ...]]
    tcp: Mapping[int, tuple[Socket, ...]]
    unread: int
    sysctls: Mapping[str, int | None]


@dataclass(frozen=True, kw_only=True)
class NamedProcess:
    pid: int
    name: str


@dataclass(frozen=True, kw_only=True)
class LiveFinding(Finding):
    """`processes`: whom it is about; `evidence`: what was read; `proof`: the command that shows the
    same."""

    code: LiveCode
    processes: tuple[NamedProcess, ...]
    evidence: tuple[str, ...]
    proof: str

    def lines(self) -> list[tuple[str, str, bool]]:
        names = ", ".join(f"{process.name} ({process.pid})" for process in self.processes[:8])
        more = len(self.processes) - 8
        rows = [
            ("processes", f"{names} and {more} more" if more > 0 else names, False),
            *(("seen", line, False) for line in self.evidence),
            ("proof", self.proof, True),
            *super().lines(),
        ]
        return [(label, text, command) for label, text, command in rows if text]


@dataclass(frozen=True, kw_only=True)
class LiveCheckup:
    """`domain`: the one that was asked for, None for all."""

    domain: int | None
    system: LiveSystem
    findings: tuple[LiveFinding, ...]

    @property
    def exit_code(self) -> int:
        """0: nothing found, 1: something, 2: nothing, but not everything could be read."""
        return 1 if self.findings else 2 if self.system.unread else 0

    def document(self) -> dict[str, Any]:
        """The document that `rmwbench doctor --live --json` prints (docs/doctor.md)."""
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "domain": self.domain,
            "unread": self.system.unread,
            "processes": [
                {
                    "pid": process.pid,
                    "name": process.name,
                    "uid": process.uid,
                    "rmw": process.rmw,
                    "domains": list(process.domains),
                    "network": process.network,
                }
                for process in self.system.processes
            ],
            "findings": [asdict(finding) for finding in self.findings],
        }
