"""Whole trials over several hosts with a real middleware, and what is left when the tool is killed.
Needs the built workers, the link and TAP devices."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from rmwbench.campaign.plan.profile import address_environment
from rmwbench.campaign.plan.unsupported_cells import unsupported_reasons
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult, run_trial
from rmwbench.lab.host import Host, Hosts, hosts, marker
from tests.lab import tools
from tests.network.laboratory import cell, taps
from tests.support.namespaces import Held

pytestmark = pytest.mark.traffic

RANGE = """{links: {all: {both: {rate_mbps: 54, loss: 0.02, delay_ms: 1}}},
      changes: [{at_s: 0.4, host: robot, change: blackhole}, {at_s: 0.9, host: robot, change: up}]}"""


@pytest.fixture(scope="module", autouse=True)
def _possible():
    taps()
    tools.built("link")


def order(made) -> Order:
    return Order(1, made, 0, 0, seed=11, nonce=0x0123_4567_89AB_CDEF)


@pytest.fixture(scope="module")
def ranged() -> TrialResult:
    made = cell(RANGE, steady_s=1.5)
    return run_trial(order(made), tools.worker("cyclonedds"), Hosts("test", made.hosts))


def test_a_trial_over_two_hosts_has_everything_that_one_has(ranged):
    assert ranged.status in ("done", "void"), ranged.reason
    if ranged.status == "void":
        assert ranged.cause == "machine", ranged.reason
    tables = ranged.tables
    assert tables["sent"].num_rows > 150 and tables["received"].num_rows > 0
    assert {row["host"] for row in tables["endpoints"].to_pylist()} == {"robot", "base"}
    counters = tables["counters"].to_pylist()
    edges = {
        (row["process"], row["at"])
        for row in counters
        if row["counter"] == "interface.eth0.tx_bytes"
    }
    assert {
        (host, at) for host in ("robot", "base") for at in ("steady_begin", "steady_end")
    } <= edges
    assert {"link", "sampler", "sampler@base"} <= {
        row["process"] for row in counters if row["role"] == "harness"
    }
    assert {"sampler.json", "sampler@base.json", "link.json", "network.json"} <= ranged.files.keys()


def test_changes_of_the_network_are_events_at_their_time(ranged):
    (trial,) = ranged.tables["trials"].to_pylist()
    events = [row for row in ranged.tables["events"].to_pylist() if row["event"] == "network"]
    assert [(row["process"], row["text"]) for row in events] == [
        ("robot", "blackhole"),
        ("robot", "up"),
    ]
    for row, at_s in zip(events, (0.4, 0.9), strict=True):
        assert row["time_ns"] >= trial["steady_begin_ns"] + at_s * 1e9


def test_every_frame_of_the_trial_is_a_row(ranged):
    frames = ranged.tables["frames"]
    document = json.loads(ranged.files["link.json"])
    counted = sum(found["up"]["frames"] for found in document["links"].values())
    assert 0 < len(set(frames["index"].to_pylist())) <= counted
    rows = frames.to_pylist()
    assert {"delivered", "blackhole"} <= {row["verdict"] for row in rows}
    assert {"data", "discovery"} <= {row["class"] for row in rows}
    down, up = (
        row["time_ns"] for row in ranged.tables["events"].to_pylist() if row["event"] == "network"
    )
    swallowed = [row["in_ns"] for row in rows if row["verdict"] == "blackhole"]
    assert all(down - 1e8 < in_ns < up + 1e8 for in_ns in swallowed)
    assert {row["from_host"] for row in rows} == {"robot", "base"}


def test_the_path_between_hosts_is_the_network(ranged):
    rows = ranged.tables.get("attestations")
    if rows is None:
        pytest.skip(f"the trial was void before its end: {ranged.reason}")
    assert [(row["path"], row["interface"]) for row in rows.to_pylist()] == [("udp", "eth0")]
    assert rows["fraction"].to_pylist() == [pytest.approx(1.0)]


def test_the_probes_stand_with_the_trial(ranged):
    probes = {row["probe"]: row for row in ranged.tables["probes"].to_pylist()}
    assert {
        "network.loss.robot.up",
        "network.loss.base.down",
        "network.delay.robot.base",
    } <= probes.keys()
    assert probes["network.loss.robot.up"]["at"] == "before"
    assert "network.late_p50" in probes


def test_shared_memory_cannot_cheat_between_hosts():
    """Fast DDS as installed prefers shared memory within a host; what it says and what is counted
    agree on the network."""
    result = run_trial(order(cell("{}", steady_s=0.5)), tools.worker("fastdds"))
    assert result.status in ("done", "void"), result.reason
    paths = {row["path"]: row["fraction"] for row in result.tables["attestations"].to_pylist()}
    assert paths.get("udp") == pytest.approx(1.0) and "shm" not in paths


@pytest.mark.parametrize("middleware", ["fastdds", "zenoh"])
def test_two_hosts_trust_each_others_keys(middleware):
    """Each has a /tmp that the other does not see."""
    transport = {"fastdds": "udp", "zenoh": "tcp"}[middleware]
    arm = f"middleware: {middleware}, modes: {{transport: {transport}, security: true}}"
    made = cell("{}", arms=f"  - {{name: a, {arm}}}", steady_s=0.5)
    result = run_trial(order(made), tools.worker(middleware))
    assert result.status == "done" or result.cause == "machine", result.reason
    sent, received = (result.tables[name].num_rows for name in ("sent", "received"))
    assert 0 < 0.9 * sent <= received


def test_cyclone_ddss_shared_memory_has_a_roudi_on_each_host_and_its_network_between_them():
    """One subscription beside the publisher, one on the other host."""
    nodes = (
        "nodes:\n"
        "      - {name: camera, host: robot, publishers: [{topic: image}]}\n"
        "      - {name: here, host: robot, subscriptions: [{topic: image}]}\n"
        "      - {name: there, host: base, subscriptions: [{topic: image}]}"
    )
    made = cell("{}", nodes, "  - {name: a, middleware: cyclonedds, profile: shm}", steady_s=0.5)
    result = run_trial(order(made), tools.worker("cyclonedds"))
    assert result.status in ("done", "void"), result.reason
    assert {"roudi robot", "roudi base"} <= {name.rpartition(".")[0] for name in result.files}
    sent = {row["seq"] for row in result.tables["sent"].to_pylist()}
    heard: dict[int, set[int]] = {}
    for row in result.tables["received"].to_pylist():
        heard.setdefault(row["endpoint"], set()).add(row["seq"])
    assert len(heard) == 2 and all(sequences == sent for sequences in heard.values())


def test_a_middleware_of_one_host_is_not_supported_over_two():
    made = cell("{}", arms="  - {name: a, middleware: iceoryx2}")
    (reason,) = unsupported_reasons([made], {"iceoryx2": tools.worker("iceoryx2")}).values()
    assert "has no inter_host, needed because node talker has a peer on another host" in reason


@pytest.mark.parametrize(
    ("arm", "reason"),
    [
        (
            "middleware: cyclonedds, profile: tuned",
            "cyclonedds's profile tuned is for one host: it uses loopback",
        ),
        (
            "middleware: fastdds, profile: discovery_server",
            "127.0.0.1; take untouched with the mode discovery: server",
        ),
        ("middleware: fastdds, profile: discovery_server, modes: {discovery: server}", None),
        (
            "middleware: zenoh, profile: shm",
            "zenoh's profile shm is for one host: its links are Unix sockets",
        ),
        ("middleware: zenoh, profile: shm, modes: {transport: tcp}", None),
        ("middleware: zenoh, profile: tuned", None),
        ("middleware: zenoh, profile: tcp", None),
        ("middleware: fastdds, modes: {transport: shm}", "transport: shm reaches no other host"),
        ("middleware: fastdds, modes: {security: true}", None),
        ("middleware: fastdds, profile: tuned", None),
    ],
)
def test_what_is_made_for_one_host_is_not_supported_over_two_and_says_what_is(arm, reason):
    made = cell("{}", arms=f"  - {{name: a, {arm}}}")
    found = unsupported_reasons([made], {name: tools.worker(name) for name in made.middlewares})
    (told,) = found.values() or [None]
    assert (told is None) if reason is None else (reason in told)


def test_two_machines_would_not_trust_each_others_keys():
    made = cell("{}", arms="  - {name: a, middleware: fastdds, modes: {security: true}}")
    real = replace(made, real=SimpleNamespace(gang=None))
    (reason,) = unsupported_reasons([real], {"fastdds": tools.worker("fastdds")}).values()
    assert "each machine would make keys of its own" in reason


def test_workers_are_told_who_else_is_there():
    made = cell("{}", "hosts: [robot, base, lab]\n    subscribers: 4\n    daemons_host: base")
    told = address_environment(made, "robot")
    assert told == {
        "RMWBENCH_ADDRESS": "10.77.0.1",
        "RMWBENCH_PEERS": "10.77.0.2 10.77.0.3 10.77.0.2 10.77.0.3",
        "RMWBENCH_DAEMON_ADDRESS": "10.77.0.2",
    }


def test_a_network_that_breaks_is_void_and_no_failure_of_the_middleware(monkeypatch):
    from rmwbench.lab.network import NetworkBroken
    from rmwbench.lab.network.switch import Switch

    def refuse(self, seed):
        raise NetworkBroken("link: no such thing")

    monkeypatch.setattr(Switch, "open", refuse)
    result = run_trial(order(cell("{}", steady_s=0.3)), tools.worker("cyclonedds"))
    assert (result.status, result.reason, result.cause) == (
        "void",
        "network: link: no such thing",
        None,
    )


def test_one_host_is_made_as_it_always_was():
    with Hosts("test", ["only"]) as hosts:
        assert hosts.network is None and len(hosts.all) == 1
        hosts.wait_ready()
        assert hosts.first.tap_fd is None and hosts.first.device is None
    assert list(Hosts.of({"x": Host("y")})) == ["x"]


def test_two_networks_side_by_side_do_not_meet():
    made = cell("{}", steady_s=0.4)
    program = [sys.executable, "-c", SIDE]
    others = [
        subprocess.Popen(program, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    result = run_trial(order(made), tools.worker("cyclonedds"))
    told = [other.communicate(timeout=60)[0].decode() for other in others]
    for text in [*told, f"{result.status} {result.tables['endpoints']['matches'].to_pylist()}"]:
        assert (
            text.split(maxsplit=1)[0] in ("done", "void")
            and text.split(maxsplit=1)[1].strip() == "[1, 1]"
        ), told


SIDE = """
from tests.network.test_trial import *
result = run_trial(order(cell("{}", steady_s=0.4)), tools.worker("cyclonedds"))
print(result.status, result.tables["endpoints"]["matches"].to_pylist())
"""


# --- killed ---

SUITE = """
suite: killed
title: two hosts, over and over
blocks: {planned: 50, minimum: 1}
timeline: {warmup_s: 0.1, steady_s: 0.5, drain_s: 0.2, match_s: 10}
arms: [{name: a, middleware: cyclonedds}]
workloads:
  - name: w
    message: Bytes(320)
    rate_hz: 100
    hosts: [robot, base]
    network: {links: {all: {both: {rate_mbps: 54, loss: 0.1}}}}
