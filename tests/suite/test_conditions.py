"""What else the machine does, as a suite says it: a field of the workload, of an arm, or a
factor."""

import pytest

from rmwbench.errors import UserError
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse
from rmwbench.suite.process_conditions import BACKGROUNDS, HOST_IDLE

SUITE = """
suite: mini
title: a test
arms:
  - {{name: a, middleware: floor}}
  - {{name: b, middleware: floor{arm}}}
workloads:
  - {{name: w, message: Bytes(100), rate_hz: 100{workload}}}
{more}
"""


def conditions(arm="", workload="", more=""):
    suite_cells = cells(
        parse(SUITE.format(arm=arm, workload=workload, more=more), where="mini.yaml")
    )
    return [(cell.arm.name, *cell.conditions.values()) for cell in suite_cells]


def refused(**parts) -> UserError:
    with pytest.raises(UserError) as caught:
        conditions(**parts)
    return caught.value


def test_nothing_said_is_idle_and_as_found():
    assert conditions(arm=", wait: poll") == [("a", "idle", "as_found"), ("b", "idle", "as_found")]


def test_an_arms_own_word_stands_before_its_workloads():
    rows = conditions(arm=", background: cpu100", workload=", background: cpu50, host_idle: awake")
    assert rows == [("a", "cpu50", "awake"), ("b", "cpu100", "awake")]


def test_as_factors_they_cross():
    more = "factors: {background: [idle, traffic], host_idle: [as_found, awake]}"
    rows = conditions(arm=", wait: poll", more=more)
    assert [place[1:] for place in rows if place[0] == "a"] == [
        ("idle", "as_found"), ("idle", "awake"), ("traffic", "as_found"), ("traffic", "awake"),
    ]  # fmt: skip


def test_every_level_is_known():
    for level in BACKGROUNDS:
        assert conditions(arm=", wait: poll", workload=f", background: {level}")[0][1] == level
    for level in HOST_IDLE:
        assert conditions(arm=", wait: poll", workload=f", host_idle: {level}")[0][2] == level


@pytest.mark.parametrize(
    ("parts", "words", "fix"),
    [
        (
            {"workload": ", background: cpu500"},
            "unknown background `cpu500`",
            "did you mean `cpu50`?",
        ),
        ({"arm": ", host_idle: awoke"}, "unknown host_idle `awoke`", "did you mean `awake`?"),
        (
            {"workload": ", backround: idle"},
            "unknown key `backround`",
            "did you mean `background`?",
        ),
        (
            {"more": "factors: {backgroun: [idle]}"},
            "unknown factor `backgroun`",
            "did you mean `background`?",
        ),
        (
            {"more": "factors: {background: [idel]}"},
            "unknown background `idel`",
            "did you mean `idle`?",
        ),
    ],
)
def test_what_is_misspelt_is_answered_with_the_nearest_name(parts, words, fix):
    error = refused(**parts)
    assert words in error.what and error.fix == fix and error.where.startswith("mini.yaml:")


def test_a_factor_that_an_arm_overrides_changes_nothing_and_is_refused():
    error = refused(arm=", background: cpu100", more="factors: {background: [idle, cpu50]}")
    assert "factor `background` changes nothing" in error.what
    assert "exclude" in error.fix
