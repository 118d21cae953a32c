"""All processes of a trial, and the protocol with them.

Decision: one selector over all of them. Commands go to all first and answers are gathered afterwards, so that the fixed
cost of a step is that of the slowest worker and not the sum.
"""

import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmwbench.lab import allocations
from rmwbench.lab.host import Exited, Host, HostBroken, Spawned, SpawnFailed
from rmwbench.lab.worker import CONTROL_FD, RECORDS_FD, STATUS_TIMEOUT_S, Role, WorkerFailed, WorkerProcess

# A worker sees no variable of the user's shell: ROS_DOMAIN_ID, CYCLONEDDS_URI, FASTRTPS_DEFAULT_PROFILES_FILE and their
# like would change a middleware behind the profile's back. What it cannot do without, its description names.
INHERITED_VARIABLES = ("PATH", "LD_LIBRARY_PATH")
NOTHING: Mapping[str, str] = {}


class Crew:
    """The processes of one trial in one host: workers, daemons of their middleware, tools of ours. Use as a context
    manager; leaving it closes the descriptors, not the host."""

    def __init__(self, host: Host):
        self.host = host
        self.workers: dict[str, WorkerProcess] = {}
        self.daemons: dict[str, WorkerProcess] = {}
        self.tools: dict[str, WorkerProcess] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(host, selectors.EVENT_READ, None)

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        for worker in self._everyone:
            worker.control.close()
            os.close(worker.stdout_fd)
            os.close(worker.stderr_fd)

    @property
    def _everyone(self) -> list[WorkerProcess]:
        return [*self.workers.values(), *self.daemons.values(), *self.tools.values()]

    def spawn(
        self,
        process: str,
        executable: Path,
        records_fd: int,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] = NOTHING,
        *,
        count_allocations: bool = False,
    ) -> WorkerProcess:
        """Starts a worker; `hello` of `wait_hello` tells whether it came up. `environment` is what its description asks
        for beyond what every process gets. Raises UserError where allocations cannot be counted."""
        words = [*arguments, "--control-fd", str(CONTROL_FD), "--records-fd", str(RECORDS_FD)]
        files = {RECORDS_FD: records_fd}
        if count_allocations:
            files[allocations.FD] = allocations.library()
            environment = {**environment, **allocations.ENVIRONMENT}
        return self._spawn("worker", process, executable, words, files, environment)

    def spawn_daemon(
        self, name: str, executable: Path, environment: Mapping[str, str] = NOTHING, label: str | None = None
    ) -> WorkerProcess:
        """Starts a daemon of a worker's middleware: the same program, and the same protocol. `label` is what it is
        called here, where two have one name."""
        words = ["--daemon", name, "--control-fd", str(CONTROL_FD)]
        return self._spawn("daemon", label or name, executable, words, {}, environment, name)

    def spawn_tool(self, name: str, executable: Path, document_fd: int) -> WorkerProcess:
        """Starts a tool of ours that writes its answer to a file. Whatever becomes of it, nothing is raised."""
        words = ["--control-fd", str(CONTROL_FD), "--document-fd", str(RECORDS_FD)]
        return self._spawn("tool", name, executable, words, {RECORDS_FD: document_fd})

    def _spawn(
        self,
        role: Role,
        process: str,
        executable: Path,
        words: list[str],
        files: Mapping[int, int],
        environment: Mapping[str, str] = NOTHING,
        program: str | None = None,
    ) -> WorkerProcess:
        """Both output streams go to memory files: a pipe would have to be read during the window, or would block a
        talkative middleware."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.setblocking(False)
        logs = [os.memfd_create(f"rmwbench-{name}", os.MFD_CLOEXEC) for name in ("stdout", "stderr")]
        worker = WorkerProcess(process, ours, *logs, role, program)
        {"worker": self.workers, "daemon": self.daemons, "tool": self.tools}[role][process] = worker
        self._selector.register(ours, selectors.EVENT_READ, worker)
        fds = {1: logs[0], 2: logs[1], CONTROL_FD: theirs.fileno(), **files}
        with theirs:
            self.host.spawn(_token(role, process), executable, words, fds, _environment(environment))
        return worker

    def wait_hello(self, timeout_s: float) -> None:
        """Until every worker and daemon said hello; a tool may take its time."""
        workers = [*self.workers.values(), *self.daemons.values()]
        self.wait(
            lambda: all(w.hello for w in workers), timeout_s, "hello", lambda: [w for w in workers if not w.hello]
        )

    def ask(self, requests: Mapping[str, tuple[str, Mapping[str, Any]]], timeout_s: float) -> dict[str, dict[str, Any]]:
        """Sends one command to each named process, then gathers the answers: process → its `ok`.

        Raises WorkerFailed; an `error` answer is of kind `refused`.
        """
        return self._ask(self.workers, requests, timeout_s)

    def ask_daemon(self, name: str, cmd: str, fields: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """One command to one daemon: its `ok`. Raises as `ask` does."""
        return self._ask(self.daemons, {name: (cmd, fields)}, timeout_s)[name]

    def _ask(
        self,
        asked: Mapping[str, WorkerProcess],
        requests: Mapping[str, tuple[str, Mapping[str, Any]]],
        timeout_s: float,
    ) -> dict[str, dict[str, Any]]:
        posted = [self._post(asked[process], cmd, fields) for process, (cmd, fields) in requests.items()]
        return self.gather(posted, timeout_s)

    def kill_daemons(self) -> list[str]:
        """Kills every daemon at once, as a crash does; their ends are then no failure. Their names."""
        killed = [name for name, daemon in self.daemons.items() if not daemon.ended and daemon.inner_pid is not None]
        for name in killed:
            self.daemons[name].leaving = True
            self.host.signal(self.daemons[name].inner_pid, int(signal.SIGKILL))
        return killed

    def post(self, process: str, cmd: str, fields: Mapping[str, Any]) -> "Posted":
        """Sends a command to a worker and does not wait."""
        return self._post(self.workers[process], cmd, fields)

    def _post(self, worker: WorkerProcess, cmd: str, fields: Mapping[str, Any]) -> "Posted":
        return Posted(worker, cmd, worker.request(cmd, fields))

    def gather(
        self,
        posted: "Iterable[Posted]",
        timeout_s: float,
        take: "Callable[[Posted], Any] | None" = None,
    ) -> dict[str, Any]:
        """The answers to what was posted: process → its `ok`, or what `take` makes of it. Raises WorkerFailed; an
        `error` answer is of kind `refused`."""
        posted = list(posted)
        self.await_answers(posted, timeout_s)
        return {one.worker.process: take(one) if take else one.take() for one in posted}

    def await_answers(self, posted: "Iterable[Posted]", timeout_s: float) -> None:
        """Until all are answered, whatever the answers say."""
        posted = list(posted)
        what = "an answer to " + "/".join(sorted({one.cmd for one in posted}))
        owing = lambda: [one.worker for one in posted if not one.answered]  # noqa: E731
        self.wait(lambda: not owing(), timeout_s, what, owing)

    def ask_all(self, cmd: str, fields: Mapping[str, Any], timeout_s: float) -> dict[str, dict[str, Any]]:
        """The same command for every worker."""
        return self.ask({process: (cmd, fields) for process in self.workers}, timeout_s)

    def wait(
        self,
        done: Callable[[], bool],
        timeout_s: float,
        what: str,
        owing: Callable[[], list[WorkerProcess]] | None = None,
    ) -> None:
        """Until `done()`. Raises WorkerFailed when a worker ends, breaks the protocol, or the time is up (kind
        `timeout`, naming the first of `owing()`)."""
        deadline = time.monotonic() + timeout_s
        while not done():
            rest = deadline - time.monotonic()
            if rest <= 0:
                late = (owing() if owing else []) or [*self.workers.values(), *self.daemons.values()]
                raise late[0].failure("timeout", f"no {what} within {timeout_s:.3g} s")
            self.turn(rest)

    def watch_until(self, deadline_ns: int) -> None:
        """Sleeps until the time (CLOCK_MONOTONIC), awake only for what workers say or for their end."""
        while (rest_ns := deadline_ns - time.monotonic_ns()) > 0:
            self.turn(rest_ns / 1e9)

    def turn(self, timeout_s: float) -> None:
        """One round of input and output. Raises WorkerFailed at the end of a worker or daemon that was not told to
        exit."""
        for worker in self._everyone:
            if not worker.ended:
                wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.wants_to_write else 0)
                if self._selector.get_key(worker.control).events != wanted:
                    self._selector.modify(worker.control, wanted, worker)
        for key, mask in self._selector.select(timeout_s):
            if key.data is None:
                # All of it: who says hello has been reported before, and its PID is needed by then.
                while self._hear_host():
                    pass
            else:
                self._hear_worker(key.data, mask)
        for worker in self._everyone:
            # A child that inherited the socket may hold it open after the worker's own end.
            if worker.wait_status is not None and not worker.ended:
                self._take(worker)
                if not worker.ended:
                    worker.ended = True
                    self._on_end(worker)

    def _hear_worker(self, worker: WorkerProcess, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            worker.flush()
        if mask & selectors.EVENT_READ:
            self._take(worker)

    def _take(self, worker: WorkerProcess) -> None:
        """What it said, and whether it ended. A tool that breaks the protocol is not listened to any more."""
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
            raise self._ended(worker)

    def _ended(self, worker: WorkerProcess) -> WorkerFailed:
        """Why the control socket closed: waits for the exit status, which travels another way."""
        deadline = time.monotonic() + STATUS_TIMEOUT_S
        while worker.wait_status is None and worker.spawn_errno is None and (rest := deadline - time.monotonic()) > 0:
            if not self._hear_host(rest):
                break
        if worker.spawn_errno is not None:
            return worker.failure("spawn", f"cannot be executed: {os.strerror(worker.spawn_errno)}")
        if worker.wait_status is None:
            return worker.failure("protocol", "closed its control socket but still runs")
        return worker.failure("crashed", "ended" if worker.hello else "ended before its hello")

    def _hear_host(self, timeout_s: float = 0.0) -> bool:
        """Takes one report of the host's init; False when there is none in time."""
        try:
            report = self.host.receive(timeout_s)
        except HostBroken as broken:
            raise self._everyone[0].failure("crashed", f"lost its host: {broken}") from None
        by_token = {_token(worker.role, worker.process): worker for worker in self._everyone}
        match report:
            case None:
                return False
            case Spawned(token, inner_pid, pid):
                by_token[token].inner_pid, by_token[token].pid = inner_pid, pid
            case SpawnFailed(token, number):
                by_token[token].spawn_errno = number
            case Exited(inner_pid, status):
                for worker in by_token.values():
                    if worker.inner_pid == inner_pid:
                        worker.wait_status = status
        return True


@dataclass(frozen=True)
class Posted:
    """A command on its way."""

    worker: WorkerProcess
    cmd: str
    number: int

    @property
    def answered(self) -> bool:
        return self.number in self.worker.replies

    @property
    def answered_ns(self) -> int:
        """When its answer was read."""
        return self.worker.replied_ns[self.number]

    def take(self) -> dict[str, Any]:
        """Its `ok`. Raises WorkerFailed (`refused`) for an `error`."""
        reply = self.worker.replies.pop(self.number)
        error = reply.get("error")
        if not error:
            return reply["ok"]
        failed = error.get("kind") == "failed"
        verb = f"failed at {self.cmd}" if failed else f"refused {self.cmd} ({error.get('kind')})"
        text = f"{verb}: {error.get('object')}: {error.get('message')}"
        raise self.worker.failure("refused", text, error, self.cmd)


def _environment(asked: Mapping[str, str]) -> dict[str, str]:
    found = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
    return found | {"HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8"} | dict(asked)


def _token(role: Role, process: str) -> str:
    """What the host calls a process: names of workers are the suite's, and may be the same as a daemon's."""
    return f"{role} {process}"
