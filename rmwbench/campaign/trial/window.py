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
from rmwbench.campaign.trial.beside_trial import BesidePrograms
from rmwbench.campaign.trial.changes import Changes, start_fields, take_started
from rmwbench.campaign.trial.held_calls import held_calls, note_unfinished, sections_so_far
from rmwbench.campaign.trial.outcome import TrialOutcome, TrialWindow, step, take_events
from rmwbench.campaign.trial.spawn import Spawner
from rmwbench.codes import FOREIGN
from rmwbench.lab import machine
from rmwbench.lab.network import Emulation
from rmwbench.lab.process import records
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.process.worker import WorkerFailed, WorkerProcess
from rmwbench.suite.cells import Cell


@dataclass(frozen=True)
class _Edge:
    """The readings at an edge of the window: of this machine, of our own processor time, the
    questions to the other machines, and the link's processor time."""

    local: machine.EdgeReading
    own_ns: int
    questions: machines.QuestionNumbers
    link_ns: int | None

    @classmethod
    def read(cls, processes: TrialProcesses, network: Emulation | None) -> "_Edge":
        reading, own_ns = machine.read_edge(), time.process_time_ns()
        questions = machines.post(processes, "edge")
        return cls(reading, own_ns, questions, network.cpu_ns() if network else None)


def _lead_ns(cell: Cell) -> int:
    """Return the time in ns from the command `start` to the start."""
    least_ns = timeouts.START_LEAD_NS if cell.real is None else timeouts.START_LEAD_MACHINES_NS
    least_ns += timeouts.START_LEAD_NETWORK_NS if cell.links is not None else 0
    return max(least_ns, timeouts.START_LEAD_PER_PROCESS_NS * len(cell.processes))


def run_window(
    outcome: TrialOutcome,
    processes: TrialProcesses,
    workers: Workers,
    programs: BesidePrograms,
    spawner: Spawner,
    files: Mapping[str, int],
) -> Changes:
    """Run a trial from `start` until every schedule has ended, or is held by a publish call.
    `files` are the workers' records. Raises WorkerFailed."""
    cell, network = outcome.order.cell, programs.network
    timeline = cell.timeline
    with step(outcome, "collect_garbage"):
        gc.collect()
    with _without_collection():
        if outcome.times.clocks is not None:
            outcome.times.clocks.read()
        lead_ns = _lead_ns(cell)
        start_ns = time.monotonic_ns() + lead_ns
        window = TrialWindow(start_ns, start_ns + timeline.warmup_ns, start_ns + timeline.end_ns)
        changes = Changes(outcome, processes, workers, window, network, spawner)
        if network is not None:
            network.schedule(window.steady_ns, window.end_ns)
        started = _start_processes(outcome, processes, programs, window)
        outcome.endpoints.started |= {
            e.endpoint for e in cell.endpoints if e.writes and e.life.begin_s is None
        }
        outcome.times.window = window
        outcome.times.started_late_ns = time.monotonic_ns() - window.start_ns
        take_started(outcome, started)
        processes.watch_until(window.steady_ns - timeouts.TICKS_LEAD_NS)
        begin = _Edge.read(processes, network)
        changes.watch_until(window.end_ns)
        end = _Edge.read(processes, network)
    outcome.times.steps_ns["start_lead"] = lead_ns
    outcome.sampling.own_cpu_ns = begin.own_ns, end.own_ns
    if begin.link_ns is not None and end.link_ns is not None:
        outcome.sampling.link_cpu_ns = begin.link_ns, end.link_ns
    outcome.probes += machine.edge_probes(begin.local, end.local)
    outcome.probes += machines.edge_probes(processes, begin.questions, end.questions)
    with step(outcome, "finish"):
        changes.settle(timeouts.limit_of_all(timeouts.COMMAND_TIMEOUT_S, len(processes.workers)))
        _finish(outcome, processes, timeline.grace_s + timeouts.FINISH_MARGIN_S, files)
    return changes


