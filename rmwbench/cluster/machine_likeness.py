"""The likeness of machines: they are alike if all their facts but the memory are equal. Machines
that differ are never in one comparison.

Firmware keeps some memory, so identical machines report different sizes. Memory is compared in GiB,
with a tolerance; TCP's buffer limits follow from it and are left out. All other properties that
change the cost of a message are taken as the card has them.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from rmwbench.lab.machine.machine_card import SYSCTLS

Facts = dict[str, Any]
HARDWARE = (
    *("architecture", "cpu_model", "cores_online", "cores_usable"),
    *("smt_active", "governor", "turbo", "virtualization"),
)
"""The facts of the hardware beside the memory."""
MEMORY = "memory_gib"
MEMORY_TOLERANCE = 0.05
"""The largest difference of the memory of like machines, as a share of the larger one."""
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
        MEMORY: None if memory is None else round(memory / (1 << 30), 2),
        "kernel": kernel.get("release"),
        **{name: sysctls.get(name) for name in SETTINGS},
    }


def fingerprint(facts: Facts) -> str:
    """Return a hash of the facts without the memory, as 12 hexadecimal digits: like machines have
    the same."""
    exact = {name: fact for name, fact in facts.items() if name != MEMORY}
    return hashlib.sha256(json.dumps(exact, sort_keys=True).encode()).hexdigest()[:12]


def differences(expected: Facts, actual: Facts) -> str:
    """Return how a machine differs from the expected facts: `kernel 6.1.0 instead of 6.8.0, …`."""
    return ", ".join(
        f"{name} {actual.get(name)} instead of {fact}"
        for name, fact in expected.items()
        if not _is_like(name, fact, actual.get(name))
    )


def _is_like(name: str, fact: Any, other: Any) -> bool:
    if name == MEMORY and fact is not None and other is not None:
        return math.isclose(fact, other, rel_tol=MEMORY_TOLERANCE)
    return bool(fact == other)


def groups(machines: Iterable[tuple[str, Facts]]) -> list[list[str]]:
    """Return the names of machines that are like the first one of their group, the largest group
    first, and of equally large groups the first one first."""
    names_by_first: list[tuple[Facts, list[str]]] = []
    for name, machine_facts in machines:
        alike = (names for first, names in names_by_first if not differences(first, machine_facts))
        if (group := next(alike, None)) is not None:
            group.append(name)
        else:
            names_by_first.append((machine_facts, [name]))
    return sorted((names for _, names in names_by_first), key=len, reverse=True)
