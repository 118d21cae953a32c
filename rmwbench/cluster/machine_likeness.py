"""Which machines are alike: those whose facts are all equal. Machines that differ are never in one
comparison.

Bytes of memory differ a little between twins (what firmware keeps for itself), hence whole GiB, and
without the buffers of TCP, whose largest follows them; everything else that changes what a message
costs is taken as it is said.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from rmwbench.lab.machine.card import SYSCTLS

Facts = dict[str, Any]
OF_MEMORY = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")
SETTINGS = tuple(name for name in SYSCTLS if name.startswith("net.") and name not in OF_MEMORY)
"""What the kernel grants sockets and datagrams."""


def facts(card: Mapping[str, Any]) -> Facts:
    """The facts of a machine card (`rmwbench.lab.machine.describe`); what it does not say is
    None."""
    hardware, kernel, sysctls = card["hardware"], card["kernel"], card.get("sysctls", {})
    memory = hardware.get("memory_bytes")
    return {
        "architecture": hardware.get("architecture"),
        "cpu_model": hardware.get("cpu_model"),
        "cores_online": hardware.get("cores_online"),
        "cores_usable": hardware.get("cores_usable"),
        "smt_active": hardware.get("smt_active"),
        "governor": hardware.get("governor"),
        "turbo": hardware.get("turbo"),
        "virtualization": hardware.get("virtualization"),
        "memory_gib": None if memory is None else round(memory / (1 << 30)),
        "kernel": kernel.get("release"),
        **{name: sysctls.get(name) for name in SETTINGS},
    }


def fingerprint(facts: Facts) -> str:
    """The facts as 12 hexadecimal digits."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


def differences(expected: Facts, actual: Facts) -> str:
    """`kernel 6.1.0 instead of 6.8.0, …`: how a machine differs from what is expected."""
    return ", ".join(
        f"{name} {actual.get(name)} instead of {fact}"
        for name, fact in expected.items()
        if actual.get(name) != fact
    )


def groups(machines: Iterable[tuple[str, Facts]]) -> list[list[str]]:
    """Names of machines that are alike, the largest group first; of equally large ones the one seen
    first."""
    names_of: dict[str, list[str]] = {}
    for name, machine_facts in machines:
        names_of.setdefault(fingerprint(machine_facts), []).append(name)
    return sorted(names_of.values(), key=len, reverse=True)
