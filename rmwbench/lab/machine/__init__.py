"""The machine that trials run on: its description, its probes, and its void rules."""

from rmwbench.lab.machine.checkup import Checkup, checkup, describe
from rmwbench.lab.machine.machine_card import state
from rmwbench.lab.machine.probe import (
    EdgeReading,
    Ticks,
    attributed_probes,
    awake_as_idle,
    edge_probes,
    idle_probe,
    read_edge,
)
from rmwbench.lab.machine.void_rules import (
    RULES,
    STEAL_VOID_FRACTION,
    flags,
    violations,
    voids,
)

__all__ = [
    "RULES",
    "STEAL_VOID_FRACTION",
    "Checkup",
    "EdgeReading",
    "Ticks",
    "attributed_probes",
    "awake_as_idle",
    "checkup",
    "describe",
    "edge_probes",
    "flags",
    "idle_probe",
    "read_edge",
    "state",
    "violations",
    "voids",
]
