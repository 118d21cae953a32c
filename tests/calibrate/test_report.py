"""A report says in one line how its instrument was proved, and warns where that says little."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from rmwbench.bundle.campaign_json import CampaignDocument, MachineDocument
from rmwbench.report.machine_view import calibration_view
from rmwbench.report.render.markdown import render_markdown
from rmwbench.results.machine.calibration_document import (
    FLEET,
    calibration,
    calibration_line,
    exit_code,
)
from rmwbench.results.machine.calibration_document import machine as machine_of
from rmwbench.results.machine.machine_model import CalibrationDocument, Machine
from tests.calibrate.test_calibrations import calibration as stored
from tests.support.typed import exact, typed

CREATED = "2026-11-21T10:00:00Z"


def line(known):
    return calibration_line(replace(typed(Machine), calibration=known))


def machine(**changes):
    document = stored(CREATED)
    for name, value in changes.items():
        part, _, key = name.partition("__")
        if key:
            document[part][key] = value
        else:
            document[part] = value
    return MachineDocument.model_validate({"calibration": document, "kernel": {"release": "6.1"}})


def test_the_line_has_age_kernel_and_counts():
    own = {"latency": {"unit": "ns", "value": 118.0, "low": 110, "high": 130}}
    known, warnings = calibration(machine(own_cost=own), "2026-11-21T13:05:00Z")
    assert known.text == (
        "Calibrated 3 hours before, kernel 6.1: 2 of 2 injected truths recovered, A/A declared "
        "different in 0 of 1, A/A noise 12.0 %. Of messages of 64 bytes: of a latency 118 ns is "
        "ours; larger messages cost more, which this calibration did not measure; nothing is "
        "subtracted."
    )
    assert warnings == []
    assert line(known) == known.text


def test_a_campaign_on_several_machines_does_not_ask_for_a_calibration_that_would_not_count():
    _, warnings = calibration(MachineDocument(kernel={"release": "6.1"}), CREATED, machines=3)
    assert warnings == [FLEET] and "rmwbench calibrate" not in FLEET
    assert calibration(machine(), CREATED, machines=1)[0].known


def test_which_warnings_are_red_is_a_field_and_not_in_their_text():
    described = {"warnings": ["RED load: a robot runs", "cores: two"]}
    campaign = CampaignDocument.model_validate({"version": 1, "machine": described})
    machine_answer = machine_of(SimpleNamespace(campaign=campaign))
    assert machine_answer.warnings == ("load: a robot runs", "cores: two")
    assert machine_answer.red_warnings == ("load: a robot runs",)
    assert machine_answer.other_warnings == ["cores: two"]


def answer(**changes):
    document = machine(**changes).calibration
    document["not_tested"] = [{"what": "skewed clock", "why": "no namespace"}]
    document |= {"blocks": 5, "wall_s": 150.0}
    document["truths"] |= {"checks": 9, "void_trials": 1}
    document["aa"]["floor_blocks"] = 5
    document["stored"] = "there.json"
    check = {"what": "loss", "outcome": "failed", "expected": "0.1", "found": "0.2"}
    truth = {"truth": "loss", "workload": "stream", "arm": "burst", "outcome": "failed"}
    document["truths"]["list"] = (
        [truth | {"checks": [check]}] if document["truths"]["failed"] else []
    )
    differs = {"outcome": "different", "reason": "why"}
    outcome = differs if document["aa"]["different"] else {"outcome": "no difference"}
    document["aa"]["pairs"] = [{"middleware": "zenoh", "workload": "small", **outcome}]
    return typed(CalibrationDocument, document)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({"truths__failed": 1}, 1),
        ({"aa__different": 1}, 1),
        ({"truths__unknown": 1}, 2),
        ({"aa__unknown": 1}, 2),
        ({"aa__total": 0}, 2),
        ({"truths__failed": 1, "truths__unknown": 1}, 1),
    ],
)
def test_the_exit_code_is_yes_no_or_could_not_tell(changes, code):
    assert exit_code(answer(**changes)) == code


def printed(answered):
    return render_markdown(calibration_view(answered))


def test_what_failed_is_a_table_and_the_answer_one_sentence():
    text = printed(answer(truths__failed=1, truths__recovered=1))
    assert "recovered 1 of 2 injected truths (1 failed, 0 could not tell)" in text
    assert all(
        word in text
        for word in ("stream: burst", "0.1", "0.2", "skewed clock: no namespace", "there.json")
    )
    assert "A/A declared different in 0 of 1" in text


def test_what_a_reading_of_the_clock_and_a_record_cost_is_named():
    cost = {"unit": "ns", "batches": 201, "high": 23.034, "low": 23.025, "value": 23.03}
    none = {"unit": "ns", "no_data": "no such worker"}
    text = printed(answer(own_cost={"clock_read": cost, "record": none}))
    assert "a reading of the clock 23.0 ns" in text and "a record" not in text


def test_the_instruments_part_is_printed_for_each_size_and_not_referred_to():
    """A section *What you may not* was named, which a calibration has not."""
    at_sizes = [
        {"payload_bytes": size, "response_latency": exact(ns, "ns")}
        for size, ns in ((64, 1e3), (6_220_800, 2e6))
    ]
    own_cost = {"sizes": at_sizes}
    text = printed(answer(own_cost=own_cost))
    assert "What you may not" not in text
    for size, latency in (("64 B", "1.00 µs"), ("6.22 MB", "2.00 ms")):
        assert f"part in a message of {size}: {latency}" in text
    summary, _ = calibration(machine(own_cost=own_cost), CREATED)
    assert "What you may not" not in summary.text


@pytest.mark.parametrize(
    ("changes", "now", "part"),
    [
        ({"truths__failed": 1, "truths__recovered": 1}, CREATED, "did not recover 1 of 2"),
        ({"aa__different": 1}, CREATED, "where there is none in 1 of 1"),
        ({}, "2027-01-05T10:00:00Z", "45 days old"),
        ({"kernel": "5.15"}, CREATED, "from kernel 5.15, this campaign from 6.1"),
    ],
)
def test_what_weakens_it_is_a_warning(changes, now, part):
    _, (warning,) = calibration(machine(**changes), now)
    assert part in warning
