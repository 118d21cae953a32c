"""The agent of a machine: it makes hosts there and starts processes in them for an orchestrator on
another machine.

Run as `python -m rmwbench.lab.agent`. The first line of standard input is a JSON object: `token`,
which a caller must know; `address` to listen on (loopback by default); `programs`, name → {`path`,
`inherit` (variables of this machine that the program needs)}. The agent answers `{"port": N,
"certificate": PEM}` and runs until the end of standard input, or it answers `{"problem": TEXT}` and
ends. A caller speaks TLS, knows the certificate (connection.py), and begins with a line `rmwbench
TOKEN host` or `rmwbench TOKEN clock`. permissions.py has the requests that it may make then.

* host: the connection has one host (rmwbench/lab/host), in the machine's own network. The control
  sockets and files of its processes are relayed (remote_host.py is the other end). The host ends
  with the connection or with this process.
* clock: a number (i64, little endian) is answered with the same number and the two times at which
  it was received and answered. A thread of its own answers, since the answer of a worker would pass
  through two more processes.

A caller names programs and never sends them: the owner of a machine decides which programs it runs.
A message that no rmwbench sends ends the connection, and the host with it.
"""

import contextlib
import errno
import hmac
import json
import os
import selectors
import signal
import socket
import ssl
import sys
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError
from rmwbench.lab import machine
from rmwbench.lab.host import connection, devices, permissions
from rmwbench.lab.host.connection import (
    CLOCK_NUMBER,
    CLOCK_TIMES,
    GREETING,
    Connection,
    Disconnected,
    prepare,
)
from rmwbench.lab.host.host import Exited, Host, HostBroken, Spawned, SpawnFailed
from rmwbench.lab.host.permissions import NotPermitted
from rmwbench.lab.machine.timekeeping import timekeeping
from rmwbench.lab.middleware import tool

LOOPBACK = "127.0.0.1"
GREETING_TIMEOUT_S = 5.0
"""The time limit of a whole greeting, TLS included."""
MOST_GREETING_BYTES = 200
MOST_GREETERS = 32
"""The largest number of connections without a valid token; further ones are closed."""
MOST_WAITING_BYTES = 64 << 20
"""The number of bytes that may wait for a process on its control socket."""
LOGS = (1, 2)
DOCUMENT_WORD = "--document-fd"
"""The argument that names a program's answer file, which is sent before the line about it."""

QUESTIONS: Mapping[str, Callable[[], Any]] = {
    "idle_probe": machine.idle_probe,
    "edge": machine.read_edge,
    "traffic": lambda: devices.traffic_counters(os.getpid()),
    "timekeeping": timekeeping,
}
"""The questions that an orchestrator may ask about the machine; answers are JSON."""


@dataclass
class _AgentProcess:
    """A process of the session; `files` is target → number of the file."""

    number: int
    control: socket.socket
    files: dict[int, int]
    document: int | None
    token: str
    outgoing: bytearray = field(default_factory=bytearray)
    inner_pid: int | None = None
    ended: bool = False


