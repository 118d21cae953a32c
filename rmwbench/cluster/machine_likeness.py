"""The likeness of machines: they are alike if all their facts are equal. Machines that differ are
never in one comparison.

The memory of twins differs by some bytes, which the firmware keeps for itself, hence it is in whole
GiB, and the buffers of TCP, whose maximum follows from it, are no facts. All other properties that
change the cost of a message are taken as the card has them.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from rmwbench.lab.machine.machine_card import SYSCTLS

Facts = dict[str, Any]
HARDWARE = (
    *("architecture", "cpu_model", "cores_online", "cores_usable"),
    *("smt_active", "governor", "turbo", "virtualization"),
)
"""The facts of the hardware beside the memory."""
OF_MEMORY = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")
SETTINGS = tuple(name for name in SYSCTLS if name.startswith("net.") and name not in OF_MEMORY)
"""The kernel's limits for sockets and datagrams."""


def facts(card: Mapping[str, Any]) -> Facts:
    """Return the facts of a machine card (`rmwbench.lab.machine.describe`), None for those that it
    does not have."""
    hardware, kernel, sysctls = card["hardware"], card["kernel"], card.get("sysctls", {})
    memory = hardware.get("memory_bytes")
    return {
        **{name: hardware.get(name) for name in HARDWARE},
        "memory_gib": None if memory is None else round(memory / (1 << 30)),
        "kernel": kernel.get("release"),
        **{name: sysctls.get(name) for name in SETTINGS},
    }


def fingerprint(facts: Facts) -> str:
    """Return a hash of the facts, as 12 hexadecimal digits."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


def differences(expected: Facts, actual: Facts) -> str:
    """Return how a machine differs from the expected facts: `kernel 6.1.0 instead of 6.8.0, …`."""
    return ", ".join(
        f"{name} {actual.get(name)} instead of {fact}"
        for name, fact in expected.items()
        if actual.get(name) != fact
    )


def groups(machines: Iterable[tuple[str, Facts]]) -> list[list[str]]:
    """Return the names of machines that are alike, the largest group first, and of equally large
    groups the first one first."""
    group_of_fingerprint: dict[str, list[str]] = {}
    for name, machine_facts in machines:
        group_of_fingerprint.setdefault(fingerprint(machine_facts), []).append(name)
    return sorted(group_of_fingerprint.values(), key=len, reverse=True)
