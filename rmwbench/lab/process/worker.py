"""A worker process and the protocol with it (docs/formats/worker-protocol.md); `trial_processes.py`
has all processes of a trial.

Any failure of a worker (it dies, hangs or breaks the protocol) becomes one exception, WorkerFailed,
with the signal or exit code and the end of stderr. The same holds for a daemon and for the network
between hosts; the failure of a tool (the sampler) only costs its answer.

The fields that each reply and event must have are checked on arrival, so that a mistake of a worker
is reported as that worker's, and not as an exception later. Further fields are ignored.
"""

import json
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from rmwbench.errors import UserError
from rmwbench.lab.host import connection
from rmwbench.lab.middleware.find import PROTOCOL

CLOCK = "CLOCK_MONOTONIC"
"""The clock of a worker's stamps, on its own machine; clock.py compares it with ours."""
LINE_BYTES = 1 << 20
REQUEST_BYTES = 64 << 20
"""The longest command that a worker takes (MAX_LINE_BYTES of native/harness/src/protocol.rs)."""
STDERR_TAIL_BYTES = 2000
STATUS_TIMEOUT_S = 1.0
"""The time limit for the exit status after the end of file on the control socket."""

CONTROL_FD, RECORDS_FD = 3, 4

Role = Literal["worker", "daemon", "tool", "network"]


@dataclass(eq=False, repr=False)
class WorkerFailed(Exception):
    """The failure of a worker, which spoils its trial. `kind` is `crashed`, `timeout`, `protocol`,
    `refused` (it answered with an error, which is `error`, with the command as `cmd`), `spawn`,
    `clock` (the clock of its host was stepped) or `host` (its host is lost)."""

    kind: str
    process: str
    message: str
    _: KW_ONLY
    wait_status: int | None = None
    stderr_tail: str = ""
    role: Role = "worker"
    error: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        super().__init__(self.reason())

    @property
    def signal_name(self) -> str | None:
        """The signal that ended the worker; None where none did, or none is known."""
        if self.wait_status is None or not os.WIFSIGNALED(self.wait_status):
            return None
        return _signal_name(os.WTERMSIG(self.wait_status))

    @property
    def unsupported(self) -> str | None:
        """The request that the worker called impossible with its middleware, and its reason; None
        for any other failure, and where the worker does not know a command."""
        if (
            self.error is None
            or self.error.get("kind") != "unsupported"
            or self.error.get("cmd") not in ("open", "create")
        ):
            return None
        return f"{self.error.get('object')}: {self.error.get('message')}"

    def reason(self) -> str:
        """One line for the trial's `reason`, with the last line of stderr."""
        ending = ""
        if self.wait_status is not None:
            ending = f" ({self.signal_name or f'exit code {os.WEXITSTATUS(self.wait_status)}'})"
        last_line = self.stderr_tail.strip().splitlines()[-1:]
        return f"{self.role} {self.process}: {self.message}{ending}" + (
            f"; stderr ends: {last_line[0][:300]}" if last_line else ""
        )


