"""Worker processes and the protocol with them (docs/formats/worker-protocol.md).

Decision: one selector over all processes of a trial. Commands go to all of them first and answers are gathered
afterwards, so that the fixed cost of a step is that of the slowest worker and not the sum. Whatever a worker does wrong
(dies, hangs, talks nonsense) becomes one exception, WorkerFailed, that carries what its report needs: signal or exit
code and the end of its stderr. A daemon is held to the same; a tool (the sampler) only loses what it would have told.
"""

import json
import os
import selectors
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from rmwbench.lab import messages
from rmwbench.lab.host import Exited, Host, HostBroken, Spawned, SpawnFailed

PROTOCOL = 1
CLOCK = "CLOCK_MONOTONIC"  # common to every process of a machine, and Python's time.monotonic_ns
LINE_BYTES = 1 << 20
STDERR_TAIL_BYTES = 2000
# After the end of file on the control socket: how long the exit status may take to arrive from the host's init.
STATUS_TIMEOUT_S = 1.0

CONTROL_FD, RECORDS_FD = 3, 4

Role = Literal["worker", "daemon", "tool"]

# A worker sees no variable of the user's shell: ROS_DOMAIN_ID, CYCLONEDDS_URI, FASTRTPS_DEFAULT_PROFILES_FILE and their
# like would change a middleware behind the profile's back.
INHERITED_VARIABLES = ("PATH", "LD_LIBRARY_PATH")


class WorkerFailed(Exception):
    """A worker cost its trial. `kind` is `crashed`, `timeout`, `protocol`, `refused` (it answered with an error) or
    `spawn`."""

    def __init__(
        self,
        kind: str,
        process: str,
        message: str,
        *,
        signal_name: str | None = None,
        exit_code: int | None = None,
        stderr_tail: str = "",
        role: Role = "worker",
    ):
        self.role = role
        self.kind, self.process, self.message = kind, process, message
        self.signal_name, self.exit_code, self.stderr_tail = signal_name, exit_code, stderr_tail
        super().__init__(self.reason())

    def reason(self) -> str:
        """One line for the trial's `reason`; the last line of stderr is often the whole story."""
        how = (
            f" ({self.signal_name})"
            if self.signal_name
            else f" (exit code {self.exit_code})"
            if self.exit_code is not None
            else ""
        )
        last = self.stderr_tail.strip().splitlines()[-1:]
        return f"{self.role} {self.process}: {self.message}{how}" + (f"; stderr ends: {last[0][:300]}" if last else "")


