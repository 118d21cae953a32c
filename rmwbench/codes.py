"""Typed facts about a trial: why it is void or failed, who is at fault, and which flags it has.

The journal, the table `events` and `show --json` have the code beside a text for people. Every
decision is based on the code; a better text changes nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

FAILED, LOANED, WARMUP = 1, 2, 4
"""Bits of the flags of a SENT slot (docs/formats/records.md)."""
CORRUPT, LATE, FOREIGN = 1, 8, 16
"""Bits of the flags of a RECEIVED slot, which also has LOANED and WARMUP."""

SENDERS = ("publisher", "client")
"""Kinds of endpoints that send by a schedule; a service sends a reply when a request has come."""

FLAG, UNFINISHED = "flag", "unfinished"
"""Events that several modules read. `flag`: a flag of a trial, with its code. `unfinished`: an
endpoint whose schedule did not end, since a publish call did not return; its `value` is the
duration of that call in ns."""
WAITS = "waits"
"""The code of the event `unfinished` of a publisher that waits for another's call on its thread."""


class FailedBy(StrEnum):
    """The party that is at fault for a failed trial.

    `worker`: the worker, its middleware or the middleware's daemon; the arm has lost that block.
    `machine`: a rule of the machine fired in the same trial. `host`: the orchestrator, its
    namespaces or its tools. The last two say nothing about the arm.
    """

    WORKER = "worker"
    MACHINE = "machine"
    HOST = "host"


class Code(StrEnum):
    """The reason why a trial is void, failed or flagged."""

    # Rules of the machine (rmwbench/lab/machine/void_rules.py).
    STEAL = "steal"
    CANARY = "canary"
    THROTTLED = "throttled"
    CLOCK = "clock"
    START_LATE = "start_late"
    BACKGROUND = "background"
    HOST_IDLE = "host_idle"
    FOREIGN = "foreign"
    MACHINE_BOUND = "machine_bound"
    BLOCK = "block"
    """Another trial of its block broke one of these rules, or the campaign was stopped within the
    block."""
    # Other rules that void a trial or flag it.
    RECORDS = "records"
    GRANTED = "granted"
    PATH = "path"
    NETWORK = "network"
    SOURCE = "source"
    RECORDER = "recorder"
    WORKER_CLOCK = "worker_clock"
    KILLED = "killed"
    PLACEMENT = "placement"
    LATE_BY_SIBLING = "late_by_sibling"
    # Faults of a middleware: flags of a trial that is done.
    NOT_HEARD = "not_heard"
    PROBES_OUTSTANDING = "probes_outstanding"
    DELIVERED_NOTHING = "delivered_nothing"
    HELD = "held"
    FRAMES_UNLOGGED = "frames_unlogged"
    # Failures.
    NO_MATCH = "no_match"
    CRASHED = "crashed"
    HUNG = "hung"
    REFUSED = "refused"
    PROTOCOL = "protocol"
    SPAWN = "spawn"
    HOST = "host"
    ORCHESTRATOR = "orchestrator"


@dataclass(frozen=True)
class Reason:
    """A code and its text. `machine`: the machine alone is the cause, so the trial may run
    again."""

    code: Code
    text: str
    machine: bool = False

    def document(self) -> dict[str, Any]:
        """Return the reason for the journal and the show document."""
        document: dict[str, Any] = {"code": str(self.code), "text": self.text}
        return document | {"machine": True} if self.machine else document


def joined(reasons: Iterable[Reason]) -> str:
    """Return the text of several reasons for a trial's `reason`."""
    return "; ".join(reason.text for reason in reasons)
