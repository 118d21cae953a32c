"""Changes within the steady state, each at its time and without waiting: nodes join and leave,
processes and daemons are killed, readers freeze, networks change.

A process whose nodes are all late opens its session when the first of them joins, like a node that
is started then. A node that joins begins to send at once, matched or not; an endpoint that finds no
match is an event and no failure.
"""

import signal
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rmwbench.beside import from_features
from rmwbench.campaign.plan.profile import (
    NeededDaemon,
    Workers,
    domain_id,
    needed_daemons,
)
from rmwbench.campaign.trial import timeouts
from rmwbench.campaign.trial.barrier import fields_of, take_created, take_matched, take_opened
from rmwbench.campaign.trial.outcome import TrialOutcome, TrialWindow, note, note_hello
from rmwbench.campaign.trial.record_flags import KILLED
from rmwbench.campaign.trial.spawn import Spawner, spawn_daemon
from rmwbench.campaign.trial.trial_network import note_change
from rmwbench.lab import clock
from rmwbench.lab.network import Emulation
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.process.worker import Command, WorkerFailed
from rmwbench.suite.cells import Cell, Change
from rmwbench.suite.timeline import to_ns

Take = Callable[[Command], object]
"""The function that takes an answer."""


def start_fields(window: TrialWindow, cell: Cell) -> dict[str, Any]:
    """Return the fields of a `start`; `window` is on the worker's clock."""
    return {
        "at_ns": window.start_ns,
        "steady_ns": window.steady_ns,
        "end_ns": window.end_ns,
        "grace_ns": round(cell.timeline.grace_s * 1e9),
        "schedule": cell.workload.schedule,
    }


def take_started(outcome: TrialOutcome, replies: Mapping[str, Mapping[str, Any]]) -> None:
    """Note which threads send, if that makes a difference. `replies` maps process → its answer to
    `start`. An older worker has one thread for all, and does not say so."""
    sharing, granted = outcome.order.cell.sharing, outcome.endpoints.granted
    for endpoint in outcome.order.cell.endpoints if sharing else ():
        number, reply = endpoint.endpoint, replies.get(endpoint.process)
        if reply is not None and number in sharing and number in granted:
            granted[number]["schedule"] = reply.get("schedule", "shared")


