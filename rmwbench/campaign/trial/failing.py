"""Why a trial failed, and who is at fault: taken from typed facts, never from a text.

A failure by the worker is a block that its arm lost. So nothing of ours, of the host or of the
machine may pass for one.
"""

from dataclasses import dataclass

import numpy as np

from rmwbench.campaign.trial.attest import shared_segments
from rmwbench.campaign.trial.outcome import Failure, Outcome
from rmwbench.codes import Code, FailedBy, Reason
from rmwbench.lab.process.records import RECEIVED, SENT
from rmwbench.lab.process.worker import WorkerFailed

PUBLISH_FAILED, FOREIGN = 1, 16  # flags of docs/formats/records.md

_CODES = {
    "crashed": Code.CRASHED,
    "timeout": Code.HUNG,
    "protocol": Code.PROTOCOL,
    "refused": Code.REFUSED,
    "spawn": Code.SPAWN,
    "clock": Code.WORKER_CLOCK,
    "host": Code.HOST,
}
_NOT_THE_WORKER = {
    Code.SPAWN: FailedBy.HOST,  # the program cannot be executed: it never ran
    Code.HOST: FailedBy.HOST,
    Code.WORKER_CLOCK: FailedBy.MACHINE,  # a host's clock was stepped
}


def of_worker(failed: WorkerFailed, code: Code | None = None) -> Failure:
    """`code` says more than the kind of the failure does, where the barrier knows more."""
    code = code or _CODES[failed.kind]
    by = _NOT_THE_WORKER.get(code, FailedBy.WORKER)
    if failed.role not in ("worker", "daemon"):
        by = FailedBy.HOST
    elif code is Code.CRASHED and failed.signal_name == "SIGKILL":
        # no process kills itself so: the kernel took it for its memory, or a person did
        by = FailedBy.HOST
    return Failure(Reason(code, failed.reason()), by)


@dataclass(frozen=True)
class Silence:
    """Messages that were published though none arrived at any reader; with what is known of it."""

    published: int
    readers: int
    wake_ups: int | None
    segments: tuple[str, ...]

    def text(self) -> str:
        """One sentence with its evidence; it names no cause, for none is known."""
        readers = "1 reader" if self.readers == 1 else f"{self.readers} readers"
        woke = (
            "it is not known how often"
            if self.wake_ups is None
            else f"{self.wake_ups} times in the window"
        )
        segments = ", ".join(self.segments) or "none"
        return (
            f"delivered nothing: {self.published} messages were published and none arrived at any "
            f"of {readers}, though all endpoints had matched and every reader had heard each of "
            f"its writers before; processes with readers woke {woke}; shared segments that writer "
            f"and reader map: {segments}"
        )


def delivered_nothing(outcome: Outcome) -> Failure | None:
    """The failure of a trial on one host in which reliable writers published and no reader got
    anything; None where something arrived, or where the trial itself takes readers, daemons or the
    network away."""
    silence = _silence(outcome)
    if silence is None:
        return None
    return Failure(Reason(Code.DELIVERED_NOTHING, silence.text()), FailedBy.WORKER)


def _silence(outcome: Outcome) -> Silence | None:
    cell = outcome.order.cell
    workload = cell.workload
    provoked = (
        cell.changes or workload.daemons_end_s is not None or workload.readers_freeze_s is not None
    )
    provoked = provoked or cell.ros_case is not None  # silence may be what the variables demand
    if provoked or cell.links is not None or cell.real is not None or outcome.endpoints.not_joined:
        return None
    readers = {e.endpoint for e in cell.endpoints if e.reads and e.peers}
    writers = {
        e.endpoint
        for e in cell.endpoints
        if e.writes and e.peers and e.qos.wire()["reliability"] == "reliable"
    }
    published = arrived = 0
    for section in outcome.sections:
        flags = section.rows["flags"]
        if section.kind == SENT and section.endpoint in writers:
            published += int(np.count_nonzero((flags & PUBLISH_FAILED) == 0))
        elif section.kind == RECEIVED and section.endpoint in readers:
            arrived += int(np.count_nonzero((flags & FOREIGN) == 0))
    if not readers or not published or arrived:
        return None
    return Silence(
        published, len(readers), _wake_ups(outcome, readers), tuple(shared_segments(outcome))
    )


def _wake_ups(outcome: Outcome, readers: set[int]) -> int | None:
    """Voluntary context switches of the readers' processes within the window; None where they were
    not counted."""
    processes = {e.process for e in outcome.order.cell.endpoints if e.endpoint in readers}
    total = 0
    for process in processes:
        usage = {
            one["at"]: one for one in outcome.sampling.collected.get(process, {}).get("usage", [])
        }
        edges = [
            usage.get(at, {}).get("voluntary_switches") for at in ("steady_begin", "steady_end")
        ]
        if None in edges:
            return None
        total += edges[1] - edges[0]
    return total
