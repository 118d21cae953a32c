"""The life of a trial (docs/formats/worker-protocol.md): host, workers, barrier, window, drain, collection, end.

A trial never raises for what a worker or its host does: that becomes the `failed` of this trial alone. Every step has
its own time limit, so a trial has one too. Between `start` and the end of the window this process only waits.
"""

import contextlib
import gc
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from rmwbench.campaign import sampled
from rmwbench.campaign.attest import attestations
from rmwbench.campaign.judge import is_machines_fault, void_reasons
from rmwbench.campaign.outcome import Order, Outcome, Window
from rmwbench.campaign.profile import daemons, open_fields
from rmwbench.campaign.tables import trial_tables
from rmwbench.errors import UserError
from rmwbench.lab import machine, records
from rmwbench.lab.background import Background
from rmwbench.lab.host import Host, HostBroken
from rmwbench.lab.middleware import Worker
from rmwbench.lab.records import RecordsDamaged, SectionPlan
from rmwbench.lab.sampler import Sampler
from rmwbench.lab.worker import Crew, WorkerFailed

HELLO_TIMEOUT_S = 10.0
COMMAND_TIMEOUT_S = 10.0
MATCH_MARGIN_S = 2.0
FINISH_MARGIN_S = 2.0
# A large first message may be slow; a second one sent too early queues behind it.
PROBE_INTERVAL_S = 0.05
PROBE_INTERVAL_MAX_S = 0.8
START_LEAD_NS = 20_000_000
TICKS_LEAD_NS = 2_000_000
LOG_TAIL_BYTES = 1 << 20


@dataclass(frozen=True)
class TrialResult:
    """`status` is `done`, `failed` or `void`; `steps_ns` says where the time went. `cause` is `machine` for a trial
    that is void for the machine's sake alone."""

    order: Order
    status: str
    reason: str | None
    tables: dict[str, pa.Table]
    files: dict[str, bytes]
    steps_ns: dict[str, int]
    cause: str | None = None


def run_trial(order: Order, worker: Worker, host: Host | None = None) -> TrialResult:
    """Runs one trial. `host`, made beforehand, saves its start; it is closed here in any case."""
    outcome = Outcome(order, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), time.monotonic_ns())
    host = host or Host(f"trial-{order.trial}")
    files: dict[str, int] = {}
    try:
        with _step(outcome, "host"):
            host.wait_ready()
        nonce = order.nonce
        for process in order.cell.processes:
            plan = [SectionPlan(*section) for section in order.cell.sections(process.name)]
            files[process.name] = records.make(plan, nonce)
        with Crew(host) as crew:
            background = Background(crew, order.cell.conditions)
            try:
                _daemons(outcome, crew, worker)
                with contextlib.closing(Sampler(crew)) as sampler:
                    _live(outcome, crew, worker, files, sampler, background)
            finally:
                _take_logs(outcome, crew)
                with _step(outcome, "kill"):
                    host.close()
                background.close()
    except WorkerFailed as failed:
        outcome.failure = failed.reason()
    except HostBroken as broken:
        outcome.failure = f"host: {broken}"
    except UserError as vanished:
        outcome.failure = str(vanished)
    finally:
        host.close()
        _take_records(outcome, files)
    outcome.ended_ns = time.monotonic_ns()
    return _result(outcome)


def _daemons(outcome: Outcome, crew: Crew, worker: Worker) -> None:
    """What the arm's profile says must serve before any worker opens, one after the other; none for most."""
    cell, nonce = outcome.order.cell, outcome.order.nonce
    for name in daemons(cell, worker):
        with _step(outcome, f"daemon.{name}"):
            crew.spawn_daemon(name, worker.executable)
            crew.wait_hello(HELLO_TIMEOUT_S)
            crew.ask_daemon(name, "open", open_fields(cell, worker, nonce), COMMAND_TIMEOUT_S)


