"""The protocol from our side: whatever a worker does wrong is that worker's failure, named, in
time, with its last words."""

import itertools
import os
import select
import signal
import socket
import time
from pathlib import Path

import pytest

from rmwbench.lab.host import Configured, Exited, Hosts, SharedHost, Spawned, make
from rmwbench.lab.process import records
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.process.worker import WorkerFailed
from tests.lab import fake_worker

ENDPOINT = {
    "endpoint": 1, "kind": "publisher", "topic": "t", "type": {"name": "Bytes(100)", "payload_bytes": 100},
    "qos": {"reliability": "reliable"}, "arrival": {"kind": "periodic", "period_ns": 10_000_000}, "matches": 0,
}  # fmt: skip


@pytest.fixture
def processes():
    with make("test") as host:
        host.wait_ready()
        with TrialProcesses(host) as made:
            made.files = []
            yield made
            for fd in made.files:
                os.close(fd)


def add(processes: TrialProcesses, tmp_path, fault="", stage="", name="p", **changes):
    processes.files.append(records.make([records.SectionPlan(records.SENT, 1, 100)], 7))
    return processes.spawn(
        name, fake_worker.install(tmp_path, fault, stage, **changes), processes.files[-1]
    )


PATIENCE_S = 60.0
"""A time limit that is not what a test is of: no machine is so busy."""


def life(processes: TrialProcesses, over: str = "") -> None:
    """The first half of a trial. Only the step `over`, which a test lets time out, has a short time
    limit."""
    limit_s = lambda step: 0.5 if step == over else PATIENCE_S  # noqa: E731
    processes.wait_hello(limit_s("hello"))
    processes.ask_all("open", {}, limit_s("open"))
    processes.ask_all("create", {"nodes": [{"name": "n", "endpoints": [ENDPOINT]}]}, PATIENCE_S)
    processes.ask_all("match", {}, limit_s("match"))
    processes.ask_all("probe", {}, PATIENCE_S)
    processes.ask_all("settle", {"expect": {}, "timeout_ns": 0, "quiet_ns": 0}, PATIENCE_S)
    processes.ask_all("collect", {}, PATIENCE_S)


def test_a_good_worker_answers_and_leaves(processes, tmp_path):
    worker = add(processes, tmp_path)
    life(processes)
    assert worker.hello["middleware"] == "fake"
    assert (worker.pid == worker.inner_pid) == isinstance(worker.host, SharedHost)
    assert b"stdout" in worker.stdout(1000) and worker.stderr(6) == b"words\n"
    processes.ask_all("exit", {}, PATIENCE_S)
    processes.wait(lambda: worker.ended and worker.wait_status is not None, PATIENCE_S, "end")
    assert worker.wait_status == 0


def failure(processes: TrialProcesses, act=life) -> WorkerFailed:
    """What it is told; whoever waits for a limit instead is told of a timeout."""
    with pytest.raises(WorkerFailed) as caught:
        act(processes)
    return caught.value


@pytest.mark.parametrize("stage", ["hello", "open", "match", "collect"])
def test_a_crash_is_told_with_its_signal_and_last_words(processes, tmp_path, stage):
    add(processes, tmp_path, "segfault", stage)
    found = failure(processes)
    assert (found.kind, found.signal_name) == ("crashed", "SIGSEGV")
    assert (
        "the last words" in found.stderr_tail
        and "SIGSEGV" in found.reason()
        and "worker p" in found.reason()
    )


@pytest.mark.parametrize("stage", ["hello", "match"])
def test_a_hang_ends_at_the_time_limit_and_names_the_step(processes, tmp_path, stage):
    add(processes, tmp_path, "hang", stage)
    found = failure(processes, lambda processes: life(processes, over=stage))
    assert found.kind == "timeout" and stage in found.message


@pytest.mark.parametrize(
    ("fault", "stage", "complaint"),
    [
        ("garbage", "open", "not JSON"),
        ("no_object", "open", "not a JSON object"),
        ("long_line", "open", "longer than"),
        ("unknown_reply", "open", "999"),
        ("half_reply", "open", "neither ok nor error"),
        ("bare_event", "open", "malformed"),
        ("empty_reply", "match", "malformed answer to match"),
        ("empty_reply", "probe", "malformed answer to probe"),
        ("empty_reply", "settle", "malformed answer to settle"),
        ("empty_reply", "collect", "malformed answer to collect"),
        ("garbage", "hello", "not JSON"),
        ("bare_event", "hello", "before its hello"),
        ("close", "open", "still runs"),
    ],
)
def test_a_broken_protocol_is_named(processes, tmp_path, fault, stage, complaint):
    add(processes, tmp_path, fault, stage)
    found = failure(processes)
    assert found.kind == "protocol" and complaint in found.message


@pytest.mark.parametrize(
    ("hello", "complaint"),
    [({"protocol": 2}, "protocol 2"), ({"clock": "CLOCK_REALTIME"}, "CLOCK_REALTIME")],
)
def test_a_worker_that_speaks_otherwise_is_refused(processes, tmp_path, hello, complaint):
    add(processes, tmp_path, hello=hello)
    found = failure(processes)
    assert found.kind == "protocol" and complaint in found.message


def test_an_answer_that_came_while_we_stood_still_is_taken(processes, tmp_path, monkeypatch):
    worker = add(processes, tmp_path)
    processes.wait_hello(PATIENCE_S)
    posted = processes.post("p", "open", {})
    assert select.select([worker.control], [], [], PATIENCE_S)[0]
    clock, readings = time.monotonic, itertools.count()
    # 20 s pass between the first look at the clock and the second
    monkeypatch.setattr(time, "monotonic", lambda: clock() + (20 if next(readings) else 0))
    assert processes.gather([posted], 10)["p"] is not None


