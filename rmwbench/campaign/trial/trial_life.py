"""The life of a trial (docs/formats/worker-protocol.md): host, workers, barrier, window, drain,
collection, end.

A trial raises no exception for an error of a worker or its host: this trial alone is then `failed`,
or its cell `unsupported`. A network between hosts that differs from the suite's makes the trial
`void`. Every step has its own time limit (`timeouts.py`).
"""

import contextlib
import itertools
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from rmwbench.beside import Broken, from_features
from rmwbench.campaign.plan.profile import (
    Workers,
    domain_id,
    needed_daemons,
    setups,
)
from rmwbench.campaign.record import sampler_rows
from rmwbench.campaign.record.tables import trial_tables
from rmwbench.campaign.trial import (
    beside_trial,
    machines,
    record_flags,
    spawn,
    timeouts,
    trial_network,
)
from rmwbench.campaign.trial.attest.path import attestations
from rmwbench.campaign.trial.barrier import open_and_match
from rmwbench.campaign.trial.beside_trial import BesidePrograms
from rmwbench.campaign.trial.leftovers import take_leftovers
from rmwbench.campaign.trial.outcome import (
    Failure,
    Order,
    TimeFacts,
    TrialOutcome,
    host_failure,
    note_flag,
    note_hello,
    step,
    take_events,
    worker_failure,
)
from rmwbench.campaign.trial.record_flags import delivered_nothing, note_held_messages
from rmwbench.campaign.trial.spawn import Spawner
from rmwbench.campaign.trial.void import (
    excused_reasons,
    is_machines_fault,
    machine_reasons,
    void_reasons,
)
from rmwbench.campaign.trial.window import drain, run_window
from rmwbench.codes import Code, FailedBy, Reason, joined
from rmwbench.errors import UserError
from rmwbench.lab import machine
from rmwbench.lab.camera.frame_source import FrameSources, SourceBroken
from rmwbench.lab.clock import HostClocks
from rmwbench.lab.host import Host, HostBroken, Hosts
from rmwbench.lab.host.hosts import SHARED
from rmwbench.lab.middleware import Worker
from rmwbench.lab.network import NetworkBroken
from rmwbench.lab.process import records
from rmwbench.lab.process.records import RecordsDamaged, SectionPlan
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.process.worker import WorkerFailed
from rmwbench.lab.profile_file.host_setup import set_up, written_files
from rmwbench.lab.sampling.loads import Background, CrossTrafficLoad
from rmwbench.lab.sampling.sampler import Samplers
from rmwbench.suite.cells import Cell

LOG_TAIL_BYTES = 1 << 20


@dataclass(frozen=True)
class TrialResult:
    """The result of a trial. `status` is `done`, `failed`, `void`, or `unsupported` if a worker
    said that its middleware does not support the cell: then the cell is not run again and the trial
    does not count. `steps_ns` has the time of each step. `cause` is `machine` for a trial that the
    machine alone made void, `no match` for one that failed because its endpoints did not find each
    other. `reasons` are those of `reason` with their codes; `failed_by` is at fault for a failed
    trial."""

    order: Order
    status: str
    reason: str | None
    tables: dict[str, pa.Table]
    files: dict[str, bytes]
    steps_ns: dict[str, int]
    cause: str | None = None
    reasons: tuple[Reason, ...] = ()
    failed_by: FailedBy | None = None


def hosts_ahead(name: str, cell: Cell) -> Hosts | None:
    """Return the hosts of a later trial, so that it need not wait for them; None if they cannot be
    made now. The trial then tries again, and fails if it cannot."""
    try:
        return _new_hosts(name, cell)
    except HostBroken:
        return None


def _new_hosts(name: str, cell: Cell) -> Hosts:
    """Return new hosts. Raises HostBroken."""
    try:
        return Hosts(name, cell.all_hosts, beside=cell.devices_beside)
    except OSError as error:
        raise HostBroken("start its init", error.errno) from None


