"""The window of a trial and its drain. Between `start` and the end of the window this process only
waits."""

import contextlib
import gc
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rmwbench.campaign.plan.profile import Workers
from rmwbench.campaign.trial import machines, timeouts
from rmwbench.campaign.trial.beside_trial import Beside
from rmwbench.campaign.trial.changes import Changes, start_fields, take_started
from rmwbench.campaign.trial.held_calls import held_calls, sections_so_far, tell_unfinished
from rmwbench.campaign.trial.outcome import TrialOutcome, TrialWindow, step, take_events
from rmwbench.campaign.trial.spawn import Spawner
from rmwbench.codes import FOREIGN
from rmwbench.lab import machine
from rmwbench.lab.network import Emulation
from rmwbench.lab.process import records
from rmwbench.lab.process.crew import Crew
from rmwbench.lab.process.worker import WorkerFailed
from rmwbench.suite.cells import Cell


@dataclass(frozen=True)
class _Edge:
    """What is read at an edge of the window: this machine, our own processor time, what the other
    machines were asked, the link's processor time."""

    ours: machine.EdgeReading
    own_ns: int
    far: machines.Posted
    link_ns: int | None

    @classmethod
    def read(cls, crew: Crew, network: Emulation | None) -> "_Edge":
        reading, own_ns = machine.read_edge(), time.process_time_ns()
        posted = machines.post(crew, "edge")
        return cls(reading, own_ns, posted, network.cpu_ns() if network else None)


def _lead_ns(cell: Cell) -> int:
    """The time in ns from the command `start` to the start."""
    least_ns = timeouts.START_LEAD_NS if cell.real is None else timeouts.START_LEAD_MACHINES_NS
    least_ns += timeouts.START_LEAD_NETWORK_NS if cell.links is not None else 0
    return max(least_ns, timeouts.START_LEAD_PER_PROCESS_NS * len(cell.processes))


def run_window(
    outcome: TrialOutcome,
    crew: Crew,
    workers: Workers,
    beside: Beside,
    spawner: Spawner,
    files: Mapping[str, int],
) -> Changes:
    """Runs a trial from `start` until every schedule has ended, or is held by a publish call.
    `files` are the workers' records. Raises WorkerFailed."""
    cell, network = outcome.order.cell, beside.network
    timeline = cell.timeline
    with step(outcome, "collect_garbage"):
        gc.collect()
    with _quiet():
        if outcome.times.clocks is not None:
            outcome.times.clocks.read()
        lead_ns = _lead_ns(cell)
        start_ns = time.monotonic_ns() + lead_ns
        window = TrialWindow(start_ns, start_ns + timeline.warmup_ns, start_ns + timeline.end_ns)
        changes = Changes(outcome, crew, workers, window, network, spawner)
        if network is not None:
            network.schedule(window.steady_ns, window.end_ns)
        started = _tell(outcome, crew, beside, window)
        outcome.endpoints.started |= {
            e.endpoint for e in cell.endpoints if e.writes and e.life.begin_s is None
        }
        outcome.times.window = window
        outcome.times.started_late_ns = time.monotonic_ns() - window.start_ns
        take_started(outcome, started)
        crew.watch_until(window.steady_ns - timeouts.TICKS_LEAD_NS)
        begin = _Edge.read(crew, network)
        changes.watch_until(window.end_ns)
        end = _Edge.read(crew, network)
    outcome.times.steps_ns["start_lead"] = lead_ns
    outcome.sampling.own_cpu_ns = begin.own_ns, end.own_ns
    if begin.link_ns is not None and end.link_ns is not None:
        outcome.sampling.link_cpu_ns = begin.link_ns, end.link_ns
    outcome.probes += machine.edge_probes(begin.ours, end.ours)
    outcome.probes += machines.edge_probes(crew, begin.far, end.far)
    with step(outcome, "finish"):
        changes.settle(timeouts.of_all(timeouts.COMMAND_TIMEOUT_S, len(crew.workers)))
        _finish(outcome, crew, timeline.grace_s + timeouts.FINISH_MARGIN_S, files)
    return changes


def _tell(
    outcome: TrialOutcome, crew: Crew, beside: Beside, window: TrialWindow
) -> dict[str, dict[str, Any]]:
    """Tells everyone the window, each on its own clock: one moment for all. Process → its answer to
    `start`."""
    cell = outcome.order.cell
    outcome.times.windows = {p.name: window.on(outcome.clock_of(p.name)) for p in cell.processes}
    starts = {
        name: ("start", start_fields(outcome.times.windows[name], cell)) for name in crew.living
    }
    steady = {host: window.on(outcome.clock_at(host)).steady for host in cell.all_hosts}
    beside.sampler.start(cell.sampling, steady)
    beside.background.window(steady)
    beside.traffic.window(steady)
    # Also those that open late: each takes its usage at both edges.
    return crew.ask(starts, timeouts.of_all(timeouts.COMMAND_TIMEOUT_S, len(starts)))


