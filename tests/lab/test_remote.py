"""A host behind an agent is as good as one here: what a worker says, leaves and does wrong arrives
the same, and nothing outlives the connection."""

import contextlib
import os
import select
import socket
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rmwbench.lab.clock import HostClocks
from rmwbench.lab.host import Exited, Host, HostBroken, Hosts, RemoteHost
from rmwbench.lab.host.connection import SILENCE_S, Connection, Disconnected
from rmwbench.lab.process import records
from rmwbench.lab.process.trial_processes import TrialProcesses
from tests.lab import fake_worker
from tests.lab.test_worker import failure, life
from tests.support.agents import start_agent
from tests.support.program import until

pytestmark = [pytest.mark.traffic, pytest.mark.own_host]


class Machine:
    """An agent on this one's loopback, and processes on its host."""

    def __init__(self):
        self.process = None
        self.files = []

    def start(self, programs) -> RemoteHost:
        self.process, self.agent = start_agent(programs)
        return RemoteHost("test", self.agent)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(10)
        if self.process is not None:
            self.process.stdout.close()


@pytest.fixture
def machine():
    made = Machine()
    yield made
    made.stop()
    for fd in made.files:
        os.close(fd)


def processes_with(machine, tmp_path, fault="", stage="") -> tuple[TrialProcesses, Hosts]:
    path = fake_worker.install(tmp_path, fault, stage)
    hosts = Hosts.of({"away": machine.start({path.name: {"path": str(path), "inherit": {}}})})
    hosts.wait_ready()
    processes = TrialProcesses(hosts)
    machine.files.append(records.make([records.SectionPlan(records.SENT, 1, 100)], 7))
    processes.spawn("p", path, machine.files[-1])
    return processes, hosts


def test_a_good_worker_answers_and_leaves_its_logs_and_records(machine, tmp_path):
    processes, hosts = processes_with(machine, tmp_path)
    with processes:
        life(processes)
        worker = processes.workers["p"]
        assert worker.hello["middleware"] == "fake" and worker.pid is None and worker.inner_pid
        processes.ask_all("exit", {}, 5.0)
        processes.wait(lambda: worker.ended and worker.wait_status is not None, 5.0, "end")
        assert worker.wait_status == 0
        # before its host ended
        assert b"stdout" in worker.stdout(1000) and worker.stderr(6) == b"words\n"
        hosts.close()
        assert hosts["away"].lost is None and hosts.remote
    assert records.read(machine.files[-1], 7)[0].capacity == 100


def test_a_worker_that_never_stops_talking_is_cut_off(machine, tmp_path):
    processes, hosts = processes_with(machine, tmp_path, "long_line", "open")
    with processes:
        assert "longer than" in failure(processes).message
        hosts.close()


def test_records_of_a_killed_worker_come_back(machine, tmp_path):
    processes, hosts = processes_with(machine, tmp_path, "damage", "match")
    with processes:
        life(processes)
        hosts.close()
    with pytest.raises(records.RecordsDamaged):  # as it left them
        records.read(machine.files[-1], 7)


def test_a_machine_whose_agent_ends_is_lost_and_its_processes_with_it(machine, tmp_path):
    processes, hosts = processes_with(machine, tmp_path)
    with processes:
        life(processes)
        machine.stop()
        found = failure(processes, lambda processes: processes.ask_all("open", {}, 5.0))
        assert found.kind == "host" and "machine here is lost" in found.message
        hosts.close()
        assert "machine here is lost" in hosts["away"].lost


def test_a_machine_that_is_lost_while_its_clock_is_read_is_said_to_be_lost(machine, tmp_path):
    """Its clock's connection may end before the other one: no worker is to blame for that."""
    processes, hosts = processes_with(machine, tmp_path)
    with processes:
        life(processes)
        clocks = HostClocks(processes, {"p": "away"})
        clocks.begin()
        machine.stop()
        failed = failure(processes, lambda processes: clocks.read())
        assert failed.kind == "host" and "machine here is lost" in failed.message
        hosts.close()


def test_a_host_dies_with_its_connection(machine, tmp_path):
    """However the orchestrator ends: here the connection alone does."""
    processes, hosts = processes_with(machine, tmp_path)
    with processes:
        life(processes)
        assert _inits(machine.process.pid)
        hosts["away"]._connection.close()
        until(lambda: not _inits(machine.process.pid), timeout_s=300)
        hosts["away"]._lose("the test")
        hosts.close()
    with RemoteHost("again", machine.agent) as again:  # and the agent serves the next one
        again.wait_ready()


