"""Clocks of real hosts: a time namespace is another machine's clock as far as a process can tell,
and its offset is known to the nanosecond."""

import os
import time
from contextlib import contextmanager

import pytest

from rmwbench.lab.clock import HostClocks, is_own
from rmwbench.lab.host import Host, HostBroken
from rmwbench.lab.process import records
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.process.worker import WorkerFailed
from tests.lab import fake_worker

AHEAD_S = 1000


@contextmanager
def processes(directory, ahead_s, fault="", stage=""):
    """A worker of ours in a host that is that far ahead."""
    host = Host("clock", clock_offset_s=ahead_s)
    fd = records.make([], 1)
    try:
        try:
            host.wait_ready()
        except HostBroken as broken:
            pytest.skip(f"this kernel makes no time namespace: {broken}")
        with TrialProcesses(host) as found:
            found.spawn("w", fake_worker.install(directory, fault, stage), fd)
            found.wait_hello(60)
            yield found
    finally:
        host.close()
        os.close(fd)


def test_the_true_offset_of_another_clock_is_always_within_the_bound(tmp_path):
    with processes(tmp_path, AHEAD_S) as found:
        clocks = HostClocks(found, {"w": "base"})
        clocks.begin()
        clocks.read_in_window()
        time.sleep(0.05)
        clocks.read()
        clocks.check()
        rows = list(clocks.rows())
        # within the window nobody waits for a late answer
        assert clocks.foreign == ("base",) and len(rows) in (2, 3)
        for row in rows:
            assert abs(row["offset_ns"] - AHEAD_S * 10**9) <= row["bound_ns"]
        now_ns = time.monotonic_ns()
        clock = clocks.clock_of("w")
        assert (
            abs(clock.from_reference(now_ns) - now_ns - AHEAD_S * 10**9) <= clock.bound([now_ns])[0]
        )


def test_two_hosts_on_our_clock_have_an_exact_row_each(tmp_path):
    with processes(tmp_path, 0) as found:
        clocks = HostClocks(found, {"w": "robot", "late": "base"})
        found.workers["late"] = found.workers["w"]
        clocks.begin()
        del found.workers["late"]
        assert [(row["host"], row["offset_ns"], row["bound_ns"]) for row in clocks.rows()] == [
            ("robot", 0, 0),
            ("base", 0, 0),
        ]


def test_a_worker_that_cannot_tell_its_clock_is_refused_by_name(tmp_path):
    with (
        processes(tmp_path, AHEAD_S, "refuse", "clock") as found,
        pytest.raises(WorkerFailed, match="w: refused clock"),
    ):
        HostClocks(found, {"w": "base"}).begin()


def test_in_the_window_nobody_waits_for_a_worker_that_hangs(tmp_path):
    with processes(tmp_path, AHEAD_S) as found:
        clocks = HostClocks(found, {"w": "base"})
        clocks.begin()
        os.kill(found.workers["w"].pid, 19)
        try:
            clocks.read_in_window()
        finally:
            os.kill(found.workers["w"].pid, 18)
        assert len(list(clocks.rows())) == 1
        clocks.read()
        assert len(list(clocks.rows())) == 2, "the answer that came late spoils nothing"


def test_a_process_of_another_machine_is_not_taken_for_ours():
    assert is_own(os.getpid()) and not is_own(None) and not is_own(2**22 + 1)


def test_a_host_whose_workers_are_gone_keeps_the_readings_it_has(tmp_path):
    with processes(tmp_path, AHEAD_S) as found:
        clocks = HostClocks(found, {"w": "base"})
        clocks.begin()
        found.workers["w"].request("exit", {})
        found.wait(lambda: found.workers["w"].ended, 5, "end")
        clocks.read()
        clocks.read_in_window()
        assert len(list(clocks.rows())) == 1
        (row,) = clocks.rows()
        assert abs(row["offset_ns"] - AHEAD_S * 10**9) <= row["bound_ns"]


def test_our_own_clock_is_looked_up_and_nobody_is_asked(tmp_path):
    with processes(tmp_path, 0, "hang", "clock") as found:
        clocks = HostClocks(found, {"w": "local"})
        clocks.begin()
        clocks.read()
        clocks.read_in_window()
        assert (
            clocks.foreign == ()
            and not list(clocks.rows())
            and clocks.clock_of("w").from_reference(5) == 5
        )
        assert not found.workers["w"].pending