def _start_processes(
    outcome: TrialOutcome, processes: TrialProcesses, programs: BesidePrograms, window: TrialWindow
) -> dict[str, dict[str, Any]]:
    """Send the window to all processes, the same moments on each one's clock; return process → its
    answer to `start`."""
    cell = outcome.order.cell
    outcome.times.windows = {p.name: window.on(outcome.clock_of(p.name)) for p in cell.processes}
    starts = {
        name: ("start", start_fields(outcome.times.windows[name], cell))
        for name in processes.living
    }
    steady = {host: window.on(outcome.clock_at(host)).steady for host in cell.all_hosts}
    programs.sampler.start(cell.sampling, steady)
    programs.background.window(steady)
    programs.traffic.window(steady)
    # processes that open late, too: each reads its usage at both edges
    return processes.ask(starts, timeouts.limit_of_all(timeouts.COMMAND_TIMEOUT_S, len(starts)))


def _finish(
    outcome: TrialOutcome, processes: TrialProcesses, timeout_s: float, files: Mapping[str, int]
) -> None:
    """Wait until schedules, relays and services report their end. An endpoint within a publish call
    does not, and that is a result."""

    def finished() -> bool:
        take_events(outcome, processes)
        return outcome.endpoints.started <= outcome.endpoints.finished.keys()

    def unfinished() -> list[WorkerProcess]:
        waiting = outcome.endpoints.started - outcome.endpoints.finished.keys()
        endpoints = outcome.order.cell.endpoints
        return [processes.workers[e.process] for e in endpoints if e.endpoint in waiting]

    try:
        processes.wait(finished, timeout_s, "end of the schedule", unfinished)
    except WorkerFailed as failed:
        open_calls = None if failed.kind != "timeout" else held_calls(outcome, files)
        if open_calls is None:
            raise
        for call in open_calls:
            note_unfinished(outcome, call)


def drain(
    outcome: TrialOutcome,
    processes: TrialProcesses,
    changes: Changes,
    files: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """Let readers wait for the last message of each of their writers that sent any. A client waits
    for the replies to its own requests, by its own endpoint number.

    Best-effort readers wait for at most the suite's `drain_s`. Reliable readers wait until
    everything came, or until nothing came for so long that nothing more is expected: that time
    follows from the latencies in the workers' records (`files`), and later messages extend it.
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
    commands = []
    for process in outcome.order.cell.processes:
        if process.name not in processes.living:
            continue
        for reliable, fields in limits_of.items():
            expect = _expected(outcome, process.name, last, changes.absent_endpoints, reliable)
            if any(expect.values()):
                commands.append(processes.post(process.name, "drain", {"expect": expect, **fields}))
    processes.await_answers(commands, timeline.drain_most_s + timeouts.COMMAND_TIMEOUT_S)
    replies = [(command.worker.process, command.take()) for command in commands]
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
    """Return reader → writer → last sequence number, for a process's readers of that
    reliability."""
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
    """Return the time without a message after which a reliable stream has ended: it is longer than
    the latencies of this trial, and than the time until a lost message is repeated."""
    heartbeats = (timeouts.heartbeat_s(name) for name in outcome.order.cell.middlewares)
    longest_s = _longest_latency_ns(outcome, files) / 1e9
    return max(timeouts.DRAIN_QUIET_S, timeouts.DRAIN_QUIET_LATENCIES * longest_s, *heartbeats)


def _longest_latency_ns(outcome: TrialOutcome, files: Mapping[str, int]) -> int:
    """Return the longest latency in ns of the messages so far, as their readers recorded it; 0 if
    it is unknown because of several clocks. Messages of another trial, and the history that a late
    reader gets, have no latency (`pace_of` of rmwbench/analysis/metrics/latency.py)."""
    if not _has_one_clock(outcome):
        return 0
    longest_ns, since_ns = 0, _joined_ns(outcome)
    for section in sections_so_far(outcome, files, records.RECEIVED):
        rows = section.rows
        of_this_trial = (rows["flags"] & FOREIGN) == 0
        of_this_trial &= rows["intended_ns"] >= since_ns.get(section.endpoint, 0)
        waits_ns = (rows["taken_ns"] - rows["intended_ns"])[of_this_trial]
        longest_ns = max(longest_ns, int(waits_ns.max(initial=0)))
    return longest_ns


def _has_one_clock(outcome: TrialOutcome) -> bool:
    return outcome.times.clocks is None or not outcome.times.clocks.foreign


def _joined_ns(outcome: TrialOutcome) -> dict[int, int]:
    """Return endpoint → when it was matched, else when it was created."""
    return {
        event["endpoint"]: event["time_ns"]
        for name in ("created", "matched")
        for event in outcome.events
        if event["event"] == name and event.get("endpoint") is not None
    }


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Suspend our garbage collection, so that the trial has the processor."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
