"""Workers as a real-time robot runs them: what the kernel gave is read back, and what it refused is
not a result. Two processes of a trial in containers of their own: who still hears whom, and by
which path."""

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
from rmwbench.lab.host.hosts import SHARED, HostKind
from rmwbench.suite.cells import Cell
from rmwbench.suite.process_conditions import PRIORITY, REAL_TIME
from tests.campaign.cells import only_cell, order
from tests.campaign.ended import rows
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


CONTAINED = """
timeline: {warmup_s: 0.2, drain_s: 0.3, match_s: 3, steady_s: 0.5}
arms:
  - {name: arm, middleware: MIDDLEWARE}
workloads:
  - {name: w, message: Bytes(50000), rate_hz: 50, containers: LEVEL}
"""


def cell_of(middleware, level):
    return only_cell(CONTAINED.replace("MIDDLEWARE", middleware).replace("LEVEL", level))


@pytest.mark.traffic
@pytest.mark.own_host
@pytest.mark.usefixtures("any_machine")
@pytest.mark.parametrize(
    ("middleware", "level", "status"),
    [
        ("cyclonedds", "own_ipc", "done"),  # over UDP: nothing of it is in shared memory
        ("cyclonedds", "no_shm", "done"),
        ("iceoryx2", "none", "done"),
        ("iceoryx2", "own_ipc", "failed"),  # all of it is in shared memory
    ],
)
def test_who_needs_shared_memory_is_not_heard_from_another_container(middleware, level, status):
    worker = tools.worker(middleware)
    result = run_trial(order(cell_of(middleware, level)), worker)
    assert result.status == status, result.reason
    if status == "done":
        assert len(rows(result, "received")) >= 20
        assert rows(result, "trials")[0]["status"] == "done"


@pytest.mark.traffic
@pytest.mark.own_host
def test_what_a_process_costs_is_counted_once_in_a_container_too():
    worker = tools.worker("cyclonedds")
    roles = {}
    for level in ("none", "own_ipc"):
        result = run_trial(order(cell_of("cyclonedds", level)), worker)
        assert result.status == "done", result.reason
        roles[level] = {(row["process"], row["role"]) for row in rows(result, "counters")}
    assert roles["none"] == roles["own_ipc"]


def test_a_suite_that_names_no_level_is_told_which_there_are():
    with pytest.raises(UserError, match="own_ipc"):
        cell_of("floor", "own-ipc")


def test_a_cell_says_in_what_containers_it_is_and_others_say_nothing():
    assert cell_of("floor", "own_ipc").conditions["containers"] == "own_ipc"
    assert "containers" not in cell_of("floor", "none").conditions


def test_where_no_namespaces_can_be_made_there_are_no_containers():
    cell = cell_of("floor", "own_ipc")
    assert unsupported_reasons([cell], {}, HostKind(SHARED, "denied")) == {
        1: "containers are namespaces, which cannot be made here"
    }
    assert unsupported_reasons([cell], {}) == {}
