"""The agent of a machine: makes a host there and starts processes in it for an orchestrator on another machine.

Run as `python -m rmwbench.lab.host.agent`. The first line of standard input is a JSON object: `token`, which a caller
must know; `address` to listen on; `programs`, name → {`path`, `inherit` (variables of this machine that the program
asks for)}. It answers `{"port": N}` and lives until the end of standard input. A caller begins with a line
`rmwbench TOKEN host` or `rmwbench TOKEN clock`.

* host: one host per connection (rmwbench/lab/host), in the machine's own network; its processes, their control sockets
  and their files are relayed (remote.py has the other end). The host dies with the connection, with this process, or
  at its own end.
* clock: a number (i64, little endian) is answered by itself and the two times at which it was received and answered,
  by a thread that does nothing else: a worker's answer would come through two more processes.

A program is named, never shipped here: what a machine runs was put there, and looked at, beforehand.
"""

import contextlib
import errno
import hmac
import json
import os
import selectors
import socket
import struct
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
from rmwbench.lab.host import contents, interfaces, traffic
from rmwbench.lab.host.connection import Connection, Disconnected, prepare
from rmwbench.lab.host.host import INHERITED_VARIABLES, Exited, Host, HostBroken, Spawned, SpawnFailed
from rmwbench.lab.machine.timekeeping import timekeeping

GREETING_TIMEOUT_S = 5.0
CONTROL_BYTES = 1 << 16
"""This machine's own, whatever the orchestrator's are."""
LOGS = (1, 2)
DOCUMENT_WORD = "--document-fd"
"""How a program is told of the file that it answers into: the content goes before the line that speaks of it."""
NUMBER, TIMES = struct.Struct("<q"), struct.Struct("<qqq")
GREETING = b"welcome\n"

QUESTIONS: Mapping[str, Callable[[], Any]] = {
    "idle_probe": machine.idle_probe,
    "edge": machine.read_edge,
    "traffic": lambda: traffic.read(os.getpid()),
    "timekeeping": timekeeping,
}
"""What an orchestrator may ask about the machine; answers are JSON."""


@dataclass
class _Process:
    """One of the session. `files`: target → number."""

    number: int
    control: socket.socket
    files: dict[int, int]
    document: int | None
    outgoing: bytearray = field(default_factory=bytearray)
    token: str = ""
    inner_pid: int | None = None
    ended: bool = False


