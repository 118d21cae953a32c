"""Campaigns on a real Ray cluster of three nodes in network namespaces. They disturb each other, so
nothing here is about speed: what is compared is what was run, where, and delays of milliseconds
that a worker makes on purpose."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rmwbench.bundle import Bundle
from rmwbench.bundle.schema import TABLES
from rmwbench.cluster.fleet import SHARED
from rmwbench.lab.host.marker import VARIABLE
from tests.cluster.nodes import Nodes, why_not
from tests.lab import tools
from tests.support.program import until

pytestmark = [pytest.mark.timing, pytest.mark.skipif(why_not() is not None, reason=why_not() or "")]

SUITE = """
suite: cluster
title: a test
blocks: {{planned: {blocks}, minimum: {blocks}}}
timeline: {{warmup_s: 0.05, drain_s: 0.3, grace_s: 0.3}}
arms:
  - {{name: floor, middleware: floor, options: {{transport: unix}}}}
  - {{name: short, middleware: synthetic, options: {{latency: constant ns=10000000}}}}
  - {{name: long, middleware: synthetic, options: {{latency: constant ns=40000000}}}}
workloads:
  - {{name: small, message: Bytes(100), rate_hz: 50, timeline: {{steady_s: {steady_s}}}}}
  - {{name: large, message: Bytes(20000), rate_hz: 50, timeline: {{steady_s: {steady_s}}}}}
"""
COMMAND = [sys.executable, "-c", "from rmwbench.cli.main import main; main()"]


@pytest.fixture(scope="module")
def nodes():
    with Nodes(3) as nodes:
        yield nodes


class Bench:
    """A suite, an output directory, a cache of its own, and campaigns on them."""

    def __init__(self, path: Path, nodes: Nodes):
        for name in ("floor", "synthetic"):
            tools.worker(name)
        self.path, self.nodes, self.suite = path, nodes, path / "cluster.yaml"
        self.environment = {**os.environ, SHARED: "1"}

    def write(self, blocks=4, steady_s=0.4) -> None:
        self.suite.write_text(SUITE.format(blocks=blocks, steady_s=steady_s))

    def start(self, out: str, *arguments: object) -> subprocess.Popen:
        given = (
            ["run", self.suite, "--out", self.path / out] if arguments[:1] != ("resume",) else []
        )
        command = [*COMMAND, *given, *arguments, "--no-report", "--cluster", self.nodes.address]
        log = open(self.path / f"{out}.log", "a")  # noqa: SIM115 (its reader is the test)
        process = subprocess.Popen(
            self.nodes.command(*command), stdout=log, stderr=log, env=self.environment
        )
        log.close()
        return process

    def log(self, out: str) -> str:
        return (self.path / f"{out}.log").read_text()

    def journal(self, out: str) -> list[dict]:
        path = self.path / out / "journal.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def until(self, condition, process: subprocess.Popen, out: str) -> None:
        deadline = time.monotonic() + 120
        while not condition():
            assert process.poll() is None and time.monotonic() < deadline, self.log(out)
            time.sleep(0.02)


@pytest.fixture
def bench(tmp_path, nodes):
    return Bench(tmp_path, nodes)


def trials_under_way() -> dict[int, str]:
    """PID → name, of the init processes of trials of the suite's campaigns on the nodes."""
    name_of_pid = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
            for word in words:
                name = word.decode(errors="replace").rpartition(":")[2]
                if word.startswith(f"{VARIABLE}=".encode()) and name.startswith("on-nodes"):
                    name_of_pid[int(entry.name)] = name
    return name_of_pid


def medians_ms(bundle: Bundle) -> dict[str, float]:
    """Arm → median time from the publish call to the take, of all its messages."""
    arm = {row["cell"]: row["arm"] for row in bundle.rows("cells")}
    latencies_ns: dict[str, list[float]] = {}
    for line in bundle.trials("done"):
        sent, received = bundle.columns("sent", line.trial), bundle.columns("received", line.trial)
        called = dict(zip(sent["seq"].tolist(), sent["call_ns"].tolist(), strict=True))
        took = [
            t - called[s]
            for s, t in zip(received["seq"].tolist(), received["taken_ns"].tolist(), strict=True)
        ]
        latencies_ns.setdefault(arm[line.cell], []).extend(took)
    return {name: float(np.median(values)) / 1e6 for name, values in latencies_ns.items()}


def per_part(bundle: Bundle) -> dict[tuple[int, str], set[str]]:
    """(block, workload) → machines."""
    workload = {row["cell"]: row["workload"] for row in bundle.rows("cells")}
    machines_of: dict[tuple[int, str], set[str]] = {}
    for row in bundle.rows("trials"):
        machines_of.setdefault((row["block"], workload[row["cell"]]), set()).add(row["machine"])
    return machines_of


