"""Workers as a real-time robot runs them: what the kernel gave is read back, and what it refused is
not a result."""

import os
import resource
import subprocess
from types import SimpleNamespace

import pytest

from rmwbench.campaign.plan import unsupported_cells
from rmwbench.campaign.plan.unsupported_cells import unsupported_reasons
from rmwbench.campaign.trial import spawn
from rmwbench.campaign.trial.trial_life import run_trial
from rmwbench.errors import UserError
from rmwbench.lab.host import Scheduling
from rmwbench.suite.cells import Cell
from rmwbench.suite.process_conditions import PRIORITY, REAL_TIME
from tests.campaign.cells import only_cell, order
from tests.lab import tools

SUITE = """
timeline: {{warmup_s: 0.05, drain_s: 0.05, steady_s: 0.3}}
arms:
  - {{name: a, middleware: floor, wait: {wait}, options: {{transport: unix}}}}
workloads:
  - {{name: w, message: Bytes(100), rate_hz: 100, real_time: {level}}}
"""


def cell(level: str, wait: str = "block") -> Cell:
    return only_cell(SUITE.format(level=level, wait=wait))


def test_processors_are_dealt_out_in_turn():
    usable = sorted(os.sched_getaffinity(0))
    made = cell("pinned")
    scheduled = [spawn.scheduling(made, process.name) for process in made.processes]
    assert [one.processors for one in scheduled] == [
        (usable[n % len(usable)],) for n in range(len(scheduled))
    ]
    assert spawn.scheduling(cell("none"), made.processes[0].name) is None
    assert spawn.scheduling(cell("all"), made.processes[0].name) == Scheduling(
        PRIORITY, (usable[0],), True
    )


def test_an_unknown_level_is_named():
    with pytest.raises(UserError) as refused:
        cell("fifi")
    assert "fifi" in str(refused.value) and "fifo" in refused.value.render()


def test_polling_with_sched_fifo_and_what_only_root_gets_are_told_before_anything_runs(monkeypatch):
    worker = {"floor": tools.worker("floor")}
    monkeypatch.setattr(unsupported_cells, "has_capability", lambda number: True)
    (reason,) = unsupported_reasons([cell("fifo", wait="poll")], worker).values()
    assert "leaves its processor to nobody else" in reason
    assert not unsupported_reasons([cell("all")], worker)
    # as root of an ordinary container
    monkeypatch.setattr(unsupported_cells, "has_capability", lambda number: False)
    assert "run as root" in unsupported_reasons([cell("locked")], worker)[1]
    assert "--cap-add SYS_NICE" in unsupported_reasons([cell("fifo")], worker)[1]
    assert not unsupported_reasons([cell("pinned")], worker)


@pytest.mark.parametrize(("level", "reaped"), [("locked", False), ("locked", True), ("fifo", True)])
def test_a_worker_that_has_ended_was_refused_nothing(level, reaped):
    """Its cell would be not supported, and never run again."""
    worker = subprocess.Popen(["true"])
    os.waitid(os.P_PID, worker.pid, os.WEXITED | (0 if reaped else os.WNOWAIT))
    processes = SimpleNamespace(workers={"talker": SimpleNamespace(pid=worker.pid)})
    spawn.check_scheduling(cell(level), processes)
    worker.wait()


@pytest.mark.timing
@pytest.mark.parametrize("level", list(REAL_TIME))
def test_every_thread_of_a_worker_has_what_was_asked_for(level, monkeypatch):
    if reason := unsupported_reasons([cell(level)], {"floor": tools.worker("floor")}).get(1):
        pytest.skip(reason)
    seen: dict[str, list[tuple[int, set[int], int]]] = {}
    collect = spawn.check_scheduling

    def look(made, processes):
        collect(made, processes)
        for name, worker in processes.workers.items():
            threads = map(int, os.listdir(f"/proc/{worker.pid}/task"))
            locked = spawn.locked_bytes(worker.pid)
            seen[name] = [
                (os.sched_getscheduler(tid), os.sched_getaffinity(tid), locked) for tid in threads
            ]

    monkeypatch.setattr(spawn, "check_scheduling", look)
    made, asked = cell(level), REAL_TIME[level]
    own_limits = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    result = run_trial(order(made), tools.worker("floor"))
    assert result.status in ("done", "void"), result.reason
    assert set(seen) == {process.name for process in made.processes}
    for place, threads in enumerate(seen.values()):
        usable = sorted(os.sched_getaffinity(0))
        for policy, processors, locked in threads:
            assert policy == (os.SCHED_FIFO if asked and asked.fifo else os.SCHED_OTHER)
            assert processors == (
                {usable[place % len(usable)]} if asked and asked.pinned else set(usable)
            )
            assert (locked > 0) == bool(asked and asked.locked)
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
    assert resource.getrlimit(resource.RLIMIT_MEMLOCK) == own_limits


@pytest.mark.timing
def test_what_the_kernel_refuses_is_not_supported_and_no_trial(monkeypatch):
    monkeypatch.setattr(spawn, "scheduling", lambda made, process: Scheduling(0, (4095,), False))
    result = run_trial(order(cell("pinned")), tools.worker("floor"))
    assert result.status == "unsupported"
    assert (
        result.reason == "real_time pinned: the kernel refused processor 4095, for process talker"
    )
