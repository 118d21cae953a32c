"""What else the machine does, for real: loads that come up, are accounted apart, end with the
trial, and void it where they do not come up. Needs the built floor worker, sampler and load."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

from rmwbench.campaign.trial.trial_life import TrialResult, run_trial
from rmwbench.lab import machine
from rmwbench.lab.host import Host, Hosts
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.sampling import loads
from rmwbench.lab.sampling.loads import Background, LoadFlow
from tests.campaign.cells import only_cell, order
from tests.campaign.ended import rows, well
from tests.lab import tools
from tests.network.laboratory import taps
from tests.support.program import until

pytestmark = pytest.mark.timing

SUITE = """
timeline: {{warmup_s: 0.1, drain_s: 0.5, grace_s: 0.2, match_s: 5}}
arms:
  - {{name: floor, middleware: floor, options: {{transport: {transport}, path: {transport}}}}}
workloads:
  - name: w
    message: Bytes(320)
    rate_hz: 200
    qos: {{reliability: best_effort, durability: volatile, history: keep_last, depth: 10}}
    timeline: {{steady_s: 0.6}}
    background: {background}
    host_idle: {host_idle}
"""


@pytest.fixture(scope="module")
def worker():
    tools.built("load")
    return tools.worker("floor")


def run(worker, kind="idle", host_idle="as_found", transport="tcp") -> TrialResult:
    text = SUITE.format(background=kind, host_idle=host_idle, transport=transport)
    return run_trial(order(only_cell(text)), worker)


def probes(result: TrialResult) -> dict[str, float]:
    return {row["probe"]: row["value"] for row in rows(result, "probes", at="window")}


def cpu_ns(result: TrialResult) -> dict[str, float]:
    """Role → processor time in the window."""
    used_ns: dict[str, float] = defaultdict(float)
    for at, sign in (("steady_begin", -1), ("steady_end", 1)):
        for row in rows(result, "counters", counter="cpu", at=at):
            used_ns[row["role"]] += sign * row["value"]
    return used_ns


def not_failed(result: TrialResult) -> TrialResult:
    """A machine that others keep busy may void the trial; the load's account is there all the
    same."""
    assert well(result)
    assert "background" not in [reason.code for reason in result.reasons]
    return result


def load_pids() -> set[str]:
    """Process ids, also of those that another run of the tests has started."""
    done = subprocess.run(["pgrep", "-x", "rmwbench-load"], capture_output=True, text=True)
    return set(done.stdout.split())


def test_all_processors_busy_is_all_processors_busy(worker):
    result = not_failed(run(worker, "cpu100"))
    probed = probes(result)
    assert probed["background_achieved"] > 0.8
    assert probed["busy"] + probed["softirq"] + probed["steal"] >= 0.9
    assert "machine_bound" in [v.rule for v in machine.violations(rows(result, "probes"))]
    assert cpu_ns(result)["background"] > 5 * cpu_ns(result)["publisher"]
    assert probed["background_cpu"] <= probed["own"] <= 1


@pytest.mark.smoke
def test_half_of_the_processors_is_half(worker):
    probed = probes(not_failed(run(worker, "cpu50")))
    assert probed["background_achieved"] > 0.8 and 0.05 < probed["background_cpu"] < 0.6


def test_copies_move_bytes(worker):
    probed = probes(not_failed(run(worker, "membw")))
    assert probed["background_achieved"] > 0.8 and probed["background_rate"] > 1e8


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_traffic_is_on_the_interface_and_not_on_the_middlewares_account(worker, transport):
    quiet, loud = (
        not_failed(run(worker, kind, transport=transport)) for kind in ("idle", "traffic")
    )
    sent, seen, attested = [], [], []
    for result in (quiet, loud):
        counted = rows(result, "counters", counter="interface.lo.tx_bytes")
        at = {row["at"]: row["value"] for row in counted}
        sent.append(at["steady_end"] - at["steady_begin"])
        begin, end = (
            snapshot["interfaces"]["lo"]["tx_bytes"]
            for snapshot in json.loads(result.files["sampler.json"])["snapshots"]
        )
        seen.append(end - begin)
        by_path = rows(result, "attestations", path=transport, label="counted")
        attested.append(sum(row["bytes"] for row in by_path))
    assert seen[1] > seen[0] + 0.6 * 0.8 * 10_000 * 1428
    assert probes(loud)["background_rate"] == pytest.approx(14e6, rel=0.1)
    for of_quiet, of_loud in (sent, attested):
        assert of_loud == pytest.approx(of_quiet, rel=0.4)


def test_processors_kept_awake_count_as_idle(worker):
    result = not_failed(run(worker, "idle", "awake"))
    probed, used = probes(result), cpu_ns(result)
    assert probed["host_awake"] == 1 and used["awake"] >= 0
    shares = [probed[name] for name in ("busy", "idle", "softirq", "steal")]
    assert sum(shares) == pytest.approx(1.0) and min(shares) >= 0
    # The spinners ran in what would have been idle time, and are in neither our own nor anybody
    # else's share.
    assert used["awake"] / (0.6e9 * os.cpu_count()) <= probed["idle"] + 0.05


def test_nothing_is_left_of_a_load(worker, monkeypatch):
    begun, pids = Background.start, set()

    def start(self):
        begun(self)
        pids.update(str(load.process.pid) for load in self._loads.values())

    monkeypatch.setattr(Background, "start", start)
    result = not_failed(run(worker, "traffic", "awake"))
    assert len(pids) == 2 and not pids & load_pids()
    names = {row["process"]: row["role"] for row in rows(result, "counters")}
    unread = [row["text"] for row in rows(result, "events", event="no_data")]
    assert (names.get("background"), names.get("awake")) == ("background", "awake"), (names, unread)


def test_a_load_that_does_not_come_up_voids_the_trial(worker, monkeypatch):
    monkeypatch.setattr(loads, "TIMEOUT_S", 1.0)
    broken = Path("/bin/false")
    monkeypatch.setattr(loads.tool, "find", lambda name: broken)
    result = run(worker, "cpu50", "awake")
    assert result.status == "void"
    assert {"background", "host_idle"} <= {reason.code for reason in result.reasons}
    events = rows(result, "events", event="problem")
    assert {row["process"] for row in events} == {"background", "awake"}
    assert all(row["text"] for row in events)


def test_a_load_that_puts_on_too_little_voids_the_trial(worker, monkeypatch):
    """A stopped load is alive and does nothing, like one that a limit holds down."""
    begun = Background.start

    def start_and_stop(self):
        begun(self)
        os.kill(self._loads["background"].process.pid, signal.SIGSTOP)

    ended = Background.stop

    def go_on_and_end(self):
        os.kill(self._loads["background"].process.pid, signal.SIGCONT)
        ended(self)

    monkeypatch.setattr(Background, "start", start_and_stop)
    monkeypatch.setattr(Background, "stop", go_on_and_end)
    result = run(worker, "cpu100")
    assert result.status == "void" and "background" in [reason.code for reason in result.reasons]
    assert probes(result)["background_achieved"] < 0.8


ORCHESTRATOR = """
import sys, time
from rmwbench.lab.sampling.loads import Background
from rmwbench.lab.host import Host
from rmwbench.lab.process.trial_processes import TrialProcesses
host = Host("test"); host.wait_ready()
processes = TrialProcesses(host)
loads = Background(processes, {"background": "cpu100", "host_idle": "awake"})
loads.start()
print(*[p.pid for p in processes.tools.values()], flush=True)
time.sleep(60)
"""


@pytest.mark.own_host
def test_loads_die_with_an_orchestrator_that_is_killed():
    running = subprocess.Popen(
        [sys.executable, "-c", ORCHESTRATOR], stdout=subprocess.PIPE, text=True
    )
    try:
        pids = running.stdout.readline().split()
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    assert len(pids) == 2
    until(lambda: not load_pids() & {*pids})


@pytest.mark.own_host
def test_idle_and_as_found_start_nothing():
    with Host("test") as host:
        host.wait_ready()
        with TrialProcesses(host) as processes:
            loads = Background(processes, {"background": "idle", "host_idle": "as_found"})
            loads.start()
            loads.stop()
            assert processes.tools == {} and loads.probes() == []
            assert loads.pids(host.name) == [] and loads.problems == {}


@pytest.mark.parametrize(
    ("kind", "hosts", "names"),
    [
        ("traffic", None, {"background": "robot", "background@base": "base"}),
        ("traffic", ["base"], {"background": "base"}),
        ("cpu50", None, {"background": "robot"}),  # the processors are those of one machine
        ("cpu50", ["base"], {"background": "base"}),
    ],
)
def test_a_load_is_on_the_hosts_that_it_is_asked_for(kind, hosts, names):
    taps()
    tools.built("load")
    with Hosts("test", ["robot", "base"]) as made:
        made.wait_ready()
        with TrialProcesses(made) as processes:
            loads = Background(processes, {"background": kind, "host_idle": "as_found"}, hosts)
            try:
                loads.start()
                now_ns = time.monotonic_ns()
                loads.window(
                    dict.fromkeys(processes.hosts, (now_ns + 50_000_000, now_ns + 350_000_000))
                )
                processes.watch_until(now_ns + 400_000_000)
                loads.stop()
                assert {name: load.host for name, load in loads._loads.items()} == names
                probed = {row["probe"]: row["value"] for row in loads.probes()}
                assert not loads.problems and probed["background_achieved"] > 0.3, (
                    loads.problems,
                    probed,
                )
                # the sum of all hosts: 10 000 datagrams of 1400 bytes a second each
                if kind == "traffic":
                    assert probed["background_rate"] == pytest.approx(14e6 * len(names), rel=0.7)
                flows = {host: flow.datagram_bytes for host, flow in loads.own_flows.items()}
                assert flows == (dict.fromkeys(names.values(), 1428) if kind == "traffic" else {})
            finally:
                processes.hosts.close()


def test_a_flow_knows_what_was_sent_between_two_times():
    flow = LoadFlow(((10, 100), (20, 110), (500, 600), (510, 610)), 1428)
    assert flow.datagrams(15, 505) == 500 and flow.datagrams(20, 510) == 500
    assert flow.datagrams(0, 5) == 0
    assert LoadFlow().datagrams(0, 10**9) == 0
