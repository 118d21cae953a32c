"""An attacker at every door of an agent: who does not know its word, who knows it and asks for
more, who is between."""

import contextlib
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import types
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from rmwbench.lab.host import HostBroken, RemoteHost, connection, permissions
from rmwbench.lab.host.connection import Connection, Disconnected
from rmwbench.lab.host.permissions import NotPermitted
from rmwbench.lab.host.remote_host import Agent
from rmwbench.lab.middleware import tool
from tests.support.agents import start_agent
from tests.support.program import until

pytestmark = [pytest.mark.traffic, pytest.mark.own_host]

ENVIRONMENT_PRINTER = """#!{python}
import json, os, sys
print(json.dumps([dict(os.environ), sys.argv[1:]]), flush=True)
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """One agent for every attack."""
    program = tmp_path_factory.mktemp("agent") / "printer"
    program.write_text(ENVIRONMENT_PRINTER.format(python=sys.executable))
    program.chmod(0o755)
    process, made = start_agent(
        {"printer": {"path": str(program), "inherit": {"ROS_DISTRO": "jazzy"}}},
        stderr=subprocess.PIPE,
        env={**os.environ, "OF_THE_MACHINE": "secret"},
    )
    yield made
    process.stdin.close()
    process.wait(10)
    said = process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    assert said == "", "a thread ended with a traceback"


@pytest.fixture
def agent(running):
    yield running
    with RemoteHost("after", running) as again:  # whatever came, it serves the next one
        again.wait_ready()


def closed(sock: socket.socket, within_s: float = 20.0) -> bytes:
    """What the agent says until it closes."""
    sock.settimeout(within_s)
    found = b""
    try:
        while data := sock.recv(4096):
            found += data
    except (ConnectionError, ssl.SSLError):
        pass
    sock.close()
    return found


def greeting(agent: Agent, line: bytes) -> bytes:
    sock = connection.connect(agent.address, agent.port, agent.certificate, 5.0)
    with contextlib.suppress(OSError):  # the agent does not wait for the end of a long line
        sock.sendall(line)
    return closed(sock)


def session(agent: Agent) -> Connection:
    """A caller who knows the word, and then says what it likes."""
    sock = connection.connect(agent.address, agent.port, agent.certificate, 5.0)
    sock.sendall(f"rmwbench {agent.token} host\n".encode())
    assert connection.receive_exactly(sock, 8) == b"welcome\n"
    return Connection(sock)


def ended(connection: Connection) -> list[dict]:
    """What the agent says until it ends the session."""
    found, deadline = [], time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            for header, _ in connection.receive():
                found.append(header)
        except Disconnected:
            connection.close()
            return found
        time.sleep(0.01)
    raise AssertionError(f"the session goes on: {found}")


def test_progress_within_a_message_is_seen_through_tls(monkeypatch):
    """A TLS socket says of a call only that all of it is sent. The clock goes on by 5 s at each
    look, when the other end reads a part."""
    identity = connection.new_identity()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        address = listener.getsockname()
        accepted: list[ssl.SSLSocket] = []

        def accept() -> None:
            context = connection.server_context(identity)
            accepted.append(context.wrap_socket(listener.accept()[0], server_side=True))

        accepting = threading.Thread(target=accept)
        accepting.start()
        sock = connection.connect(*address, identity.certificate, 5.0)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        sender = Connection(sock)
        accepting.join()
    now_s = 0.0

    def monotonic() -> float:
        nonlocal now_s
        now_s += 5.0
        for _ in range(8):
            with contextlib.suppress(ssl.SSLWantReadError):
                accepted[0].recv(1 << 14)
        return now_s

    accepted[0].setblocking(False)
    monkeypatch.setattr(connection, "time", types.SimpleNamespace(monotonic=monotonic))
    sender.send({"piece": 0}, bytes(1 << 22))
    assert sender.wants_to_write
    sender.drain()
    assert now_s > connection.SILENCE_S
    sender.close()
    accepted[0].close()


# Who does not know the word


def test_it_listens_on_loopback_unless_told_otherwise(agent):
    hexadecimal = f"{agent.port:04X}"
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    mine = [row[1] for row in rows if row[1].endswith(f":{hexadecimal}") and row[3] == "0A"]
    assert mine == [f"0100007F:{hexadecimal}"]


@pytest.mark.parametrize(
    "line",
    [
        b"rmwbench another host\n",
        b"rmwbench\n",
        b"\n",
        "rmwbench ä-wörd host\n".encode(),
        b"rmwbench \xff\xfe host\n",
        b"rmwbench a-word shell\n",
        b"x" * 100_000,
    ],
    ids=lambda line: repr(line[:24]),
)
def test_a_wrong_greeting_gets_nothing(agent, line):
    assert greeting(agent, line) == b""


def test_without_tls_nothing_is_told(agent):
    """The word in the clear, as it was once: neither answered nor heard."""
    with socket.create_connection((agent.address, agent.port), 5.0) as sock:
        sock.sendall(b"rmwbench a-word host\n")
        assert b"welcome" not in closed(sock)


def test_a_slow_greeter_is_cut_off_by_the_whole_greeting(agent):
    """A byte every 0.4 s was in time by the byte: 200 of them held a thread for 80 s."""
    sock = connection.connect(agent.address, agent.port, agent.certificate, 5.0)
    begun = time.monotonic()
    with pytest.raises(OSError):
        while time.monotonic() - begun < 60:
            sock.sendall(b"x")
            time.sleep(0.4)
    sock.close()


# Who is between


def test_another_certificate_is_not_trusted(agent):
    other = replace(agent, certificate=connection.new_identity().certificate)
    with pytest.raises(HostBroken, match="another program answers"):
        RemoteHost("test", other)


def test_who_answers_in_the_agents_place_never_hears_the_word(agent):
    """A man in the middle with a certificate of his own."""
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            sock, _ = listener.accept()
            try:
                with connection.server_context(connection.new_identity()).wrap_socket(
                    sock, server_side=True
                ) as secured:
                    heard.append(secured.recv(200))
            except OSError:
                sock.close()

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(HostBroken):
            RemoteHost("test", replace(agent, port=listener.getsockname()[1]))
        thread.join(20)
    assert b"".join(heard) == b""


def test_what_is_changed_or_repeated_on_the_way_ends_the_connection(agent):
    """A wire that turns one bit of what comes after the greeting: no frame of it is taken."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        turn = threading.Event()

        def relay(source, sink, change):
            try:
                while data := source.recv(65536):
                    if change and turn.is_set():
                        data = data[:-1] + bytes([data[-1] ^ 1])
                    sink.sendall(data)
            except OSError:
                pass
            for sock in (source, sink):
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

        def between():
            near, _ = listener.accept()
            far = socket.create_connection((agent.address, agent.port), 5.0)
            threads = [
                threading.Thread(target=relay, args=a)
                for a in ((near, far, True), (far, near, False))
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
            near.close()
            far.close()

        thread = threading.Thread(target=between)
        thread.start()
        caller = session(replace(agent, port=listener.getsockname()[1]))
        turn.set()
        caller.send({"begin": "test"})
        assert not any("ready" in header for header in ended(caller))
        thread.join(30)


# Who knows the word, and asks for more than rmwbench does


def begun(agent: Agent) -> Connection:
    caller = session(agent)
    caller.send({"begin": "test"})
    until(lambda: any("ready" in header for header, _ in caller.receive()), timeout_s=300)
    return caller


def spawn(**other) -> dict:
    found = {
        "spawn": "p",
        "program": "printer",
        "arguments": [],
        "environment": {},
        "files": {"1": 1, "2": 2},
    }
    return found | {"back": [1, 2], "control_target": 3, "control_number": 9} | other


FORBIDDEN = {
    "a source": {
        "interpret": "x",
        "source": "import os; os.system('id')",
        "arguments": [],
        "files": {},
    },
    "an unknown message": {"shell": "id"},
    "another argument": spawn(arguments=["--config", "/etc/passwd"]),
    "a path as an argument": spawn(arguments=["--daemon", "../../bin/sh"]),
    "half an argument": spawn(arguments=["--control-fd"]),
    "a number as an argument": spawn(arguments=[1, 2]),
    "an invalid address": spawn(environment={"RMWBENCH_PEERS": "$(id)"}),
    "an invalid environment": spawn(environment=[]),
    "a far descriptor": spawn(files={"100000": 1}),
    "a negative descriptor": spawn(files={"-1": 1}),
    "no files": spawn(files=None),
    "a huge file": {"file": 1, "size": 1 << 50},
    "a negative size": {"file": 1, "size": -1},
    "a process that is not there": {"control": 77},
    "a second host": {"begin": "again"},
    "a question that nobody asks": {"ask": "environment", "number": 1},
    "an unknown signal": {"signal": 4000, "pid": 1},
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_rmwbench_never_says_ends_the_session(agent, name):
    caller = begun(agent)
    caller.send(FORBIDDEN[name])
    assert not any("spawned" in header or "answer" in header for header in ended(caller))


def test_nothing_is_done_before_a_host_has_begun(agent):
    caller = session(agent)
    caller.send(spawn())
    assert ended(caller) == []


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack("<II", 1 << 31, 0),
        struct.pack("<II", 2, 0) + b"{}",
        struct.pack("<II", 4, 0) + b"[1]\n",
        struct.pack("<II", 4, 0) + b"nope",
        struct.pack("<II", 100_000, 0) + b"[" * 100_000,
        struct.pack("<II", 2, 0) + b"\xff\xff",
    ],
    ids=["huge", "empty", "a list", "no JSON", "deep", "no text"],
)
def test_a_frame_that_is_not_valid_ends_the_session(agent, frame):
    caller = begun(agent)
    caller._socket.setblocking(True)
    caller._socket.sendall(frame)
    caller._socket.setblocking(False)
    ended(caller)