def _finish(outcome: TrialOutcome, crew: Crew, timeout_s: float, files: Mapping[str, int]) -> None:
    """Everything that was started tells its end: schedules, relays, services. What a publish call
    holds does not, and that is a result."""

    def finished() -> bool:
        take_events(outcome, crew)
        return outcome.endpoints.started <= outcome.endpoints.finished.keys()

    late = lambda: [  # noqa: E731
        crew.workers[e.process]
        for e in outcome.order.cell.endpoints
        if e.endpoint in outcome.endpoints.started and e.endpoint not in outcome.endpoints.finished
    ]
    try:
        crew.wait(finished, timeout_s, "end of the schedule", late)
    except WorkerFailed as failed:
        stuck = None if failed.kind != "timeout" else held_calls(outcome, files)
        if stuck is None:
            raise
        for call in stuck:
            tell_unfinished(outcome, call)


def drain(
    outcome: TrialOutcome,
    crew: Crew,
    changes: Changes,
    files: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """Readers wait for the last message of each of their writers; with nothing sent there is
    nothing to wait for. A client waits for the replies to its own requests, which it knows by its
    own number.

    Best-effort readers wait for the suite's `drain_s`. Reliable ones wait until everything came, or
    until nothing came for so long that nothing more is to be expected; `files` are the workers'
    records, which say how long that is when the drain begins. What comes later makes it longer.
    """
    timeline = outcome.order.cell.timeline
    last = {writer: seq for writer, seq in outcome.endpoints.unfinished.items() if seq is not None}
    last |= {
        writer: event["last_seq"]
        for writer, event in outcome.endpoints.finished.items()
        if event.get("last_seq") is not None
    }
    quiet_ns = round(_quiet_s(outcome, files) * 1e9)
    limits_of = {
        False: {"timeout_ns": round(timeline.drain_s * 1e9)},
        True: {"timeout_ns": round(timeline.drain_most_s * 1e9), "quiet_ns": quiet_ns},
    }
    if _has_one_clock(outcome):
        limits_of[True]["quiet_latencies"] = timeouts.DRAIN_QUIET_LATENCIES
    posted = []
    for process in outcome.order.cell.processes:
        if process.name not in crew.living:
            continue
        for reliable, fields in limits_of.items():
            expect = _expected(outcome, process.name, last, changes.absent_endpoints, reliable)
            if any(expect.values()):
                posted.append(crew.post(process.name, "drain", {"expect": expect, **fields}))
    crew.await_answers(posted, timeline.drain_most_s + timeouts.COMMAND_TIMEOUT_S)
    replies = [(command.worker.process, command.take()) for command in posted]
    outcome.times.drained = all(reply["complete"] for _, reply in replies)
    ends = (outcome.clock_of(process).to_reference(reply["time_ns"]) for process, reply in replies)
    outcome.times.drain_end_ns = max(map(int, ends), default=time.monotonic_ns())


def _expected(
    outcome: TrialOutcome,
    process: str,
    last: Mapping[int, int],
    absent: Collection[int],
    reliable: bool,
) -> dict[str, dict[str, int]]:
    """Reader → writer → last sequence number, of a process's readers of that reliability."""
    readers = {
        e.endpoint: (e.endpoint,) if e.kind == "client" else e.peers
        for e in outcome.order.cell.endpoints
        if e.process == process
        and e.reads
        and e.peers
        and e.endpoint not in absent
        and (e.qos.wire()["reliability"] == "reliable") == reliable
    }
    return {
        str(r): {str(w): last[w] for w in writers if w in last} for r, writers in readers.items()
    }


def _quiet_s(outcome: TrialOutcome, files: Mapping[str, int]) -> float:
    """How long nothing must come before a reliable stream has come to its end: longer than a late
    message or the next repeat of a lost one takes, as far as this trial has shown."""
    heartbeats = (timeouts.heartbeat_s(name) for name in outcome.order.cell.middlewares)
    longest_s = _longest_latency_ns(outcome, files) / 1e9
    return max(timeouts.DRAIN_QUIET_S, timeouts.DRAIN_QUIET_LATENCIES * longest_s, *heartbeats)


def _longest_latency_ns(outcome: TrialOutcome, files: Mapping[str, int]) -> int:
    """The longest latency in ns of what has arrived by now, as its readers recorded it; 0 where
    that cannot be told, as over several clocks. A message of another trial tells no intended time,
    and the age of a late reader's history is no latency (`pace_of` of
    rmwbench/analysis/metrics/latency.py)."""
    if not _has_one_clock(outcome):
        return 0
    longest_ns, since_ns = 0, _there_since_ns(outcome)
    for section in sections_so_far(outcome, files, records.RECEIVED):
        rows = section.rows
        of_this_trial = (rows["flags"] & FOREIGN) == 0
        of_this_trial &= rows["intended_ns"] >= since_ns.get(section.endpoint, 0)
        waits_ns = (rows["taken_ns"] - rows["intended_ns"])[of_this_trial]
        longest_ns = max(longest_ns, int(waits_ns.max(initial=0)))
    return longest_ns


def _has_one_clock(outcome: TrialOutcome) -> bool:
    return outcome.times.clocks is None or not outcome.times.clocks.foreign


def _there_since_ns(outcome: TrialOutcome) -> dict[int, int]:
    """Endpoint → when it was matched, else when it was created."""
    return {
        event["endpoint"]: event["time_ns"]
        for name in ("created", "matched")
        for event in outcome.events
        if event["event"] == name and event.get("endpoint") is not None
    }


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suspends our garbage collection: the processor belongs to the trial."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
