"""Reads the processes of middlewares on this machine from /proc. A process that ends while it is
read is ignored; a process of another user that cannot be read is counted.

The sockets of a network namespace are the kernel's: ports, inodes and drops are in /proc/PID/net,
and receive buffers come from sock_diag(7). Only the kernel gets requests.
"""

import ctypes
import os
import re
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from socket import AF_INET, AF_INET6, AF_NETLINK, IPPROTO_UDP, SOCK_RAW
from socket import socket as kernel_socket

from rmwbench.lab.kernel_files import file_text
from rmwbench.lab.machine.processes import (
    OURS,
    command_words,
    display_name,
    is_of_middleware,
    middleware_of_file,
)
from rmwbench.robot.live.live_model import (
    BASE_PORT,
    ZENOH_PORT,
    LiveProcess,
    LiveSystem,
    SharedFile,
    Socket,
)

RMW = re.compile(r"/librmw_(\w+)\.so")
NO_RMW = re.compile(r"implementation|.*_common|.*_shared_cpp|.*_common_cpp|.*__.*")
"""Other libraries with names like an RMW's, such as the type support of rmw_dds_common's messages,
librmw_dds_common__rosidl_typesupport_cpp.so."""
VARIABLES = re.compile(r"(ROS|RMW|ZENOH|CYCLONEDDS|FASTRTPS|FASTDDS|NDDS)_")
CLIENT_LIBRARY = "/librcl.so"
PROC, SHM = Path("/proc"), "/dev/shm/"
DDS_PORTS = range(BASE_PORT, BASE_PORT + 2500)
"""The ports of the domains 0 to 9."""
SYSCTLS = ("net.core.rmem_max", "net.core.rmem_default")


def read_system() -> LiveSystem:
    """The running system. Raises OSError without a /proc."""
    tables = _Tables()
    processes, unreadable = [], []
    for entry in sorted(PROC.iterdir(), key=lambda path: path.name):
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if process := _process(entry, tables):
                    processes.append(process)
            except PermissionError:
                unreadable.append(entry)
            except (OSError, ValueError):
                continue  # the process ended
    known_inodes = {
        socket.inode for process in processes for socket in (*process.udp, *process.tcp)
    }
    return LiveSystem(
        processes=tuple(sorted(processes, key=lambda p: p.pid)),
        udp=tables.udp,
        tcp=tables.tcp,
        unread=_unread(unreadable, tables, known_inodes),
        sysctls={name: _sysctl(name) for name in SYSCTLS},
    )


class _Tables:
    """The sockets of each network namespace, read once, through its first process."""

    def __init__(self) -> None:
        self.udp: dict[int, tuple[Socket, ...]] = {}
        self.tcp: dict[int, tuple[Socket, ...]] = {}

    def read(self, entry: Path, network: int) -> None:
        if network not in self.udp:
            self.udp[network] = with_buffers(entry, table(entry, "udp"))
            self.tcp[network] = table(entry, "tcp")


@dataclass(frozen=True)
class _OpenFiles:
    """The inodes of a process's open sockets, and its files of middlewares."""

    sockets: frozenset[int]
    files: tuple[SharedFile, ...]


def _process(entry: Path, tables: _Tables) -> LiveProcess | None:
    """The process of an entry of /proc; None for one without a middleware, and for a worker of
    rmwbench. Raises OSError."""
    words = command_words((entry / "cmdline").read_bytes())
    if not words[0] or os.path.basename(words[0]).startswith(OURS):
        return None
    maps = (entry / "maps").read_text(errors="replace")
    environment = _environment((entry / "environ").read_bytes())
    rmw = loaded_rmw(maps)
    if rmw is None and not is_of_middleware(words, maps) and not any(_shared_names(maps)):
        return None
    if rmw is None and CLIENT_LIBRARY in maps:  # the process has no node yet
        rmw = environment.get("RMW_IMPLEMENTATION")
    network = os.stat(entry / "ns" / "net").st_ino
    tables.read(entry, network)
    open_files = _open_files(entry, maps)
    pid = int(entry.name)
    return LiveProcess(
        pid=pid,
        name=display_name(pid, entry.parent) or words[0],
        uid=entry.stat().st_uid,
        network=network,
        ipc=os.stat(entry / "ns" / "ipc").st_ino,
        shm=_shm(entry),
        rmw=rmw,
        environment=environment,
        configurations=_configurations(entry, environment),
        udp=_own_sockets(tables.udp[network], open_files.sockets),
        tcp=_own_sockets(tables.tcp[network], open_files.sockets),
        files=open_files.files,
    )


