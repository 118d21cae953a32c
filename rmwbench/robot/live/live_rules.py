"""Rules from a running system to findings: one pure function for each cause of missing messages. A
rule uses only facts that were read, and no properties that are invisible from outside, such as
QoS."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from rmwbench.input_file import json5_value
from rmwbench.lab.machine.finding import bytes_text
from rmwbench.lab.machine.network_rules import WANTED_BUFFER_BYTES, sysctl
from rmwbench.lab.profile_file.readers import zenoh_endpoints
from rmwbench.robot.live.live_model import (
    BASE_PORT,
    DOMAIN_PORTS,
    FIRST_INDEX,
    ROUTER,
    LiveCode,
    LiveFinding,
    LiveProcess,
    LiveSystem,
    NamedProcess,
    SharedFile,
    Socket,
)
from rmwbench.words.numbers import counted

CYCLONEDDS, FASTDDS, ZENOH = "rmw_cyclonedds_cpp", "rmw_fastrtps_cpp", "rmw_zenoh_cpp"
FASTDDS_DYNAMIC = "rmw_fastrtps_dynamic_cpp"
RANGE, LOCALHOST_ONLY = "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOCALHOST_ONLY"
DISCOVERY_VARIABLES = (RANGE, LOCALHOST_ONLY, "ROS_STATIC_PEERS")
CYCLONEDDS_VARIABLES = ("CYCLONEDDS_URI",)
FASTDDS_VARIABLES = (
    *("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE", "ROS_DISCOVERY_SERVER"),
    *("FASTDDS_BUILTIN_TRANSPORTS", "RMW_FASTRTPS_PUBLICATION_MODE"),
    "RMW_FASTRTPS_USE_QOS_FROM_XML",
)
CONNECT = "connect/endpoints"
SESSION_FILE = "ZENOH_SESSION_CONFIG_URI"
ZENOH_VARIABLES = (SESSION_FILE, "ZENOH_CONFIG_OVERRIDE", "ZENOH_ROUTER_CONFIG_URI")
IGNORED: Mapping[str, tuple[str, ...]] = {
    CYCLONEDDS: (*FASTDDS_VARIABLES, *ZENOH_VARIABLES),
    FASTDDS: (*CYCLONEDDS_VARIABLES, *ZENOH_VARIABLES),
    FASTDDS_DYNAMIC: (*CYCLONEDDS_VARIABLES, *ZENOH_VARIABLES),
    ZENOH: (*DISCOVERY_VARIABLES, *CYCLONEDDS_VARIABLES, *FASTDDS_VARIABLES),
}
"""RMW -> variables that it ignores: measured for those of discovery (docs/features.md); the others
belong to another middleware."""
MOST_INDEX = 32
"""rmw_cyclonedds 2.2.4 as installed opens 32 or 33 processes of a domain (docs/features.md)."""
FEW_LEFT = 2
MOST_NAMED = 4
"""The most processes that a text names."""
LOCAL = ("127.0.0.1", "localhost", "::1", "[::1]", "0.0.0.0", "[::]")
Findings = Iterator[LiveFinding]
Groups = dict[str, list[LiveProcess]]


def findings(system: LiveSystem) -> list[LiveFinding]:
    return [finding for rule in RULES for finding in rule(system)]


def shared_memory(system: LiveSystem) -> Findings:
    """A middleware sends through shared memory to every process of its network namespace, including
    other containers and users. One finding for two groups of processes; a group's processes have
    one /dev/shm and one user."""
    groups_of: dict[tuple[int, str], dict[tuple[object, int], list[LiveProcess]]] = {}
    for process in system.processes:
        for middleware in sorted({file.middleware for file in process.files}):
            groups = groups_of.setdefault((process.network, middleware), {})
            groups.setdefault((process.shm, process.uid), []).append(process)
    for (_, middleware), groups in groups_of.items():
        for one, other in combinations(groups.values(), 2):
            yield from _between_groups(one, other, middleware)


def _between_groups(
    one: Sequence[LiveProcess], other: Sequence[LiveProcess], middleware: str
) -> Findings:
    a, b = one[0], other[0]
    if None not in (a.shm, b.shm) and a.shm != b.shm:
        yield _finding(
            LiveCode.SHM_OTHER_PLACE,
            (*one, *other),
            level="red",
            found=f"processes with {middleware} have one network and two /dev/shm",
            expected="one /dev/shm, or another transport between them",
            why="each takes the other for a process of its host and sends through shared memory "
            "that the other does not have: topics are discovered, and nothing arrives",
            evidence=[
                f"{process.pid}: /dev/shm is device {process.shm[0]}, inode {process.shm[1]}; IPC namespace "
                f"{process.ipc}"
                for process in (a, b)
                if process.shm
            ],
            proof=f"stat -c '%d %i' /proc/{a.pid}/root/dev/shm /proc/{b.pid}/root/dev/shm",
            fix=_instead_of_shm(middleware, "docker run --ipc=host … (with --network=host)"),
        )
    elif refused := _refused_files(one, b, middleware) or _refused_files(other, a, middleware):
        yield _finding(
            LiveCode.SHM_OTHER_USER,
            (*one, *other),
            level="red",
            found=f"processes of users {a.uid} and {b.uid} share memory of {middleware} that one "
            "of them may not write",
            expected="one user, or another transport between them",
            why="senders write to a reader's file in /dev/shm: topics are discovered, and nothing "
            "arrives",
            evidence=[
                f"/dev/shm/{file.name}: user {file.uid}, mode {file.mode:o}" for file in refused
            ],
            proof=shlex.join(
                ["ls", "-ln", *(f"/proc/{a.pid}/root/dev/shm/{file.name}" for file in refused)]
            ),
            fix=_instead_of_shm(middleware, f"docker run --user {a.uid} …: the same user"),
        )


def _refused_files(
    owners: Iterable[LiveProcess], reader: LiveProcess, middleware: str
) -> list[SharedFile]:
    """At most four files of the owners that the reader may not read and write. Groups are
    ignored."""
    if reader.uid == 0:
        return []
    files = dict.fromkeys(file for owner in owners for file in owner.files)
    return [
        file
        for file in files
        if file.middleware == middleware and file.uid != reader.uid and file.mode & 0o006 != 0o006
    ][:4]


def _instead_of_shm(middleware: str, first: str) -> str:
    if middleware == "Fast DDS":
        return f"{first}; or FASTDDS_BUILTIN_TRANSPORTS=UDPv4 in both"
    return first


def router(system: LiveSystem) -> Findings:
    """Nodes of rmw_zenoh discover each other through a router."""
    alone: dict[tuple[int, str], list[LiveProcess]] = {}
    unread: list[LiveProcess] = []
    for process in system.processes:
        if process.rmw != ZENOH:
            continue
        connect_to = endpoints(process)
        if connect_to is None:
            unread.append(process)
        elif connect_to and not any(_reaches(process, end, system) for end in connect_to):
            alone.setdefault((process.network, ", ".join(connect_to)), []).append(process)
    for (network, ends), processes in alone.items():
        port = ends.rpartition(":")[2]
        first = processes[0].pid
        elsewhere = sum(
            any(socket.listens and str(socket.port) == port for socket in sockets)
            for namespace, sockets in system.tcp.items()
            if namespace != network
        )
        evidence = [f"configured: {ends}; no connection to it, and no process listens at it here"]
        if elsewhere:
            evidence.append(f"a process listens at port {port} in another network namespace")
        yield _finding(
            LiveCode.NO_ROUTER,
            processes,
            level="red",
            found=f"no Zenoh router at {ends}",
            expected="a router that listens at the configured endpoint",
            why="nodes of rmw_zenoh discover each other through a router only",
            evidence=evidence,
            proof=f"nsenter -n -t {first} ss -tan 'sport = :{port} or dport = :{port}'",
            fix="ros2 run rmw_zenoh_cpp rmw_zenohd",
        )
    if unread:
        yield _finding(
            LiveCode.NO_ROUTER,
            unread,
            level="unknown",
            found=f"the router of {counted(len(unread), 'process', 'processes')} is unknown",
            expected=f"a file of {SESSION_FILE} that can be read",
            why="the endpoints to which they connect are in it",
            evidence=[
                f"{process.pid}: {process.environment[SESSION_FILE]}" for process in unread[:4]
            ],
            proof=f"tr '\\0' '\\n' < /proc/{unread[0].pid}/environ | grep '^{SESSION_FILE}='",
        )


def endpoints(process: LiveProcess) -> list[str] | None:
    """The endpoints to which a session of rmw_zenoh connects, by its variables and its
    configuration file; None where the file cannot be read. A file replaces the one of rmw_zenoh, and
    without `connect` a session connects to nothing."""
    text = process.configurations.get(SESSION_FILE, f'{{connect: {{endpoints: ["{ROUTER}"]}}}}')
    override = process.environment.get("ZENOH_CONFIG_OVERRIDE", "")
    pairs = (pair.partition("=") for pair in override.split(";"))
    changed = {key: _json5(value) for key, _, value in pairs if key in ("mode", CONNECT)}
    config = _json5(text)
    if changed.get(CONNECT) is not None:
        config = {"mode": _mode(config), "connect": {"endpoints": changed[CONNECT]}}
    if not isinstance(config, Mapping):
        return None
    mode = changed.get("mode") or _mode(config)
    configured = zenoh_endpoints(config, "connect", str(mode))
    matches = (re.match(r"(?:tcp|tls|quic|udp)/[^\s#?]+:\d+", endpoint) for endpoint in configured)
    return [match[0] for match in matches if match]


def _mode(config: object) -> object:
    return (config.get("mode") if isinstance(config, Mapping) else None) or "peer"


def _json5(text: str | None) -> Any:
    """None where there is no text, or it cannot be parsed."""
    try:
        return None if text is None else json5_value(text)
    except Exception:  # the errors of the YAML library
        return None


def _reaches(process: LiveProcess, endpoint: str, system: LiveSystem) -> bool:
    """Whether the process has a connection to that port, or a process of its host listens at it.
    True for a connectionless protocol, for which this cannot be read."""
    protocol, _, address = endpoint.partition("/")
    host, _, port = address.rpartition(":")
    if protocol not in ("tcp", "tls"):
        return True
    if any(socket.peer_port == int(port) and not socket.listens for socket in process.tcp):
        return True
    return host in LOCAL and any(
        socket.listens and socket.port == int(port) for socket in system.tcp[process.network]
    )


def participant_index(system: LiveSystem) -> Findings:
    """A DDS process takes the first free pair of ports of its domain, up to its implementation's
    largest index."""
    for (network, domain), members in _by_domain(system.processes).items():
        cyclone = [process for process in members if process.rmw == CYCLONEDDS]
        if not cyclone:
            continue
        begin = BASE_PORT + DOMAIN_PORTS * domain + FIRST_INDEX
        ports = {socket.port for socket in system.udp[network]}
        limits = [limit for process in cyclone if (limit := _most_index(process)) is not None]
        most = min(limits, default=MOST_INDEX)
        count = sum(begin + 2 * index in ports for index in range(most + 1))
        if most + 1 - count > FEW_LEFT:
            continue
        yield _finding(
            LiveCode.PARTICIPANT_INDEX,
            members,
            level="unknown" if not limits else "red" if count > most else "yellow",
            found=f"{count} of {'' if limits else 'the usual '}{most + 1} participant indices of "
            f"domain {domain} are taken",
            expected="free indices for further processes",
            why="rmw_cyclonedds takes an index up to MaxAutoParticipantIndex; the next process says "
            '"Failed to find a free participant index" and ends',
            evidence=[
                f"every second UDP port from {begin} to {begin + 2 * most}: 7400 + 250 × {domain} + 10 "
                "+ 2 × index",
                *(() if limits else ("a file of CYCLONEDDS_URI cannot be read",)),
            ],
            proof=f"nsenter -n -t {members[0].pid} ss -uan 'sport >= :{begin} and sport <= "
            f":{begin + 2 * most}'",
            fix="export CYCLONEDDS_URI='<Discovery><ParticipantIndex>auto</ParticipantIndex>"
            "<MaxAutoParticipantIndex>119</MaxAutoParticipantIndex></Discovery>'",
        )


def _most_index(process: LiveProcess) -> int | None:
    """The largest index of a process with Cyclone DDS, None where a file of its configuration
    cannot be read. The last of several settings is valid."""
    text = process.configurations.get("CYCLONEDDS_URI", "")
    if text is None:
        return None
    bare = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    numbers = re.findall(r"<MaxAutoParticipantIndex>\s*(\d+)", bare, flags=re.IGNORECASE)
    return int(numbers[-1]) if numbers else MOST_INDEX


def datagrams(system: LiveSystem) -> Findings:
    """The kernel drops and counts a datagram that does not fit in its socket's buffer."""
    most, default = (system.sysctls.get(f"net.core.rmem_{name}") for name in ("max", "default"))
    for process in system.processes:
        full = [socket for socket in process.udp if socket.drops]
        if not full or process.rmw == ZENOH:
            continue
        worst = max(full, key=lambda socket: socket.drops)
        fix, permanent = _larger(worst, most, default)
        yield _finding(
            LiveCode.DATAGRAMS_DROPPED,
            [process],
            level="yellow",
            found=f"{sum(socket.drops for socket in full)} datagrams dropped at full sockets since "
            "they were opened",
            expected="none",
            why="a message over UDP waits in the socket until it is read, and all of its datagrams "
            "have to fit",
            evidence=[
                *(_drop_text(socket) for socket in full[:4]),
                _arithmetic(worst, most, default),
            ],
            proof=f"nsenter -n -t {process.pid} ss -uanmp 'sport = :{worst.port}'",
            fix=fix,
            permanent=permanent,
        )


