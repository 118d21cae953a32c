"""A trial in which all matched and nothing that was published arrived: 0 % are delivered, which is a
result as any other, and a flag with what is known of it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rmwbench.campaign.trial.attest import shared_segments
from rmwbench.campaign.trial.outcome import TrialOutcome
from rmwbench.codes import Code, Reason
from rmwbench.lab.process.records import RECEIVED, SENT

PUBLISH_FAILED, FOREIGN = 1, 16  # flags of docs/formats/records.md


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
            f"delivered_nothing: {self.published} messages were published and none arrived at any "
            f"of {readers}, though all endpoints had matched; processes with readers woke {woke}; "
            f"shared segments that writer and reader map: {segments}"
        )


def delivered_nothing(outcome: TrialOutcome) -> Iterator[Reason]:
    """The flag of a done trial on one host in which reliable writers published and no reader got
    anything; none where something arrived, or where the trial itself takes readers, daemons or the
    network away."""
    silence = None if outcome.failure else _silence(outcome)
    if silence is not None:
        yield Reason(Code.DELIVERED_NOTHING, silence.text())


def _silence(outcome: TrialOutcome) -> Silence | None:
    cell = outcome.order.cell
    workload = cell.workload
    provoked = (
        cell.changes or workload.daemons_end_s is not None or workload.readers_freeze_s is not None
    )
    provoked = provoked or cell.may_be_silent
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


def _wake_ups(outcome: TrialOutcome, readers: set[int]) -> int | None:
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