class AgentSession:
    """The connection and the host of one orchestrator."""

    def __init__(self, connection: Connection, programs: Mapping[str, Mapping[str, Any]]):
        self._connection, self._programs = connection, programs
        self._host: Host | None = None
        self._processes: dict[int, _AgentProcess] = {}
        self._files: dict[int, int] = {}
        self._files_to_return: list[int] = []
        self._selector = selectors.DefaultSelector()
        self._closing = False

    def run(self) -> None:
        """Runs until the orchestrator has closed the host or is gone."""
        self._selector.register(self._connection, selectors.EVENT_READ)
        try:
            while not self._closing:
                self._turn()
            self._finish()
        except (Disconnected, HostBroken, NotPermitted, zlib.error):
            pass
        except (LookupError, TypeError, ValueError):
            pass  # a message with missing or wrong fields, which no rmwbench sends
        finally:
            if self._host is not None:
                self._host.close()
            for process in self._processes.values():
                process.control.close()
            for fd in self._files.values():
                os.close(fd)
            self._selector.close()
            self._connection.close()

    def _turn(self) -> None:
        for process in self._processes.values():
            if not process.ended:
                events = selectors.EVENT_READ | (selectors.EVENT_WRITE if process.outgoing else 0)
                self._selector.modify(process.control, events, process)
        self._selector.modify(
            self._connection,
            selectors.EVENT_READ
            | (selectors.EVENT_WRITE if self._connection.wants_to_write else 0),
        )
        for key, mask in self._selector.select():
            if key.fileobj is self._connection:
                self._connection.flush()
                if mask & selectors.EVENT_READ:
                    for header, body in self._connection.receive():
                        self._handle(header, body)
            elif key.fileobj is self._host:
                self._report_processes()
            else:
                if mask & selectors.EVENT_WRITE:
                    connection.send_queued(key.data.control, key.data.outgoing)
                if mask & selectors.EVENT_READ and not key.data.ended:
                    self._read(key.data)

    # --- messages of the orchestrator ---

    def _handle(self, header: dict[str, Any], body: bytes) -> None:
        if self._host is None and not {"begin", "close", "ask"} & header.keys():
            raise NotPermitted("a request to a host that has not begun")
        match header:
            case {"control": process_number}:
                process = self._processes[process_number]
                if len(process.outgoing) + len(body) > MOST_WAITING_BYTES:
                    raise NotPermitted("more bytes than a process reads")
                process.outgoing += body
                connection.send_queued(process.control, process.outgoing)
            case {"file": file_number, "offset": offset}:
                last_offset = permissions.MOST_FILE_BYTES - connection.PIECE_BYTES
                connection.put_piece(
                    self._file(file_number), permissions.number(offset, last_offset), body
                )
            case {"file": file_number, "size": size}:
                size_bytes = permissions.number(size, permissions.MOST_FILE_BYTES)
                os.ftruncate(self._file(file_number), size_bytes)
            case {"spawn": token}:
                self._spawn(permissions.word(token), header)
            case {"signal": signal_number, "pid": pid}:
                self._signal(pid, permissions.number(signal_number, signal.SIGRTMAX))
            case {"ask": "interface", "address": address, "number": question_number}:
                interface = devices.interface_of(address)
                self._connection.send({"answer": interface, "number": question_number})
            case {"ask": question, "number": question_number}:
                answer = QUESTIONS[question]()
                self._connection.send({"answer": answer, "number": question_number})
            case {"control_end": process_number}:
                self._end(self._processes[process_number])
            case {"begin": name}:
                self._begin(permissions.word(name))
            case {"close": True}:
                self._closing = True
            case _:
                raise NotPermitted("an unknown message")

    def _signal(self, inner_pid: int, signal_number: int) -> None:
        """Sends a signal to a process of this session only; a process that has ended is ignored."""
        is_ours = any(process.inner_pid == inner_pid for process in self._processes.values())
        if is_ours and self._host is not None:
            self._host.signal(inner_pid, signal_number)

    def _begin(self, name: str) -> None:
        if self._host is not None:
            raise NotPermitted("a second host on one connection")
        self._host = Host(name, shared=True)
        try:
            self._host.wait_ready()
        except HostBroken as broken:
            self._connection.send({"failed": broken.step, "errno": broken.errno})
            raise
        self._selector.register(self._host, selectors.EVENT_READ)
        self._connection.send({"ready": True})

    def _file(self, number: int) -> int:
        if number not in self._files:
            permissions.number(number, 1 << 31)
            if len(self._files) >= permissions.MOST_FILES:
                raise NotPermitted("too many files")
            # By this name a worker tells its records from the middleware's own memory; logs are
            # never mapped.
            self._files[number] = os.memfd_create("rmwbench-records", os.MFD_CLOEXEC)
        return self._files[number]

    def _spawn(self, token: str, header: dict[str, Any]) -> None:
        files = permissions.descriptors(header["files"])
        control_target = permissions.number(header["control_target"], permissions.LARGEST_FD)
        arguments = permissions.arguments(header["arguments"])
        self._files_to_return += [number for number in files.values() if number in header["back"]]
        program = self._programs.get(permissions.word(header["program"]))
        if (
            len(self._processes) >= permissions.MOST_PROCESSES
            or header["control_number"] in self._processes
        ):
            raise NotPermitted("too many processes, or the same process twice")
        if program is None:
            self._connection.send({"spawn_failed": token, "errno": errno.ENOENT})
            return
        host = self._begun_host
        own_end, process_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        own_end.setblocking(False)
        document = None
        if DOCUMENT_WORD in arguments:
            document = files.get(int(arguments[arguments.index(DOCUMENT_WORD) + 1]))
        process = _AgentProcess(header["control_number"], own_end, files, document, token)
        self._processes[process.number] = process
        self._selector.register(own_end, selectors.EVENT_READ, process)
        environment = permissions.environment(header["environment"], program["inherit"])
        fds = {target: self._file(number) for target, number in files.items()}
        fds[control_target] = process_end.fileno()
        with process_end:
            try:
                if header.get("allocations"):
                    # The library is that of this machine's sampler, and not the orchestrator's.
                    fds[tool.ALLOCATIONS_FD] = tool.allocations_library()
                    environment |= tool.ALLOCATIONS_ENVIRONMENT
                host.spawn(token, Path(program["path"]), arguments, fds, environment)
            except UserError:
                self._connection.send({"spawn_failed": token, "errno": errno.ENOENT})

    # --- reports and output of the processes ---

    @property
    def _begun_host(self) -> Host:
        assert self._host is not None, "what needs a host is refused before it has begun"
        return self._host

    def _report_processes(self) -> None:
        while (report := self._begun_host.receive()) is not None:
            match report:
                case Spawned(token, inner_pid, _):
                    for process in self._processes.values():
                        if process.token == token and process.inner_pid is None:
                            process.inner_pid = inner_pid
                    self._connection.send({"spawned": token, "pid": inner_pid})
                case SpawnFailed(token, error_number):
                    self._connection.send({"spawn_failed": token, "errno": error_number})
                case Exited(inner_pid, status):
                    for process in self._processes.values():
                        if process.inner_pid == inner_pid:
                            self._send_rest(process)
                    self._connection.send({"exited": inner_pid, "status": status})

    def _send_rest(self, process: _AgentProcess) -> None:
        """Sends the rest of the messages and the logs, which explain the exit that follows."""
        while not process.ended and self._read(process):
            pass
        for target in LOGS:
            if target in process.files:
                self._send_file(process.files[target])

    def _read(self, process: _AgentProcess) -> bool:
        """Relays bytes of a process, and returns whether there may be more."""
        data = connection.read_arrived(process.control)
        if data is None:
            return False
        if not data:
            self._end(process)
            self._connection.send({"control_end": process.number})
            return False
        if process.document is not None:
            self._send_file(process.document)
        self._connection.send({"control": process.number}, data)
        return True

    def _end(self, process: _AgentProcess) -> None:
        if not process.ended:
            process.ended = True
            self._selector.unregister(process.control)
            process.control.shutdown(socket.SHUT_RDWR)

    def _send_file(self, number: int) -> None:
        fd = self._file(number)
        if size := os.fstat(fd).st_size:
            self._connection.send({"file": number, "size": size})
            for offset, piece in connection.pieces(fd):
                self._connection.send({"file": number, "offset": offset}, piece)
                self._connection.drain()

    def _finish(self) -> None:
        """Ends the host, then sends the files that its processes wrote, which no longer change."""
        if self._host is not None:
            self._host.close()
        for number in self._files_to_return:
            self._send_file(number)
        self._connection.send({"closed": True})
        self._connection.drain()