def _larger(worst: Socket, most: int | None, default: int | None) -> tuple[str, str | None]:
    """The commands for a larger buffer, now and permanently: they depend on the origin of the
    present size."""
    size = worst.buffer_bytes
    if default is not None and size == default:
        name = "net.core.rmem_default"
    elif most is not None and size in (None, 2 * most):
        name = "net.core.rmem_max"
    else:
        return IN_ITS_CONFIGURATION, None
    now, last = sysctl(name, WANTED_BUFFER_BYTES)
    return f"{now}, and start the process again", last


IN_ITS_CONFIGURATION = (
    "ask for more in its configuration: Internal/SocketReceiveBufferSize of Cyclone DDS, "
    "receiveBufferSize of Fast DDS's UDP transport"
)


def _drop_text(socket: Socket) -> str:
    size = "" if socket.buffer_bytes is None else f", buffer {bytes_text(socket.buffer_bytes)}"
    return f"UDP port {socket.port}: {socket.drops} dropped{size}"


def _arithmetic(worst: Socket, most: int | None, default: int | None) -> str:
    """The sizes that explain the drops. The kernel doubles the size that a socket requests, since
    its own structures count as well (socket(7)); the default size is rmem_default, not doubled."""
    limits = (("max", most), ("default", default))
    read = ", ".join(f"rmem_{name} = {value}" for name, value in limits if value)
    parts = [read] if read else []
    if worst.buffer_bytes is None:
        return "; ".join([*parts, "the socket's own buffer cannot be read"])
    if most is not None:
        parts.append(f"at most 2 × {most} are granted on request")
    parts.append(
        f"about half of {worst.buffer_bytes} bytes can hold payload: a message above "
        f"{bytes_text(worst.buffer_bytes / 2)} does not fit"
    )
    return "; ".join(parts)


