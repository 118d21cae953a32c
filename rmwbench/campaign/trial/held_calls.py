"""Publishers whose publish call does not return: messages that were due meanwhile are *never sent*,
and the duration of the call is noted.

A call has a record only when it returns, so an open call is recognised by missing records: its
schedule has not ended though its time is over, and messages that were due have no record. If
publishers share a thread, the call belongs to the one whose next message was due first, since the
thread sends in this order; the others wait for it, unless they have sent all their messages. A
thread that has not ended though all its messages were sent is the worker's fault, and no result.
"""

import time
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from rmwbench.campaign.record.due_times import never_sent_due_ns, scheduled_messages
from rmwbench.campaign.trial.outcome import TrialOutcome, TrialWindow, note, note_flag
from rmwbench.codes import FAILED, UNFINISHED, WAITS, Code, Reason
from rmwbench.lab.process import records
from rmwbench.suite.cells import Cell
from rmwbench.suite.timeline import to_ns
from rmwbench.suite.workload.endpoints import Endpoint
from rmwbench.suite.workload.schedule import UNSHARED_ARRIVALS
from rmwbench.words.numbers import concise, counted


@dataclass(frozen=True, kw_only=True)
class HeldCall:
    """An endpoint whose schedule has not ended, by its records; times are on the reference clock.
    `due_ns` is when its next message was due, and `returned_ns` when its last call returned, or the
    schedule began. `unsent` counts the messages that were due and have no record; None without a
    schedule (relays, services, saturation). `last_seq` is the last one that was sent. `since_ns`
    is when the open call began, or when the endpoint began to wait for it; `behind` is the endpoint
    of the same thread that made the call, None if it is this one."""

    endpoint: Endpoint
    due_ns: int
    returned_ns: int
    unsent: int | None
    last_seq: int | None
    since_ns: int = 0
    behind: int | None = None

    def held_since(self, since_ns: int, behind: int | None = None) -> "HeldCall":
        return replace(self, since_ns=max(self.due_ns, since_ns), behind=behind)


def schedule_of(outcome: TrialOutcome, endpoint: Endpoint) -> TrialWindow:
    """Return the window in which an endpoint was to send, on its worker's clock."""
    window = outcome.times.window
    assert window is not None
    own_window = outcome.endpoints.starts.get(
        endpoint.endpoint, outcome.times.windows.get(endpoint.process, window)
    )
    if endpoint.life.end_s is None:
        return own_window
    leaves_ns = outcome.times.windows.get(endpoint.process, window).steady_ns
    leaves_ns += to_ns(endpoint.life.end_s)
    return TrialWindow(own_window.start_ns, own_window.steady_ns, min(own_window.end_ns, leaves_ns))


def held_calls(outcome: TrialOutcome, files: Mapping[str, int]) -> list[HeldCall] | None:
    """Return the endpoints that were started and have not finished; None if a thread has sent all
    its messages. `files` are the workers' records."""
    sent_rows = _sent(outcome, files)
    unfinished = outcome.endpoints.started - outcome.endpoints.finished.keys()
    threads: dict[Hashable, list[HeldCall]] = defaultdict(list)
    for endpoint in outcome.order.cell.endpoints:
        if endpoint.endpoint in unfinished:
            call = _open_call(outcome, endpoint, sent_rows.get(endpoint.endpoint))
            threads[_thread(outcome.order.cell, endpoint)].append(call)
    if any(all(call.unsent == 0 for call in thread) for thread in threads.values()):
        return None
    return [call for thread in threads.values() for call in _calls_of_thread(thread)]


def note_unfinished(outcome: TrialOutcome, call: HeldCall) -> None:
    """Add an event for the ledger and a flag, unless the endpoint has sent all and only waits."""
    number = call.endpoint.endpoint
    outcome.endpoints.unfinished[number] = call.last_seq
    if call.unsent == 0:
        return
    now_ns = time.monotonic_ns()
    held_ns = max(0, now_ns - call.since_ns)
    caller = number if call.behind is None else call.behind
    text = f"a publish call of endpoint {caller} had not returned after {concise(held_ns / 1e9)} s"
    if call.behind is not None:
        text += f", and endpoint {number} waited for it on the same thread"
    if call.unsent:
        text += f", and {counted(call.unsent, 'message')} of its schedule had not been sent"
    process = call.endpoint.process
    code = None if call.behind is None else WAITS
    note(outcome, process, UNFINISHED, now_ns, endpoint=number, value=held_ns, text=text, code=code)
    note_flag(outcome, Reason(Code.HELD, f"held: {text}"), now_ns, process)


def _thread(cell: Cell, endpoint: Endpoint) -> Hashable:
    """Return the thread that sends for an endpoint: its own, or one that it shares."""
    sender = endpoint.sender
    if cell.schedule != "shared" or sender is None or endpoint.endpoint not in cell.sharing:
        return endpoint.endpoint
    return sender.process, sender.joins


def _calls_of_thread(thread: Sequence[HeldCall]) -> Iterator[HeldCall]:
    """Yield the endpoint whose call does not return, and those that wait for it."""
    first = min((call for call in thread if call.unsent != 0), key=lambda call: call.due_ns)
    caller = first.held_since(max(call.returned_ns for call in thread))
    yield caller
    for call in thread:
        if call is not first:
            yield call.held_since(caller.since_ns, behind=caller.endpoint.endpoint)


def _open_call(outcome: TrialOutcome, endpoint: Endpoint, rows: np.ndarray | None) -> HeldCall:
    own_window = schedule_of(outcome, endpoint)
    attempted = 0 if rows is None else len(rows)
    arrival = endpoint.wire(outcome.order.cell.arm, outcome.order.seed).get("arrival")
    unsent, due_ns, returned_ns = None, own_window.start_ns, own_window.start_ns
    if arrival is not None and arrival["kind"] not in UNSHARED_ARRIVALS:
        unsent = max(
            0, scheduled_messages(arrival, own_window.end_ns - own_window.start_ns) - attempted
        )
        if unsent:
            (due_ns,) = never_sent_due_ns(arrival, own_window.start_ns, attempted, 1)
    last_seq = None
    if rows is not None and attempted:
        returned_ns = int(rows["return_ns"].max())
        through = rows["seq"][(rows["flags"] & FAILED) == 0]
        last_seq = int(through.max()) if len(through) else None
    clock = outcome.clock_of(endpoint.process)
    return HeldCall(
        endpoint=endpoint,
        due_ns=int(clock.to_reference(due_ns)),
        returned_ns=int(clock.to_reference(returned_ns)),
        unsent=unsent,
        last_seq=last_seq,
    )


def _sent(outcome: TrialOutcome, files: Mapping[str, int]) -> dict[int, np.ndarray]:
    sections = sections_so_far(outcome, files, records.SENT)
    return {section.endpoint: section.rows for section in sections}


def sections_so_far(
    outcome: TrialOutcome, files: Mapping[str, int], kind: int
) -> Iterator[records.RecordSection]:
    """Yield the sections of a kind in the workers' records, which are still being written. Damaged
    records are skipped; they fail the trial when they are taken."""
    for fd in files.values():
        with suppress(records.RecordsDamaged):
            yield from (s for s in records.read(fd, outcome.order.nonce) if s.kind == kind)
