"""The facts of a trial as the workers reported them, before anything is judged or tabulated.

They are one mutable record that the life of a trial fills step by step, so that a failed trial has
all facts from before its failure.
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
from rmwbench.lab.process.records import RecordSection
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.process.worker import WorkerFailed, WorkerProcess
from rmwbench.lab.sampling.loads import LoadFlow
from rmwbench.suite.cells import Cell

SPOILT = "RMWBENCH_SPOILT"
KEEP = "keep"
SPOILT_KEPT = f"trials that a noisy machine spoilt are kept, with a flag ({SPOILT}={KEEP})"


def keeps_spoilt() -> bool:
    """Whether the user keeps trials that a noisy machine spoilt, with a flag, because the machine
    is never quiet. Raises UserError for an unknown value of the variable."""
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
    """A trial to run. `seed` draws the schedule; `nonce` (64 bits) marks its messages. `directory`
    is the campaign's, in which a recorder writes its bag; `keeps_spoilt` is the user's choice on
    the machine that orders the trial."""

    trial: int
    cell: Cell
    block: int
    position: int
    seed: int
    nonce: int
    directory: Path | None = None
    keeps_spoilt: bool = field(default_factory=keeps_spoilt)


@dataclass
class TrialWindow:
    """Absolute times of a trial in ns, on the orchestrator's or a host's CLOCK_MONOTONIC."""

    start_ns: int
    steady_ns: int
    end_ns: int

    @property
    def steady(self) -> tuple[int, int]:
        return self.steady_ns, self.end_ns

    def on(self, clock: Clock) -> "TrialWindow":
        """Return this window's times on another clock."""
        return TrialWindow(
            *(clock.from_reference(t) for t in (self.start_ns, self.steady_ns, self.end_ns))
        )


@dataclass(frozen=True)
class Failure:
    """Why a trial failed, and who is at fault, from typed facts and never from a text. A failure by
    the worker is a block that its arm lost, so a failure by the tool, the host or the machine must
    never be counted as one."""

    reason: Reason
    by: FailedBy


_CODE_OF_KIND = {
    "crashed": Code.CRASHED,
    "timeout": Code.HUNG,
    "protocol": Code.PROTOCOL,
    "refused": Code.REFUSED,
    "spawn": Code.SPAWN,
    "clock": Code.WORKER_CLOCK,
    "host": Code.HOST,
}
_NOT_THE_WORKER = {
    Code.SPAWN: FailedBy.HOST,  # the program cannot be executed
    Code.HOST: FailedBy.HOST,
    Code.WORKER_CLOCK: FailedBy.MACHINE,  # a host's clock was stepped
}


def worker_failure(failed: WorkerFailed, code: Code | None = None) -> Failure:
    """Return the failure for a WorkerFailed. The barrier may give a more specific `code`."""
    code = code or _CODE_OF_KIND[failed.kind]
    failed_by = _NOT_THE_WORKER.get(code, FailedBy.WORKER)
    if failed.role not in ("worker", "daemon"):
        failed_by = FailedBy.HOST
    elif code is Code.CRASHED and failed.signal_name == "SIGKILL":
        # a process does not do this itself: the kernel killed it for its memory, or a person did
        failed_by = FailedBy.HOST
    return Failure(Reason(code, failed.reason()), failed_by)


def host_failure(code: Code, text: str) -> Failure:
    """Return a failure by the orchestrator, its hosts or its tools."""
    return Failure(Reason(code, text), FailedBy.HOST)


