"""Which machines take part, and why the others do not."""

import copy
import sys
from types import SimpleNamespace

import pytest

from rmwbench.campaign.plan import unsupported_cells
from rmwbench.campaign.trial_lab import ResultsLost
from rmwbench.cluster import cluster_machine as on_machine
from rmwbench.cluster.fleet import Fleet, NoAnswer, Remote
from rmwbench.cluster.shipping import ShippedProgram
from rmwbench.errors import UserError
from rmwbench.lab import machine
from rmwbench.lab.host.hosts import NAMESPACES
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse

CARD = machine.describe()
SUITE = """\
suite: mine
title: t
arms: [cyclonedds]
workloads: [{name: w, message: Bytes(320), rate_hz: 100}]
"""


def remote(name, boot=None, kernel=None) -> Remote:
    card = copy.deepcopy(CARD)
    if kernel:
        card["kernel"]["release"] = kernel
    calibration = {"aa_floor": 0.12, "calibration": {"calibration": f"of {name}"}}
    return Remote(
        name,
        name,
        None,
        {"machine": card, "calibration": calibration, "boot": boot or name, "problem": None},
    )


@pytest.fixture
def fleet():
    fleet = object.__new__(Fleet)
    fleet.address, fleet.machines, fleet.left_out, fleet.copy = "head:6379", [], [], None
    return fleet


def test_the_largest_group_runs_the_campaign_and_the_others_are_named(fleet):
    fleet._choose([remote("a", kernel="5.0"), remote("b"), remote("c")], None)
    assert [machine.name for machine in fleet.machines] == ["b", "c"]
    assert fleet.left_out == [
        ("a", f"unlike the others: kernel 5.0 instead of {CARD['kernel']['release']}")
    ]
    document = fleet.document()["cluster"]
    assert [listed["machine"] for listed in document["machines"]] == ["b", "c"] and document[
        "left_out"
    ][0]["machine"] == "a"
    assert fleet.describe()["summary"].startswith("2 machines like: ")


def test_a_resumed_campaign_keeps_its_group_however_small(fleet):
    fleet._choose(
        [remote("a", kernel="5.0"), remote("b"), remote("c")],
        remote("x", kernel="5.0").card["machine"],
    )
    assert [machine.name for machine in fleet.machines] == ["a"] and [
        name for name, _ in fleet.left_out
    ] == ["b", "c"]


def test_nodes_on_one_kernel_are_one_machine_and_a_report_warns_of_them_where_they_are_not(fleet):
    remotes = [remote("a", boot="k"), remote("b", boot="k"), remote("c")]
    assert [machine.name for machine in fleet._one_per_kernel(remotes)] == ["a", "c"]
    assert fleet.left_out == [("b", "the same machine as a: one trial at a time")]
    fleet.machines = remotes
    assert (
        "these 3 are nodes on 2 kernels: their trials disturb each other"
        in fleet.describe()["warnings"]
    )
    fleet.machines = remotes[1:]
    assert not [text for text in fleet.describe()["warnings"] if "disturb each other" in text]


def test_a_campaign_on_one_machine_takes_its_calibration_and_one_on_several_takes_none(fleet):
    fleet.machines = [remote("a")]
    assert fleet.calibration() == {"aa_floor": 0.12, "calibration": {"calibration": "of a"}}
    fleet.machines = [remote("a"), remote("b")]
    assert fleet.calibration() == {}


def test_a_machine_tells_its_own_newest_calibration(monkeypatch):
    monkeypatch.setattr(on_machine, "_undo_ray", lambda: None)
    monkeypatch.setattr(
        on_machine.calibrations,
        "for_campaign",
        lambda card: {"aa_floor": 0.1, "of": card["summary"]},
    )
    assert on_machine.ClusterMachine().card()["calibration"] == {
        "aa_floor": 0.1,
        "of": CARD["summary"],
    }


def test_a_machine_that_fails_its_check_is_left_out(fleet):
    fleet.machines = [remote("a"), remote("b")]
    fleet._leave_out({"a": None, "b": "no\n  library"})
    assert [machine.name for machine in fleet.machines] == ["a"] and fleet.left_out == [
        ("b", "no library")
    ]


