"""Reads the sockets of a network namespace from the kernel: ports, inodes and drops from
/proc/PID/net, and receive buffers from sock_diag(7). Only the kernel gets requests."""

import ctypes
import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rmwbench.robot.live.live_model import Socket

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
        for family in (socket.AF_INET, socket.AF_INET6):
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
    body = struct.pack("=BBBBI48x", family, socket.IPPROTO_UDP, extensions, 0, 0xFFFFFFFF)
    head = struct.pack("=IHHII", 16 + len(body), SOCK_DIAG_BY_FAMILY, REQUEST_DUMP, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as netlink:
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
