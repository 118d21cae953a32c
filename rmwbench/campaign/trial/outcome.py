"""What a trial left: facts as the workers reported them, before anything is judged or tabulated.

One mutable record that the life of a trial fills step by step, so that a failed trial still has all
that was learned before it failed.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rmwbench.analysis.records.clocks import Clock
from rmwbench.beside import FeatureRecord
from rmwbench.codes import FLAG, Code, FailedBy, Reason
from rmwbench.errors import UserError
from rmwbench.lab.camera.frame_source import Account
from rmwbench.lab.clock import OWN, HostClocks
from rmwbench.lab.network import NetworkFinding
from rmwbench.lab.process.crew import Crew
from rmwbench.lab.process.records import RecordSection
from rmwbench.lab.process.worker import WorkerProcess
from rmwbench.lab.sampling.background import LoadFlow
from rmwbench.suite.cells import Cell

SPOILT = "RMWBENCH_SPOILT"
KEEP = "keep"
SPOILT_KEPT = f"trials that a noisy machine spoilt are kept, with a flag ({SPOILT}={KEEP})"


def keeps_spoilt() -> bool:
    """Whether a trial that a noisy machine spoilt is kept, and flagged: the user's choice where it
    is never quiet. Raises UserError for a value of the variable that says nothing."""
    choice = os.environ.get(SPOILT) or None
    if choice not in (None, KEEP):
        raise UserError(
            f"{SPOILT} does not say what becomes of spoilt trials",
            where=SPOILT,
            expected=f"{KEEP}, or nothing",
            actual=choice,
            fix=f"set it to {KEEP}, or unset it",
        )
    return choice == KEEP


@dataclass(frozen=True)
class Order:
    """A trial to run. `seed` draws the schedule; `nonce` (64 bits) marks its messages."""

    trial: int
    cell: Cell
    block: int
    position: int
    seed: int
    nonce: int
    directory: Path | None = None
    """The campaign's, where a recorder writes its bag to a disk."""
    keeps_spoilt: bool = field(default_factory=keeps_spoilt)
    """Whether it is kept though a noisy machine spoilt it: as the user says who orders it, on
    whatever machine it runs."""


@dataclass
class TrialWindow:
    """Absolute times of a trial in ns: on the orchestrator's CLOCK_MONOTONIC, or on a host's."""

    start_ns: int
    steady_ns: int
    end_ns: int

    @property
    def steady(self) -> tuple[int, int]:
        return self.steady_ns, self.end_ns

    def on(self, clock: Clock) -> "TrialWindow":
        """The moments of this window as that clock tells them."""
        return TrialWindow(
            *(clock.from_reference(t) for t in (self.start_ns, self.steady_ns, self.end_ns))
        )


@dataclass(frozen=True)
class Failure:
    """Why a trial failed, and who is at fault."""

    reason: Reason
    by: FailedBy


@dataclass
class TimeFacts:
    """`clocks` are the hosts', and `windows` maps process → the window as it was told it, on its
    own clock: what a worker stamped is on that, all other times are on ours. `steps_ns`: step of a
    trial → what it took."""

    started_utc: str
    begun_ns: int
    window: TrialWindow | None = None
    windows: dict[str, TrialWindow] = field(default_factory=dict)
    clocks: HostClocks | None = None
    started_late_ns: int = 0
    drain_end_ns: int | None = None
    drained: bool | None = None
    ended_ns: int | None = None
    steps_ns: dict[str, int] = field(default_factory=dict)