def test_a_bomb_is_not_unpacked(agent):
    caller = begun(agent)
    caller.send({"file": 1, "offset": 0}, zlib.compress(bytes(1 << 30), 9))
    ended(caller)
    fd = os.memfd_create("test")
    for bomb in (
        zlib.compress(bytes(connection.PIECE_BYTES + 1)),
        zlib.compress(b"x") + b"more",
        zlib.compress(b"xy")[:-1],
    ):
        with pytest.raises(zlib.error):
            connection.put_piece(fd, 0, bomb)
    connection.put_piece(fd, 0, zlib.compress(b"z" * connection.PIECE_BYTES))
    assert os.fstat(fd).st_size == connection.PIECE_BYTES
    os.close(fd)


def test_a_program_that_was_not_named_is_not_run(agent):
    caller = begun(agent)
    for number, program in enumerate(("/bin/sh", "sh", "../printer", "python3")):
        caller.send(spawn(program=program, spawn=program, control_number=number))
    caller.send({"close": True})
    said = ended(caller)
    assert sum("spawn_failed" in header for header in said) == 4
    assert not any("spawned" in header for header in said)


def test_a_process_gets_this_machines_environment_and_no_other(agent):
    """LD_PRELOAD and its like are the orchestrator's; the addresses of the trial are all that it
    may say."""
    given = {
        "LD_PRELOAD": "/tmp/x.so",
        "PATH": "/tmp",
        "PYTHONPATH": "/tmp",
        "LD_LIBRARY_PATH": "/tmp",
    }
    given |= {
        "HOME": "/root",
        "ROS_DISTRO": "evil",
        "RMWBENCH_ADDRESS": "10.0.0.1",
        "RMWBENCH_PEERS": "10.0.0.2 ::1",
    }
    caller = begun(agent)
    caller.send(spawn(environment=given, arguments=["--control-fd", "3", "--daemon", "iox-roudi"]))
    found, files, deadline = [], {}, time.monotonic() + 60
    while not any("exited" in header for header in found):
        assert time.monotonic() < deadline, found
        for header, body in caller.receive():
            found.append(header)
            if "offset" in header:
                files[header["file"]] = zlib.decompress(body)
        time.sleep(0.01)
    caller.close()
    environment, arguments = json.loads(files[1])
    assert arguments == ["--control-fd", "3", "--daemon", "iox-roudi"]
    assert {name: environment.get(name) for name in given} == {
        "LD_PRELOAD": None,
        "PATH": os.environ["PATH"],
        "PYTHONPATH": None,
        "LD_LIBRARY_PATH": None,
        "HOME": "/tmp",
        "ROS_DISTRO": "jazzy",
        "RMWBENCH_ADDRESS": "10.0.0.1",
        "RMWBENCH_PEERS": "10.0.0.2 ::1",
    }
    assert "OF_THE_MACHINE" not in environment


def test_a_signal_reaches_processes_of_the_session_only(agent):
    caller = begun(agent)
    caller.send({"signal": 9, "pid": 1})  # the host's init
    caller.send({"close": True})
    assert {"closed": True} in ended(caller)


def test_words_that_are_permitted():
    assert permissions.arguments(["--records-fd", "4", "--document-fd", "4"]) == [
        "--records-fd",
        "4",
        "--document-fd",
        "4",
    ]
    for words in (
        ["--control-fd", "3;id"],
        ["--daemon", ""],
        ["--daemon", "a b"],
        "ab",
        [["a"], "b"],
        None,
    ):
        with pytest.raises(NotPermitted):
            permissions.arguments(words)
    assert tool.ALLOCATIONS_FD <= permissions.LARGEST_FD


def test_an_address_of_another_machine_is_named():
    settings = {"token": "a-word", "address": "192.0.2.1", "programs": {}}
    done = subprocess.run(
        [sys.executable, "-m", "rmwbench.lab.agent"],
        input=json.dumps(settings) + "\n",
        capture_output=True,
        text=True,
    )
    assert "192.0.2.1" in json.loads(done.stdout)["problem"] and done.stderr == ""
