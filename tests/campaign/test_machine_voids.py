"""A machine that takes its processors away in the middle of a trial, made for real: the trial must
become void, for the machine's sake and by the right rule.

Steal itself cannot be made inside a machine. Its two likenesses can: a real-time thread that keeps
a processor, which no ordinary thread gets it back from, and a CPU quota that stops everything for
most of each period. Both are thieves as a hypervisor is one: the middleware did nothing and gets
nothing.
"""

import contextlib
import os
import subprocess
import sys

import pytest

from rmwbench.campaign.trial.trial_life import run_trial
from rmwbench.codes import Code
from tests.campaign.cells import only_cell, order
from tests.campaign.ended import rows
from tests.lab import tools
from tests.support.program import cpu_group, run_program

pytestmark = [pytest.mark.timing, pytest.mark.smoke]

SUITE = """
timeline: {warmup_s: 0.1, drain_s: 0.5, grace_s: 0.2, match_s: 5}
arms:
  - {name: floor, middleware: floor, options: {transport: shm_ring}}
workloads:
  - {name: w, message: Bytes(320), rate_hz: 100, timeline: {steady_s: 1.5}}
"""

THIEF = """
import os, time
os.sched_setaffinity(0, {%d})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
print("here", flush=True)
end = time.monotonic() + 20
while time.monotonic() < end:
    pass
"""


@contextlib.contextmanager
def thief(processor):
    """A real-time thread on that processor. The kernel leaves 5 % of each second to the others."""
    running = subprocess.Popen(
        [sys.executable, "-c", THIEF % processor], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        if running.stdout.readline().strip() != b"here":
            pytest.skip(
                "no real-time thread here: "
                f"{running.stderr.read().decode().strip().splitlines()[-1:]}"
            )
        yield
    finally:
        running.kill()
        running.wait()


@pytest.fixture(autouse=True)
def spoilt_is_void(monkeypatch):
    monkeypatch.delenv("RMWBENCH_SPOILT")


def test_a_stolen_processor_voids_the_trial():
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        pytest.skip("with its only processor stolen nothing would run at all")
    worker = tools.worker("floor")
    with thief(processors[-1]):
        result = run_trial(order(only_cell(SUITE)), worker)
    (stalled,) = [row["value"] for row in rows(result, "probes", probe="canary_stalled")]
    # How long a real-time thread keeps its processor is up to the kernel; the rule follows what it
    # took. A hypervisor may break its own rule beside it, and a worker may start late for it.
    assert stalled > 0.1
    codes = {reason.code for reason in result.reasons}
    assert (Code.CANARY in codes) == (stalled > 0.5), (stalled, result.reason)
    assert codes <= {Code.CANARY, Code.STEAL, Code.START_LATE}, result.reason
    assert (result.status == "void") == bool(codes), result.reason
    of_machine = [reason for reason in result.reasons if reason.code != Code.START_LATE]
    assert all(reason.machine for reason in of_machine)
    if of_machine:
        assert result.cause == "machine"


BURN = """
import time
from rmwbench.lab import machine
begin, end = machine.read_edge(), time.monotonic() + 1.0
while time.monotonic() < end:
    pass
print(*(reason.code for reason in machine.voids(machine.edge_probes(begin, machine.read_edge()))))
"""


def test_a_used_up_quota_voids_the_trial():
    """A container with --cpus 0.3 stops a process that needs more for the rest of each period."""
    with cpu_group(30_000) as group:
        enter = f'echo $$ > {group}/cgroup.procs; exec "$@"'
        done = run_program("sh", "-c", enter, "sh", sys.executable, "-c", BURN, timeout=120)
        codes = done.stdout.split()
        assert "throttled" in codes and set(codes) <= {"throttled", "steal"}, (codes, done.stderr)
