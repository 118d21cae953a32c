"""Publishers whose publish call does not return: what was due meanwhile and not sent is *never
sent*, and for how long the call was held is told.

A call leaves its record when it returns, so an open one is known by what is missing: its schedule
has not ended though its time is over, and messages that were due have no record. A schedule that
has not ended though all of it was sent is the worker's own fault, and no result.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rmwbench.campaign.record.due_times import never_sent_due_ns, planned
from rmwbench.campaign.trial.noting import note, note_flag
from rmwbench.campaign.trial.outcome import TrialOutcome, TrialWindow
from rmwbench.codes import Code, Reason
from rmwbench.lab.process import records
from rmwbench.suite.timeline import to_ns
from rmwbench.suite.workload.endpoints import Endpoint
from rmwbench.words.numbers import counted

UNFINISHED = "unfinished"
"""Event of an endpoint whose schedule did not end; `value` is for how long its call was held, in
ns."""
PUBLISH_FAILED = 1


@dataclass(frozen=True)
class Held:
    """`since_ns`: when its call began, as far as its records tell, on the reference clock. `left`:
    messages that were due and have no record, None where no schedule says how many (relays,
    services, saturation). `last_seq`: the last one that was sent."""

    endpoint: Endpoint
    since_ns: int
    left: int | None
    last_seq: int | None


def schedule_of(outcome: TrialOutcome, endpoint: Endpoint) -> TrialWindow:
    """From when until when an endpoint was to send, on its worker's clock."""
    window = outcome.times.window
    assert window is not None
    told = outcome.endpoints.starts.get(
        endpoint.endpoint, outcome.times.windows.get(endpoint.process, window)
    )
    if endpoint.life.end_s is None:
        return told
    leaves_ns = outcome.times.windows.get(endpoint.process, window).steady_ns
    leaves_ns += to_ns(endpoint.life.end_s)
    return TrialWindow(told.start_ns, told.steady_ns, min(told.end_ns, leaves_ns))


def held(outcome: TrialOutcome, files: Mapping[str, int]) -> list[Held] | None:
    """Those that were started and have not finished; None where one of them has sent all. `files`
    are the workers' records."""
    found = []
    sent = _sent(outcome, files)
    for endpoint in outcome.order.cell.endpoints:
        number = endpoint.endpoint
        if number in outcome.endpoints.started - outcome.endpoints.finished.keys():
            one = _held(outcome, endpoint, sent.get(number))
            if one is None:
                return None
            found.append(one)
    return found


def tell(outcome: TrialOutcome, one: Held) -> None:
    """An event for the ledger, and a flag."""
    number, now_ns = one.endpoint.endpoint, time.monotonic_ns()
    held_ns = max(0, now_ns - one.since_ns)
    text = f"a publish call of endpoint {number} had not returned after {held_ns / 1e9:.3g} s"
    if one.left:
        text += f", and {counted(one.left, 'message')} of its schedule had not been sent"
    process = one.endpoint.process
    note(outcome, process, UNFINISHED, now_ns, endpoint=number, value=held_ns, text=text)
    note_flag(outcome, Reason(Code.HELD, f"held: {text}"), now_ns, process)
    outcome.endpoints.unfinished[number] = one.last_seq


def _held(outcome: TrialOutcome, endpoint: Endpoint, rows: np.ndarray | None) -> Held | None:
    told = schedule_of(outcome, endpoint)
    attempted = 0 if rows is None else len(rows)
    arrival = endpoint.wire(outcome.order.cell.arm, outcome.order.seed).get("arrival")
    left, since_ns = None, told.start_ns
    if arrival is not None and arrival["kind"] not in ("relay", "saturation"):
        left = planned(arrival, told.end_ns - told.start_ns) - attempted
        if left <= 0:
            return None
        (since_ns,) = never_sent_due_ns(arrival, told.start_ns, attempted, 1)
    last_seq = None
    if rows is not None and attempted:
        since_ns = max(since_ns, int(rows["return_ns"].max()))
        through = rows["seq"][(rows["flags"] & PUBLISH_FAILED) == 0]
        last_seq = int(through.max()) if len(through) else None
    since_ns = int(outcome.clock_of(endpoint.process).to_reference(since_ns))
    return Held(endpoint, since_ns, left, last_seq)


def _sent(outcome: TrialOutcome, files: Mapping[str, int]) -> dict[int, np.ndarray]:
    found: dict[int, np.ndarray] = {}
    for fd in files.values():
        try:
            sections = records.read(fd, outcome.order.nonce)
        except records.RecordsDamaged:
            continue  # told when the trial's records are taken
        found |= {s.endpoint: s.rows for s in sections if s.kind == records.SENT}
    return found