def test_the_time_in_which_we_stood_still_is_not_the_workers(processes, tmp_path, monkeypatch):
    add(processes, tmp_path)
    processes.wait_hello(PATIENCE_S)
    clock, turn, ahead_s = time.monotonic, processes.turn, [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock() + ahead_s[0])

    def stopped(timeout_s: float) -> None:
        """Ctrl-Z stops us and the worker, and `fg` comes 20 s later."""
        ahead_s[0] = 20.0
        monkeypatch.setattr(processes, "turn", turn)

    monkeypatch.setattr(processes, "turn", stopped)
    assert processes.ask_all("open", {}, 10)["p"] is not None


def test_a_flood_of_events_does_not_hold_the_time_limit_up(processes, tmp_path):
    add(processes, tmp_path, "flood", "open")
    assert failure(processes, lambda processes: life(processes, over="open")).kind == "timeout"


def test_an_answer_on_its_way_when_its_worker_is_killed_is_no_fault(processes, tmp_path):
    worker = add(processes, tmp_path)
    processes.wait_hello(PATIENCE_S)
    processes.post("p", "open", {})
    assert select.select([worker.control], [], [], PATIENCE_S)[0]  # it is there and not yet read
    processes.kill("p")
    processes.wait(lambda: worker.ended and worker.wait_status is not None, PATIENCE_S, "end")
    assert os.WTERMSIG(worker.wait_status) == signal.SIGKILL


def test_an_error_without_fields_is_a_refusal(processes, tmp_path):
    add(processes, tmp_path, "empty_error", "open")
    assert failure(processes).kind == "refused"


def test_one_bad_worker_among_good_ones_is_the_one_that_is_named(processes, tmp_path):
    (tmp_path / "good").mkdir()
    (tmp_path / "bad").mkdir()
    add(processes, tmp_path / "good", name="good")
    add(processes, tmp_path / "bad", "hang", "match", name="bad")

    def good_first(processes: TrialProcesses) -> None:
        """The good one has answered when the time of both is up."""
        processes.wait_hello(PATIENCE_S)
        posted = [processes.post(name, "match", {}) for name in ("good", "bad")]
        processes.await_answers(posted[:1], PATIENCE_S)
        processes.await_answers(posted, 0.5)
        for one in posted:
            one.take()

    assert failure(processes, good_first).process == "bad"


def test_a_program_that_is_not_valid_is_a_failure_of_its_worker(processes, tmp_path):
    path = tmp_path / "nonsense"
    path.write_bytes(b"\x7fELF but not really")
    path.chmod(0o755)
    processes.files.append(records.make([], 7))
    processes.spawn("p", path, processes.files[-1])
    assert failure(processes).kind == "spawn"


def test_a_crash_while_we_sleep_wakes_us(processes, tmp_path):
    add(processes, tmp_path)
    processes.wait_hello(PATIENCE_S)
    worker = processes.workers["p"]
    processes.hosts.first.signal(worker.inner_pid, 6)
    asleep_until_ns = time.monotonic_ns() + round(PATIENCE_S * 1e9)
    found = failure(processes, lambda c: c.watch_until(asleep_until_ns))
    assert found.signal_name == "SIGABRT" and time.monotonic_ns() < asleep_until_ns


def test_the_users_variables_do_not_reach_a_worker(processes, tmp_path, monkeypatch):
    monkeypatch.setenv("CYCLONEDDS_URI", "file:///home/user/mine.xml")
    # a native worker would load ROS's libraries
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/ros/jazzy/lib")
    worker = add(processes, tmp_path)
    processes.wait_hello(PATIENCE_S)
    environment = Path(f"/proc/{worker.pid}/environ").read_text()
    assert (
        "CYCLONEDDS_URI" not in environment
        and "LD_LIBRARY_PATH" not in environment
        and "HOME=/tmp" in environment
    )


class ReportingHost:
    """A host whose reports are given."""

    directory, name = "/tmp", "reporting"

    def __init__(self, *reports):
        self.reports = list(reports)

    def fileno(self):
        return self.socket.fileno()

    def receive(self, timeout_s=0.0):
        return self.reports.pop(0) if self.reports else None

    def spawn(self, *_):
        pass

    def interpret(self, *_):
        pass

    def configure(self, *_):
        pass


def test_an_ended_process_keeps_its_status_when_its_number_is_used_again():
    host = ReportingHost(
        Spawned("worker p", 7, None), Exited(7, 9), Spawned("program q", 7, None), Exited(7, 0)
    )
    with socket.socket() as host.socket, TrialProcesses(Hosts.of({"h": host})) as processes:
        worker, program = (
            processes.spawn("p", Path("/bin/true"), 0),
            processes.start_program("q", "", (), {}),
        )
        while processes._receive_report(host):
            pass
        assert (worker.wait_status, program.wait_status) == (9, 0)


def test_the_time_in_which_we_stood_still_is_not_the_hosts(monkeypatch):
    host, clock, ahead_s = ReportingHost(), time.monotonic, [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock() + ahead_s[0])
    with socket.socket() as host.socket, TrialProcesses(Hosts.of({"h": host})) as processes:
        token = processes.configure("h", "change")
        answer = Configured(token, None, [], {}, 0)

        def turn(_):
            """The first is as long as Ctrl-Z and `fg` 20 s later; the second has the answer."""
            if ahead_s[0]:
                processes.configured[token] = answer
            ahead_s[0] = 20.0

        monkeypatch.setattr(processes, "turn", turn)
        assert processes.await_configured([token], 5.0) == [answer]