def _inits(parent: int) -> list[str]:
    """Children of a process, none of which is dead and waits to be reaped."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, ppid = path.read_text().rpartition(")")[2].split()[:2]
            found += [path.parent.name] if int(ppid) == parent and state != "Z" else []
    return found


def test_who_does_not_know_the_word_gets_nothing(machine):
    machine.start({}).close()
    stranger = replace(machine.agent, token="another")
    with pytest.raises(HostBroken, match="does not know us"):
        RemoteHost("test", stranger)
    machine.stop()
    with pytest.raises(HostBroken, match="cannot reach"):
        RemoteHost("test", machine.agent)


def test_a_program_that_the_machine_lacks_is_told(machine, tmp_path):
    path = fake_worker.install(tmp_path, "", "")
    hosts = Hosts.of({"away": machine.start({})})
    hosts.wait_ready()
    with TrialProcesses(hosts) as processes:
        machine.files.append(records.make([], 7))
        processes.spawn("p", path, machine.files[-1])
        with pytest.raises(HostBroken) as broken:
            hosts["away"].configure("anything")
        assert "does not change the network" in str(broken.value)
        found = failure(processes, lambda processes: processes.wait_hello(2.0))
        assert found.kind in ("spawn", "timeout")
        hosts.close()


def test_the_clock_is_told_and_a_late_answer_is_passed_over(machine):
    with machine.start({}) as host:
        host.wait_ready()
        first = host.exchange_clock(2.0)
        assert first is not None and first[0] <= first[1] <= first[2] <= first[3]
        host._clock.sendall((7).to_bytes(8, "little"))  # an exchange that was given up
        asked, received, answered, heard = host.exchange_clock(2.0)
        assert first[3] <= asked <= received <= answered <= heard


def test_a_host_in_the_machines_own_network_has_the_rest_to_itself():
    with Host("test", shared=True) as made:
        made.wait_ready()
        made.spawn("sleeper", Path("/bin/sleep"), ["1000"], {}, {})
        pid = made.receive(5).pid
        same = {
            name: os.readlink(f"/proc/{pid}/ns/{name}") == os.readlink(f"/proc/self/ns/{name}")
            for name in NAMES
        }
        assert same == {"net": True, "mnt": False, "pid": False, "ipc": False}


NAMES = ("net", "mnt", "pid", "ipc")


@contextlib.contextmanager
def connection_and_socket() -> Iterator[tuple[Connection, socket.socket]]:
    """Small buffers, so that most of a large message waits in the queue."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as far:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        far.connect(listener.getsockname())
        connection = Connection(listener.accept()[0])
        try:
            yield connection, far
        finally:
            connection.close()


def test_a_message_that_is_not_valid_ends_the_connection():
    with connection_and_socket() as (connection, sender):
        sender.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert select.select([connection], [], [], 5.0)[0]
        with pytest.raises(Disconnected):
            list(connection.receive())


class SlowReader:
    """A clock that goes on by 5 s at each look, when the other end reads a part."""

    def __init__(self, far: socket.socket, part_bytes: int):
        self.far, self.part_bytes, self.now_s, self.read_bytes = far, part_bytes, 0.0, 0

    def monotonic(self) -> float:
        self.now_s += 5.0
        if self.part_bytes:
            with contextlib.suppress(BlockingIOError):
                self.read_bytes += len(self.far.recv(self.part_bytes))
        return self.now_s


@pytest.mark.parametrize("part_bytes", [1 << 18, 0])
def test_one_message_that_takes_long_is_progress_and_silence_is_none(monkeypatch, part_bytes):
    with connection_and_socket() as (connection, far):
        far.setblocking(False)
        reader = SlowReader(far, part_bytes)
        connection.send({"piece": 0}, bytes(1 << 22))
        monkeypatch.setattr("rmwbench.lab.host.connection.time", reader)
        if part_bytes:
            connection.drain()
            assert reader.now_s > SILENCE_S and reader.read_bytes > 1 << 21
        else:
            with pytest.raises(Disconnected, match="reads nothing"):
                connection.drain()


@pytest.mark.parametrize("abort", [False, True])
def test_the_last_message_comes_before_the_end(abort):
    with connection_and_socket() as (connection, far):
        other = Connection(far)
        other.send({"failed": "why"})
        if abort:  # RST instead of FIN
            far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert select.select([connection], [], [], 5.0)[0]
        other.close()
        received = []
        with pytest.raises(Disconnected):
            for header, _ in connection.receive():
                received.append(header)
        assert received == [{"failed": "why"}]


def test_a_loss_that_comes_with_the_last_report_still_wakes_a_selector(machine):
    with machine.start({}) as host:
        host.wait_ready()
        host._report(Exited(7, 0))
        host._lose("it sent nonsense")
        assert host.receive() == Exited(7, 0)
        assert select.select([host], [], [], 0)[0] == [host]
        with pytest.raises(HostBroken, match="nonsense"):
            host.receive()


def test_the_last_message_of_a_lost_machine_is_read_before_more_is_sent(machine):
    host = machine.start({})
    try:
        with connection_and_socket() as (connection, far):
            other = Connection(far)
            host._poll.unregister(host._connection)
            host._connection.close()
            host._connection = connection
            host._poll.register(connection)
            connection.send({"piece": 0}, bytes(1 << 22))
            other.send({"failed": "the last step", "errno": 5})
            assert connection.wants_to_write and select.select([connection], [], [], 5.0)[0]
            other.close()  # with bytes that were not read: RST
            host._turn(5.0)
            assert host._ready == ("the last step", 5) and host.lost is not None
    finally:
        host.close()
