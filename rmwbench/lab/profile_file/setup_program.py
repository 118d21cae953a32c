"""A program that runs in a host (Host.interpret) before any other process of a trial. It gives the
host the devices and addresses that a file names, and makes the folders that the file names in
memory, where they hide those of the machine.

ARGUMENTS, in order: `rename FROM TO`, `pair NAME`, `address DEVICE ADDRESS/BITS`, `folder LENGTH
PATH`. A file system is mounted on the folder that the first LENGTH characters of PATH are; on none
where LENGTH is 0. Descriptor 4 takes the failure, marshalled, or None. The program runs in a fork of
the init, and uses the init's functions for netlink and mounts.
"""

import _socket
import marshal
import os

import __main__ as init

TYPE_CHECKING = False
if TYPE_CHECKING:  # the host's init gives them
    ARGUMENTS: list[str] = []

RESULT_FD = 4
IFLA_IFNAME, IFLA_LINKINFO, INFO_KIND, INFO_DATA, VETH_PEER = 3, 18, 1, 2, 1
IFA_ADDRESS, IFA_LOCAL, IFA_BROADCAST, IFA_F_NODAD = 1, 2, 4, 2


def index_of(device: str) -> int:
    return _socket.if_nametoindex(device)


def rename(sock: _socket.socket, device: str, name: str) -> None:
    # It must not be up: only kernels from 6.2 on rename a device that is up.
    body = bytes(4) + init.u32(index_of(device)) + bytes(8)
    body += init.attribute(IFLA_IFNAME, name.encode() + b"\0")
    init.netlink(f"call {device} {name}", sock, init.RTM_NEWLINK, 0, body)


def pair(sock: _socket.socket, name: str) -> None:
    """Makes an unconnected device, like `eth0` of a lone host. Its peer has a number, since names of
    fifteen letters may begin alike."""
    peer_name = f"rmwbench-p{len(_socket.if_nameindex())}"
    peer = bytes(16) + init.attribute(IFLA_IFNAME, peer_name.encode() + b"\0")
    veth = init.attribute(INFO_KIND, b"veth")
    veth += init.attribute(INFO_DATA, init.attribute(VETH_PEER, peer))
    body = init.link(
        0,
        False,
        init.attribute(IFLA_IFNAME, name.encode() + b"\0"),
        init.attribute(IFLA_LINKINFO, veth),
    )
    init.netlink(f"make {name}", sock, init.RTM_NEWLINK, init.NLM_F_CREATE_EXCL, body)
    for device in (peer_name, name):
        init.netlink(f"{device} up", sock, init.RTM_NEWLINK, 0, init.link(index_of(device), True))


def address(sock: _socket.socket, device: str, prefixed: str) -> None:
    text, _, bits = prefixed.partition("/")
    family = _socket.AF_INET6 if ":" in text else _socket.AF_INET
    packed = _socket.inet_pton(family, text)
    flags = IFA_F_NODAD if ":" in text else 0
    body = bytes([family, int(bits), flags, 0]) + init.u32(index_of(device))
    body += init.attribute(IFA_LOCAL, packed) + init.attribute(IFA_ADDRESS, packed)
    if family == _socket.AF_INET:
        broadcast = int.from_bytes(packed, "big") | ((1 << 32 - int(bits)) - 1)
        body += init.attribute(IFA_BROADCAST, broadcast.to_bytes(4, "big"))
    init.netlink(f"address {prefixed}", sock, init.RTM_NEWADDR, init.NLM_F_CREATE_EXCL, body)


def folder(mounted_length: str, path: str) -> None:
    if mounted := path[: int(mounted_length)]:
        init.mount_tmpfs(mounted)
    os.makedirs(path, exist_ok=True)
    os.chmod(path, 0o1777)


def main(arguments: list[str]) -> None:
    sock = init.netlink_socket()
    failed = None
    try:
        for argument in arguments:
            kind, *words = argument.split(" ", 2)
            if kind == "folder":
                folder(*words)
            elif kind == "rename":
                rename(sock, *words)
            elif kind == "pair":
                pair(sock, *words)
            else:
                address(sock, *words)
    except init.StepFailed as failure:
        failed = f"{failure.step}: {os.strerror(failure.errno or 0)}"
    except OSError as error:
        failed = f"{argument}: {error.strerror}"
    os.pwrite(RESULT_FD, marshal.dumps(failed), 0)


if __name__ == "__main__":
    main(ARGUMENTS)
