"""What voids a trial, and that no rule looks at a result."""

import pytest

from rmwbench.campaign.judge import void_reasons
from rmwbench.lab.machine import STEAL_VOID_FRACTION, void_reason
from tests.campaign.cells import outcome
from tests.campaign.test_attest import received


def steal(value: float) -> list[dict]:
    return [{"probe": "steal", "unit": "fraction", "at": "window", "value": value}]


def test_a_good_trial_is_not_void():
    assert void_reasons(outcome(), []) == []


def test_steal_voids_only_above_the_threshold_and_only_in_the_window():
    assert void_reason(steal(STEAL_VOID_FRACTION)) is None
    assert "12.0 %" in void_reason(steal(0.12))
    assert void_reason([{**steal(0.5)[0], "at": "before"}]) is None
    found = outcome()
    found.probes = steal(0.12)
    assert void_reasons(found, []) == [void_reason(steal(0.12))]


def test_a_start_that_came_too_late_is_the_machines_fault():
    found = outcome()
    found.started_late_ns = 3_000_000
    assert void_reasons(found, []) == ["machine: start_late: the start reached a worker 3.0 ms after its time"]


@pytest.mark.parametrize(
    ("endpoint", "change", "complaint"),
    [
        (1, {"publish_mode": "async"}, None),  # nobody asked for a mode
        (2, {"wait": "poll"}, "wait block, was given poll"),
        (
            2,
            {"qos": {"reliability": "reliable", "durability": "volatile", "history": "keep_last", "depth": 1}},
            "depth 10, was given 1",
        ),
        (1, {"qos": {}}, "reliability reliable, was given None"),
    ],
)
def test_what_was_granted_is_held_against_what_was_asked(endpoint, change, complaint):
    found = outcome()
    found.granted[endpoint] |= change
    reasons = void_reasons(found, [])
    assert bool(reasons) == (complaint is not None)
    assert complaint is None or complaint in reasons[0]


def test_every_reason_is_told():
    found = outcome()
    found.started_late_ns, found.probes = 1_000_000, steal(0.2)
    found.sections = [received(3)]
    found.sections[0].__dict__["claimed"] = 2000
    assert len(void_reasons(found, [])) == 3