def run_trial(order: Order, workers: Workers | Worker, hosts: Hosts | None = None) -> TrialResult:
    """Run one trial with the workers of its middlewares, or with one worker for all. `hosts` that
    were made beforehand are closed here in any case."""
    if isinstance(workers, Worker):
        workers = dict.fromkeys(order.cell.middlewares, workers)
    outcome = TrialOutcome(
        order, TimeFacts(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), time.monotonic_ns())
    )
    files: dict[str, int] = {}
    try:
        with step(outcome, "host"):
            if hosts is None and order.cell.real is not None:
                raise ValueError(f"rmwbench.cluster makes the hosts of cell {order.cell.number}")
            hosts = hosts or _new_hosts(f"trial-{order.trial}", order.cell)
            hosts.wait_ready()
        outcome.network.shared_host = hosts.first.kind == SHARED
        for process in order.cell.processes:
            plan = [SectionPlan(*section) for section in order.cell.sections(process.name)]
            files[process.name] = records.make(plan, order.nonce)
        _run_in(outcome, workers, hosts, files)
    except FAILURES as failed:
        _take_failure(outcome, failed)
    finally:
        if hosts is not None:
            hosts.close()
        list(from_features("trial", "tidy", order))
        _take_records(outcome, files)
        note_held_messages(outcome)
    outcome.times.ended_ns = time.monotonic_ns()
    return _result(outcome)


FAILURES = (
    NetworkBroken,
    WorkerFailed,
    spawn.NotGrantedError,
    HostBroken,
    SourceBroken,
    Broken,
    UserError,
)


def _take_failure(outcome: TrialOutcome, failed: Exception) -> None:
    """Note one of FAILURES in the outcome."""
    match failed:
        case NetworkBroken():
            outcome.network.broken = trial_network.broken_reason(failed)
        case WorkerFailed():
            if failed.role == "network":
                outcome.network.broken = trial_network.broken_reason(failed)
            outcome.failure = worker_failure(failed, outcome.barrier)
            outcome.unsupported = failed.unsupported
        case spawn.NotGrantedError():
            outcome.unsupported = str(failed)
        case HostBroken():
            outcome.failure = host_failure(Code.HOST, f"host: {failed}")
        case SourceBroken():
            outcome.failure = host_failure(Code.SOURCE, str(failed))
        case Broken():
            outcome.failure = host_failure(failed.code, str(failed))
        case _:
            outcome.failure = host_failure(Code.ORCHESTRATOR, str(failed))


def _run_in(
    outcome: TrialOutcome, workers: Workers, hosts: Hosts, files: Mapping[str, int]
) -> None:
    """Run the processes of a trial in its hosts, until the hosts are closed."""
    cell = outcome.order.cell
    with (
        TrialProcesses(hosts) as processes,
        trial_network.network_between(outcome, processes, hosts) as network,
    ):
        background = Background(processes, cell.conditions, cell.background_hosts)
        try:
            traffic = CrossTrafficLoad(processes, cell.links)
            with step(outcome, "profile_file"):
                set_up(processes, setups(cell))
            trial_network.network_up(outcome, processes, network)
            _daemons(outcome, processes, workers)
            frames = FrameSources(processes, cell)
            with (
                contextlib.closing(frames),
                contextlib.closing(Samplers(processes, cell.hosts)) as sampler,
                contextlib.ExitStack() as stack,
            ):
                features = map(
                    stack.enter_context, from_features("trial", "running", outcome, processes)
                )
                programs = BesidePrograms(
                    sampler=sampler,
                    background=background,
                    traffic=traffic,
                    frames=frames,
                    network=network,
                    features=tuple(feature for feature in features if feature is not None),
                )
                _live(outcome, processes, workers, files, programs)
        finally:
            trial_network.network_end(outcome, network)
            _take_written(outcome, processes)
            with step(outcome, "kill"):
                hosts.close()
            # the logs of another machine are here only after its processes have ended
            _take_logs(outcome, processes)


def _daemons(outcome: TrialOutcome, processes: TrialProcesses, workers: Workers) -> None:
    """Start the daemons that must serve before any worker opens, one after the other."""
    cell = outcome.order.cell
    for daemon in needed_daemons(
        cell, workers, outcome.order.nonce, domain_id(cell, processes.hosts)
    ):
        with step(outcome, f"daemon.{daemon.label}"):
            spawn.spawn_daemon(processes, cell, daemon, daemon.label)
            processes.wait_hello(timeouts.HELLO_TIMEOUT_S)
            processes.ask_daemon(daemon.label, "open", daemon.fields, timeouts.COMMAND_TIMEOUT_S)


