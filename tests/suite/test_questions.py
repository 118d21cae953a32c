"""What shipped suites judge by is what their titles ask."""

import pytest

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.stats.growth import sizes_of
from rmwbench.results.workload.cost_growth import graph_of
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import load
from rmwbench.suite.file.places import shipped_suites


def test_where_everybody_comes_late_nobody_is_disturbed_so_no_latency_is_judged():
    seen = 0
    for name in ("discovery", "degraded/storm", "degraded/rviz"):
        for cell in cells(load(name)):
            readers = [e for e in cell.endpoints if e.reads]
            if readers and not any(e.life.whole for e in readers):
                primary = GLOSSARY[cell.workload.primary_metric]
                assert not primary.is_percentile_of_messages, cell.comparison
                seen += 1
    assert seen


@pytest.mark.parametrize(
    ("suite", "workload", "metric"),
    [
        # Zenoh's handshake is over when its session is open
        ("features/security", "handshake", "ready_time"),
        ("late-joiner", "map", "late_match_time"),
        ("features/daemon-death", "latecomer", "late_match_time"),
        # a message costs the more the fewer pass
        ("features/content-filter", "few", "cpu_cores"),
        # the median hardly meets an image
        ("degraded/collateral", "beside_camera", "response_latency_p90"),
    ],
)
def test_a_suite_is_judged_by_what_it_asks(suite, workload, metric):
    (found,) = [one for one in load(suite).workloads if one.name == workload]
    assert found.primary_metric == metric


def test_what_a_suite_says_to_measure_against_is_what_it_is_held_against():
    beside = {one.name: one.against for one in load("features/content-filter").workloads}
    assert beside == {"all": None, "half": "all", "few": "all"}
    arms = load("features/batching").arms
    partners = {arm.against for arm in arms}
    assert {arm.name for arm in arms if arm.name.endswith("at once")} <= partners


def test_sizes_of_a_growth_have_as_many_processes():
    for name in ("discovery", "features/bring-up", "fastdds-2021/discovery"):
        assert name in shipped_suites()
        graphs = {cell.comparison: graph_of(cell.definition()) for cell in cells(load(name))}
        assert len(sizes_of(list(graphs), graphs)) >= 3, name


def test_the_return_of_a_daemon_is_asked_of_those_alone_that_have_one():
    there = {c.arm.name for c in cells(load("degraded/kill")) if c.workload.daemons_return_s}
    assert there == {"fastdds server", "zenoh router", "rclcpp/zenoh"}