def ignored_variables(system: LiveSystem) -> Findings:
    """Variables that a process's RMW ignores, and a requested RMW that is not the loaded one."""
    processes_of: dict[tuple[str, tuple[str, ...]], list[LiveProcess]] = {}
    for process in system.processes:
        names = tuple(
            name
            for name in IGNORED.get(process.rmw or "", ())
            if _requests(name, process.environment.get(name, ""))
        )
        requested_rmw = process.environment.get("RMW_IMPLEMENTATION")
        if process.rmw and requested_rmw and requested_rmw != process.rmw:
            names = ("RMW_IMPLEMENTATION", *names)
        if names:
            processes_of.setdefault((process.rmw or "", names), []).append(process)
    for (rmw, names), processes in processes_of.items():
        first = processes[0]
        discovery = any(name in (*DISCOVERY_VARIABLES, "RMW_IMPLEMENTATION") for name in names)
        yield _finding(
            LiveCode.VARIABLE_IGNORED,
            processes,
            level="red" if discovery else "yellow",
            found=f"{rmw} ignores {', '.join(names)}",
            expected="variables that this RMW reads",
            why="they have no effect, and the RMW does not report that",
            evidence=[f"{name}={first.environment[name]}"[:200] for name in names],
            proof=f"tr '\\0' '\\n' < /proc/{first.pid}/environ | grep -E '^({'|'.join(names)})='; "
            f"grep -o 'librmw_[a-z_]*.so' /proc/{first.pid}/maps | sort -u",
            fix=f"unset {' '.join(names)}" + (f"; {ZENOH_INSTEAD}" if rmw == ZENOH else ""),
        )