class WorkerProcess:
    """A process of a trial: its identity, its messages, and the commands that it has yet to answer.
    `program` is the name that a daemon gives itself, which two daemons of a trial may share."""

    def __init__(
        self,
        process: str,
        control: socket.socket,
        stdout_fd: int,
        stderr_fd: int,
        role: Role = "worker",
        program: str | None = None,
        *,
        host: Any = None,
    ):
        self.host = host
        self.process, self.role, self.program = process, role, program or process
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
        self.killed = False  # by us, since the suite demands it
        self.lost: WorkerFailed | None = None  # why a tool is no longer used
        self.pending: dict[int, Command] = {}  # those without an answer, by their ids
        self._next_id = 1
        self._read_ns = 0  # when the bytes that are being parsed were read
        self._incoming = bytearray()
        self._outgoing = bytearray()

    def stdout(self, tail_bytes: int) -> bytes:
        """The end of the process's standard output, at most `tail_bytes` of it."""
        return file_tail(self.stdout_fd, tail_bytes)

    def stderr(self, tail_bytes: int) -> bytes:
        """The end of the process's error output, at most `tail_bytes` of it."""
        return file_tail(self.stderr_fd, tail_bytes)

    def failure(
        self,
        kind: str,
        message: str,
        error: Mapping[str, Any] | None = None,
    ) -> WorkerFailed:
        """The exception for this worker, with all that is known of its end."""
        tail = self.stderr(STDERR_TAIL_BYTES).decode(errors="replace")
        return WorkerFailed(
            kind,
            self.process,
            message,
            wait_status=self.wait_status,
            stderr_tail=tail,
            role=self.role,
            error=error,
        )

    def request(self, cmd: str, fields: Mapping[str, Any]) -> "Command":
        """Sends a command; `TrialProcesses` sends the rest where the socket does not take all. Raises
        UserError for a command that is too long for a worker."""
        number = self._next_id
        line = (
            json.dumps({"id": number, "cmd": cmd, **fields}, separators=(",", ":")).encode() + b"\n"
        )
        if len(line) > REQUEST_BYTES:
            raise UserError(
                f"the command `{cmd}` is too long for a worker",
                where=f"{self.role} {self.process}",
                expected=f"at most {REQUEST_BYTES} bytes",
                actual=f"{len(line)} bytes",
                fix="give the process fewer endpoints, or shorter traces of arrivals",
            )
        self._next_id += 1
        self.leaving |= cmd == "exit"
        self._outgoing += line
        command = self.pending[number] = Command(self, cmd, time.monotonic_ns())
        self.flush()
        return command

    @property
    def wants_to_write(self) -> bool:
        return bool(self._outgoing)

    def flush(self) -> None:
        connection.send_queued(self.control, self._outgoing)

    def pump(self) -> None:
        """Reads the messages that have arrived, but no more than a few megabytes, so that a worker
        that sends without end cannot delay the time limits. Raises WorkerFailed (`protocol`)."""
        for _ in range(64):
            data = connection.read_arrived(self.control)
            if data is None:
                return
            self._read_ns = time.monotonic_ns()
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
                "protocol",
                f"sent a line that is not JSON of at most {LINE_BYTES} bytes: {text[:120]!r}",
            ) from None
        if not isinstance(line, dict):
            raise self.failure("protocol", f"sent a line that is not a JSON object: {text[:120]!r}")
        if "hello" in line:
            self._on_hello(line["hello"])
        elif self.hello is None:
            raise self.failure("protocol", f"sent a line before its hello: {text[:120]!r}")
        elif "event" in line:
            self._on_event(line)
        elif isinstance(line.get("id"), int):
            self._on_reply(line, text)
        else:
            raise self.failure(
                "protocol", f"sent a line that is neither hello, reply nor event: {text[:120]!r}"
            )

    def _on_hello(self, hello: Any) -> None:
        if self.hello is not None:
            raise self.failure("protocol", "said hello twice")
        if not isinstance(hello, dict) or hello.get("protocol") != PROTOCOL:
            protocol = hello.get("protocol") if isinstance(hello, dict) else hello
            raise self.failure(
                "protocol",
                f"speaks protocol {protocol!r}; this rmwbench speaks {PROTOCOL}: build the "
                f"{self.role} again",
            )
        if self.role == "daemon" and hello.get("daemon") != self.program:
            raise self.failure("protocol", f"says that it is the daemon {hello.get('daemon')!r}")
        if hello.get("clock") != CLOCK:
            raise self.failure(
                "protocol", f"stamps with clock {hello.get('clock')!r}, expected {CLOCK}"
            )
        self.hello = hello

    def _on_event(self, event: dict[str, Any]) -> None:
        model = event_model(event)
        if model is None:
            return
        if problem := message_problem(model, event):
            raise self.failure("protocol", f"sent a malformed event {event['event']}: {problem}")
        self.events.append(event)

    def _on_reply(self, line: dict[str, Any], text: bytes) -> None:
        number = line["id"]
        if self.killed and number not in self.pending:
            return  # it was on its way when `kill` dropped its command
        if number not in self.pending:
            raise self.failure("protocol", f"answered id {number}, which has no open command")
        if not isinstance(line.get("ok"), dict) and not isinstance(line.get("error"), dict):
            raise self.failure("protocol", f"answered with neither ok nor error: {text[:120]!r}")
        command = self.pending.pop(number)
        model = REPLIES.get(command.cmd)
        checked = self.role == "worker" and isinstance(line.get("ok"), dict)
        if checked and model is not None and (problem := message_problem(model, line["ok"])):
            raise self.failure("protocol", f"sent a malformed answer to {command.cmd}: {problem}")
        command.reply, command.answered_ns = line, self._read_ns


@dataclass(eq=False)
class Command:
    """A command that was sent to a worker, a daemon, a tool or the network, and the answer to it.
    `asked_ns` is the time just before it was sent, `answered_ns` that at which its answer was read;
    `reply` is the whole answer, empty until then."""

    worker: WorkerProcess
    cmd: str
    asked_ns: int
    answered_ns: int = 0
    reply: dict[str, Any] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        return bool(self.reply)

    @property
    def is_over(self) -> bool:
        """Whether the command is answered, or can no longer be."""
        return self.answered or self.worker.lost is not None

    def take(self) -> dict[str, Any]:
        """The `ok` of the answer. Raises WorkerFailed (`refused`) for an `error`."""
        error = self.reply.get("error")
        if error is None:
            answer: dict[str, Any] = self.reply["ok"]
            return answer
        failed = error.get("kind") == "failed"
        verb = f"failed at {self.cmd}" if failed else f"refused {self.cmd} ({error.get('kind')})"
        text = f"{verb}: {error.get('object')}: {error.get('message')}"
        raise self.worker.failure("refused", text, {"cmd": self.cmd, **error})


