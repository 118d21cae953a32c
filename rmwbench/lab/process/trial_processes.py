"""All processes of a trial, and the protocol with them.

One selector watches all of them. A step first sends its commands to all processes and then gathers
the answers, so that its fixed cost is that of the slowest worker and not the sum.
"""

import itertools
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from rmwbench.lab.host import (
    Configured,
    Exited,
    Host,
    HostBroken,
    Hosts,
    RemoteHost,
    SharedHost,
    Spawned,
    SpawnFailed,
)
from rmwbench.lab.host.host import Container, NetlinkMessage, Scheduling, Write
from rmwbench.lab.middleware import tool
from rmwbench.lab.process.worker import (
    CONTROL_FD,
    RECORDS_FD,
    STATUS_TIMEOUT_S,
    Command,
    Role,
    WorkerFailed,
    WorkerProcess,
)

NOTHING: Mapping[str, str] = {}
LOCK_MEMORY = "RMWBENCH_LOCK_MEMORY"
"""The variable by which a worker locks its memory (native/harness/src/worker.rs)."""
TURN_S = 1.0
"""The longest turn of a wait, which then looks at the clock."""
STALL_S = 1.0
"""If a turn takes this much longer than planned, this process was stopped (Ctrl-Z, a machine that
stood still). No work of ours in a turn takes this time."""
NETWORK_HOST = "/network"
"""The name of the network's host, which no host of a suite can have."""


@dataclass(frozen=True, kw_only=True)
class Additions:
    """What a worker gets besides its control socket and its records: further arguments and
    descriptors (by their numbers in the worker), the library that counts allocations, a container,
    a scheduling."""

    arguments: Sequence[str] = ()
    files: Mapping[int, int] = field(default_factory=dict)
    count_allocations: bool = False
    container: Container | None = None
    scheduling: Scheduling | None = None


NO_ADDITIONS = Additions()


@dataclass(frozen=True)
class _Start:
    """The start of a process. `program` is the name that it gives itself, if another."""

    executable: Path
    arguments: Sequence[str]
    files: Mapping[int, int]
    environment: Mapping[str, str] = field(default_factory=dict)
    program: str | None = None
    additions: Additions = NO_ADDITIONS