def serve(
    listener: socket.socket,
    token: str,
    programs: Mapping[str, Mapping[str, Any]],
    context: ssl.SSLContext,
) -> None:
    """Serves connections until this process ends."""
    greeters = threading.BoundedSemaphore(MOST_GREETERS)
    while True:
        try:
            sock, _ = listener.accept()
        except OSError:
            time.sleep(0.1)  # no descriptors left for now, or the caller is gone again
            continue
        if not greeters.acquire(blocking=False):
            sock.close()
            continue
        threading.Thread(
            target=_serve_connection, args=(sock, token, programs, context, greeters), daemon=True
        ).start()


def _serve_connection(
    sock: socket.socket,
    token: str,
    programs: Mapping[str, Mapping[str, Any]],
    context: ssl.SSLContext,
    greeters: threading.BoundedSemaphore,
) -> None:
    try:
        try:
            secured, role = _greet(sock, token, context)
        finally:
            greeters.release()
    except (OSError, NotPermitted):
        sock.close()
        return
    try:
        if role == b"clock":
            _serve_clock(secured)
        else:
            secured.sendall(GREETING)
            AgentSession(Connection(secured), programs).run()
    except OSError:
        pass
    finally:
        secured.close()


def _greet(sock: socket.socket, token: str, context: ssl.SSLContext) -> tuple[ssl.SSLSocket, bytes]:
    """Takes the greeting. Returns the connection and its role, `clock` or `host`. Raises OSError or
    NotPermitted when no valid greeting comes within GREETING_TIMEOUT_S."""
    deadline = time.monotonic() + GREETING_TIMEOUT_S
    sock.settimeout(GREETING_TIMEOUT_S)
    secured = context.wrap_socket(sock, server_side=True)
    try:
        line = b""
        while not line.endswith(b"\n") and len(line) < MOST_GREETING_BYTES:
            secured.settimeout(max(0.001, deadline - time.monotonic()))
            byte = secured.recv(1)
            if not byte or time.monotonic() > deadline:
                raise NotPermitted("no greeting")
            line += byte
        words = line.split()
        if (
            len(words) != 3
            or not hmac.compare_digest(words[1], token.encode())
            or words[2] not in (b"clock", b"host")
        ):
            raise NotPermitted("a wrong token")
        secured.settimeout(None)
    except BaseException:
        secured.close()
        raise
    return secured, words[2]