def _live(
    outcome: TrialOutcome,
    processes: TrialProcesses,
    workers: Workers,
    files: Mapping[str, int],
    programs: BesidePrograms,
) -> None:
    """Run the workers of a trial from their start until their counts are collected."""
    cell, sampler = outcome.order.cell, programs.sampler
    spawner = Spawner(outcome, processes, workers, files, programs.frames)
    clocks = _start(outcome, processes, spawner, programs)
    try:
        open_and_match(outcome, processes, workers)
        for feature in programs.features:
            feature.start(outcome, processes, workers, sampler)
        with step(outcome, "probe"):
            outcome.probes += machine.idle_probe()
            outcome.probes += machines.idle_probes(processes)
        programs.disturb(outcome)
        changes = run_window(outcome, processes, workers, programs, spawner, files)
        with step(outcome, "drain"):
            drain(outcome, processes, changes, files)
        beside_trial.take_sources(outcome, programs.frames)
        programs.end_disturbance(outcome)
        clocks.read()
        clocks.check()
        _collect(outcome, processes, sampler)
        for feature in programs.features:
            feature.take(outcome)
        if cell.sampling.leftovers:
            with step(outcome, "leftovers"):
                take_leftovers(outcome, processes)
    finally:
        take_events(outcome, processes)


def _start(
    outcome: TrialOutcome, processes: TrialProcesses, spawner: Spawner, programs: BesidePrograms
) -> HostClocks:
    """Start the workers, the sampler and the sources of frames; return the clocks of their
    hosts."""
    cell, sampler = outcome.order.cell, programs.sampler
    with step(outcome, "spawn"):
        for process in cell.processes:
            if process.follows is None:
                spawner.spawn(process.name)
        sampler.spawn()
        processes.wait_hello(
            timeouts.limit_of_all(timeouts.HELLO_TIMEOUT_S, len(processes.workers))
        )
    everyone = [*processes.workers.items(), *processes.daemons.items()]
    for name, worker in everyone:
        note_hello(outcome, name, worker)
    spawn.check_scheduling(cell, processes)
    host_of_process = {process.name: process.host for process in cell.processes}
    outcome.times.clocks = clocks = HostClocks(processes, host_of_process)
    clocks.begin()
    machines.note_network(outcome, processes)
    for host in cell.hosts:
        host_processes = [(name, p) for name, p in everyone if p.host is processes.hosts[host]]
        sampler.watch([(name, p.inner_pid, p.role) for name, p in host_processes], host)
    beside_trial.start_sources(outcome, programs.frames, sampler)
    return clocks


def _collect(outcome: TrialOutcome, processes: TrialProcesses, sampler: Samplers) -> None:
    """Collect the counts of workers and samplers over the window."""
    with step(outcome, "collect"):
        limit_s = timeouts.limit_of_all(timeouts.COMMAND_TIMEOUT_S, len(processes.workers))
        sampler.ask()
        asked_ns = time.monotonic_ns()
        outcome.sampling.collected = processes.ask_all("collect", {}, limit_s)
        outcome.sampling.collecting_ns = (asked_ns, time.monotonic_ns())
    with step(outcome, "sampler"):
        sampler.read(limit_s)
        for process in outcome.order.cell.processes:
            if process.follows is not None and process.name in processes.workers:
                sampler.name_successor(
                    process.name, processes.workers[process.name].inner_pid, process.host
                )
        _take_sampled(outcome, sampler, processes)


def _take_written(outcome: TrialOutcome, processes: TrialProcesses) -> None:
    """Take the files that the user's own profile files had written, before the hosts close."""
    cell = outcome.order.cell
    for name, setup in setups(cell).items():
        host = processes.hosts[name]
        if isinstance(host, Host):
            for file, content in written_files(host, setup, LOG_TAIL_BYTES).items():
                outcome.files[file if len(cell.hosts) == 1 else f"{name}.{file}"] = content


