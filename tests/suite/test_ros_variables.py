"""Cases of ROS variables: which there are, whom they concern, and what a plan refuses."""

import pytest

from rmwbench.beside.ros_variables.keys import (
    CASES,
    CONTROL,
    HEARD,
    LENT,
    LOANS,
    NOT_HEARD,
    NOT_LENT,
    PEER,
)
from rmwbench.beside.ros_variables.plan import variable_assignments
from rmwbench.campaign.plan.unsupported_cells import unsupported_reasons
from rmwbench.errors import UserError

from .suite_text import cells_of

ON_TWO = "hosts: [robot, base]"
RMW = "rclcpp/rmw_zenoh_cpp"


def cell_of(case, more="subscribers: 1", middleware=RMW):
    keys = f"ros_variables: {case}, {more}" if case else more
    stream = "message: Bytes(500), rate_hz: 50, timeline: {steady_s: 1.0}"
    (cell,) = cells_of(f"{stream}, {keys}", f"middleware: {middleware}")
    return cell


@pytest.mark.parametrize("name", CASES)
def test_every_case_says_what_must_happen_and_who_says_so(name):
    case = CASES[name]
    assert {case.one_host, case.two_hosts} - {None} <= {HEARD, NOT_HEARD, LENT, NOT_LENT}
    assert case.one_host or case.two_hosts
    assert case.source.startswith("https://")
    assert all(name.startswith("ROS_") for name in (*case.writer, *case.reader))
    names_a_peer = PEER in (*case.writer.values(), *case.reader.values())
    assert not names_a_peer or case.one_host is None, "on one host there is no other address"


def test_the_control_sets_nothing_and_is_heard_everywhere():
    control = CASES[CONTROL]
    assert (control.writer, control.reader, control.one_host, control.two_hosts) == (
        {},
        {},
        HEARD,
        HEARD,
    )
    assert CASES[LOANS].one_host == LENT


def test_each_process_gets_the_variables_of_its_side():
    cell = cell_of("other_domain")
    variables = {
        process.name: variable_assignments(cell, process.name) for process in cell.processes
    }
    assert variables == {"talker": "ROS_DOMAIN_ID=41", "listener": "ROS_DOMAIN_ID=42"}
    assert variable_assignments(cell_of(CONTROL), "talker") == ""


def test_a_peer_is_the_address_of_the_other_host():
    cell = cell_of("static_peers", ON_TWO)
    variables = {
        process.host: variable_assignments(cell, process.name) for process in cell.processes
    }
    assert variables == {
        "robot": "ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST ROS_STATIC_PEERS=10.77.0.2",
        "base": "ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST ROS_STATIC_PEERS=10.77.0.1",
    }


def test_a_cell_keeps_its_case_as_it_was_and_others_say_nothing():
    stored = cell_of("localhost", ON_TWO).definition()["ros_variables"]
    assert (stored["case"], stored["expected"]) == ("localhost", NOT_HEARD)
    assert stored["reader"] == {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    plain = cell_of(None)
    assert "ros_variables" not in plain.definition()
    assert variable_assignments(plain, "talker") == ""


@pytest.mark.parametrize(
    ("case", "more", "says"),
    [
        ("of", "subscribers: 1", "(?s)unknown ros_variables `of`.*did you mean `off`"),
        ("static_peers", "subscribers: 1", "says nothing of one host"),
        ("loans", ON_TWO, "says nothing of several hosts"),
        ("off", "relays: 1", "must only publish or only subscribe"),
        ("off", "processes: one", "must only publish or only subscribe"),
    ],
)
def test_what_cannot_be_tried_is_refused(case, more, says):
    with pytest.raises(UserError, match=says):
        cell_of(case, more)


def test_only_the_worker_of_rclcpp_sets_ros_variables():
    (reason,) = unsupported_reasons([cell_of("off", middleware="floor")], {}).values()
    assert reason == "floor has no ROS variables that its worker could set: only rclcpp has"
    assert unsupported_reasons([cell_of("off")], {}) == {}