def test_where_niceness_cannot_be_put_back_the_machine_says_so(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setenv("RAY_RAYLET_PID", "1")
    monkeypatch.setattr(on_machine.os, "setpriority", refuse)
    monkeypatch.setattr(on_machine.Path, "write_text", refuse)
    assert "RAY_worker_niceness=0" in on_machine._undo_ray()


def test_where_no_machine_is_left_every_reason_is_told(fleet):
    with pytest.raises(UserError, match="no machine of this cluster") as raised:
        fleet._choose([remote("b")], remote("x", kernel="5.0").card["machine"])
    assert "b: unlike the machines that this campaign began on: kernel" in raised.value.actual


def test_what_one_machine_cannot_do_the_campaign_cannot_and_the_machine_is_named(
    fleet, monkeypatch
):
    """It was asked of the machine that the campaign is driven from."""
    fifo = "SCHED_FIFO needs CAP_SYS_NICE"
    answers = {
        "a": {1: "no gstreamer"},
        "b": {1: "no gstreamer", 2: fifo},
        "c": NoAnswer("it died"),
    }
    monkeypatch.setattr(Fleet, "ask_all", lambda *_: answers)
    fleet.machines = [remote(name) for name in answers]
    assert fleet.lacking([], {}, NAMESPACES) == {1: "no gstreamer", 2: f"on machine b: {fifo}"}
    assert fleet.left_out == [("c", "it died")]


def test_a_machine_asks_its_own_kernel_and_user_what_a_cell_may(monkeypatch):
    text = SUITE.replace("rate_hz: 100", "rate_hz: 100, real_time: fifo")
    suite_cells = cells(parse(text, where="mine.yaml"))
    machine_ = on_machine.ClusterMachine()
    monkeypatch.setattr("rmwbench.campaign.plan.unsupported_cells.has_capability", lambda _: False)
    assert "CAP_SYS_NICE" in machine_.lacking(suite_cells)[1]
    assert unsupported_cells.description_reasons(suite_cells, {}) == {}
    monkeypatch.setattr("rmwbench.campaign.plan.unsupported_cells.has_capability", lambda _: True)
    assert machine_.lacking(suite_cells) == {}


def test_a_machine_that_is_lost_while_it_rehearses_is_the_users_to_mend(fleet, monkeypatch):
    """It was shown as a mistake in rmwbench."""
    one = remote("a")
    monkeypatch.setattr(Remote, "ask", lambda *_, **__: "a reference")

    def lost(reference):
        raise ResultsLost("its network was closed")

    fleet.machines, fleet.get = [one], lost
    with pytest.raises(UserError, match="machine a was lost") as raised:
        fleet.rehearse([], {}, None)
    assert raised.value.actual == "its network was closed"


def test_a_machine_that_takes_part_and_answers_late_is_not_said_to_work_for_others(
    fleet, monkeypatch
):
    """Its processors are the campaign's since its card came."""

    class RayError(Exception):
        pass

    class GetTimeoutError(RayError):
        pass

    def late(reference, timeout):
        raise GetTimeoutError

    errors = SimpleNamespace(RayError=RayError, GetTimeoutError=GetTimeoutError)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(exceptions=errors))
    monkeypatch.setitem(sys.modules, "ray.exceptions", errors)
    fleet.ray = SimpleNamespace(get=late)
    assert fleet.answers({"a": "a reference"}, 1.0)["a"].reason == "no answer in time"


def test_a_machine_that_cannot_store_a_program_is_left_out_with_that_reason(
    fleet, monkeypatch, tmp_path
):
    """It was told that the worker is not there."""
    fleet.machines = [remote("full"), remote("empty")]
    program = ShippedProgram("rmwbench-worker-zenoh", "ab" * 32)
    (tmp_path / program.name).write_bytes(b"\x7fELF")
    asked = []
    monkeypatch.setattr(
        Remote, "ask", lambda self, *what, **_: asked.append((self.name, *what)) or self.name
    )

    def answers(references, timeout_s):
        if references == {"full": "full", "empty": "empty"}:
            return {name: [program] for name in references}
        assert references == {"full": ["full"], "empty": ["empty"]}
        return {"full": NoAnswer("OSError: no space left"), "empty": [None]}

    fleet.answers, fleet.ray = answers, SimpleNamespace(put=lambda content: content)
    fleet._ship({program: tmp_path / program.name})
    assert fleet.left_out == [("full", "OSError: no space left")]
    assert [machine.name for machine in fleet.machines] == ["empty"]
    assert ("full", "put", program, b"\x7fELF") in asked


def test_an_agent_that_ends_before_it_answers_is_a_reason_and_no_traceback(monkeypatch, tmp_path):
    monkeypatch.setenv(on_machine.VARIABLE, str(tmp_path))
    monkeypatch.setattr(on_machine.sys, "executable", "/bin/false")
    answer = on_machine.ClusterMachine().agent("word", "127.0.0.1")
    assert answer == "its agent ended with exit status 1"
