"""Lifecycle nodes in a suite: the shorthand, what workers are told, and what is refused."""

from pathlib import Path

import pytest

from rmwbench.beside.bring_up.cell import managed_nodes_of
from rmwbench.beside.bring_up.plan import options
from rmwbench.campaign.plan.unsupported_cells import unsupported_reasons
from rmwbench.errors import UserError
from rmwbench.lab.middleware import Worker

from .suite_text import cells_of

RMW = "rclcpp/rmw_zenoh_cpp"
MANAGER = "{name: boss, joins_s: 0.1, manages: {}}"


def of(keys, middleware=RMW, more="", primary="bring_up_time"):
    workload = f"primary_metric: {primary}, timeline: {{steady_s: 3.0}}, {keys}"
    return cells_of(workload, f"middleware: {middleware}", more)


def written(*nodes):
    return of(f"nodes: [{', '.join(nodes)}]")


def test_the_shorthand_is_a_process_for_each_node_and_one_for_their_manager():
    (cell,) = of("bring_up: {nodes: 3, service_timeout_s: 2}")
    assert [process.name for process in cell.processes] == ["node_1", "node_2", "node_3", "manager"]
    assert (managed_nodes_of(cell).manager, managed_nodes_of(cell).nodes) == (
        "manager",
        ("node_1", "node_2", "node_3"),
    )
    assert cell.definition()["bring_up"] == {
        "manager": "manager",
        "nodes": ["node_1", "node_2", "node_3"],
        "service_timeout_s": 2.0,
    }


def test_all_are_launched_at_once_within_the_window_and_none_before():
    (cell,) = of("bring_up: {nodes: 2}")
    (at_s,) = {change.at_s for change in cell.changes}
    assert 0 < at_s < 3.0 and all(process.opens_s == at_s for process in cell.processes)
    assert [change.node for change in cell.changes] == ["node_1", "node_2", "manager"]
    assert cell.create_command("node_1") == []
    assert cell.create_command("node_1", 0, (), "node_1") == [{"name": "node_1", "endpoints": []}]


def test_each_process_is_told_of_its_own_nodes_and_the_manager_of_all():
    slow = "{name: slow, joins_s: 0, process: p, lifecycle: {configure_s: 30, activate_s: 0.5}}"
    (cell,) = written("{name: quick, joins_s: 0, process: p, lifecycle: {}}", slow, MANAGER)
    assert options(cell, "p") == {"lifecycle_nodes": "quick:0:0 slow:30000:500"}
    expected_options = {"manager": "boss", "manages": "quick slow", "service_timeout_ms": 5000}
    assert options(cell, "boss") == expected_options, (
        "Nav2's own time-out, where the suite says none"
    )


def test_a_workload_without_lifecycle_nodes_tells_workers_nothing():
    (cell,) = of("nodes: [{name: a}]", primary="rss")
    assert (
        managed_nodes_of(cell) is None
        and options(cell, "a") == {}
        and "bring_up" not in cell.definition()
    )
    assert cell.create_command("a") == [{"name": "a", "endpoints": []}]


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("bring_up: {nodes: 0}", "nodes"),
        ("bring_up: {nodes: 2, service_timeout_s: 0}", "time-out is between"),
        ("bring_up: {nodes: 2}, rate_hz: 10", "`rate_hz` and `bring_up` contradict"),
        ("bring_up: {nodes: 2}, message: Bytes(64)", "`message` and `bring_up` contradict"),
        ("bring_up: {nodes: 2}, hosts: [a, b]", "`hosts` and `bring_up` contradict"),
        ("bring_up: {nodes: 2}, graph: {nodes: 2}", "`graph` and `bring_up` contradict"),
        ("message: Bytes(64), rate_hz: 10", "there is no manager here"),
        ("nodes: [{name: a, lifecycle: {}}]", "nobody brings up lifecycle node `a`"),
        (f"nodes: [{MANAGER}]", "manager `boss` has no node to bring up"),
        (
            f"nodes: [{{name: a, lifecycle: {{}}}}, {MANAGER}, {{name: b, joins_s: 0, manages: "
            f"{{}}}}]",
            "one manager",
        ),
        (
            "nodes: [{name: a, lifecycle: {}}, {name: boss, manages: {}}]",
            "would begin before the window",
        ),
        (
            f"nodes: [{{name: a, process: boss, joins_s: 0.1, lifecycle: {{}}}}, {MANAGER}]",
            "shares its process with",
        ),
        (f"nodes: [{{name: a, host: base, lifecycle: {{}}}}, {MANAGER}]", "brought up on one host"),
        (f"nodes: [{{name: a, lifecycle: {{}}, leaves_s: 1}}, {MANAGER}]", "stays until the end"),
        ("nodes: [{name: a, lifecycle: {}, manages: {}, joins_s: 0}]", "cannot be its own manager"),
        (
            "message: Bytes(64), rate_hz: 10, "
            f"nodes: [{{name: a, lifecycle: {{}}, publishers: [{{topic: x}}]}}, {MANAGER}]",
            "has `lifecycle` and endpoints",
        ),
    ],
)
def test_what_cannot_be_brought_up_is_refused(keys, says):
    with pytest.raises(UserError, match=says):
        of(keys)


def worker(**description):
    return {RMW: Worker(RMW, Path("/none"), description, None)}


def test_only_rclcpp_has_lifecycle_nodes_and_says_why_where_it_was_built_without():
    (reason,) = unsupported_reasons(of("bring_up: {nodes: 2}", middleware="floor"), {}).values()
    assert reason == "floor has no lifecycle nodes: they are ROS 2's, and only rclcpp has them"
    cell = of("bring_up: {nodes: 2}")
    assert unsupported_reasons(cell, {}) == {}, "a plan can be looked at before everything is built"
    reasons = {
        "yes": None,
        "no: built without "
        "rclcpp_lifecycle": f"{RMW} has no lifecycle nodes: built without rclcpp_lifecycle",
    }
    for answer, reason in reasons.items():
        assert unsupported_reasons(cell, worker(lifecycle=answer)) == (
            {} if reason is None else {1: reason}
        )
    (old,) = unsupported_reasons(cell, worker(capabilities={})).values()
    assert "rmwbench middlewares build rclcpp" in old
