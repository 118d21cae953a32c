"""Flags that follow from a trial's records: messages that a killed process held, publishers that
delayed each other, a trial in which nothing arrived."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rmwbench.campaign.trial.attest.path import shared_segments
from rmwbench.campaign.trial.attest.window_counts import growth, window_edges
from rmwbench.campaign.trial.outcome import TrialOutcome, note_flag
from rmwbench.codes import FAILED, FOREIGN, WARMUP, Code, Reason
from rmwbench.lab.process.records import RECEIVED, SENT, RecordSection
from rmwbench.words.numbers import concise, counted, percent

KILLED = "killed_s"
"""The text of an event `killed` of a worker; the event of a daemon has `daemons_end_s`."""


def note_held_messages(outcome: TrialOutcome) -> None:
    """Add to each worker's event `killed` the number of messages that it held, by its records: a
    message that was taken has a record before its consumer keeps it (`hold_ms`), and the record has
    no time of consumption until the message is returned. A worker that was to hold messages and
    held none is a flag: its trial does not show what happens to held messages."""
    cell = outcome.order.cell
    for event in [e for e in outcome.events if e["event"] == "killed" and e.get("text") == KILLED]:
        endpoints = {e.endpoint: e for e in cell.endpoints if e.process == event["process"]}
        held_messages = sum(
            int(np.count_nonzero(section.rows["consumed_ns"] == 0))
            for section in outcome.sections
            if section.kind == RECEIVED and section.endpoint in endpoints
        )
        if any(e.hold_ns for e in endpoints.values()):
            event["text"] = f"{KILLED} while holding {counted(held_messages, 'message')}"
            if not held_messages:
                text = (
                    f"killed: {event['process']} held no message at that moment, though its "
                    "consumer keeps each"
                )
                note_flag(outcome, Reason(Code.KILLED, text), event["time_ns"], event["process"])


LATE_NS = 100_000
"""A delay that a schedule thread's wake-up exceeds only on a busy machine."""
SHARE = 0.01


def late_by_sibling(outcome: TrialOutcome) -> Iterator[Reason]:
    """Yield a flag for each publisher or client of which at least 1 % of the steady messages waited
    more than 0.1 ms for the publish call of another one on the same thread (`schedule: shared`, as
    timers share a single-threaded executor): its response latency includes the harness's own
    queue."""
    cell = outcome.order.cell
    if cell.schedule != "shared":
        return
    senders = {sender.endpoint: sender for sender in cell.senders}
    by_thread: dict[tuple[str, Any], list[RecordSection]] = defaultdict(list)
    for section in outcome.sections:
        if section.kind == SENT and section.endpoint in cell.sharing and len(section.rows):
            sender = senders[section.endpoint]
            by_thread[sender.process, sender.joins].append(section)
    for (process, _), sections in by_thread.items():
        for endpoint, share, longest_ns in _waits(sections):
            if share >= SHARE:
                yield Reason(
                    Code.LATE_BY_SIBLING,
                    f"late_by_sibling: {percent(share)} of the messages of endpoint {endpoint} "
                    f"waited for the publish call of another publisher of process {process}, at "
                    f"most {concise(longest_ns / 1e6)} ms",
                )


def _waits(sections: list[RecordSection]) -> Iterator[tuple[int, float, int]]:
    """Yield per publisher the share of its steady messages that a sibling delayed, and the longest
    delay in ns."""
    columns = {
        name: np.concatenate([section.rows[name] for section in sections]).astype(np.int64)
        for name in ("intended_ns", "begun_ns", "return_ns", "flags")
    }
    owner = np.concatenate([np.full(len(section.rows), section.endpoint) for section in sections])
    order = np.argsort(columns["begun_ns"], kind="stable")
    columns = {name: values[order] for name, values in columns.items()}
    owner = owner[order]
    # All are on one thread. A message waits for the return of the call before it; its wait for
    # siblings begins when it is due and its own publisher is free.
    returned_ns = np.concatenate([columns["intended_ns"][:1], columns["return_ns"][:-1]])
    steady = (columns["flags"] & WARMUP) == 0
    for endpoint in np.unique(owner):
        own = np.flatnonzero(owner == endpoint)
        free_ns = columns["intended_ns"][own]
        free_ns[1:] = np.maximum(free_ns[1:], columns["return_ns"][own[:-1]])
        waited_ns = (returned_ns[own] - free_ns)[steady[own]]
        if len(waited_ns):
            share = float((waited_ns > LATE_NS).mean())
            yield int(endpoint), share, max(int(waited_ns.max()), 0)


@dataclass(frozen=True)
class Silence:
    """Messages that were published though none arrived at any reader, with the evidence."""

    published: int
    readers: int
    wake_ups: int | None
    segments: tuple[str, ...]

    def text(self) -> str:
        """Return one sentence with the evidence. The cause is unknown."""
        woke = (
            "how often processes with readers woke is not known"
            if self.wake_ups is None
            else f"processes with readers woke {counted(self.wake_ups, 'time')} in the window"
        )
        segments = ", ".join(self.segments) or "none"
        return (
            f"delivered_nothing: none of {counted(self.published, 'published message')} arrived at "
            f"any of {counted(self.readers, 'reader')}, though all endpoints had matched; {woke}; "
            f"shared segments that writer and reader map: {segments}"
        )


def delivered_nothing(outcome: TrialOutcome) -> Iterator[Reason]:
    """Yield the flag of a done trial on one host in which reliable writers published and no reader
    got a message, unless the trial itself takes readers, daemons or the network away."""
    silence = None if outcome.failure else _silence(outcome)
    if silence is not None:
        yield Reason(Code.DELIVERED_NOTHING, silence.text())


def _silence(outcome: TrialOutcome) -> Silence | None:
    cell = outcome.order.cell
    workload = cell.workload
    takes_away = (
        cell.changes or workload.daemons_end_s is not None or workload.readers_freeze_s is not None
    )
    if takes_away or cell.may_be_silent or outcome.endpoints.not_joined:
        return None
    if cell.links is not None or cell.real is not None:
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
            published += int(np.count_nonzero((flags & FAILED) == 0))
        elif section.kind == RECEIVED and section.endpoint in readers:
            arrived += int(np.count_nonzero((flags & FOREIGN) == 0))
    if not readers or not published or arrived:
        return None
    return Silence(
        published, len(readers), _wake_ups(outcome, readers), tuple(shared_segments(outcome))
    )


def _wake_ups(outcome: TrialOutcome, readers: set[int]) -> int | None:
    """Return the voluntary context switches of the readers' processes within the window; None if
    they were not counted."""
    processes = {e.process for e in outcome.order.cell.endpoints if e.endpoint in readers}
    total = 0
    for process in processes:
        edges = window_edges(outcome.sampling.collected.get(process, {}).get("usage", []))
        switches = None if edges is None else growth(edges, "voluntary_switches")
        if switches is None:
            return None
        total += switches
    return total
