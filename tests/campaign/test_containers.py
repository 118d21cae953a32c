"""Two processes of a trial in containers of their own: who still hears whom, and by which path."""

import pytest

from rmwbench.campaign.plan.unsupported_cells import unsupported_reasons
from rmwbench.campaign.trial.trial_life import run_trial
from rmwbench.errors import UserError
from rmwbench.lab.host.hosts import SHARED, HostKind
from tests.campaign.cells import only_cell, order
from tests.campaign.ended import rows
from tests.lab import tools

SUITE = """
timeline: {warmup_s: 0.2, drain_s: 0.3, match_s: 3, steady_s: 0.5}
arms:
  - {name: arm, middleware: MIDDLEWARE}
workloads:
  - {name: w, message: Bytes(50000), rate_hz: 50, containers: LEVEL}
"""


def cell_of(middleware, level):
    return only_cell(SUITE.replace("MIDDLEWARE", middleware).replace("LEVEL", level))


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