def _own_sockets(sockets: Iterable[Socket], inodes: frozenset[int]) -> tuple[Socket, ...]:
    return tuple(socket for socket in sockets if socket.inode in inodes)


def _environment(raw: bytes) -> Mapping[str, str]:
    pairs = (variable.partition("=") for variable in raw.decode(errors="replace").split("\0"))
    return {name: value for name, _, value in pairs if VARIABLES.match(name)}


def _configurations(entry: Path, environment: Mapping[str, str]) -> Mapping[str, str | None]:
    """Cyclone DDS takes paths and XML, with commas between; rmw_zenoh takes one path."""
    parts_of = {
        "CYCLONEDDS_URI": re.findall(
            r"<.*>|[^,<]+", environment.get("CYCLONEDDS_URI", ""), flags=re.DOTALL
        ),
        "ZENOH_SESSION_CONFIG_URI": [environment.get("ZENOH_SESSION_CONFIG_URI", "")],
    }
    configurations: dict[str, str | None] = {}
    for variable, parts in parts_of.items():
        stated = [part.strip() for part in parts if part.strip()]
        texts = [part if part.startswith("<") else _configuration(entry, part) for part in stated]
        if texts:
            readable = [text for text in texts if text is not None]
            configurations[variable] = "\n".join(readable) if readable == texts else None
    return configurations


def _configuration(entry: Path, path: str) -> str | None:
    """The text of a process's file; a relative path begins at its working directory."""
    name = path.removeprefix("file://")
    file = Path(f"{entry}/root{name}") if name.startswith("/") else entry / "cwd" / name
    return file_text(file) if os.path.isfile(file) else None


def loaded_rmw(maps: str) -> str | None:
    names = dict.fromkeys(RMW.findall(maps))
    return next((f"rmw_{name}" for name in names if not NO_RMW.fullmatch(name)), None)


def _shared_names(maps: str) -> Iterator[str]:
    for line in maps.splitlines():
        words = line.split(None, 5)
        if len(words) > 5 and _is_shared(words[5]):
            yield words[5].removesuffix(" (deleted)")


def _is_shared(path: str) -> bool:
    """Whether this is a middleware's file in shared memory."""
    return path.startswith(SHM) and middleware_of_file(os.path.basename(path)) is not None


def _open_files(entry: Path, maps: str) -> _OpenFiles:
    sockets, paths = set(), dict.fromkeys(_shared_names(maps))
    for name in os.listdir(entry / "fd"):
        try:
            target = os.readlink(entry / "fd" / name)
        except OSError:
            continue
        if target.startswith("socket:["):
            sockets.add(int(target[8:-1]))
        elif _is_shared(target):
            paths[target] = None
    files = (_file(entry, path) for path in paths)
    return _OpenFiles(frozenset(sockets), tuple(file for file in files if file is not None))


def _file(entry: Path, path: str) -> SharedFile | None:
    name = os.path.basename(path)
    try:
        status = os.stat(f"{entry}/root{path}")
    except OSError:
        return None
    return SharedFile(
        name=name,
        middleware=middleware_of_file(name) or "",
        uid=status.st_uid,
        mode=status.st_mode & 0o777,
    )