def _live(
    outcome: Outcome,
    crew: Crew,
    worker: Worker,
    files: Mapping[str, int],
    sampler: Sampler,
    background: Background,
) -> None:
    cell = outcome.order.cell
    with _step(outcome, "spawn"):
        for process, fd in files.items():
            crew.spawn(process, worker.executable, fd)
        sampler.spawn()
        crew.wait_hello(HELLO_TIMEOUT_S)
    _note_hellos(outcome, crew)
    roles = [("worker", crew.workers), ("daemon", crew.daemons)]
    sampler.watch([(name, p.inner_pid, role) for role, found in roles for name, p in found.items()])
    with _step(outcome, "open"):
        crew.ask_all("open", open_fields(cell, worker, outcome.order.nonce), COMMAND_TIMEOUT_S)
    with _step(outcome, "create"):
        requests = {p: ("create", {"nodes": cell.create_command(p, outcome.order.seed)}) for p in files}
        replies = crew.ask(requests, COMMAND_TIMEOUT_S)
    for process, reply in replies.items():
        for endpoint, granted in reply.get("endpoints", {}).items():
            outcome.granted[int(endpoint)] = granted
            _note(outcome, process, "created", endpoint=int(endpoint))
    try:
        with _step(outcome, "match"):
            match_s = cell.timeline.match_s
            replies = crew.ask_all("match", {"timeout_ns": round(match_s * 1e9)}, match_s + MATCH_MARGIN_S)
        for process, reply in replies.items():
            for endpoint, found in reply.get("endpoints", {}).items():
                outcome.matched[int(endpoint)] = found["matched"]
                _note(outcome, process, "matched", found["time_ns"], endpoint=int(endpoint), value=found["matched"])
        with _step(outcome, "first_message"):
            _first_messages(outcome, crew)
        with _step(outcome, "probe"):
            outcome.probes += machine.idle_probe()
        if background.asked:
            with _step(outcome, "background"):
                background.start()
            sampler.watch(background.pids)
        _window(outcome, crew, sampler, background)
        with _step(outcome, "drain"):
            _drain(outcome, crew)
        if background.asked:
            with _step(outcome, "background_end"):
                background.stop()
            _take_background(outcome, background)
        with _step(outcome, "collect"):
            sampler.ask()
            asked_ns = time.monotonic_ns()
            outcome.collected = crew.ask_all("collect", {}, COMMAND_TIMEOUT_S)
            outcome.collecting_ns = (asked_ns, time.monotonic_ns())
        with _step(outcome, "sampler"):
            sampler.read(COMMAND_TIMEOUT_S)
            _take_sampled(outcome, sampler)
    finally:
        _take_events(outcome, crew)


def _first_messages(outcome: Outcome, crew: Crew) -> None:
    """Probes until every reader has heard every one of its writers."""
    wanted = {(reader, writer) for reader, writers in outcome.order.cell.pairs.items() for writer in writers}
    missing = lambda: wanted - {(e["endpoint"], e["writer"]) for e in outcome.events if e["event"] == "first_message"}  # noqa: E731

    def done() -> bool:
        _take_events(outcome, crew)
        return not missing()

    limit_s = outcome.order.cell.timeline.match_s
    deadline, interval_s = time.monotonic() + limit_s, PROBE_INTERVAL_S
    while not done():
        if time.monotonic() > deadline:
            reader, writer = min(missing())
            place = next(e.process for e in outcome.order.cell.endpoints if e.endpoint == reader)
            text = (
                f"endpoint {reader} heard nothing from endpoint {writer} within {limit_s:g} s, though both are matched"
            )
            raise crew.workers[place].failure("timeout", text)
        crew.ask_all("probe", {}, COMMAND_TIMEOUT_S)
        again = time.monotonic() + interval_s
        interval_s = min(2 * interval_s, PROBE_INTERVAL_MAX_S)
        while not done() and (rest := again - time.monotonic()) > 0:
            crew.turn(rest)


def _take_background(outcome: Outcome, background: Background) -> None:
    outcome.background = background.own_flow
    outcome.probes = machine.awake_as_idle(outcome.probes, background.awake) + background.probes()
    for name, problem in background.problems.items():
        _note(outcome, name, "problem", text=problem)


def _take_sampled(outcome: Outcome, sampler: Sampler) -> None:
    outcome.sampled, outcome.unsampled = sampler.document, sampler.problem
    if sampler.raw:
        outcome.files["sampler.json"] = sampler.raw
    outcome.probes += sampled.canary_probes(sampler.document)
    if sampler.document and outcome.window:
        length_ns = outcome.window.end_ns - outcome.window.steady_ns
        by_role, processors = sampled.cpu_by_role(outcome), sampled.processors(outcome) or 0
        window = [row for row in outcome.probes if row["at"] == "window"]
        outcome.probes += machine.attributed_probes(window, by_role, length_ns, processors)


def _window(outcome: Outcome, crew: Crew, sampler: Sampler, background: Background) -> None:
    timeline = outcome.order.cell.timeline
    publishers = {e.endpoint for e in outcome.order.cell.endpoints if e.kind == "publisher"}
    with _step(outcome, "collect_garbage"):
        gc.collect()
    with _quiet():
        start_ns = time.monotonic_ns() + START_LEAD_NS
        window = Window(start_ns, start_ns + timeline.warmup_ns, start_ns + timeline.end_ns)
        grace_ns = round(timeline.grace_s * 1e9)
        times = {"at_ns": window.start_ns, "steady_ns": window.steady_ns, "end_ns": window.end_ns, "grace_ns": grace_ns}
        sampler.start(outcome.order.cell.sampling, window.steady_ns, window.end_ns)
        background.window(window.steady_ns, window.end_ns)
        crew.ask_all("start", times, COMMAND_TIMEOUT_S)
        outcome.window = window
        outcome.started_late_ns = time.monotonic_ns() - window.start_ns
        crew.watch_until(window.steady_ns - TICKS_LEAD_NS)
        begin, own_begin_ns = machine.read_edge(), time.process_time_ns()
        crew.watch_until(window.end_ns)
        end, own_end_ns = machine.read_edge(), time.process_time_ns()
    outcome.steps_ns["start_lead"] = START_LEAD_NS
    outcome.own_cpu_ns = own_begin_ns, own_end_ns
    outcome.probes += machine.edge_probes(begin, end)

    def finished() -> bool:
        _take_events(outcome, crew)
        return publishers <= outcome.finished.keys()

    with _step(outcome, "finish"):
        late = lambda: [  # noqa: E731
            crew.workers[e.process]
            for e in outcome.order.cell.endpoints
            if e.kind == "publisher" and e.endpoint not in outcome.finished
        ]
        crew.wait(finished, timeline.grace_s + FINISH_MARGIN_S, "end of the schedule", late)