class TrialProcesses:
    """The processes of one trial in its hosts: workers, daemons of their middleware, tools of ours,
    and the network between several hosts. Use it as a context manager; its end closes the
    descriptors, not the hosts. A process for which no host is named is on the first one."""

    def __init__(self, hosts: Host | Hosts):
        self.hosts = Hosts.of({hosts.name: hosts}) if isinstance(hosts, Host) else hosts
        self.workers: dict[str, WorkerProcess] = {}
        self.daemons: dict[str, WorkerProcess] = {}
        self.tools: dict[str, WorkerProcess] = {}
        self.network: WorkerProcess | None = None
        self.configured: dict[str, Configured] = {}
        """The results of `configure`, by their tokens."""
        self._request_numbers = itertools.count(1)
        self._programs: dict[tuple[int, str], Program] = {}
        self._selector = selectors.DefaultSelector()
        for host in self.hosts.all:
            self._selector.register(host, selectors.EVENT_READ, host)

    def __enter__(self) -> "TrialProcesses":
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        for worker in self._all_processes:
            worker.control.close()
            os.close(worker.stdout_fd)
            os.close(worker.stderr_fd)

    @property
    def _all_processes(self) -> list[WorkerProcess]:
        network = [self.network] if self.network else []
        return [*self.workers.values(), *self.daemons.values(), *self.tools.values(), *network]

    def spawn(
        self,
        process: str,
        executable: Path,
        records_fd: int,
        *,
        environment: Mapping[str, str] = NOTHING,
        host: str | None = None,
        additions: Additions = NO_ADDITIONS,
    ) -> WorkerProcess:
        """Starts a worker; `wait_hello` waits for it. `environment` are the variables that its
        description demands besides those of every process. Raises UserError where allocations
        cannot be counted."""
        arguments = [
            "--control-fd",
            str(CONTROL_FD),
            "--records-fd",
            str(RECORDS_FD),
            *additions.arguments,
        ]
        files = {RECORDS_FD: records_fd, **additions.files}
        if additions.count_allocations:
            files[tool.ALLOCATIONS_FD] = tool.allocations_library()
            environment = {**environment, **tool.ALLOCATIONS_ENVIRONMENT}
        if additions.scheduling is not None and additions.scheduling.locked:
            environment = {**environment, LOCK_MEMORY: "1"}
        start = _Start(executable, arguments, files, environment, additions=additions)
        return self._spawn("worker", process, start, self._host(host))

    def spawn_daemon(
        self,
        name: str,
        executable: Path,
        environment: Mapping[str, str] = NOTHING,
        label: str | None = None,
        host: str | None = None,
    ) -> WorkerProcess:
        """Starts a daemon of a worker's middleware, which has the same program and the same
        protocol. `label` is its name here, where two daemons have the same name."""
        arguments = ["--daemon", name, "--control-fd", str(CONTROL_FD)]
        start = _Start(executable, arguments, {}, environment, name)
        return self._spawn("daemon", label or name, start, self._host(host))

    def spawn_tool(
        self, name: str, executable: Path, document_fd: int, host: str | None = None
    ) -> WorkerProcess:
        """Starts a tool of ours that writes its answer to a file. Its failure raises nothing."""
        arguments = ["--control-fd", str(CONTROL_FD), "--document-fd", str(RECORDS_FD)]
        start = _Start(executable, arguments, {RECORDS_FD: document_fd})
        return self._spawn("tool", name, start, self._host(host))

    def spawn_network(
        self, name: str, executable: Path, document_fd: int, files: Mapping[int, int]
    ) -> WorkerProcess:
        """Starts the network, whose end raises. The lowest of `files` is its log."""
        arguments = ["--control-fd", str(CONTROL_FD), "--document-fd", str(RECORDS_FD)]
        arguments += ["--log-fd", str(min(files))]
        start = _Start(executable, arguments, {RECORDS_FD: document_fd, **files})
        return self._spawn("network", name, start, self._host(NETWORK_HOST))

    def _host(self, name: str | None) -> Host | RemoteHost:
        if name == NETWORK_HOST:
            assert self.hosts.network is not None
            return self.hosts.network
        return self.hosts.first if name is None else self.hosts[name]

    def _spawn(
        self, role: Role, process: str, start: _Start, host: Host | RemoteHost
    ) -> WorkerProcess:
        """Spawns a process. Both output streams go to memory files: a pipe would have to be read
        during the window, or would block a middleware that writes much."""
        own_end, process_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        own_end.setblocking(False)
        out, err = (
            os.memfd_create(f"rmwbench-{name}", os.MFD_CLOEXEC) for name in ("stdout", "stderr")
        )
        worker = WorkerProcess(process, own_end, out, err, role, start.program, host=host)
        if role == "network":
            self.network = worker
        else:
            {"worker": self.workers, "daemon": self.daemons, "tool": self.tools}[role][process] = (
                worker
            )
        self._selector.register(own_end, selectors.EVENT_READ, worker)
        fds = {1: out, 2: err, CONTROL_FD: process_end.fileno(), **start.files}
        with process_end:
            if isinstance(host, SharedHost):
                host.hold(own_end.fileno())
            host.spawn(
                _token(role, process),
                start.executable,
                start.arguments,
                fds,
                start.environment,
                start.additions.container,
                start.additions.scheduling,
            )
        return worker

    def configure(
        self,
        host: str,
        change: str,
        messages: Sequence[NetlinkMessage] = (),
        writes: Sequence[Write] = (),
        reads: Sequence[str] = (),
    ) -> str:
        """Requests changes of a host's network. Returns the token of their result."""
        token = f"{host.lstrip('/')}: {change} {next(self._request_numbers)}"
        self._host(host).configure(token, messages, writes, reads)
        return token

    def await_configured(self, tokens: Iterable[str], timeout_s: float) -> list[Configured]:
        """Waits for the results of `configure`, in the order of the tokens. Raises WorkerFailed
        where a worker ends meanwhile, and HostBroken where a host does not answer."""
        tokens = list(tokens)
        if not self.turn_until(lambda: self.configured.keys() >= set(tokens), timeout_s):
            missing = next(token for token in tokens if token not in self.configured)
            raise HostBroken(f"no answer within {timeout_s:g} s from host {missing}")
        return [self.configured.pop(token) for token in tokens]

    def run_programs(
        self,
        programs: Mapping[str, tuple[str, Sequence[str]]],
        timeout_s: float,
        shared: int | None = None,
    ) -> dict[str, "ProgramResult"]:
        """Runs a Python program (source, arguments) in each of these hosts at the same time;
        `shared` is a file that all programs have as descriptor 5. Raises as `await_configured`
        does."""
        running: dict[str, Program] = {}
        outputs: dict[str, int] = {}
        try:
            for name, (source, arguments) in programs.items():
                outputs[name] = os.memfd_create("rmwbench-program", os.MFD_CLOEXEC)
                files = {RECORDS_FD: outputs[name]}
                files |= {} if shared is None else {RECORDS_FD + 1: shared}
                running[name] = self.start_program(name, source, arguments, files, name)
            self.turn_until(lambda: all(program.ended for program in running.values()), timeout_s)
            return {
                name: ProgramResult(program.wait_status, _content(outputs[name]))
                for name, program in running.items()
            }
        finally:
            for fd in outputs.values():
                os.close(fd)

    def start_program(
        self,
        name: str,
        source: str,
        arguments: Sequence[str],
        files: Mapping[int, int],
        host: str | None = None,
    ) -> "Program":
        """Starts a Python program and does not wait; it ends with its host at the latest."""
        on_host, token = self._host(host), f"program {name}"
        program = self._programs[id(on_host), token] = Program()
        on_host.interpret(token, source, arguments, files)
        return program

    def start_executable(
        self,
        name: str,
        executable: Path,
        arguments: Sequence[str],
        files: Mapping[int, int],
        environment: Mapping[str, str] = NOTHING,
        host: str | None = None,
    ) -> "Program":
        """Starts an executable without the protocol. Raises UserError if it cannot be opened."""
        on_host, token = self._host(host), f"program {name}"
        program = self._programs[id(on_host), token] = Program()
        on_host.spawn(token, executable, arguments, files, environment)
        return program

    def wait_hello(self, timeout_s: float) -> None:
        """Waits until every process but the tools has said hello."""
        workers = [worker for worker in self._all_processes if worker.role != "tool"]
        self.wait(
            lambda: all(worker.hello for worker in workers),
            timeout_s,
            "hello",
            lambda: [worker for worker in workers if not worker.hello],
        )

    def ask(
        self, requests: Mapping[str, tuple[str, Mapping[str, Any]]], timeout_s: float
    ) -> dict[str, dict[str, Any]]:
        """Sends a command to each named process, then gathers the answers: process → its `ok`.
        Raises WorkerFailed; an `error` answer is of kind `refused`."""
        return self.gather(
            [self.post(process, cmd, fields) for process, (cmd, fields) in requests.items()],
            timeout_s,
        )

    def ask_daemon(
        self, name: str, cmd: str, fields: Mapping[str, Any], timeout_s: float
    ) -> dict[str, Any]:
        """Sends a command to a daemon, and returns its `ok`. Raises as `ask` does."""
        return self._ask_one(self.daemons[name], cmd, fields, timeout_s)

    def ask_network(self, cmd: str, fields: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Sends a command to the network's process, and returns its `ok`. Raises as `ask` does."""
        assert self.network is not None
        return self._ask_one(self.network, cmd, fields, timeout_s)

    def _ask_one(
        self, worker: WorkerProcess, cmd: str, fields: Mapping[str, Any], timeout_s: float
    ) -> dict[str, Any]:
        command = worker.request(cmd, fields)
        self.await_answers([command], timeout_s)
        return command.take()

    def kill_daemons(self, *, host: str | None = None, first_only: bool = False) -> list[str]:
        """Kills all daemons, those on one host, or only the first. Returns their names."""
        on_host = None if host is None else self._host(host)
        living = [
            name
            for name, daemon in self.daemons.items()
            if not daemon.ended
            and daemon.inner_pid is not None
            and (on_host is None or daemon.host is on_host)
        ]
        killed = living[:1] if first_only else living
        for name in killed:
            self.daemons[name].leaving = True
            self.daemons[name].host.signal(self.daemons[name].inner_pid, signal.SIGKILL)
        return killed

    def kill(self, process: str) -> None:
        """Kills a worker alone. Its end is then no failure, and its open commands are dropped."""
        worker = self.workers[process]
        worker.killed = worker.leaving = True
        worker.pending.clear()
        if worker.inner_pid is not None:
            worker.host.signal(worker.inner_pid, signal.SIGKILL)

    @property
    def living(self) -> dict[str, WorkerProcess]:
        """The workers that were not killed."""
        return {name: worker for name, worker in self.workers.items() if not worker.killed}

    def signal(self, process: str, number: signal.Signals) -> None:
        """Sends a signal to a worker."""
        pid = self.workers[process].inner_pid
        if pid is not None:
            self.workers[process].host.signal(pid, number)

    def post(self, process: str, cmd: str, fields: Mapping[str, Any]) -> Command:
        """Sends a command to a worker and does not wait."""
        return self.workers[process].request(cmd, fields)

    def post_daemon(self, name: str, cmd: str, fields: Mapping[str, Any]) -> Command:
        """Sends a command to a daemon and does not wait."""
        return self.daemons[name].request(cmd, fields)

    def gather(
        self,
        commands: Iterable[Command],
        timeout_s: float,
        take: Callable[[Command], Any] = Command.take,
    ) -> dict[str, Any]:
        """Waits for the answers to commands: process → its `ok`, or the result of `take`. Raises
        WorkerFailed; an `error` answer is of kind `refused`."""
        commands = list(commands)
        self.await_answers(commands, timeout_s)
        return {command.worker.process: take(command) for command in commands}

    def await_answers(self, commands: Iterable[Command], timeout_s: float) -> None:
        """Waits until all commands are answered, whatever the answers say."""
        commands = list(commands)
        subject = "answer to " + "/".join(sorted({command.cmd for command in commands}))

        def unanswered() -> list[WorkerProcess]:
            return [command.worker for command in commands if not command.answered]

        self.wait(lambda: not unanswered(), timeout_s, subject, unanswered)

    def ask_all(
        self, cmd: str, fields: Mapping[str, Any], timeout_s: float
    ) -> dict[str, dict[str, Any]]:
        """Sends a command to every living worker, and gathers the answers as `ask` does."""
        return self.ask({process: (cmd, fields) for process in self.living}, timeout_s)

    def wait(
        self,
        is_done: Callable[[], bool],
        timeout_s: float,
        subject: str,
        late_workers: Callable[[], list[WorkerProcess]] | None = None,
    ) -> None:
        """Waits until `is_done()`. Raises WorkerFailed when a worker ends, breaks the protocol, or
        the time is up (kind `timeout`, naming the first of `late_workers()`)."""
        if not self.turn_until(is_done, timeout_s):
            workers = late_workers() if late_workers else []
            workers = workers or [*self.workers.values(), *self.daemons.values()]
            raise workers[0].failure("timeout", f"no {subject} within {timeout_s:.4g} s")

    def turn_until(self, is_done: Callable[[], bool], timeout_s: float) -> bool:
        """Takes turns until `is_done()`, and returns whether that came in time.
        Time in which this process did not run is no worker's fault: answers that arrived meanwhile
        count, and the deadline moves by as much. Raises WorkerFailed as `turn` does."""
        deadline = time.monotonic() + timeout_s
        while not is_done():
            rest_s = deadline - time.monotonic()
            if rest_s <= 0:
                self.turn(0)
                return is_done()
            begun, longest_s = time.monotonic(), min(rest_s, TURN_S)
            self.turn(longest_s)
            over_s = time.monotonic() - begun - longest_s
            deadline += over_s if over_s > STALL_S else 0.0
        return True

    def watch_until(self, deadline_ns: int) -> None:
        """Sleeps until a time (CLOCK_MONOTONIC), and handles messages and ends of processes."""
        while (rest_ns := deadline_ns - time.monotonic_ns()) > 0:
            self.turn(rest_ns / 1e9)

    def turn(self, timeout_s: float) -> None:
        """Takes one round of input and output. Raises WorkerFailed at an unexpected end."""
        for worker in self._all_processes:
            if not worker.ended:
                events = selectors.EVENT_READ | (
                    selectors.EVENT_WRITE if worker.wants_to_write else 0
                )
                if self._selector.get_key(worker.control).events != events:
                    self._selector.modify(worker.control, events, worker)
        for key, mask in self._selector.select(timeout_s):
            if not isinstance(key.data, WorkerProcess):
                # All reports are taken, because the PID of a process is needed at its hello.
                while self._receive_report(key.data):
                    pass
            else:
                if mask & selectors.EVENT_WRITE:
                    key.data.flush()
                if mask & selectors.EVENT_READ:
                    self._read(key.data)
        for worker in self._all_processes:
            # A child that inherited the socket may keep it open after the worker's own end.
            if worker.wait_status is not None and not worker.ended:
                self._read(worker)
                if not worker.ended:
                    worker.ended = True
                    self._on_end(worker)

    def _read(self, worker: WorkerProcess) -> None:
        """Reads the messages or the end of a process. A tool with a fault is not read again."""
        try:
            worker.pump()
            if worker.ended:
                self._on_end(worker)
        except WorkerFailed as failed:
            if worker.role != "tool":
                raise
            worker.lost = failed
            if not worker.ended:
                worker.ended = True
                self._selector.unregister(worker.control)

    def _on_end(self, worker: WorkerProcess) -> None:
        self._selector.unregister(worker.control)
        if worker.role == "tool":
            worker.lost = worker.failure("crashed", "ended before its answer")
        elif not worker.leaving or worker.pending:
            raise self._end_failure(worker)

    def _end_failure(self, worker: WorkerProcess) -> WorkerFailed:
        """The reason for a closed control socket; waits for the exit status."""
        deadline = time.monotonic() + STATUS_TIMEOUT_S
        while (
            worker.wait_status is None
            and worker.spawn_errno is None
            and (rest := deadline - time.monotonic()) > 0
        ):
            if not self._receive_report(worker.host, rest):
                break
        if worker.spawn_errno is not None:
            return worker.failure("spawn", f"cannot be executed: {os.strerror(worker.spawn_errno)}")
        if worker.wait_status is None:
            return worker.failure("protocol", "closed its control socket but still runs")
        return worker.failure("crashed", "ended" if worker.hello else "ended before its hello")

    def _receive_report(self, host: Host | RemoteHost, timeout_s: float = 0.0) -> bool:
        """Takes a report of a host's init, and returns whether there was one in time."""
        host_workers = [worker for worker in self._all_processes if worker.host is host]
        try:
            report = host.receive(timeout_s)
        except HostBroken as broken:
            if not host_workers:
                raise
            raise host_workers[0].failure("host", f"lost its host: {broken}") from None
        if report is None:
            return False
        processes: dict[str, WorkerProcess | Program] = {
            token: program
            for (owner, token), program in self._programs.items()
            if owner == id(host)
        }
        processes |= {_token(worker.role, worker.process): worker for worker in host_workers}
        match report:
            case Configured(token=token):
                self.configured[token] = report
            case Spawned(token, inner_pid, pid):
                processes[token].inner_pid, processes[token].pid = inner_pid, pid
            case SpawnFailed(token, number):
                processes[token].spawn_errno = number
            case Exited(inner_pid, status):
                for process in processes.values():
                    # The PID of a process that has ended may be used again.
                    if process.inner_pid == inner_pid and process.wait_status is None:
                        process.wait_status = status
        return True


@dataclass
class Program:
    """A process that does not speak the protocol, with its PIDs and its end as for a worker."""

    inner_pid: int | None = None
    pid: int | None = None
    wait_status: int | None = None
    spawn_errno: int | None = None

    @property
    def ended(self) -> bool:
        return self.wait_status is not None or self.spawn_errno is not None


class ProgramResult(NamedTuple):
    """`wait_status` is None without an end in time; `output` was written to descriptor 4."""

    wait_status: int | None
    output: bytes


def _content(fd: int) -> bytes:
    return os.pread(fd, os.fstat(fd).st_size, 0)


def _token(role: Role, process: str) -> str:
    """The host's name for a process: a worker and a daemon may have the same name."""
    return f"{role} {process}"