def _shm(entry: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(entry / "root" / "dev" / "shm")
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _unread(unreadable: Sequence[Path], tables: _Tables, known_inodes: set[int]) -> int:
    """The number of unreadable processes whose command lines are those of a middleware, and of
    further users with unreadable processes who own a socket, of no known process, at a port of DDS
    or Zenoh."""
    suspected: list[int] = []
    users: set[int] = set()
    for entry in unreadable:
        try:
            words = command_words((entry / "cmdline").read_bytes())
            uid = entry.stat().st_uid
        except OSError:
            continue
        if words[0] and not os.path.basename(words[0]).startswith(OURS):
            users.add(uid)
            suspected += [uid] * is_of_middleware(words, "")
    tables.read(PROC / "self", os.stat(PROC / "self/ns/net").st_ino)
    sockets = [
        socket
        for sockets_of_network in (*tables.udp.values(), *tables.tcp.values())
        for socket in sockets_of_network
    ]
    strangers = {
        socket.uid
        for socket in sockets
        if socket.inode not in known_inodes
        and (socket.port == ZENOH_PORT or socket.port in DDS_PORTS)
    }
    return len(suspected) + len((strangers & users) - set(suspected))


def _sysctl(name: str) -> int | None:
    text = file_text("/proc/sys/" + name.replace(".", "/"))
    return int(text) if text else None


LISTEN = "0A"
CLONE_NEWNET = 0x40000000
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY, NLMSG_ERROR, NLMSG_DONE = 20, 2, 3
REQUEST_DUMP = 0x301
INET_DIAG_SKMEMINFO = 7
DIAG_BYTES = 72
"""sizeof(struct inet_diag_msg), linux/inet_diag.h."""


def table(process: Path, protocol: str) -> tuple[Socket, ...]:
    """The IPv4 and IPv6 sockets of the namespace that the process (`/proc/PID`) is in. `protocol`:
    udp or tcp."""
    sockets: list[Socket] = []
    for name in (protocol, f"{protocol}6"):
        with suppress(OSError, ValueError):
            lines = (process / "net" / name).read_text().splitlines()[1:]
            sockets += [_row(line.split(), protocol) for line in lines]
    return tuple(sockets)


def _row(words: list[str], protocol: str) -> Socket:
    return Socket(
        inode=int(words[9]),
        port=_port(words[1]),
        peer_port=_port(words[2]),
        listens=protocol == "tcp" and words[3] == LISTEN,
        uid=int(words[7]),
        drops=int(words[12]) if protocol == "udp" else 0,
    )


def _port(text: str) -> int:
    """The port of `0100007F:1CE8`, which is 7400 at 127.0.0.1."""
    return int(text.rpartition(":")[2], 16)


def with_buffers(process: Path, sockets: tuple[Socket, ...]) -> tuple[Socket, ...]:
    """The UDP sockets with their receive buffers, if the kernel reports them; for another namespace
    it does so only to root."""
    buffers: dict[int, int] = {}
    thread = threading.Thread(target=_read_buffers, args=(process, buffers))
    thread.start()  # a new thread, because entering the namespace must not affect this one
    thread.join()
    return tuple(
        replace(udp_socket, buffer_bytes=buffers.get(udp_socket.inode)) for udp_socket in sockets
    )


def _read_buffers(process: Path, buffers: dict[int, int]) -> None:
    with suppress(OSError, struct.error):
        _enter(process / "ns" / "net")
        for family in (AF_INET, AF_INET6):
            buffers.update(_buffers(family))


def _enter(namespace: Path) -> None:
    """Enters a network namespace. Raises OSError where that is not allowed."""
    if os.stat(namespace).st_ino == os.stat("/proc/thread-self/ns/net").st_ino:
        return
    namespace_fd = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(namespace_fd, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    finally:
        os.close(namespace_fd)


def _buffers(family: int) -> Iterator[tuple[int, int]]:
    """(inode, receive buffer in bytes) of each UDP socket."""
    extensions = 1 << (INET_DIAG_SKMEMINFO - 1)
    body = struct.pack("=BBBBI48x", family, IPPROTO_UDP, extensions, 0, 0xFFFFFFFF)
    head = struct.pack("=IHHII", 16 + len(body), SOCK_DIAG_BY_FAMILY, REQUEST_DUMP, 1, 0)
    with kernel_socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG) as netlink:
        netlink.settimeout(2)
        netlink.send(head + body)
        while True:
            data = netlink.recv(1 << 16)
            while len(data) >= 16:
                length, kind = struct.unpack_from("=IH", data)
                if kind in (NLMSG_DONE, NLMSG_ERROR) or length < 16:
                    return
                yield from _buffer(data[16:length])
                data = data[(length + 3) & ~3 :]


def _buffer(message: bytes) -> Iterator[tuple[int, int]]:
    (inode,) = struct.unpack_from("=I", message, DIAG_BYTES - 4)
    attributes = message[DIAG_BYTES:]
    while len(attributes) >= 4:
        length, kind = struct.unpack_from("=HH", attributes)
        if length < 4:
            return
        if kind == INET_DIAG_SKMEMINFO:
            yield inode, struct.unpack_from("=I", attributes, 8)[0]
        attributes = attributes[(length + 3) & ~3 :]