def _drain(outcome: Outcome, crew: Crew) -> None:
    """Readers wait for the last message of each of their writers; with nothing sent there is nothing to wait for."""
    last = {
        writer: event["last_seq"] for writer, event in outcome.finished.items() if event.get("last_seq") is not None
    }
    timeout_s = outcome.order.cell.timeline.drain_s
    requests = {}
    for process in outcome.order.cell.processes:
        readers = {
            e.endpoint: e.peers
            for e in outcome.order.cell.endpoints
            if e.process == process.name and e.kind == "subscription"
        }
        expect = {str(r): {str(w): last[w] for w in writers if w in last} for r, writers in readers.items()}
        if any(expect.values()):
            requests[process.name] = ("drain", {"expect": expect, "timeout_ns": round(timeout_s * 1e9)})
    replies = crew.ask(requests, timeout_s + COMMAND_TIMEOUT_S) if requests else {}
    outcome.drained = all(reply["complete"] for reply in replies.values())
    outcome.drain_end_ns = max((reply["time_ns"] for reply in replies.values()), default=time.monotonic_ns())


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """No garbage collection of ours: the processor belongs to the trial."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def _step(outcome: Outcome, name: str) -> Iterator[None]:
    begun = time.monotonic_ns()
    try:
        yield
    finally:
        outcome.steps_ns[name] = time.monotonic_ns() - begun


def _note(outcome: Outcome, process: str, event: str, time_ns: int | None = None, **fields: Any) -> None:
    now_ns = time.monotonic_ns() if time_ns is None else time_ns
    outcome.events.append({"time_ns": now_ns, "process": process, "event": event, **fields})


def _note_hellos(outcome: Outcome, crew: Crew) -> None:
    for process, worker in [*crew.workers.items(), *crew.daemons.items()]:
        hello = worker.hello or {}
        _note(outcome, process, "hello", value=worker.pid, text=json.dumps(hello))


def _take_events(outcome: Outcome, crew: Crew) -> None:
    for process, worker in [*crew.workers.items(), *crew.daemons.items()]:
        while worker.events:
            event = worker.events.popleft()
            kind, time_ns = event["event"], event.get("time_ns")
            if kind == "finished":
                outcome.finished[event["endpoint"]] = event
                counts = {
                    key: event[key] for key in ("scheduled", "sent", "failed", "never_sent", "last_seq") if key in event
                }
                _note(
                    outcome,
                    process,
                    kind,
                    time_ns,
                    endpoint=event["endpoint"],
                    value=event["sent"],
                    text=json.dumps(counts),
                )
            elif kind == "log":
                _note(outcome, process, kind, time_ns, text=f"{event.get('level')}: {event.get('message')}")
            else:
                _note(outcome, process, kind, time_ns, endpoint=event.get("endpoint"), writer=event.get("writer"))


def _take_logs(outcome: Outcome, crew: Crew) -> None:
    for process, worker in [*crew.workers.items(), *crew.daemons.items(), *crew.tools.items()]:
        for name, content in (("stdout", worker.stdout(LOG_TAIL_BYTES)), ("stderr", worker.stderr(LOG_TAIL_BYTES))):
            if content:
                outcome.files[f"{process}.{name}"] = content


def _take_records(outcome: Outcome, files: Mapping[str, int]) -> None:
    """After the workers are gone, so that nothing moves any more. What a killed worker had recorded is still there."""
    with _step(outcome, "records"):
        for process, fd in files.items():
            try:
                outcome.sections += records.read(fd, outcome.order.nonce)
            except RecordsDamaged as damaged:
                outcome.failure = outcome.failure or f"worker {process}: damaged its records file: {damaged}"
            finally:
                os.close(fd)


def _result(outcome: Outcome) -> TrialResult:
    attested: list[dict[str, Any]] = []
    cause = None
    if outcome.failure is None:
        attested = attestations(outcome)
        reasons = void_reasons(outcome, attested)
        status, reason = ("void", "; ".join(reasons)) if reasons else ("done", None)
        cause = "machine" if is_machines_fault(reasons) else None
    else:
        status, reason = "failed", outcome.failure
    for flag in machine.flags(outcome.probes):
        _note(outcome, "machine", "flag", outcome.window.end_ns if outcome.window else None, text=flag)
    begun = time.monotonic_ns()
    tables = trial_tables(outcome, status, reason, attested)
    outcome.steps_ns["tables"] = time.monotonic_ns() - begun
    return TrialResult(outcome.order, status, reason, tables, outcome.files, outcome.steps_ns, cause)
