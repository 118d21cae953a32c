"""Trials over several machines of a real Ray cluster: three nodes in network namespaces, of which
the last test loses one. Nothing here is about speed."""

import json
import os
import signal

import numpy as np
import pytest

from rmwbench.bundle import Bundle
from rmwbench.lab.middleware import find_workers
from tests.cluster.nodes import Nodes, why_not
from tests.cluster.test_real import Bench, trials_under_way
from tests.support.program import until

pytestmark = [pytest.mark.timing, pytest.mark.skipif(why_not() is not None, reason=why_not() or "")]


@pytest.fixture(scope="module")
def nodes():
    with Nodes(3) as nodes:
        yield nodes


@pytest.fixture
def bench(tmp_path, nodes):
    return Bench(tmp_path, nodes)


OVER_TWO = """
suite: pair
title: a test
blocks: {{planned: {blocks}, minimum: {blocks}}}
timeline: {{warmup_s: 0.1, steady_s: {steady_s}, drain_s: 0.5, grace_s: 0.3, match_s: 20}}
networks:
  thin: {{links: {{all: {{both: {{delay_ms: 20}}}}}}}}
arms:
  - {{name: a, middleware: {middleware}}}
  - {{name: b, middleware: {middleware}}}
workloads:
  - {{name: small, message: Bytes(200), rate_hz: 100, network: thin, hosts: [robot, base]}}
"""


@pytest.fixture
def over_two(bench):
    """A suite over two hosts, with a middleware that leaves a machine."""
    name = next((name for name in ("cyclonedds", "zenoh") if name in find_workers([name])), None)
    if name is None:
        pytest.skip("neither the worker of cyclonedds nor that of zenoh is built")

    def write(blocks=2, steady_s=0.5) -> None:
        bench.suite.write_text(OVER_TWO.format(blocks=blocks, steady_s=steady_s, middleware=name))

    bench.over_two = write
    return bench


def test_hosts_are_the_machines_that_they_are_placed_on(over_two):
    robot, base = over_two.nodes.nodes[1:]
    over_two.over_two()
    process = over_two.start("on-nodes", "--place", f"robot={robot.name},base={base.name}")
    assert process.wait(180) == 0, over_two.log("on-nodes")
    bundle = Bundle(over_two.path / "on-nodes")
    bundle.check()
    assert {row["machine"] for row in bundle.rows("trials")} == {f"{robot.name} + {base.name}"}
    assert {row["machine"] for row in bundle.rows("machine")} == {robot.name, base.name}
    assert "network: real, between robot, base" in over_two.log(
        "on-nodes"
    ) and "20 ms" in over_two.log("on-nodes")
    definitions = [json.loads(row["definition"]) for row in bundle.rows("cells")]
    assert {definition["network"]["kind"] for definition in definitions} == {"real"}
    good = bundle.trials("done")
    for line in good:
        received = bundle.columns("received", line.trial)
        # What the suite emulates is not between them: 20 ms up and 20 ms down would be.
        assert len(received["seq"]) > 40
        assert np.median(received["taken_ns"] - received["intended_ns"]) < 20e6
        hosts = {row["host"] for row in bundle.rows("clock_map", line.trial)}
        assert hosts == {"robot", "base"}
    assert good and bundle.journal.finished

    refused = over_two.start("refused", "--place", f"robot={robot.name},base=10.98.0.77")
    assert refused.wait(120) == 2 and "no machine `10.98.0.77` for host `base`" in over_two.log(
        "refused"
    )


def test_a_machine_that_dies_in_a_trial_of_a_gang_is_replaced(over_two):
    over_two.over_two(blocks=3, steady_s=2)
    process = over_two.start("on-nodes", "--gang")
    trials = lambda: [line for line in over_two.journal("on-nodes") if line["type"] == "trial"]  # noqa: E731
    over_two.until(lambda: len(trials()) >= 2, process, "on-nodes")
    (note,) = [
        line["text"]
        for line in over_two.journal("on-nodes")
        if "one trial at a time over" in str(line)
    ]
    members = [node for node in over_two.nodes.nodes if node.name in note.replace(",", "").split()]
    # it leads, and is the head of the cluster
    assert len(members) == 2 and over_two.nodes.nodes[0] in members
    victim = members[1]
    over_two.until(
        lambda: any(name.endswith("/base") for name in trials_under_way().values()),
        process,
        "on-nodes",
    )
    os.kill(over_two.nodes.raylet(victim), signal.SIGKILL)
    assert process.wait(240) == 0, over_two.log("on-nodes")
    bundle = Bundle(over_two.path / "on-nodes")
    bundle.check()
    # A busy machine may void a trial; what is asked here is that none is missing and none failed.
    assert {(t["cell"], t["block"]) for t in trials()} == {(c, b) for c in (1, 2) for b in range(3)}
    assert not [t["reason"] for t in trials() if t["status"] == "failed"]
    notes = [line["text"] for line in over_two.journal("on-nodes") if line["type"] == "note"]
    assert [
        note
        for note in notes
        if f"machine {victim.name} is gone; " in note and "queued again" in note
    ], notes
    assert len({row["machine"] for row in bundle.rows("trials")}) == 2
    until(lambda: not trials_under_way(), 20)
