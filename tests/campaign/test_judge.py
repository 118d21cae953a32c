"""What voids a trial, and that no rule looks at a result."""

from dataclasses import replace

import pytest

from rmwbench.campaign.trial.changes import start_fields, take_started
from rmwbench.campaign.trial.outcome import Failure, TrialOutcome, keeps_spoilt
from rmwbench.campaign.trial.trial_life import judge
from rmwbench.campaign.trial.void import excused_reasons, is_machines_fault, void_reasons
from rmwbench.codes import Code, FailedBy, Reason
from rmwbench.errors import UserError
from rmwbench.lab.machine import STEAL_VOID_FRACTION, voids
from tests.campaign.cells import only_cell, outcome
from tests.campaign.test_attest import received


def steal(value: float) -> list[dict]:
    window = {"steal": value, "stolen": value, "stolen_ticks": 100 * value}
    return [
        {"probe": name, "unit": "fraction", "at": "window", "value": value}
        for name, value in window.items()
    ]


@pytest.mark.parametrize(
    ("transport", "option", "void"),
    [
        ("udp", None, True),
        ("shm", None, False),
        ("intra_process", None, False),
        ("udp", "shm", False),
        (None, None, False),
    ],
)
def test_a_transport_that_was_asked_for_and_not_taken_voids_the_trial(transport, option, void):
    """The option says more than the mode, and has the last word."""
    trial = outcome()
    arm = trial.order.cell.arm
    more = {
        "modes": {} if transport is None else {"transport": transport},
        "options": {} if option is None else {"path": option},
    }
    made = replace(trial.order.cell, arm=arm.model_copy(update=more))
    trial.order = replace(trial.order, cell=made)
    row = {"path": "shm", "interface": None, "label": "counted", "fraction": 1.0, "note": None}
    codes = [reason.code for reason in void_reasons(trial, [row])]
    assert codes == ([Code.PATH] if void else [])


def spoilt() -> TrialOutcome:
    """By a hypervisor; what its user keeps is said as it is ordered."""
    trial = outcome()
    trial.probes = steal(0.12)
    return trial


def test_a_good_trial_is_not_void():
    assert void_reasons(outcome(), []) == []


def test_steal_voids_only_above_the_threshold_and_only_in_the_window():
    assert voids(steal(STEAL_VOID_FRACTION)) == []
    assert "12.0 %" in voids(steal(0.12))[0].text
    assert voids([{**steal(0.5)[0], "at": "before"}]) == []


def test_a_spoilt_trial_is_void_unless_the_user_keeps_it(monkeypatch):
    monkeypatch.delenv("RMWBENCH_SPOILT")
    trial = spoilt()
    assert void_reasons(trial, []) == voids(steal(0.12)) and excused_reasons(trial) == []
    monkeypatch.setenv("RMWBENCH_SPOILT", "keep")
    trial = spoilt()
    (flag,) = excused_reasons(trial)
    assert void_reasons(trial, []) == [] and flag.code is Code.STEAL
    assert flag.text.endswith("(limit 5.0 %); kept, as RMWBENCH_SPOILT asks")
    trial.times.started_late_ns = 3_000_000
    assert [reason.code for reason in void_reasons(trial, [])] == [Code.START_LATE]


def test_a_trial_that_failed_on_a_noisy_machine_is_void_unless_the_user_keeps_it(monkeypatch):
    """It was void all the same, so its block ran again and again and was then left out for all."""
    failure = Failure(Reason(Code.HUNG, "worker a: no end of the schedule"), FailedBy.WORKER)
    monkeypatch.delenv("RMWBENCH_SPOILT")
    trial = spoilt()
    trial.failure = failure
    void = judge(trial)
    assert (void.status, void.cause) == ("void", "machine")
    assert [reason.code for reason in void.reasons] == [Code.STEAL, Code.HUNG]
    monkeypatch.setenv("RMWBENCH_SPOILT", "keep")
    trial = spoilt()
    trial.failure = failure
    failed = judge(trial)
    assert (failed.status, failed.failed_by) == ("failed", FailedBy.WORKER)
    assert [reason.code for reason in failed.reasons] == [Code.HUNG]
    trial.times.started_late_ns = 3_000_000  # of the machine, and kept by no one
    assert judge(trial).status == "void"