"""


def ours(orchestrator: int) -> list[int]:
    """Processes that carry the marker of that orchestrator."""
    found = []
    for entry in Path("/proc").iterdir():
        if (
            entry.name.isdigit()
            and (text := _environment(entry))
            and f"{marker.VARIABLE}={orchestrator}:" in text
        ):
            found.append(int(entry.name))
    return found


def directories_of(orchestrator: int) -> list[Path]:
    """That all hosts of a trial of its see."""
    found = []
    for directory in hosts.COMMON_PARENT.glob(f"{hosts.COMMON_PREFIX}*"):
        with contextlib.suppress(OSError):
            if (directory / marker.OWNER).read_text().startswith(f"{orchestrator}:"):
                found.append(directory)
    return found


def _environment(process: Path) -> str:
    try:
        return (process / "environ").read_bytes().decode(errors="replace")
    except OSError:
        return ""


TOOL = [sys.executable, "-c", "from rmwbench.cli.main import main; main()"]
KILLS = int(os.environ.get("RMWBENCH_TEST_KILLS", "2"))


def test_nothing_is_left_when_the_tool_is_killed_at_a_random_moment(tmp_path):
    """RMWBENCH_TEST_KILLS says how often."""
    suite = tmp_path / "killed.yaml"
    suite.write_text(SUITE)
    drawn = random.Random(20261121)
    seen_running = 0
    for number in range(KILLS):
        out = tmp_path / f"out{number}"
        tool = subprocess.Popen(
            [*TOOL, "run", str(suite), "--out", str(out)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while not (journal := out / "journal.jsonl").exists() or not ours(tool.pid):
            assert tool.poll() is None and time.monotonic() < deadline, "the campaign did not begin"
            time.sleep(0.02)
        time.sleep(drawn.uniform(0, 2))
        before = ours(tool.pid)
        with Held(before) as within:
            seen_running += bool(within)
            tool.send_signal(signal.SIGKILL)
            tool.wait()
            deadline = time.monotonic() + 10
            while (
                left := [*ours(tool.pid), *within.processes(), *directories_of(tool.pid)]
            ) and time.monotonic() < deadline:
                time.sleep(0.05)
        assert not left, f"after kill {number}: {left}"
        cleaned = subprocess.run([*TOOL, "clean", str(out)], capture_output=True, text=True)
        assert cleaned.returncode == 0 and "removed process" not in cleaned.stdout, (
            cleaned.stdout + cleaned.stderr
        )
        assert journal.exists()
    assert seen_running, "no campaign was ever caught with hosts"
