"""A host on another machine, with the same interface as a host here, so that the code which drives
its processes (trial_processes.py) need not know where they are.

The agent (agent.py) of that machine makes a host there, in the real network of the machine, and
starts the processes. Control sockets and files are relayed: the caller gives `spawn` a socket and
memory files, and uses them as with a host here. A file is sent back when the process that wrote it
has ended; the document of a tool is sent before the line that announces it.

There is no thread: a selector of the caller sees the host as an epoll over its connection and
sockets, and `receive` relays what can be relayed. The clock has a connection of its own, so that
its answers wait for nothing else.
"""

import fcntl
import os
import select
import socket
import ssl
import stat
import time
import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rmwbench.lab.host import connection
from rmwbench.lab.host.connection import (
    CLOCK_NUMBER,
    CLOCK_TIMES,
    GREETING,
    Connection,
    Disconnected,
    prepare,
)
from rmwbench.lab.host.host import (
    READY_TIMEOUT_S,
    Configured,
    Container,
    Exited,
    HostBroken,
    Scheduling,
    Spawned,
    SpawnFailed,
)

CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 5.0
CLOSE_TIMEOUT_S = 20.0
"""The longest time in which a machine may be silent while its processes end and its records are
sent. The records of a large trial take minutes over a WiFi, but are not silent."""
_ANOTHER = ("CERTIFICATE_VERIFY_FAILED", None)

Report = Spawned | SpawnFailed | Exited | Configured


@dataclass(frozen=True)
class Agent:
    """The address of a machine's agent, its token, and its certificate (PEM)."""

    machine: str
    address: str
    port: int
    token: str
    certificate: str


@dataclass
class _Control:
    """The process's end of a control socket. `number` is the agent's name for it."""

    number: int
    socket: socket.socket
    outgoing: bytearray = field(default_factory=bytearray)
    ended: bool = False