def file_tail(fd: int, tail_bytes: int) -> bytes:
    """The end of a file, at most `tail_bytes` of it."""
    size = os.fstat(fd).st_size
    return os.pread(fd, tail_bytes, max(0, size - tail_bytes))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


EndpointNumber = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,10}$")]
"""A number of at most ten digits as text, since the keys of a JSON object are texts."""


class _MessagePart(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _FirstMessageEvent(_MessagePart):
    endpoint: int
    writer: int
    time_ns: int


class _FinishedEvent(_MessagePart):
    endpoint: int
    scheduled: int
    sent: int
    failed: int
    never_sent: int
    last_seq: int | None = None
    time_ns: int


class _LogEvent(_MessagePart):
    level: str
    message: str


class _StepEvent(_MessagePart):
    node: str
    step: Literal["service", "configure", "activate"]
    outcome: Literal["done", "timed_out", "refused"]
    asked_ns: int
    time_ns: int


class _GrantedEndpoint(_MessagePart):
    qos: dict[str, Any]
    publish_mode: str | None = None
    wait: str | None = None
    take: Literal["typed", "raw", "lent"] | None = None
    when_full: (
        Literal[
            "blocks", "overwrites_at_writer", "drops_at_writer", "drops_at_reader", "never_full"
        ]
        | None
    ) = None


class _Configuration(_MessagePart):
    format: str
    text: str


class _OpenReply(_MessagePart):
    configuration: _Configuration | None = None
    time_ns: int | None = None


class _CreateReply(_MessagePart):
    endpoints: dict[EndpointNumber, _GrantedEndpoint]
    time_ns: int | None = None


class _StartReply(_MessagePart):
    schedule: Literal["own", "shared"] | None = None


class _EndpointMatches(_MessagePart):
    matched: int
    time_ns: int


class _MatchReply(_MessagePart):
    endpoints: dict[EndpointNumber, _EndpointMatches]


class _ProbeReply(_MessagePart):
    sent: dict[EndpointNumber, int] = {}


class _ProbeCounts(_MessagePart):
    count: int
    seen: int


class _SettleReply(_MessagePart):
    quiet: bool
    heard: dict[EndpointNumber, dict[EndpointNumber, _ProbeCounts]]


class _DrainReply(_MessagePart):
    complete: bool
    time_ns: int


class _Usage(_MessagePart):
    at: str
    time_ns: int
    cpu_ns: int | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    minor_faults: int | None = None
    major_faults: int | None = None
    allocations: int | None = None
    allocated_bytes: int | None = None
    frees: int | None = None
    interfaces: dict[str, dict[str, int]] = {}
    udp: dict[str, int] | None = None


class _Segment(_MessagePart):
    name: str
    rss_bytes: int
    pss_bytes: int


class _Memory(_MessagePart):
    rss_bytes: int | None = None
    pss_bytes: int | None = None
    peak_rss_bytes: int | None = None
    virtual_bytes: int | None = None
    records_rss_bytes: int | None = None
    threads: int | None = None
    shared_segments: list[_Segment] = []


class _Evidence(_MessagePart):
    path: str
    messages: int


class _EndpointAccount(_MessagePart):
    publish_failures: int | None = None
    reader_drops: int | None = None
    counters: dict[str, int] = {}
    evidence: list[_Evidence] = []


class _CollectReply(_MessagePart):
    usage: list[_Usage]
    memory: _Memory
    endpoints: dict[EndpointNumber, _EndpointAccount]


class _ClockReply(_MessagePart):
    received_ns: int
    sent_ns: int


EVENTS: dict[str, type[BaseModel]] = {
    "first_message": _FirstMessageEvent,
    "finished": _FinishedEvent,
    "log": _LogEvent,
    "step": _StepEvent,
}
REPLIES: dict[str, type[BaseModel]] = {
    "open": _OpenReply,
    "create": _CreateReply,
    "match": _MatchReply,
    "probe": _ProbeReply,
    "settle": _SettleReply,
    "start": _StartReply,
    "drain": _DrainReply,
    "collect": _CollectReply,
    "clock": _ClockReply,
}


def event_model(event: dict[str, Any]) -> type[BaseModel] | None:
    """The model that an event must fit; None for an unknown event."""
    name = event["event"]
    return EVENTS.get(name) if isinstance(name, str) else None


def message_problem(model: type[BaseModel], message: dict[str, Any]) -> str | None:
    """The first fault of an event, a reply or a document, with its place; else None."""
    try:
        model.model_validate(message)
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return None
