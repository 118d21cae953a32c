"""A program that runs in a host (Host.interpret) and switches off all offloads of its devices, so
that no device joins frames or leaves work on a frame to the next device. With offloads, a loss of
1 % of the frames would be bursts of thirty frames, and a rate would be that of 64 kB pieces.

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
# The name of a feature, and the commands that read and set it (linux/ethtool.h).
FEATURES = (
    ("receive checksums", 0x14, 0x15), ("transmit checksums", 0x16, 0x17), ("scatter-gather", 0x18, 0x19),
    ("tso", 0x1E, 0x1F), ("gso", 0x23, 0x24), ("gro", 0x2B, 0x2C),
)  # fmt: skip

_libc = ctypes.CDLL(None, use_errno=True)


def run_command(sock: _socket.socket, device: str, command: int) -> int | str:
    """Runs a command of ethtool with the value 0. Returns its value, or the error."""
    data = ctypes.create_string_buffer(command.to_bytes(4, "little"), 8)
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
        for _, _, set_command in FEATURES:
            run_command(sock, device, set_command)
        features[device] = {name: run_command(sock, device, read) for name, read, _ in FEATURES}
    os.pwrite(RESULT_FD, marshal.dumps(features), 0)


if __name__ == "__main__":
    main(ARGUMENTS)