@dataclass
class TimeFacts:
    """Facts on times. `clocks` are the hosts'; `windows` maps process → the window on its own
    clock. A worker's stamps are on that clock, all other times on ours. `steps_ns` maps step of the
    trial → its time."""

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
    """Facts by endpoint. `granted` has the replies to create, `matched` the numbers of peers,
    `starts` the schedule of each endpoint that joined late, on its worker's clock. Endpoints in
    `started` will report `finished`; those in `unfinished` could not, because a publish call had
    not returned, and have their last sequence number there. `not_joined` are endpoints of nodes
    that could not come up, without their daemon, after a kill, or before they were killed."""

    granted: dict[int, dict[str, Any]] = field(default_factory=dict)
    matched: dict[int, int] = field(default_factory=dict)
    starts: dict[int, TrialWindow] = field(default_factory=dict)
    started: set[int] = field(default_factory=set)
    not_joined: set[int] = field(default_factory=set)
    finished: dict[int, dict[str, Any]] = field(default_factory=dict)
    unfinished: dict[int, int | None] = field(default_factory=dict)


@dataclass
class SamplingFacts:
    """Facts on processes. `collected` maps process → reply; the requests and the replies were
    between the two times of `collecting_ns`. `sampled` is the sampler's document
    (docs/formats/sampler.md), or `unsampled` the reason why there is none; `sampled_at` has each
    host's own. `own_cpu_ns` is the orchestrator's CPU time at both ends of the window,
    `link_cpu_ns` the CPU time of the network's process."""

    collected: dict[str, dict[str, Any]] = field(default_factory=dict)
    collecting_ns: tuple[int, int] | None = None
    sampled: dict[str, Any] | None = None
    sampled_at: dict[str, dict[str, Any]] = field(default_factory=dict)
    unsampled: str | None = None
    own_cpu_ns: tuple[int, int] | None = None
    link_cpu_ns: tuple[int, int] | None = None


@dataclass
class NetworkFacts:
    """Facts on a network between hosts. `findings` are its deviations, `frames` its log
    (rmwbench.lab.network.switch), which lacks `unlogged` frames; `broken` is the reason why there
    was no network; `counters` has the drops of the hosts' own devices, and counts of frames if the
    log lacks some. `traffic` has the interfaces' counters by host, before the first session opened
    and once the graph was complete; `background` the load's datagrams over the loopback by host;
    `cross_traffic` its rows of `counters`. `shared_host`: the interfaces also carry traffic of
    others."""

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
    """Facts on programs beside the workers. `sources` are the accounts of the sources of frames,
    `feature_records` the records of features (rmwbench/beside), `leftovers` the files that remained
    in the hosts, if the suite asks for them."""

    sources: list[Account] = field(default_factory=list)
    feature_records: list[FeatureRecord] = field(default_factory=list)
    leftovers: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class TrialOutcome:
    """All facts of a trial. `events` are the workers' with `process` added; `sections` their
    records. `barrier` is the code of a failure at the barrier; `unsupported` is a worker's reason
    why it does not support the cell."""

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
        """Return the clock of a worker's stamps. Raises WorkerFailed if its readings contradict
        each other."""
        return OWN if self.times.clocks is None else self.times.clocks.clock_of(process)

    def clock_at(self, host: str) -> Clock:
        """Return the clock of a host. Raises as `clock_of`."""
        return OWN if self.times.clocks is None else self.times.clocks.host_clock(host)


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
    """Add an event, now unless it has a time."""
    now_ns = time.monotonic_ns() if time_ns is None else time_ns
    outcome.events.append({"time_ns": now_ns, "process": process, "event": event, **fields})


def note_flag(
    outcome: TrialOutcome, flag: Reason, time_ns: int | None = None, process: str = "machine"
) -> None:
    """Add a flag, which a report shows beside the arm if enough of its trials have it."""
    note(outcome, process, FLAG, time_ns, text=flag.text, code=str(flag.code))


def note_hello(outcome: TrialOutcome, process: str, worker: WorkerProcess) -> None:
    note(outcome, process, "hello", value=worker.pid, text=json.dumps(worker.hello or {}))


def take_events(outcome: TrialOutcome, processes: TrialProcesses) -> None:
    """Take all events of workers and daemons since the last call."""
    for process, worker in [*processes.workers.items(), *processes.daemons.items()]:
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