class Changes:
    """The changes of one trial."""

    def __init__(
        self,
        outcome: TrialOutcome,
        processes: TrialProcesses,
        workers: Workers,
        window: TrialWindow,
        network: Emulation | None = None,
        spawner: Spawner | None = None,
    ):
        self._network, self._spawner = network, spawner
        self._outcome, self._processes = outcome, processes
        self._workers, self._window = workers, window
        self._due = deque(outcome.order.cell.changes)
        self._endpoints = {e.endpoint: e for e in outcome.order.cell.endpoints}
        self._unopened = {p.name for p in outcome.order.cell.processes if p.opens_s is not None}
        self._successors = {p.name for p in outcome.order.cell.processes if p.follows is not None}
        self._may_be_absent = set[str]().union(
            *from_features("cell", "may_be_absent", outcome.order.cell)
        )
        self._absent: set[str] = set()
        self._waiting_successors, self._starting_successors = self._successors.copy(), set[str]()
        workload = outcome.order.cell.workload
        self._steps = [
            (window.steady_ns + to_ns(at_s), step)
            for at_s, step in (
                (workload.daemons_end_s, self._kill_daemons),
                (workload.daemons_return_s, self._return_daemons),
                (workload.readers_freeze_s, self._freeze),
            )
            if at_s is not None
        ]
        """The times of the steps that do not concern single nodes, in ns."""
        self._killed = False
        self._returning: dict[str, NeededDaemon] = {}
        self._frozen: list[str] = []
        self._dead: list[str] = []
        clocks = outcome.times.clocks
        self._clocks = clocks if clocks is not None and clocks.foreign else None
        self._reading_ns = self._next_reading_ns(window.steady_ns)
        self._commands: list[tuple[Command, Take]] = []
        self.absent_endpoints: set[int] = set()
        """Endpoints that have left and answer nothing any more."""

    def watch_until(self, deadline_ns: int) -> None:
        """Sleep until the time (CLOCK_MONOTONIC); make the changes that are due and read the
        workers' messages. Raises WorkerFailed."""
        while (now_ns := time.monotonic_ns()) < deadline_ns:
            while self._due and self._at_ns(self._due[0]) <= now_ns:
                change = self._due.popleft()
                (self._join if change.joins else self._kill if change.killed else self._leave)(
                    change
                )
            steps = [step for at_ns, step in self._steps if at_ns <= now_ns]
            self._steps = [(at_ns, step) for at_ns, step in self._steps if at_ns > now_ns]
            for step in steps:
                step()
            if (
                self._clocks is not None
                and self._reading_ns is not None
                and self._reading_ns <= now_ns
            ):
                self._clocks.read_in_window()
                self._reading_ns = self._next_reading_ns(now_ns)
            if self._network is not None:
                self._network.apply_due(now_ns)
            next_ns = min(
                deadline_ns,
                self._at_ns(self._due[0]) if self._due else deadline_ns,
                *(at_ns for at_ns, _ in self._steps),
                self._reading_ns or deadline_ns,
                (self._network and self._network.due_ns) or deadline_ns,
            )
            self._processes.turn(max(0, next_ns - time.monotonic_ns()) / 1e9)
            self._hear()
        for process in self._frozen:
            if process in self._processes.living:
                self._processes.signal(process, signal.SIGCONT)
                note(self._outcome, process, "thawed")

    def _next_reading_ns(self, last_ns: int) -> int | None:
        """Return when the hosts' clocks are read again; None if they are ours."""
        if self._clocks is None:
            return None
        quarter_ns = (self._window.end_ns - self._window.steady_ns) // 4
        return last_ns + max(clock.IN_WINDOW_NS, quarter_ns)

    def _kill_daemons(self) -> None:
        """Kill the daemons that the workload names."""
        cell = self._outcome.order.cell
        daemons = cell.workload.daemons_end
        self._killed = True
        self._dead = self._processes.kill_daemons(
            host=cell.daemons_host if daemons == "daemons_host" else None,
            first_only=daemons == "first",
        )
        for name in self._dead:
            note(self._outcome, name, "killed", text="daemons_end_s")

    def _return_daemons(self) -> None:
        """Start the killed daemons again, in the same host and with their old files."""
        cell, nonce = self._outcome.order.cell, self._outcome.order.nonce
        for daemon in needed_daemons(
            cell, self._workers, nonce, domain_id(cell, self._processes.hosts)
        ):
            if daemon.label in self._dead:
                label = f"{daemon.label} again"
                spawn_daemon(self._processes, cell, daemon, label)
                self._returning[label] = daemon

    def _open_returned(self) -> None:
        for label in [name for name in self._returning if self._processes.daemons[name].hello]:
            fields = self._returning.pop(label).fields
            self._commands.append(
                (self._processes.post_daemon(label, "open", fields), self._returned)
            )

    def _returned(self, command: Command) -> None:
        command.take()
        note(self._outcome, command.worker.process, "returned", command.answered_ns)

    def _freeze(self) -> None:
        """Stop the processes that only read, as a debugger or a starved machine does: their peers
        see a reader that takes nothing."""
        writing = {e.process for e in self._endpoints.values() if e.writes}
        for process in self._processes.living:
            if process not in writing:
                self._processes.signal(process, signal.SIGSTOP)
                self._frozen.append(process)
                note(self._outcome, process, "frozen")

    def settle(self, timeout_s: float) -> None:
        """Wait for the outstanding answers. Raises WorkerFailed."""
        try:
            self._processes.await_answers([command for command, _ in self._commands], timeout_s)
        except WorkerFailed as failed:
            unanswered = [command for command, _ in self._commands if not command.answered]
            # An endpoint within a publish call cannot be destroyed (`held_calls.py`).
            late = {command.worker.process for command in unanswered if command.cmd != "destroy"}
            if failed.kind != "timeout" or not late <= self._successors | self._may_be_absent:
                raise
            self._commands = [
                (command, take) for command, take in self._commands if command.cmd != "destroy"
            ]
            for process in late:
                self._processes.kill(process)
                self._commands = [
                    (command, take)
                    for command, take in self._commands
                    if command.worker.process != process
                ]
                self._not_joined(process, time.monotonic_ns(), failed.message)
        self._hear()
        if self._network is not None:
            self._network.settle(partial(note_change, self._outcome))

    def _at_ns(self, change: Change) -> int:
        return self._window.steady_ns + to_ns(change.at_s)

    def _post(self, process: str, cmd: str, fields: dict[str, Any], take: Take) -> None:
        self._commands.append((self._processes.post(process, cmd, fields), take))

    def _hear(self) -> None:
        self._open_returned()
        for process in [
            name for name in self._starting_successors if self._processes.workers[name].hello
        ]:
            self._starting_successors.remove(process)
            note_hello(self._outcome, process, self._processes.workers[process])
        if self._network is not None:
            self._network.hear(partial(note_change, self._outcome))
        answered = [(command, take) for command, take in self._commands if command.answered]
        self._commands = [item for item in self._commands if item not in answered]
        for command, take in answered:
            try:
                take(command)
            except WorkerFailed as failed:
                if (
                    not self._killed
                    and command.worker.process not in self._successors | self._may_be_absent
                ):
                    raise
                # Without its daemon, or beside the files of a killed process, a node may not come
                # up. This is a result: the ledger has the messages that it missed.
                self._not_joined(command.worker.process, command.answered_ns, failed.message)

    def _not_joined(self, process: str, time_ns: int, why: str) -> None:
        if process in self._absent:
            return  # its first refusal has the reason; the others follow from it
        self._absent.add(process)
        note(self._outcome, process, "not_joined", time_ns, text=why)
        own_endpoints = {n for n, e in self._endpoints.items() if e.process == process}
        self._outcome.endpoints.not_joined |= own_endpoints - self._outcome.endpoints.granted.keys()
        self.absent_endpoints |= self._outcome.endpoints.not_joined

    def _join(self, change: Change) -> None:
        outcome, process = self._outcome, change.process
        note(outcome, process, "joining", text=change.node)
        if process in self._waiting_successors:
            self._start_successor(process)
        if process in self._unopened:
            self._unopened.remove(process)
            fields = fields_of(outcome, self._processes, self._workers, process)
            self._post(process, "open", fields, lambda command: take_opened(outcome, command))
        nodes = outcome.order.cell.create_command(
            process, outcome.order.seed, change.endpoints, change.node
        )
        self._post(
            process, "create", {"nodes": nodes}, lambda command: self._created(command, change)
        )
        # A running schedule owns its publisher, which then cannot answer `match`.
        readers = [
            e for e in change.endpoints if self._endpoints[e].kind in ("subscription", "service")
        ]
        if readers:
            rest_ns = max(0, self._window.end_ns - time.monotonic_ns())
            fields = {"timeout_ns": rest_ns, "endpoints": readers}
            self._post(process, "match", fields, lambda command: self._matched(command, readers))

    def _start_successor(self, process: str) -> None:
        """Start a process in the place of a killed one, in the same host and with its old files."""
        assert self._spawner is not None
        self._waiting_successors.remove(process)
        self._starting_successors.add(process)
        self._spawner.spawn(process)
        # Its account of the window begins now; its schedules start once they are created.
        own_window = self._outcome.times.windows[process]
        self._post(
            process,
            "start",
            {**start_fields(own_window, self._outcome.order.cell), "endpoints": []},
            Command.take,
        )

    def _created(self, command: Command, change: Change) -> None:
        take_created(self._outcome, command)
        senders = [e for e in change.endpoints if self._endpoints[e].writes]
        at_ns = time.monotonic_ns() + timeouts.JOIN_LEAD_NS
        if not senders or at_ns >= self._window.end_ns:
            return
        outcome, process = self._outcome, change.process
        times = TrialWindow(at_ns, at_ns, self._window.end_ns).on(outcome.clock_of(process))
        outcome.endpoints.started |= set(senders)
        outcome.endpoints.starts |= dict.fromkeys(senders, times)
        fields = {**start_fields(times, outcome.order.cell), "endpoints": senders}
        self._post(
            process,
            "start",
            fields,
            lambda command: take_started(outcome, {process: command.take()}),
        )

    def _matched(self, command: Command, readers: list[int]) -> None:
        try:
            take_matched(self._outcome, command)
        except WorkerFailed as failed:
            time_ns, process, text = command.answered_ns, command.worker.process, failed.message
            for number in readers:
                note(self._outcome, process, "unmatched", time_ns, endpoint=number, text=text)

    def _kill(self, change: Change) -> None:
        """Kill the node's process with SIGKILL and drop the commands that it has not answered. A
        node that it had not created by then has not joined."""
        process = change.process
        worker = self._processes.workers[process]
        if not worker.killed:
            self._processes.kill(process)
            note(self._outcome, process, "killed", value=worker.pid, text=KILLED)
            unanswered = [command.cmd for command, _ in self._commands if command.worker is worker]
            self._commands = [
                (command, take) for command, take in self._commands if command.worker is not worker
            ]
            if "create" in unanswered:
                self._not_joined(process, time.monotonic_ns(), "it was killed before it was up")
        self.absent_endpoints |= set(change.endpoints)
        self._outcome.endpoints.started -= set(change.endpoints)

    def _leave(self, change: Change) -> None:
        note(self._outcome, change.process, "leaving", text=change.node)
        self._post(
            change.process,
            "destroy",
            {"nodes": [change.node]},
            lambda command: self._destroyed(command, change),
        )

    def _destroyed(self, command: Command, change: Change) -> None:
        time_ns = command.answered_ns
        command.take()
        self.absent_endpoints |= set(change.endpoints)
        for endpoint in change.endpoints:
            note(self._outcome, change.process, "destroyed", time_ns, endpoint=endpoint)
