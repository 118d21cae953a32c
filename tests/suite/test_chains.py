"""Workloads with relays and without any endpoint, as suite files."""

from itertools import pairwise

import pytest

from rmwbench.errors import UserError
from rmwbench.suite.file.load import load

from .suite_text import cells_of


def suite_cells(workload):
    return cells_of(workload, "middleware: synthetic")


def test_an_end_to_end_metric_needs_something_that_is_relayed():
    chain = (
        "message: Bytes(64), rate_hz: 100, primary_metric: end_to_end_latency_p95, timeline: "
        "{steady_s: 2}"
    )
    with pytest.raises(UserError, match=r"f\.yaml:7: .*no node relays any here"):
        suite_cells(chain)
    assert suite_cells(f"{chain}, relays: 1")
    with pytest.raises(UserError, match="too few messages for end_to_end_latency_p95"):
        suite_cells(f"{chain}, relays: 1".replace("steady_s: 2", "steady_s: 1"))
    calls = (
        "clients: 1, request: Bytes(64), reply: Bytes(64), rate_hz: 100, primary_metric: "
        "end_to_end_latency_p50"
    )
    assert suite_cells(f"{calls}, timeline: {{steady_s: 1}}")


def test_an_empty_node_stands_alone_or_beside_others_and_is_created():
    (alone,) = suite_cells("nodes: [{name: node}], primary_metric: rss")
    assert not alone.endpoints and alone.create_command("node") == [
        {"name": "node", "endpoints": []}
    ]
    assert alone.sections("node") == [] and alone.steady_messages == 0
    nodes = "{name: x, publishers: [{topic: t}]}, {name: y, subscriptions: [{topic: t}]}, {name: z}"
    (beside,) = suite_cells(f"message: Bytes(64), rate_hz: 100, nodes: [{nodes}]")
    assert [process.name for process in beside.processes] == ["x", "y", "z"]


def test_the_pipelines_are_judged_end_to_end_and_hosts_get_every_hop():
    suite = load("pipeline-2021")
    assert {workload.primary_metric for workload in suite.workloads} == {
        "end_to_end_latency_p95",
        "end_to_end_latency_p50",
    }
    assert {w.primary_metric for w in load("pipeline-2021", shortened=True).workloads} == {
        "end_to_end_latency_p50"
    }
    for workload in load("pipeline-2021/hosts").workloads:
        hosts = [node.host for node in workload.all_nodes]
        assert len(set(hosts)) == {"one": 1, "two": 2, "three": 3}[workload.name]
        crossing = [a != b for a, b in pairwise(hosts)]
        assert all(crossing) if workload.name != "one" else not any(crossing)
