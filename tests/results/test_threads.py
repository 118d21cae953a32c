"""Whether publishers of one process share a thread stands with each arm, and tells cases apart;
what was measured before there was a choice was shared."""

import json
from dataclasses import replace

import pytest

from rmwbench.bundle import Bundle
from rmwbench.report.show.workload_view import arms_by_note
from rmwbench.results.compare.environment import definition_differences
from rmwbench.results.decide.candidate_campaigns import definition_of
from rmwbench.results.selection import Match
from rmwbench.results.show_document import summarise
from tests.support import topics_bundle

TALKER = [
    {"endpoint": n, "node": "talker", "process": "talker", "arrival": {"kind": "periodic"}}
    for n in (1, 2)
]
BEFORE = {"endpoints": TALKER}
OWN = BEFORE | {"schedule": "own"}


def arms(directory, definition):
    carriers = {
        name: replace(carrier, definition=definition)
        for name, carrier in topics_bundle.CARRIERS.items()
    }
    bundle = Bundle(topics_bundle.write(directory, carriers=carriers, blocks=5))
    (workload,) = summarise(bundle).workloads
    return workload


@pytest.mark.parametrize(("definition", "schedule"), [(OWN, "own"), (BEFORE, "shared"), ({}, None)])
def test_a_shared_thread_is_named_under_the_table(tmp_path, definition, schedule):
    workload = arms(tmp_path / "bundle", definition)
    assert {arm.schedule for arm in workload.arms} == {schedule}
    said = [arms for text, arms in arms_by_note(workload).items() if "schedule: shared" in text]
    assert said == ([[arm.arm for arm in workload.arms]] if schedule == "shared" else [])


def test_what_was_measured_before_is_another_case_than_a_thread_each():
    before, own = ({"arm": "a", "definition": json.dumps(one)} for one in (BEFORE, OWN))
    assert definition_of(before) != definition_of(own)
    (difference,) = definition_differences(Match(before, own))
    assert (difference.name, difference.a, difference.b) == ("schedule", "shared", "own")
    assert definition_differences(Match(before, before)) == []
