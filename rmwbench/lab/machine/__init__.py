"""The machine that trials run on: what it is, how it behaves right now, and when it, not a middleware, spoiled a
trial."""

from rmwbench.lab.machine.card import describe, state
from rmwbench.lab.machine.probe import Ticks, idle_probe, read_ticks, window_probes
from rmwbench.lab.machine.rules import STEAL_VOID_FRACTION, void_reason

__all__ = [
    "STEAL_VOID_FRACTION",
    "Ticks",
    "describe",
    "idle_probe",
    "read_ticks",
    "state",
    "void_reason",
    "window_probes",
]