class Session:
    """One orchestrator's host."""

    def __init__(self, connection: Connection, programs: Mapping[str, Mapping[str, Any]]):
        self._connection, self._programs = connection, programs
        self._host: Host | None = None
        self._processes: dict[int, _Process] = {}
        self._files: dict[int, int] = {}
        self._back: list[int] = []
        self._interpreted: dict[str | int, list[int]] = {}
        """Token, and then PID, of a program in Python → its files."""
        self._selector = selectors.DefaultSelector()
        self._closing = False

    def run(self) -> None:
        """Until the orchestrator has everything or is gone."""
        self._selector.register(self._connection, selectors.EVENT_READ)
        try:
            while not self._closing:
                self._turn()
            self._finish()
        except (Disconnected, HostBroken, zlib.error):
            pass
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
                wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if process.outgoing else 0)
                self._selector.modify(process.control, wanted, process)
        self._selector.modify(
            self._connection, selectors.EVENT_READ | (selectors.EVENT_WRITE if self._connection.wants_to_write else 0)
        )
        for key, mask in self._selector.select():
            if key.fileobj is self._connection:
                self._connection.flush()
                if mask & selectors.EVENT_READ:
                    for header, body in self._connection.receive():
                        self._take(header, body)
            elif key.fileobj is self._host:
                self._hear()
            else:
                if mask & selectors.EVENT_WRITE:
                    self._write(key.data)
                if mask & selectors.EVENT_READ and not key.data.ended:
                    self._read(key.data)

    # --- what the orchestrator says ---

    def _take(self, header: dict[str, Any], body: bytes) -> None:
        match header:
            case {"control": number}:
                self._processes[number].outgoing += body
                self._write(self._processes[number])
            case {"file": number, "offset": offset}:
                contents.put(self._file(number), offset, body)
            case {"file": number, "size": size}:
                os.ftruncate(self._file(number), size)
            case {"spawn": token}:
                self._spawn(token, header)
            case {"interpret": token, "source": source, "arguments": arguments, "files": files}:
                here = {int(target): number for target, number in files.items()}
                self._interpreted[token] = list(here.values())
                self._host.interpret(token, source, arguments, {t: self._file(n) for t, n in here.items()})
            case {"signal": number, "pid": pid}:
                self._host.signal(pid, number)
            case {"ask": "interface", "address": address, "number": number}:
                self._connection.send({"answer": interfaces.of_address(address), "number": number})
            case {"ask": question, "number": number}:
                self._connection.send({"answer": QUESTIONS[question](), "number": number})
            case {"control_end": number}:
                self._end(self._processes[number])
            case {"begin": name}:
                self._begin(name)
            case {"close": True}:
                self._closing = True

    def _begin(self, name: str) -> None:
        self._host = Host(name, shared=True)
        try:
            self._host.wait_ready()
        except HostBroken as broken:
            self._connection.send({"failed": broken.step, "errno": broken.errno})
            raise
        self._selector.register(self._host, selectors.EVENT_READ)
        self._connection.send({"ready": {"user_namespace": self._host.user_namespace, "own_proc": self._host.own_proc}})

    def _file(self, number: int) -> int:
        if number not in self._files:
            # By this name a worker knows its records as ours, and not as the middleware's; logs are never mapped.
            self._files[number] = os.memfd_create("rmwbench-records", os.MFD_CLOEXEC)
        return self._files[number]

    def _spawn(self, token: str, header: dict[str, Any]) -> None:
        files = {int(target): number for target, number in header["files"].items()}
        self._back += [number for number in files.values() if number in header["back"]]
        program = self._programs.get(header["program"])
        if program is None:
            self._connection.send({"spawn_failed": token, "errno": errno.ENOENT})
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.setblocking(False)
        arguments = header["arguments"]
        document = None
        if DOCUMENT_WORD in arguments:
            document = files.get(int(arguments[arguments.index(DOCUMENT_WORD) + 1]))
        process = _Process(header["control_number"], ours, files, document, token=token)
        self._processes[process.number] = process
        self._selector.register(ours, selectors.EVENT_READ, process)
        environment = {name: text for name, text in header["environment"].items() if name not in INHERITED_VARIABLES}
        environment |= {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
        environment |= program["inherit"]
        fds = {target: self._file(number) for target, number in files.items()}
        fds[header["control_target"]] = theirs.fileno()
        with theirs:
            try:
                self._host.spawn(token, Path(program["path"]), arguments, fds, environment)
            except UserError:
                self._connection.send({"spawn_failed": token, "errno": errno.ENOENT})

    # --- what happens here ---

    def _hear(self) -> None:
        while (report := self._host.receive()) is not None:
            match report:
                case Spawned(token, inner_pid, _):
                    if token in self._interpreted:
                        self._interpreted[inner_pid] = self._interpreted.pop(token)
                    for process in self._processes.values():
                        if process.token == token and process.inner_pid is None:
                            process.inner_pid = inner_pid
                    self._connection.send({"spawned": token, "pid": inner_pid})
                case SpawnFailed(token, number):
                    self._connection.send({"spawn_failed": token, "errno": number})
                case Exited(inner_pid, status):
                    for process in self._processes.values():
                        if process.inner_pid == inner_pid:
                            self._last_words(process)
                    for number in self._interpreted.pop(inner_pid, ()):
                        self._ship(number)
                    self._connection.send({"exited": inner_pid, "status": status})

    def _last_words(self, process: _Process) -> None:
        """What it said, and its logs, before its end is told: whoever hears of it wants to say why."""
        while not process.ended and self._read(process):
            pass
        for target in LOGS:
            if target in process.files:
                self._ship(process.files[target])

    def _read(self, process: _Process) -> bool:
        """Relays what a process said; whether there may be more."""
        try:
            data = process.control.recv(CONTROL_BYTES)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data = b""
        if not data:
            self._end(process)
            self._connection.send({"control_end": process.number})
            return False
        if process.document is not None:
            self._ship(process.document)
        self._connection.send({"control": process.number}, data)
        return True

    def _write(self, process: _Process) -> None:
        try:
            while process.outgoing and not process.ended:
                del process.outgoing[: process.control.send(process.outgoing)]
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):
            process.outgoing.clear()  # its end of file, which tells more, is on its way

    def _end(self, process: _Process) -> None:
        if not process.ended:
            process.ended = True
            self._selector.unregister(process.control)
            process.control.shutdown(socket.SHUT_RDWR)

    def _ship(self, number: int) -> None:
        fd = self._file(number)
        if size := os.fstat(fd).st_size:
            self._connection.send({"file": number, "size": size})
            for offset, piece in contents.pieces(fd):
                self._connection.send({"file": number, "offset": offset}, piece)
                self._connection.drain()

    def _finish(self) -> None:
        """Ends the host, then sends what its processes left: nothing moves any more."""
        if self._host is not None:
            self._host.close()
        for number in self._back:
            self._ship(number)
        self._connection.send({"closed": True})
        self._connection.drain()


def serve(listener: socket.socket, token: str, programs: Mapping[str, Mapping[str, Any]]) -> None:
    """For ever."""
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=_answer, args=(sock, token, programs), daemon=True).start()


def _answer(sock: socket.socket, token: str, programs: Mapping[str, Mapping[str, Any]]) -> None:
    sock.settimeout(GREETING_TIMEOUT_S)
    line = b""
    try:
        while not line.endswith(b"\n") and len(line) < 200 and (byte := sock.recv(1)):
            line += byte
        words = line.decode(errors="replace").split()
        if len(words) != 3 or not hmac.compare_digest(words[1], token):
            sock.close()
            return
        sock.settimeout(None)
        if words[2] == "clock":
            _tell_time(sock)
        else:
            sock.sendall(GREETING)
            Session(Connection(sock), programs).run()
    except OSError:
        sock.close()


def _tell_time(sock: socket.socket) -> None:
    prepare(sock)
    with sock:
        while len(asked := sock.recv(NUMBER.size, socket.MSG_WAITALL)) == NUMBER.size:
            received_ns = time.monotonic_ns()
            sock.sendall(TIMES.pack(*NUMBER.unpack(asked), received_ns, time.monotonic_ns()))


def main() -> None:
    told = json.loads(sys.stdin.readline())
    listener = socket.create_server((told["address"], 0), family=_family(told["address"]))
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    threading.Thread(target=serve, args=(listener, told["token"], told["programs"]), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        while sys.stdin.read(1):
            pass
    os._exit(0)  # hosts end with us


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


if __name__ == "__main__":
    main()
