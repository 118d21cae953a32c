"""Network interfaces: the interface of this network namespace that has an address, with its name,
MTU, link speed and kind; and the traffic of the interfaces of any process's namespace, by
`/proc/PID/net` (proc(5))."""

import ctypes
import socket
from pathlib import Path
from typing import Any

from rmwbench.lab.kernel_files import file_number

_SYSTEM = Path("/sys/class/net")
_ADDRESS_BYTES = {socket.AF_INET: slice(2, 6), socket.AF_INET6: slice(6, 22)}
"""The place of an address in `sockaddr_in` and `sockaddr_in6`, behind the family."""
_COLUMNS = {"rx_bytes": 0, "rx_packets": 1, "tx_bytes": 8, "tx_packets": 9}
_UDP = {
    "in_datagrams": "InDatagrams",
    "out_datagrams": "OutDatagrams",
    "rcvbuf_errors": "RcvbufErrors",
}


class _Address(ctypes.Structure):
    _fields_ = [("family", ctypes.c_ushort), ("data", ctypes.c_uint8 * 26)]


class _Entry(ctypes.Structure):
    pass


_Entry._fields_ = [
    ("next", ctypes.POINTER(_Entry)),
    ("name", ctypes.c_char_p),
    ("flags", ctypes.c_uint),
    ("address", ctypes.POINTER(_Address)),
]  # further fields (getifaddrs(3)) are not read here


def interface_of(address: str) -> dict[str, Any]:
    """The `device` with this address, and its `mtu_bytes`, `speed_mbps`, `wireless` and `driver`. A
    value that the kernel does not tell is None; all are None where no interface has the address."""
    device = next((name for name, own in addresses() if own == address), None)
    return {"address": address, "device": device} | _settings(device)


def _settings(device: str | None) -> dict[str, Any]:
    directory = _SYSTEM / (device or "?")
    driver = directory / "device" / "driver"
    return {
        "mtu_bytes": file_number(directory / "mtu"),
        "speed_mbps": file_number(directory / "speed") or None,  # -1 and 0 stand for unknown
        "wireless": (directory / "wireless").exists() if directory.exists() else None,
        "driver": driver.resolve().name if driver.exists() else None,
    }


def addresses() -> list[tuple[str, str]]:
    """The (interface, address) of every IPv4 and IPv6 address."""
    libc = ctypes.CDLL(None, use_errno=True)
    first = ctypes.POINTER(_Entry)()
    if libc.getifaddrs(ctypes.byref(first)) != 0:
        return []
    pairs, entry = [], first
    try:
        while entry:
            item = entry.contents
            if item.address:
                family, data = item.address.contents.family, bytes(item.address.contents.data)
                if family in _ADDRESS_BYTES:
                    text = socket.inet_ntop(family, data[_ADDRESS_BYTES[family]])
                    pairs.append((item.name.decode(), text))
            entry = item.next
    finally:
        libc.freeifaddrs(first)
    return pairs


def traffic_counters(pid: int) -> dict[str, Any] | None:
    """The counters of the network namespace of a process, read from outside in less than a
    millisecond: `interfaces` (name → counters) and `udp` of IPv4, as in the worker protocol's
    usage. None where the process is gone or its files may not be read."""
    directory = Path(f"/proc/{pid}/net")
    try:
        return {
            "interfaces": _interfaces((directory / "dev").read_text()),
            "udp": _udp((directory / "snmp").read_text()),
        }
    except (OSError, ValueError, IndexError):
        return None


def _interfaces(text: str) -> dict[str, dict[str, int]]:
    counters = {}
    for line in text.splitlines()[2:]:
        name, _, numbers = line.partition(":")
        values = numbers.split()
        counters[name.strip()] = {key: int(values[column]) for key, column in _COLUMNS.items()}
    return counters


def _udp(text: str) -> dict[str, int]:
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith("Udp:")]
    if len(lines) != 2:
        return {}
    values = dict(zip(*lines, strict=True))
    return {key: int(values[name]) for key, name in _UDP.items() if name in values}