def test_a_campaign_on_three_nodes_is_the_one_that_runs_here(bench):
    bench.write()
    process = bench.start("on-nodes", "--seed", 3)
    nices: dict[str, set[int]] = {}

    def seen() -> bool:
        for pid, name in trials_under_way().items():
            with contextlib.suppress(OSError):
                nices.setdefault(name, set()).add(os.getpriority(os.PRIO_PROCESS, pid))
        return process.poll() is not None

    until(seen, 180, lambda: bench.log("on-nodes"))
    assert process.returncode == 0, bench.log("on-nodes")
    there = Bundle(bench.path / "on-nodes")
    there.check()
    usual = os.getpriority(os.PRIO_PROCESS, bench.nodes.raylet(bench.nodes.nodes[0]))
    assert nices and set().union(*nices.values()) == {usual}  # Ray's own processes are 15 below it

    local = [
        *COMMAND,
        "run",
        str(bench.suite),
        "--out",
        str(bench.path / "here"),
        "--no-report",
        "--seed",
        "3",
    ]
    done = subprocess.run(local, capture_output=True, text=True, timeout=180, env=bench.environment)
    assert done.returncode == 0, done.stderr
    here = Bundle(bench.path / "here")

    assert there.rows("cells") == here.rows("cells")
    for bundle in (there, here):
        assert {(t.cell, t.block) for t in bundle.trials("done")} == {
            (c, b) for c in range(1, 7) for b in range(4)
        }
    assert all(bool(there.paths(name)) == bool(here.paths(name)) for name in TABLES)
    # without repeats
    planned = {t.trial for t in there.trials("done")} & {t.trial for t in here.trials("done")}
    assert len(planned) > 12 and all(
        there.count("sent", t) == here.count("sent", t) for t in planned if t <= 24
    )
    parts = per_part(there)
    assert len(parts) == 8 and all(len(machines) == 1 for machines in parts.values())
    assert len(set().union(*parts.values())) == 3
    assert {row["machine"] for row in there.rows("machine")} == {
        node.name for node in bench.nodes.nodes
    }
    ours, theirs = medians_ms(here), medians_ms(there)
    for name, truth_ms in (("short", 10.0), ("long", 40.0)):
        assert (
            truth_ms <= ours[name] < truth_ms + 15 and truth_ms <= theirs[name] < truth_ms + 15
        ), (ours, theirs)


def test_a_node_that_dies_in_a_trial_costs_its_part_and_leaves_nothing(bench):
    bench.write(blocks=6, steady_s=0.8)
    process = bench.start("on-nodes")
    victim = bench.nodes.nodes[2]

    def runs_there() -> bool:
        return any(
            Path(f"/proc/{pid}/cmdline").read_bytes().find(b"init.py") >= 0
            for pid in trials_under_way()
            if os.path.exists(f"/proc/{pid}") and _raylet_above(pid) == raylet
        )

    raylet = bench.nodes.raylet(victim)
    bench.until(
        lambda: sum(line["type"] == "trial" for line in bench.journal("on-nodes")) >= 3,
        process,
        "on-nodes",
    )
    bench.until(runs_there, process, "on-nodes")
    os.kill(raylet, signal.SIGKILL)
    assert process.wait(240) == 0, bench.log("on-nodes")
    bundle = Bundle(bench.path / "on-nodes")
    bundle.check()
    notes = [line["text"] for line in bench.journal("on-nodes") if line["type"] == "note"]
    assert [
        note
        for note in notes
        if f"machine {victim.name} was lost in trial" in note and "queued again" in note
    ]
    assert {(t.cell, t.block) for t in bundle.trials("done")} == {
        (c, b) for c in range(1, 7) for b in range(6)
    }
    assert (
        all(len(machines) == 1 for machines in per_part(bundle).values())
        and bundle.journal.finished
    )
    until(lambda: not trials_under_way(), 20)


def _raylet_above(pid: int) -> int | None:
    """The raylet among a process's ancestors."""
    while pid > 1:
        text = Path(f"/proc/{pid}/stat").read_text()
        if text[text.index("(") + 1 : text.rindex(")")] == "raylet":
            return pid
        pid = int(text.rpartition(")")[2].split()[1])
    return None


def test_a_stopped_campaign_resumes_on_the_nodes_that_are_left(bench):
    bench.write(blocks=4)
    process = bench.start("on-nodes")
    bench.until(
        lambda: sum(line["type"] == "trial" for line in bench.journal("on-nodes")) >= 3,
        process,
        "on-nodes",
    )
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130, bench.log("on-nodes")
    Bundle(bench.path / "on-nodes").check()
    before = {line["trial"] for line in bench.journal("on-nodes") if line["type"] == "trial"}
    assert 3 <= len(before) < 24
    again = bench.start("on-nodes", "resume", bench.path / "on-nodes")
    assert again.wait(180) == 0, bench.log("on-nodes")
    bundle = Bundle(bench.path / "on-nodes")
    assert {(t.cell, t.block) for t in bundle.trials("done")} == {
        (c, b) for c in range(1, 7) for b in range(4)
    }
    assert all(len(machines) == 1 for machines in per_part(bundle).values())
