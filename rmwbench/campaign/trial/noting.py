"""What happens in a trial, written down as it happens: events of ours and of the workers, and the
time of each step."""

import contextlib
import json
import time
from collections.abc import Iterator
from typing import Any

from rmwbench.campaign.trial.outcome import TrialOutcome
from rmwbench.codes import Reason
from rmwbench.lab.process.crew import Crew
from rmwbench.lab.process.worker import WorkerProcess

_COUNTS = ("scheduled", "sent", "failed", "never_sent", "last_seq")


@contextlib.contextmanager
def step(outcome: TrialOutcome, name: str) -> Iterator[None]:
    begun = time.monotonic_ns()
    try:
        yield
    finally:
        outcome.times.steps_ns[name] = time.monotonic_ns() - begun


def note(
    outcome: TrialOutcome, process: str, event: str, time_ns: int | None = None, **fields: Any
) -> None:
    """An event; now where it has no time of its own."""
    now_ns = time.monotonic_ns() if time_ns is None else time_ns
    outcome.events.append({"time_ns": now_ns, "process": process, "event": event, **fields})


def note_flag(
    outcome: TrialOutcome, flag: Reason, time_ns: int | None = None, process: str = "machine"
) -> None:
    """An event that a report shows beside the arm where enough of its trials have it."""
    note(outcome, process, "flag", time_ns, text=flag.text, code=str(flag.code))


def note_hellos(outcome: TrialOutcome, crew: Crew) -> None:
    for process, worker in [*crew.workers.items(), *crew.daemons.items()]:
        note_hello(outcome, process, worker)


def note_hello(outcome: TrialOutcome, process: str, worker: WorkerProcess) -> None:
    note(outcome, process, "hello", value=worker.pid, text=json.dumps(worker.hello or {}))


def take_events(outcome: TrialOutcome, crew: Crew) -> None:
    """Everything that workers and daemons have said by themselves since the last time."""
    for process, worker in [*crew.workers.items(), *crew.daemons.items()]:
        while worker.events:
            event = worker.events.popleft()
            kind, time_ns = event["event"], event.get("time_ns")
            if kind == "finished":
                outcome.endpoints.finished[event["endpoint"]] = event
                counts = {key: event[key] for key in _COUNTS if key in event}
                fields = {
                    "endpoint": event["endpoint"],
                    "value": event["sent"],
                    "text": json.dumps(counts),
                }
            elif kind == "step":
                code = f"{event['step']}.{event['outcome']}"
                fields = {"value": event["asked_ns"], "text": event["node"], "code": code}
            elif kind == "log":
                fields = {"text": f"{event.get('level')}: {event.get('message')}"}
            else:
                fields = {"endpoint": event.get("endpoint"), "writer": event.get("writer")}
            note(outcome, process, kind, time_ns, **fields)