@dataclass
class EndpointFacts:
    """Facts by endpoint. `granted`: the reply of create; `matched`: how many were; `starts`: of one
    that joined late its own schedule's times, on its worker's clock; `started` owe a `finished`;
    `unfinished` had not told it, since a publish call holds them, with the last number that they
    had sent; `not_joined` are of nodes that could not come up without their daemon, after a kill,
    or before they were killed."""

    granted: dict[int, dict[str, Any]] = field(default_factory=dict)
    matched: dict[int, int] = field(default_factory=dict)
    starts: dict[int, TrialWindow] = field(default_factory=dict)
    started: set[int] = field(default_factory=set)
    not_joined: set[int] = field(default_factory=set)
    finished: dict[int, dict[str, Any]] = field(default_factory=dict)
    unfinished: dict[int, int | None] = field(default_factory=dict)


@dataclass
class SamplingFacts:
    """What was read of processes. `collected` maps process → reply, asked and answered between the
    two of `collecting_ns`. `sampled` is the sampler's document (docs/formats/sampler.md), or
    `unsampled` says why there is none; `sampled_at` has each host's own. `own_cpu_ns` is the
    orchestrator's CPU time at both ends of the window, `link_cpu_ns` that of the network's
    process."""

    collected: dict[str, dict[str, Any]] = field(default_factory=dict)
    collecting_ns: tuple[int, int] | None = None
    sampled: dict[str, Any] | None = None
    sampled_at: dict[str, dict[str, Any]] = field(default_factory=dict)
    unsampled: str | None = None
    own_cpu_ns: tuple[int, int] | None = None
    link_cpu_ns: tuple[int, int] | None = None


@dataclass
class NetworkFacts:
    """Facts of a network between hosts: `findings` are what it was not, `frames` its log
    (rmwbench.lab.network.switch), of which `unlogged` frames are missing, `broken` why there was
    none, `counters` what queues of hosts' own devices dropped, and counts of frames where the log
    lacks some. `traffic`: what interfaces had carried before the first session opened and once the
    graph was complete, by host. `background`: what its load sent over the loopback, by host.
    `cross_traffic`: its rows of `counters`. `shared_host`: the interfaces carry what others send,
    too."""

    broken: Reason | None = None
    findings: list[NetworkFinding] = field(default_factory=list)
    frames: np.ndarray | None = None
    unlogged: int = 0
    counters: list[dict[str, Any]] = field(default_factory=list)
    traffic: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    background: dict[str, LoadFlow] = field(default_factory=dict)
    cross_traffic: list[dict[str, Any]] = field(default_factory=list)
    cross_traffic_cpu_ns: int = 0
    shared_host: bool = False


@dataclass
class BesideFacts:
    """`sources` are the accounts of pipelines that made frames; `feature_records` is
    what features beside the trial left (rmwbench/beside); `leftovers` what was left in the hosts' files, where that was
    asked."""

    sources: list[Account] = field(default_factory=list)
    feature_records: list[FeatureRecord] = field(default_factory=list)
    leftovers: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class TrialOutcome:
    """`events` are the workers' with `process` added; `sections` their records. `barrier` says what
    was missing in a failure at the barrier; `unsupported` what a worker said it cannot do."""

    order: Order
    times: TimeFacts
    endpoints: EndpointFacts = field(default_factory=EndpointFacts)
    sampling: SamplingFacts = field(default_factory=SamplingFacts)
    network: NetworkFacts = field(default_factory=NetworkFacts)
    beside: BesideFacts = field(default_factory=BesideFacts)
    events: list[dict[str, Any]] = field(default_factory=list)
    probes: list[dict[str, Any]] = field(default_factory=list)
    sections: list[RecordSection] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    failure: Failure | None = None
    barrier: Code | None = None
    unsupported: str | None = None

    def clock_of(self, process: str) -> Clock:
        """The clock that a worker stamps with. Raises WorkerFailed where its readings contradict
        each other."""
        return OWN if self.times.clocks is None else self.times.clocks.clock_of(process)

    def clock_at(self, host: str) -> Clock:
        """The clock of whatever runs on a host. Raises as `clock_of`."""
        return OWN if self.times.clocks is None else self.times.clocks.of_host(host)


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
    note(outcome, process, FLAG, time_ns, text=flag.text, code=str(flag.code))


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
