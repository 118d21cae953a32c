"""Runs within a host (Host.interpret): no device of it makes one frame out of several, or leaves
work on a frame to the next one. With that on, "1 % of the frames" would be bursts of thirty, and a
rate would be one of 64 kB pieces.

ARGUMENTS: names of devices. Descriptor 4 takes, marshalled, {device: {feature: 0 or 1, or "errno
N"}} as read back.
"""

import _socket
import ctypes
import marshal
import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # the host's init gives them
    ARGUMENTS: list[str] = []

SIOCETHTOOL, RESULT_FD = 0x8946, 4
# What a feature is called, and the commands that read and set it (linux/ethtool.h).
FEATURES = (
    ("receive checksums", 0x14, 0x15), ("transmit checksums", 0x16, 0x17), ("scatter-gather", 0x18, 0x19),
    ("tso", 0x1E, 0x1F), ("gso", 0x23, 0x24), ("gro", 0x2B, 0x2C),
)  # fmt: skip

_libc = ctypes.CDLL(None, use_errno=True)


def ask(sock: _socket.socket, device: str, command: int, value: int = 0) -> int | str:
    data = ctypes.create_string_buffer(
        command.to_bytes(4, "little") + value.to_bytes(4, "little"), 8
    )
    request = (
        device.encode().ljust(16, b"\0") + ctypes.addressof(data).to_bytes(8, "little") + bytes(16)
    )
    if _libc.ioctl(sock.fileno(), ctypes.c_ulong(SIOCETHTOOL), request) != 0:
        return f"errno {ctypes.get_errno()}"
    return int.from_bytes(data.raw[4:], "little")


def main(devices: list[str]) -> None:
    sock = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    features: dict[str, dict[str, int | str]] = {}
    for device in devices:
        for _, _, turn in FEATURES:
            ask(sock, device, turn)
        features[device] = {name: ask(sock, device, read) for name, read, _ in FEATURES}
    os.pwrite(RESULT_FD, marshal.dumps(features), 0)


if __name__ == "__main__":
    main(ARGUMENTS)