def _requests(name: str, value: str) -> bool:
    """Whether a variable with this value requests anything; rcl reads the first character of
    ROS_LOCALHOST_ONLY."""
    if name == LOCALHOST_ONLY:
        return value.startswith("1")
    return value not in ("", *(("SUBNET", "SYSTEM_DEFAULT") if name == RANGE else ()))


ZENOH_INSTEAD = "separate nodes of rmw_zenoh by domains or routers"


def two_rmws(system: LiveSystem) -> Findings:
    for domain, groups in _differences(system, _rmw):
        counts = ", ".join(f"{name}: {len(processes)}" for name, processes in groups.items())
        members = _members(groups)
        most = max(groups, key=lambda name: len(groups[name]))
        others = _members({name: groups[name] for name in groups if name != most})
        yield _finding(
            LiveCode.TWO_RMWS,
            members,
            level="red" if ZENOH in groups else "yellow",
            found=f"{len(groups)} RMWs in domain {domain}: {counts}",
            expected="one RMW in a domain",
            why="rmw_zenoh and the RMWs of DDS do not communicate"
            if ZENOH in groups
            else "RMWs of two DDS implementations are not guaranteed to communicate; their services "
            "often do not",
            evidence=_names_of_groups(groups),
            proof=f"grep -lE 'librmw_(fastrtps|cyclonedds|zenoh|connextdds)' "
            f"{' '.join(f'/proc/{process.pid}/maps' for process in members[:8])}",
            fix=f"export RMW_IMPLEMENTATION={shlex.quote(most)} where {_pids(others)} are started",
        )