def _take_sampled(outcome: TrialOutcome, sampler: Samplers, processes: TrialProcesses) -> None:
    outcome.sampling.sampled, outcome.sampling.unsampled = sampler.document, sampler.problem
    outcome.sampling.sampled_at = sampler.by_host
    outcome.files |= sampler.files
    outcome.probes += sampler_rows.canary_probes(outcome.sampling.sampled)
    if outcome.order.cell.real is not None:
        outcome.probes += machines.sampled_probes(outcome, processes)
    elif outcome.sampling.sampled and outcome.times.window:
        length_ns = outcome.times.window.end_ns - outcome.times.window.steady_ns
        by_role = sampler_rows.cpu_by_role(outcome)
        window = [row for row in outcome.probes if row["at"] == "window"]
        outcome.probes += sampler_rows.valid_probes(
            outcome.sampling.sampled, machine.attributed_probes(window, by_role, length_ns)
        )


def _take_logs(outcome: TrialOutcome, processes: TrialProcesses) -> None:
    network = [(processes.network.process, processes.network)] if processes.network else []
    for process, worker in [
        *processes.workers.items(),
        *processes.daemons.items(),
        *processes.tools.items(),
        *network,
    ]:
        for name, content in (
            ("stdout", worker.stdout(LOG_TAIL_BYTES)),
            ("stderr", worker.stderr(LOG_TAIL_BYTES)),
        ):
            if content:
                outcome.files[f"{process}.{name}"] = content


def _take_records(outcome: TrialOutcome, files: Mapping[str, int]) -> None:
    """Take the records after the workers have ended. A killed worker's records are still there."""
    with step(outcome, "records"):
        for process, fd in files.items():
            try:
                outcome.sections += records.read(fd, outcome.order.nonce)
            except RecordsDamaged as damaged:
                text = f"worker {process}: damaged its records file: {damaged}"
                by_worker = Failure(Reason(Code.RECORDS, text), FailedBy.WORKER)
                outcome.failure = outcome.failure or by_worker
            finally:
                os.close(fd)


@dataclass(frozen=True)
class TrialJudgement:
    status: str
    reasons: tuple[Reason, ...] = ()
    failed_by: FailedBy | None = None
    attested: tuple[dict[str, Any], ...] = ()

    @property
    def cause(self) -> str | None:
        if self.status == "void" and (self.failed_by or is_machines_fault(self.reasons)):
            return "machine"
        no_match = self.status == "failed" and self.reasons[0].code == Code.NO_MATCH
        return "no match" if no_match else None


def judge(outcome: TrialOutcome) -> TrialJudgement:
    """Return the judgement of a trial. A machine that breaks a rule voids it in any case, unless
    the user keeps trials that a noisy machine spoilt."""
    if outcome.network.broken is not None:
        return TrialJudgement("void", (outcome.network.broken,))
    failure = outcome.failure
    if failure is None:
        attested = attestations(outcome)
        if reasons := void_reasons(outcome, attested):
            return TrialJudgement("void", tuple(reasons), attested=tuple(attested))
        return TrialJudgement("done", attested=tuple(attested))
    spoilt = machine_reasons(outcome)
    if spoilt or failure.by is FailedBy.MACHINE:
        return TrialJudgement("void", (*spoilt, failure.reason), FailedBy.MACHINE)
    return TrialJudgement("failed", (failure.reason,), failure.by)


def _result(outcome: TrialOutcome) -> TrialResult:
    order = outcome.order
    if outcome.unsupported is not None:
        return TrialResult(
            order, "unsupported", outcome.unsupported, {}, outcome.files, outcome.times.steps_ns
        )
    judgement = judge(outcome)
    end_ns = outcome.times.window.end_ns if outcome.times.window else None
    flags = (
        machines.reasons_by_machine(outcome.probes, machine.flags),
        excused_reasons(outcome),
        beside_trial.source_flags(outcome),
        trial_network.network_flags(outcome),
        record_flags.late_by_sibling(outcome),
        delivered_nothing(outcome),
    )
    for flag in itertools.chain.from_iterable(flags):
        note_flag(outcome, flag, end_ns)
    begun = time.monotonic_ns()
    reason = joined(judgement.reasons) or None
    tables = trial_tables(outcome, judgement.status, reason, list(judgement.attested))
    outcome.times.steps_ns["tables"] = time.monotonic_ns() - begun
    return TrialResult(
        order,
        judgement.status,
        reason,
        tables,
        outcome.files,
        outcome.times.steps_ns,
        judgement.cause,
        judgement.reasons,
        judgement.failed_by,
    )
