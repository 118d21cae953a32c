"""What a host's interfaces have carried, read from outside through any of its processes: no process
of ours inside, and less than a millisecond.

`/proc/PID/net` is the network namespace of that process (proc(5)).
"""

from pathlib import Path
from typing import Any

_COLUMNS = {"rx_bytes": 0, "rx_packets": 1, "tx_bytes": 8, "tx_packets": 9}
_UDP = {
    "in_datagrams": "InDatagrams",
    "out_datagrams": "OutDatagrams",
    "rcvbuf_errors": "RcvbufErrors",
}


def read(pid: int) -> dict[str, Any] | None:
    """`interfaces` (name → counters) and `udp` of IPv4, as in the worker protocol's usage; None
    where the process is gone or its files may not be read."""
    place = Path(f"/proc/{pid}/net")
    try:
        return {
            "interfaces": _interfaces((place / "dev").read_text()),
            "udp": _udp((place / "snmp").read_text()),
        }
    except (OSError, ValueError, IndexError):
        return None


def _interfaces(text: str) -> dict[str, dict[str, int]]:
    found = {}
    for line in text.splitlines()[2:]:
        name, _, numbers = line.partition(":")
        values = numbers.split()
        found[name.strip()] = {key: int(values[place]) for key, place in _COLUMNS.items()}
    return found


def _udp(text: str) -> dict[str, int]:
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith("Udp:")]
    if len(lines) != 2:
        return {}
    values = dict(zip(*lines, strict=True))
    return {key: int(values[name]) for key, name in _UDP.items() if name in values}