def _serve_clock(sock: socket.socket) -> None:
    prepare(sock)
    size = CLOCK_NUMBER.size
    while len(request := connection.receive_exactly(sock, size)) == size:
        received_ns = time.monotonic_ns()
        number = CLOCK_NUMBER.unpack(request)[0]
        sock.sendall(CLOCK_TIMES.pack(number, received_ns, time.monotonic_ns()))


def main() -> None:
    settings = json.loads(sys.stdin.readline())
    address = settings.get("address", LOOPBACK)
    try:
        identity, listener = connection.new_identity(), _listener(address)
    except UserError as error:
        print(json.dumps({"problem": error.render()}), flush=True)
        return
    print(
        json.dumps({"port": listener.getsockname()[1], "certificate": identity.certificate}),
        flush=True,
    )
    arguments = (
        listener,
        settings["token"],
        settings["programs"],
        connection.server_context(identity),
    )
    threading.Thread(target=serve, args=arguments, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        while sys.stdin.read(1):
            pass
    os._exit(0)  # hosts end with us


def _listener(address: str) -> socket.socket:
    """A socket that listens at any port. Raises UserError where this machine lacks the address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, 0), family=family)
    except OSError as error:
        raise UserError(
            "the agent of a machine cannot listen at the machine's address",
            where=address,
            expected="an address of an interface of that machine",
            actual=error.strerror or str(error),
        ) from None


if __name__ == "__main__":
    main()