class RemoteHost:
    """A host on another machine. `lost` tells why the connection to the machine was lost; it is
    None before. The `pid` of its `Spawned` is None: the process is not one of this machine."""

    kind = "own"
    directory = "/tmp"
    domain_id = 0
    device_name = "eth0"

    def __init__(self, name: str, agent: Agent):
        """Connects to the agent. Raises HostBroken where that fails."""
        self.name, self.agent = name, agent
        self.clock_offset_ns = 0
        self.tap_fd: int | None = None
        self.device: int | None = None
        self.beside_fds: dict[str, int] = {}
        self.beside_devices: dict[str, int] = {}
        self.lost: str | None = None
        self._ready: bool | tuple[str, int | None] = False
        self._closed = self._leaving = False
        self._heard_s = 0.0
        self._reports: deque[Report] = deque()
        self._controls: dict[int, _Control] = {}
        self._files: dict[int, int] = {}
        self._answers: dict[int, Any] = {}
        self._next = 1
        self._clock: socket.socket | None = None
        self._clock_bytes = bytearray()  # not yet a whole answer
        try:
            sock = self._connect("host")
            if connection.receive_exactly(sock, len(GREETING)) != GREETING:
                sock.close()
                raise HostBroken(f"the agent of machine {agent.machine} does not know us")
            self._clock = self._connect("clock")
        except ssl.SSLError as error:
            another = "another program answers in its place"
            why = another if error.reason in _ANOTHER else "it speaks no TLS"
            raise HostBroken(
                f"the agent of machine {agent.machine} does not know us, or {why}: {error}"
            ) from None
        except OSError as error:
            raise HostBroken(
                f"cannot reach the agent of machine {agent.machine}: {error.strerror or error}"
            ) from None
        prepare(self._clock)
        self._connection = Connection(sock)
        self._poll = select.epoll()
        self._poll.register(self._connection, select.EPOLLIN)
        # reports that wait for `receive`
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll.register(self._bell, select.EPOLLIN)
        self._send({"begin": name})

    def _connect(self, role: str) -> socket.socket:
        sock = connection.connect(
            self.agent.address, self.agent.port, self.agent.certificate, CONNECT_TIMEOUT_S
        )
        sock.sendall(f"rmwbench {self.agent.token} {role}\n".encode())
        return sock

    def __enter__(self) -> "RemoteHost":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """For a selector: readable when `receive` has something to relay or to report."""
        return self._poll.fileno()

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Returns once processes can be spawned. Raises HostBroken."""
        deadline = time.monotonic() + timeout_s
        while self._ready is False:
            rest_s = deadline - time.monotonic()
            if self.lost is not None:
                raise HostBroken(self.lost)
            if rest_s <= 0:
                raise HostBroken(
                    f"machine {self.agent.machine} did not make a host within {timeout_s:.3g} s"
                )
            self._turn(rest_s)
        if self._ready is not True:
            raise HostBroken(f"on machine {self.agent.machine}: {self._ready[0]}", self._ready[1])

    def spawn(
        self,
        token: str,
        executable: Path,
        arguments: Sequence[str],
        fds: Mapping[int, int],
        env: Mapping[str, str],
        container: Container | None = None,
        scheduling: Scheduling | None = None,
    ) -> None:
        """Requests a process as `Host.spawn` does. The agent runs its program of the executable's
        name, without container and with the usual scheduling."""
        assert container is None and scheduling is None, "a plan has neither on other machines"
        # Imported here, because a host alone does not need the search for tools.
        from rmwbench.lab.middleware import tool

        files, files_to_return, control = {}, [], None
        counts_allocations = tool.ALLOCATIONS_ENVIRONMENT.items() <= env.items()
        for target, fd in fds.items():
            if counts_allocations and target == tool.ALLOCATIONS_FD:
                continue  # the machine has a library of its own
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                control = target, socket.socket(fileno=os.dup(fd))
                continue
            number = files[target] = self._number()
            self._files[number] = os.dup(fd)
            if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
                files_to_return.append(number)
            self._send({"file": number, "size": os.fstat(fd).st_size})
            for offset, piece in connection.pieces(fd):
                self._send({"file": number, "offset": offset}, piece)
        assert control is not None
        target, process_end = control
        process_end.setblocking(False)
        number = self._number()
        self._controls[process_end.fileno()] = _Control(number, process_end)
        self._poll.register(process_end, select.EPOLLIN)
        self._send(
            {
                "spawn": token,
                "program": executable.name,
                "arguments": list(arguments),
                "allocations": counts_allocations,
                "environment": dict(env),
                "files": files,
                "back": files_to_return,
                "control_target": target,
                "control_number": number,
            }
        )

    def interpret(self, *_: Any) -> None:
        raise HostBroken("an agent runs the programs of its machine, and no source sent to it")

    def configure(self, token: str, *_: Any, **__: Any) -> None:
        raise HostBroken("an agent does not change the network of its machine")

    def signal(self, inner_pid: int, number: int) -> None:
        """Sends a signal as `Host.signal` does."""
        self._send({"signal": int(number), "pid": inner_pid})

    def receive(self, timeout_s: float = 0.0) -> Report | None:
        """Returns the next report, or None when there is none within the time. Raises HostBroken
        when the machine is lost."""
        deadline = time.monotonic() + timeout_s
        while not self._reports:
            if self.lost is not None:
                raise HostBroken(self.lost)
            rest_s = max(0.0, deadline - time.monotonic())
            self._turn(rest_s)
            if not self._reports and self.lost is None and time.monotonic() >= deadline:
                return None
        report = self._reports.popleft()
        if not self._reports and self.lost is None:  # a lost host stays readable
            os.eventfd_read(self._bell)
        return report

    # --- questions about the machine, and its clock ---

    def post(self, question: str) -> int:
        """Sends a question (`QUESTIONS` of the agent). Returns the number for `answer`."""
        number = self._number()
        self._send({"ask": question, "number": number})
        return number

    def interface_of(self, address: str) -> dict[str, Any]:
        """The machine's interface with an address (`devices.interface_of`). Raises HostBroken."""
        number = self._number()
        self._send({"ask": "interface", "address": address, "number": number})
        interface: dict[str, Any] | None = self.answer(number)
        if interface is None:
            raise HostBroken(self.lost or f"machine {self.agent.machine} does not answer")
        return interface

    def answer(self, number: int, timeout_s: float = ANSWER_TIMEOUT_S) -> Any:
        """Waits for the answer to a question; None where there is none in time."""
        deadline = time.monotonic() + timeout_s
        while (
            number not in self._answers
            and self.lost is None
            and (rest_s := deadline - time.monotonic()) > 0
        ):
            self._turn(rest_s)
        return self._answers.pop(number, None)

    def exchange_clock(self, timeout_s: float) -> tuple[int, int, int, int] | None:
        """Asks the agent for the time. Returns the times in ns of CLOCK_MONOTONIC at which the
        request was sent (our clock), received and answered (the agent's clock), and at which the
        answer arrived (our clock); None without an answer in time. The next exchange ignores an
        answer that comes too late."""
        assert self._clock is not None
        number, deadline = self._number(), time.monotonic() + timeout_s
        try:
            self._clock.settimeout(max(0.001, timeout_s))
            asked_ns = time.monotonic_ns()
            self._clock.sendall(CLOCK_NUMBER.pack(number))
            while (rest_s := deadline - time.monotonic()) > 0:
                self._clock.settimeout(rest_s)
                data = self._clock.recv(CLOCK_TIMES.size)
                heard_ns = time.monotonic_ns()
                if not data:
                    return None
                self._clock_bytes += data
                while len(self._clock_bytes) >= CLOCK_TIMES.size:
                    echoed, received_ns, answered_ns = CLOCK_TIMES.unpack_from(self._clock_bytes)
                    del self._clock_bytes[: CLOCK_TIMES.size]
                    if echoed == number:
                        return asked_ns, received_ns, answered_ns, heard_ns
        except OSError:
            pass
        return None

    # --- the end ---

    def close_tap(self) -> None:
        """Does nothing: the host has no TAP device."""

    def leave(self) -> None:
        """Begins the end of every process of the host, which `close` waits for."""
        if not self._leaving:
            self._leaving = True
            for control in self._controls.values():
                control.ended = True
                self._poll.unregister(control.socket)
                control.socket.close()
            self._controls.clear()
            self._send({"close": True})

    def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Ends every process of the host, and waits until they are gone and their files are here,
        or until the machine has been silent for `timeout_s`; may be called twice. The files of a
        lost machine are lost."""
        self.leave()
        self._heard_s = time.monotonic()
        while not self._closed and self.lost is None:
            rest_s = self._heard_s + timeout_s - time.monotonic()
            if rest_s <= 0:
                self._lose(f"it was silent for {timeout_s:g} s while its host was to end")
            else:
                self._turn(rest_s)
        if self._poll.closed:
            return
        self._connection.close()
        self._poll.close()
        os.close(self._bell)
        for fd in self._files.values():
            os.close(fd)
        if self._clock is not None:
            self._clock.close()

    # --- relaying ---

    def _number(self) -> int:
        self._next += 1
        return self._next

    def _send(self, header: dict[str, Any], body: bytes = b"") -> None:
        if self.lost is not None:
            return
        try:
            self._connection.send(header, body)
        except Disconnected as gone:
            self._lose(str(gone))

    def _lose(self, why: str) -> None:
        if self.lost is None and not self._closed:  # its last message may come with the end
            self.lost = f"machine {self.agent.machine} is lost: {why}"
            os.eventfd_write(self._bell, 1)  # wakes the selector of the caller

    def _turn(self, timeout_s: float) -> None:
        """Relays once what can be relayed."""
        if self.lost is not None:
            return
        try:
            self._watch_connection()
            for fd, mask in self._poll.poll(timeout_s):
                if fd == self._connection.fileno():
                    if mask & ~select.EPOLLOUT:
                        self._heard_s = time.monotonic()
                        for header, body in self._connection.receive():
                            self._handle(header, body)
                    self._connection.flush()  # after its last messages are read, if it is gone
                elif control := self._controls.get(fd):
                    if mask & select.EPOLLOUT:
                        self._write(control)
                    if mask & ~select.EPOLLOUT:
                        self._read(control)
            # Once more, for a caller that waits with a selector of its own until there is room.
            self._watch_connection()
        except (Disconnected, ValueError, zlib.error) as gone:
            self._lose(str(gone))

    def _watch_connection(self) -> None:
        events = select.EPOLLIN | (select.EPOLLOUT if self._connection.wants_to_write else 0)
        self._poll.modify(self._connection, events)

    def _handle(self, header: dict[str, Any], body: bytes) -> None:
        match header:
            case {"control": number}:
                if (control := self._control(number)) is not None:
                    control.outgoing += body
                    self._write(control)
            case {"file": number, "offset": offset}:
                connection.put_piece(self._files[number], offset, body)
            case {"file": number, "size": size}:
                os.ftruncate(self._files[number], 0)  # pieces of zeros are not sent
                os.ftruncate(self._files[number], size)
            case {"answer": value, "number": number}:
                self._answers[number] = value
            case {"spawned": token, "pid": inner_pid}:
                self._report(Spawned(token, inner_pid, None))
            case {"spawn_failed": token, "errno": number}:
                self._report(SpawnFailed(token, number))
            case {"exited": inner_pid, "status": status}:
                self._report(Exited(inner_pid, status))
            case {"control_end": number}:
                if (control := self._control(number)) is not None:
                    control.ended = True
                    self._write(control)
            case {"ready": True}:
                self._ready = True
            case {"failed": step, "errno": number}:
                self._ready = step, number
            case {"closed": True}:
                self._closed = True

    def _control(self, number: int) -> _Control | None:
        """The control socket of a process; None where the process or the caller has closed it."""
        return next(
            (control for control in self._controls.values() if control.number == number), None
        )

    def _report(self, report: Report) -> None:
        if not self._reports:
            os.eventfd_write(self._bell, 1)
        self._reports.append(report)

    def _read(self, control: _Control) -> None:
        """Relays bytes of the caller to the process."""
        data = connection.read_arrived(control.socket)
        if data is None:
            return
        if data:
            self._send({"control": control.number}, data)
        else:
            self._send({"control_end": control.number})
            self._drop(control)

    def _write(self, control: _Control) -> None:
        """Relays bytes of the process to the caller."""
        connection.send_queued(control.socket, control.outgoing)
        if control.outgoing:
            self._poll.modify(control.socket, select.EPOLLIN | select.EPOLLOUT)
        elif control.ended:
            self._drop(control)
        else:
            self._poll.modify(control.socket, select.EPOLLIN)

    def _drop(self, control: _Control) -> None:
        if self._controls.pop(control.socket.fileno(), None) is not None:
            self._poll.unregister(control.socket)
            control.socket.close()