class WorkerProcess:
    """One process of a Crew: its identity, what it said, and what it still owes."""

    def __init__(self, process: str, control: socket.socket, stdout_fd: int, stderr_fd: int, role: Role = "worker"):
        self.process, self.role = process, role
        self.control = control
        self.stdout_fd, self.stderr_fd = stdout_fd, stderr_fd
        self.hello: dict[str, Any] | None = None
        self.pid: int | None = None  # as seen by the orchestrator
        self.inner_pid: int | None = None
        self.wait_status: int | None = None
        self.spawn_errno: int | None = None
        self.events: deque[dict[str, Any]] = deque()
        self.ended = False  # end of file on the control socket
        self.leaving = False  # `exit` was sent: the end of file is expected
        self.lost: WorkerFailed | None = None  # why a tool is out of use
        self.pending: dict[int, str] = {}  # id → command
        self.replies: dict[int, dict[str, Any]] = {}
        self._next_id = 1
        self._incoming = bytearray()
        self._outgoing = bytearray()

    def log(self, fd: int, tail_bytes: int | None = None) -> bytes:
        size = os.fstat(fd).st_size
        begin = max(0, size - tail_bytes) if tail_bytes is not None else 0
        return os.pread(fd, size - begin, begin)

    def stdout(self, tail_bytes: int | None = None) -> bytes:
        return self.log(self.stdout_fd, tail_bytes)

    def stderr(self, tail_bytes: int | None = None) -> bytes:
        return self.log(self.stderr_fd, tail_bytes)

    def failure(self, kind: str, message: str) -> WorkerFailed:
        """The exception for this worker, with what is known of its end."""
        signal_name = exit_code = None
        if self.wait_status is not None:
            if os.WIFSIGNALED(self.wait_status):
                signal_name = _signal_name(os.WTERMSIG(self.wait_status))
            else:
                exit_code = os.WEXITSTATUS(self.wait_status)
        tail = self.stderr(STDERR_TAIL_BYTES).decode(errors="replace")
        return WorkerFailed(
            kind,
            self.process,
            message,
            signal_name=signal_name,
            exit_code=exit_code,
            stderr_tail=tail,
            role=self.role,
        )

    def request(self, cmd: str, fields: Mapping[str, Any]) -> int:
        """Queues a command; the Crew sends it. Returns its id."""
        number = self._next_id
        self._next_id += 1
        self.pending[number] = cmd
        self.leaving |= cmd == "exit"
        self._outgoing += json.dumps({"id": number, "cmd": cmd, **fields}, separators=(",", ":")).encode() + b"\n"
        self.flush()
        return number

    @property
    def wants_to_write(self) -> bool:
        return bool(self._outgoing)

    def flush(self) -> None:
        try:
            while self._outgoing:
                del self._outgoing[: self.control.send(self._outgoing)]
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):
            self._outgoing.clear()  # the end of file, which tells more, is on its way

    def pump(self) -> None:
        """Reads what has arrived, but no more than a few megabytes, so that a worker that never stops talking cannot
        hold the time limits up. Raises WorkerFailed (`protocol`)."""
        for _ in range(64):
            try:
                data = self.control.recv(1 << 16)
            except BlockingIOError:
                return
            except ConnectionResetError:
                data = b""
            if not data:
                self.ended = True
                return
            searched = len(self._incoming)
            self._incoming += data
            begin = 0
            while (end := self._incoming.find(b"\n", max(begin, searched))) >= 0:
                self._line(bytes(self._incoming[begin:end]))
                begin = end + 1
            del self._incoming[:begin]
            if len(self._incoming) > LINE_BYTES:
                raise self.failure("protocol", f"sent a line longer than {LINE_BYTES} bytes")

    def _line(self, text: bytes) -> None:
        try:
            if len(text) >= LINE_BYTES:
                raise ValueError
            line = json.loads(text)
        except (ValueError, RecursionError):
            raise self.failure(
                "protocol", f"sent a line that is no JSON of at most {LINE_BYTES} bytes: {text[:120]!r}"
            ) from None
        if not isinstance(line, dict):
            raise self.failure("protocol", f"sent a line that is no JSON object: {text[:120]!r}")
        if "hello" in line:
            self._on_hello(line["hello"])
        elif self.hello is None:
            raise self.failure("protocol", f"spoke before its hello: {text[:120]!r}")
        elif "event" in line:
            if problem := messages.event_problem(line):
                raise self.failure("protocol", f"sent event {line['event']} without what belongs to it: {problem}")
            if messages.is_known_event(line):
                self.events.append(line)
        elif isinstance(line.get("id"), int):
            self._on_reply(line, text)
        else:
            raise self.failure("protocol", f"sent a line that is neither hello, reply nor event: {text[:120]!r}")

    def _on_hello(self, hello: Any) -> None:
        if self.hello is not None:
            raise self.failure("protocol", "said hello twice")
        if not isinstance(hello, dict) or hello.get("protocol") != PROTOCOL:
            found = hello.get("protocol") if isinstance(hello, dict) else hello
            raise self.failure(
                "protocol", f"speaks protocol {found!r}; this rmwbench speaks {PROTOCOL}: build the {self.role} again"
            )
        if self.role == "daemon" and hello.get("daemon") != self.process:
            raise self.failure("protocol", f"says that it is the daemon {hello.get('daemon')!r}")
        if hello.get("clock") != CLOCK:
            raise self.failure("protocol", f"stamps with clock {hello.get('clock')!r}, expected {CLOCK}")
        self.hello = hello

    def _on_reply(self, line: dict[str, Any], text: bytes) -> None:
        number = line["id"]
        if number not in self.pending:
            raise self.failure("protocol", f"answered id {number}, which was not asked or is answered already")
        if not isinstance(line.get("ok"), dict) and not isinstance(line.get("error"), dict):
            raise self.failure("protocol", f"answered with neither ok nor error: {text[:120]!r}")
        cmd = self.pending.pop(number)
        checked = self.role == "worker" and isinstance(line.get("ok"), dict)
        if checked and (problem := messages.reply_problem(cmd, line["ok"])):
            raise self.failure("protocol", f"answered {cmd} without what belongs to it: {problem}")
        self.replies[number] = line


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

    def spawn(self, process: str, executable: Path, records_fd: int, arguments: Sequence[str] = ()) -> WorkerProcess:
        """Starts a worker; `hello` of `wait_hello` tells whether it came up."""
        words = [*arguments, "--control-fd", str(CONTROL_FD), "--records-fd", str(RECORDS_FD)]
        return self._spawn("worker", process, executable, words, {RECORDS_FD: records_fd})

    def spawn_daemon(self, name: str, executable: Path) -> WorkerProcess:
        """Starts a daemon of a worker's middleware: the same program, and the same protocol."""
        words = ["--daemon", name, "--control-fd", str(CONTROL_FD)]
        return self._spawn("daemon", name, executable, words, {})

    def spawn_tool(self, name: str, executable: Path, document_fd: int) -> WorkerProcess:
        """Starts a tool of ours that writes its answer to a file. Whatever becomes of it, nothing is raised."""
        words = ["--control-fd", str(CONTROL_FD), "--document-fd", str(RECORDS_FD)]
        return self._spawn("tool", name, executable, words, {RECORDS_FD: document_fd})

    def _spawn(
        self, role: Role, process: str, executable: Path, words: list[str], files: Mapping[int, int]
    ) -> WorkerProcess:
        """Both output streams go to memory files: a pipe would have to be read during the window, or would block a
        talkative middleware."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.setblocking(False)
        logs = [os.memfd_create(f"rmwbench-{name}", os.MFD_CLOEXEC) for name in ("stdout", "stderr")]
        worker = WorkerProcess(process, ours, *logs, role)
        {"worker": self.workers, "daemon": self.daemons, "tool": self.tools}[role][process] = worker
        self._selector.register(ours, selectors.EVENT_READ, worker)
        environment = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
        environment |= {"HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8"}
        fds = {1: logs[0], 2: logs[1], CONTROL_FD: theirs.fileno(), **files}
        with theirs:
            self.host.spawn(_token(role, process), executable, words, fds, environment)
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
        ids = {asked[process]: asked[process].request(cmd, fields) for process, (cmd, fields) in requests.items()}
        what = "an answer to " + "/".join(sorted({cmd for cmd, _ in requests.values()}))
        owing = lambda: [worker for worker, number in ids.items() if number in worker.pending]  # noqa: E731
        self.wait(lambda: not owing(), timeout_s, what, owing)
        answers = {}
        for worker, number in ids.items():
            reply = worker.replies.pop(number)
            if error := reply.get("error"):
                cmd = requests[worker.process][0]
                verb = f"failed at {cmd}" if error.get("kind") == "failed" else f"refused {cmd} ({error.get('kind')})"
                text = f"{verb}: {error.get('object')}: {error.get('message')}"
                raise worker.failure("refused", text)
            answers[worker.process] = reply["ok"]
        return answers

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


def _token(role: Role, process: str) -> str:
    """What the host calls a process: names of workers are the suite's, and may be the same as a daemon's."""
    return f"{role} {process}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
