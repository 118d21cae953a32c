"""One trial over two machines, which here are network namespaces with clocks of their own, driven
through an agent: what a real middleware sends crosses a real device, is recorded on both sides, and
its one-way latencies mean something."""

import json
from pathlib import Path

import pytest

from rmwbench.errors import UserError
from rmwbench.lab.middleware import find_workers, tool
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse
from rmwbench.suite.placement import place_cells
from tests.campaign.cells import order
from tests.campaign.ended import TableEvidence, evidence_of
from tests.cluster.pair import AHEAD_S, Pair, why_not
from tests.support.program import until

pytestmark = [
    pytest.mark.traffic,
    pytest.mark.skipif(why_not() is not None, reason=why_not() or ""),
]

CANDIDATES = ("cyclonedds", "zenoh")
SUITE = """
suite: machines
title: two machines
timeline: {{warmup_s: 0.1, steady_s: {steady_s}, match_s: 20}}
sampling: {{series_hz: 20}}
arms:
  - {{name: a, middleware: {middleware}}}
workloads:
  - name: w
    message: Bytes(1000)
    rate_hz: 100
    nodes:
      - {{name: away, host: robot, publishers: [{{topic: there}}], subscriptions: [{{topic: back}}]}}
      - {{name: home, host: base, publishers: [{{topic: back}}], subscriptions: [{{topic: there}}]}}
"""


@pytest.fixture(scope="module")
def workers():
    workers = find_workers(CANDIDATES)
    name = next((name for name in CANDIDATES if name in workers), None)
    if name is None:
        pytest.skip(f"none of {', '.join(CANDIDATES)} is built")
    return {name: workers[name]}


@pytest.fixture(scope="module")
def pair(workers):
    try:
        tools = [tool.find("sampler")]
    except UserError as error:
        pytest.skip(str(error))
    with Pair() as pair:
        pair.start_agent(workers, tools)
        yield pair


def ordered(workers, steady_s=1):
    (middleware,) = workers
    suite = parse(SUITE.format(middleware=middleware, steady_s=steady_s), where="machines.yaml")
    (cell,) = place_cells(cells(suite), "--place")
    return order(cell)


@pytest.fixture(scope="module")
def result(pair, workers):
    result, lost = pair.result(pair.start(ordered(workers), workers))
    assert lost == [None]
    # A busy machine may void it (its canaries say so), and that is not a reason to doubt any stamp.
    assert result.status in ("done", "void") and "clock" not in (result.reason or ""), result.reason
    return result


@pytest.fixture(scope="module")
def evidence(result) -> TableEvidence:
    return evidence_of(result)


def test_messages_cross_and_are_recorded_on_both_machines(evidence):
    for table in ("sent", "received"):
        assert {row["endpoint"] for row in evidence.rows[table]} == {
            e["endpoint"]
            for e in evidence.endpoints
            if (e["kind"] == "publisher") == (table == "sent")
        }
        assert len(evidence.rows[table]) >= 200
    (row,) = [
        row
        for row in evidence.rows["attestations"]
        if row["path"] in ("udp", "tcp") and row["fraction"] > 0.5
    ]
    assert row["interface"] == "eth0" and row["bytes"] > 200 * 1000


def test_the_map_of_clocks_holds_the_truth(evidence):
    rows = {
        host: [row for row in evidence.clock_map if row["host"] == host]
        for host in ("robot", "base")
    }
    assert [(row["offset_ns"], row["bound_ns"]) for row in rows["robot"]] == [(0, 0)]
    assert all(abs(row["offset_ns"] - AHEAD_S * 10**9) <= row["bound_ns"] for row in rows["base"])
    begin, end = evidence.row["steady_begin_ns"], evidence.row["steady_end_ns"]
    assert any(row["t_ns"] < begin for row in rows["base"]) and any(
        row["t_ns"] > end for row in rows["base"]
    )


def test_the_trial_says_what_it_ran_over(result, evidence):
    network = json.loads(result.files["network.json"])
    assert network["network"]["kind"] == "real" and network["domain_id"] == 42
    assert {
        host: one["interface"]["device"] for host, one in network["hosts"].items()
    } == dict.fromkeys(("robot", "base"), "eth0")
    assert all("kernel" in one["timekeeping"] for one in network["hosts"].values())
    assert [
        e
        for e in evidence.rows["events"]
        if e["event"] == "real_network" and "network: real" in e["text"]
    ]
    probes = {row["probe"] for row in evidence.rows["probes"]}
    assert {"busy", "busy@base", "canary_late", "canary_late@base", "runnable_tasks@base"} <= probes
    assert {"sampler.json", "sampler@base.json"} <= result.files.keys()


def test_a_machine_that_is_lost_in_a_trial_fails_it_and_nothing_is_left(pair, workers):
    """Its agent is stopped, as a machine without power is: it answers nothing, and no connection is
    closed."""
    process = pair.start(ordered(workers, steady_s=60), workers)
    until(lambda: _workers_on(pair, "base") and _workers_on(pair, "robot"), 30)
    pair.agent.stdin.close()  # the agent ends, and with it what it made
    result, (lost,) = pair.result(process)
    assert result.status == "failed" and "is lost" in result.reason and lost in result.reason
    until(lambda: not _workers_on(pair, "base") and not _workers_on(pair, "robot"))


def _workers_on(pair: Pair, host: str) -> list[str]:
    names = []
    for pid in pair.pids(host):
        try:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            continue
        if name.startswith("rmwbench-"):
            names.append(name)
    return names