def test_a_start_that_came_too_late_is_the_machines_fault():
    trial = outcome()
    trial.times.started_late_ns = 3_000_000
    (reason,) = void_reasons(trial, [])
    assert reason.text == "machine: start_late: the start reached a worker 3.0 ms after its time"
    assert is_machines_fault([reason])


@pytest.mark.parametrize(
    ("endpoint", "change", "complaint"),
    [
        (1, {"publish_mode": "async"}, None),  # nobody asked for a mode
        (2, {"wait": "poll"}, "wait block, was given poll"),
        (
            2,
            {
                "qos": {
                    "reliability": "reliable",
                    "durability": "volatile",
                    "history": "keep_last",
                    "depth": 1,
                }
            },
            "depth 10, was given 1",
        ),
        (2, {"take": "typed"}, None),
        (2, {"take": "lent"}, None),  # an API that lends does so whatever is asked
        (2, {"take": "raw"}, "take typed, was given raw"),
        (1, {"qos": {}}, "reliability reliable, was given None"),
    ],
)
def test_what_was_granted_is_held_against_what_was_asked(endpoint, change, complaint):
    trial = outcome()
    trial.endpoints.granted[endpoint] |= change
    reasons = void_reasons(trial, [])
    assert bool(reasons) == (complaint is not None)
    assert complaint is None or (complaint in reasons[0].text and reasons[0].code is Code.GRANTED)


def test_every_reason_is_told(monkeypatch):
    monkeypatch.delenv("RMWBENCH_SPOILT")
    trial = outcome()
    trial.times.started_late_ns, trial.probes = 1_000_000, steal(0.2)
    trial.sections = [received(3)]
    trial.sections[0].__dict__["claimed"] = 2000
    reasons = void_reasons(trial, [])
    assert [reason.code for reason in reasons] == [Code.RECORDS, Code.START_LATE, Code.STEAL]
    assert not is_machines_fault(reasons)


def test_a_word_that_says_nothing_of_spoilt_trials_is_refused(monkeypatch):
    monkeypatch.setenv("RMWBENCH_SPOILT", "kept")
    with pytest.raises(UserError, match=r"expected: keep, or nothing"):
        keeps_spoilt()


SCHEDULED = """
arms: [{{name: a, middleware: fake}}]
timeline: {{steady_s: 1}}
workloads:
  - name: w
    message: Bytes(100)
    rate_hz: 100
    schedule: {schedule}
    nodes:
      - {{name: talker, publishers: [{{topic: a}}, {{topic: b}}]}}
      - {{name: listener, subscriptions: [{{topic: a}}, {{topic: b}}]}}
"""


def started(schedule, reply):
    """A trial whose workers answered `start` so."""
    trial = outcome(only_cell(SCHEDULED.format(schedule=schedule)))
    for endpoint in trial.order.cell.endpoints:
        trial.endpoints.granted[endpoint.endpoint] = {"qos": endpoint.qos.wire()}
    take_started(trial, {"talker": reply, "listener": reply})
    return trial


def schedules_refused(trial):
    reasons = void_reasons(trial, [])
    return [r.text for r in reasons if r.code is Code.GRANTED and "schedule" in r.text]


def test_what_was_asked_is_in_the_command_and_what_is_done_in_the_grants():
    trial = started("shared", {"schedule": "shared"})
    fields = start_fields(trial.times.window, trial.order.cell)
    assert fields["schedule"] == "shared" and fields["grace_ns"] == 150_000_000
    granted = trial.endpoints.granted
    assert [granted[n].get("schedule") for n in (1, 2, 3, 4)] == ["shared", "shared", None, None]
    assert schedules_refused(trial) == []


def test_a_worker_that_sends_for_all_from_one_thread_was_not_given_what_was_asked():
    """One from before there was a choice does not say what it does."""
    refused = schedules_refused(started("own", {}))
    assert len(refused) == 2 and refused[0].endswith("asked for schedule own, was given shared")
    assert schedules_refused(started("own", {"schedule": "own"})) == []
    assert schedules_refused(started("shared", {})) == []
