"""The models of a running system: processes of middlewares, and findings about them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from rmwbench.lab.machine.finding import Finding

SCHEMA, VERSION = "rmwbench/doctor-live", 1
BASE_PORT, DOMAIN_PORTS, FIRST_INDEX = 7400, 250, 10
"""DDSI-RTPS 2.5, 9.6.1.1: discovery of a domain is at 7400 + 250·domain, a participant's own port
for it at that + 10 + 2·index."""
CHOSEN_PORTS = range(32768, 61000)
"""The ports that Linux gives to sockets that request none; one of 250 is that of a domain."""

ZENOH_PORT = 7447
ROUTER = f"tcp/localhost:{ZENOH_PORT}"
"""The router of its host, to which a session of rmw_zenoh connects by default."""


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
    """A UDP or TCP socket. `peer_port` is 0 without a peer. `drops` counts datagrams that the
    kernel dropped because the socket was full; `buffer_bytes` is its SO_RCVBUF in the kernel's
    count, None where that cannot be read."""

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
    """`network` and `ipc` are the process's namespaces; `shm` is (device, inode) of its /dev/shm,
    None where that cannot be read. `rmw` is the loaded RMW, else the requested one. `environment`
    has its initial variables of ROS 2 and of middlewares; `configurations` the texts that its
    configuration variables give or name a file of, None where a file cannot be read."""

    pid: int
    name: str
    uid: int
    network: int
    ipc: int
    shm: tuple[int, int] | None
    rmw: str | None
    environment: Mapping[str, str]
    configurations: Mapping[str, str | None]
    udp: tuple[Socket, ...]
    tcp: tuple[Socket, ...]
    files: tuple[SharedFile, ...]

    @property
    def domains(self) -> tuple[int, ...]:
        """The domains at whose discovery ports the process listens, else that of its environment. A
        port that the kernel may have chosen counts for the domain of the environment only."""
        text = self.environment.get("ROS_DOMAIN_ID", "")
        requested = int(text) if text.isdecimal() else 0
        ports = {socket.port for socket in self.udp if socket.port >= BASE_PORT}
        by_port = {
            domain
            for domain, rest in (divmod(port - BASE_PORT, DOMAIN_PORTS) for port in ports)
            if rest == 0
            and (domain == requested or BASE_PORT + DOMAIN_PORTS * domain not in CHOSEN_PORTS)
        }
        return tuple(sorted(by_port)) if by_port or self.rmw is None else (requested,)


@dataclass(frozen=True, kw_only=True)
class LiveSystem:
    """`udp` and `tcp`: network namespace -> all of its sockets. `unread` counts processes of other
    users that may belong to a middleware and cannot be read. `sysctls` are the machine's."""

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
    """A finding about `processes`, with the `evidence` that was read and a command that shows the
    same (`proof`)."""

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
    """The findings in a system; `domain` is the only domain, None for all."""

    domain: int | None
    system: LiveSystem
    findings: tuple[LiveFinding, ...]

    @property
    def exit_code(self) -> int:
        """1 with findings, 0 without, 2 if there are none but of what could not be read."""
        if any(finding.level != "unknown" for finding in self.findings):
            return 1
        return 2 if self.findings or self.system.unread else 0

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