def discovery_range(system: LiveSystem) -> Findings:
    for domain, groups in _differences(system, _range):
        counts = ", ".join(f"{name} ({len(processes)})" for name, processes in groups.items())
        firsts = [processes[0].pid for processes in groups.values()]
        off = "OFF" in groups
        yield _finding(
            LiveCode.DISCOVERY_RANGE,
            _members(groups),
            level="red" if off else "yellow",
            found=f"discovery ranges differ in domain {domain}: {counts}",
            expected="one range in a domain",
            why="a process with OFF discovers no other"
            if off
            else "other hosts do not discover a process that is limited to this host, and an RMW on "
            "this host may not discover it either",
            evidence=_names_of_groups(groups),
            proof=f"grep -azE '^({RANGE}|{LOCALHOST_ONLY})=' "
            f"{' '.join(f'/proc/{pid}/environ' for pid in firsts)} | tr '\\0' '\\n'",
            fix=f"the same {RANGE} everywhere, and {LOCALHOST_ONLY} nowhere",
        )


def _differences(
    system: LiveSystem, value_of: Callable[[LiveProcess], str | None]
) -> Iterator[tuple[int, Groups]]:
    """The domains whose processes have different values, and the processes of each value."""
    for (_, domain), members in _by_domain(system.processes).items():
        groups: Groups = {}
        for process in members:
            if value := value_of(process):
                groups.setdefault(value, []).append(process)
        if len(groups) > 1:
            yield domain, groups


def _members(groups: Groups) -> list[LiveProcess]:
    return [process for processes in groups.values() for process in processes]


def _names_of_groups(groups: Groups) -> list[str]:
    return [f"{name}: {_pids(processes)}" for name, processes in groups.items()]


def _rmw(process: LiveProcess) -> str | None:
    """The RMW of a process; both RMWs on Fast DDS count as the same."""
    return process.rmw and process.rmw.replace(FASTDDS_DYNAMIC, FASTDDS)


def _range(process: LiveProcess) -> str | None:
    """The discovery range of a process, None without an RMW that has one, and where its middleware's
    own files decide; ROS_LOCALHOST_ONLY=1 is LOCALHOST, and has priority."""
    if not process.rmw or process.rmw == ZENOH:
        return None
    if _requests(LOCALHOST_ONLY, process.environment.get(LOCALHOST_ONLY, "")):
        return "LOCALHOST"
    value = process.environment.get(RANGE) or "SUBNET"
    return None if value == "SYSTEM_DEFAULT" else value


def _by_domain(
    processes: Iterable[LiveProcess],
) -> dict[tuple[int, int], list[LiveProcess]]:
    """(network namespace, domain) -> its processes."""
    members_of: dict[tuple[int, int], list[LiveProcess]] = {}
    for process in processes:
        for domain in process.domains:
            members_of.setdefault((process.network, domain), []).append(process)
    return members_of


def _pids(processes: Sequence[LiveProcess]) -> str:
    text = ", ".join(f"{process.name} ({process.pid})" for process in processes[:MOST_NAMED])
    more = len(processes) - MOST_NAMED
    return f"{text} and {more} more" if more > 0 else text


def _finding(
    code: LiveCode, processes: Iterable[LiveProcess], *, evidence: Sequence[str], **parts: Any
) -> LiveFinding:
    return LiveFinding(
        check=code.replace("_", " "),
        code=code,
        processes=tuple(NamedProcess(pid=process.pid, name=process.name) for process in processes),
        evidence=tuple(evidence),
        **parts,
    )


RULES: tuple[Callable[[LiveSystem], Findings], ...] = (
    shared_memory,
    router,
    participant_index,
    datagrams,
    ignored_variables,
    two_rmws,
    discovery_range,
)
