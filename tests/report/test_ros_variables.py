"""ROS variables obeyed or not: what is seen of a case against what must happen, and the table of
it."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from rmwbench.analysis.metrics.comparisons import comparisons
from rmwbench.analysis.records.ledger import Ledger
from rmwbench.beside.ros_variables.answer import (
    CaseCounts,
    _require_enough_trials,
    judge,
    notes,
    variables_answer,
)
from rmwbench.beside.ros_variables.keys import CASES, CONTROL, HEARD, LENT, NOT_HEARD, NOT_LENT
from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.bundle.campaign_json import PlannedComparison
from rmwbench.report.render.markdown import render_blocks
from rmwbench.report.show import ros
from rmwbench.results.show_model import SuiteAnswer
from tests.support.typed import typed


def case_counts(*heard, wanted=50, lent=0, missed=(), at_all=None):
    return CaseCounts(
        heard=heard,
        heard_at_all=at_all or tuple(map(bool, heard)),
        wanted=(wanted,) * len(heard),
        lent=(lent,) * len(heard),
        matched=sum(map(bool, heard)),
        missed=missed,
    )


DIED = "worker talker died of signal 11\nits log"
FAILED = TrialLine(trial=4, cell=1, block=0, status="failed", reason=DIED)
GOOD, SILENT, NEVER = (
    case_counts(50, 50, 50),
    case_counts(0, 0, 0),
    case_counts(missed=(FAILED, FAILED)),
)
ONLY_WARM_UP = case_counts(0, 0, 0, at_all=(True, True, False))
LENT_TWICE = replace(GOOD, lent=(70, 0, 70))


@pytest.mark.parametrize(
    ("expected", "counts", "control", "answer", "reason"),
    [
        (HEARD, GOOD, GOOD, "obeyed", ""),
        (HEARD, SILENT, GOOD, "not obeyed", ""),
        (HEARD, SILENT, case_counts(50, 49, 50), "no data", "without variables heard 149 of 150"),
        (HEARD, case_counts(50, 0, 50), GOOD, "no data", "heard in only 2 of 3 trials"),
        (NOT_HEARD, SILENT, GOOD, "obeyed", ""),
        (NOT_HEARD, GOOD, GOOD, "not obeyed", ""),
        (NOT_HEARD, GOOD, None, "not obeyed", ""),
        (NOT_HEARD, case_counts(0, 3, 0), GOOD, "not obeyed", "heard in only 1 of 3 trials"),
        (NOT_HEARD, ONLY_WARM_UP, GOOD, "not obeyed", "heard in only 2 of 3 trials"),
        (
            NOT_HEARD,
            case_counts(0, 0, at_all=(True, True)),
            GOOD,
            "not obeyed",
            "heard only outside the steady state",
        ),
        (NOT_HEARD, SILENT, None, "no data", "no case `none`"),
        (NOT_HEARD, SILENT, SILENT, "no data", "without variables heard 0 of 150"),
        (
            NOT_HEARD,
            SILENT,
            NEVER,
            "no data",
            "2 failed; the first: worker talker died of signal 11",
        ),
        (NOT_HEARD, NEVER, GOOD, "no data", "no trial is done: 2 failed"),
        (NOT_HEARD, case_counts(0, wanted=0), GOOD, "no data", "published nothing"),
        (LENT, case_counts(50, lent=70), GOOD, "obeyed", ""),
        (LENT, GOOD, GOOD, "no data", "lent nothing though it was allowed to"),
        (NOT_LENT, GOOD, case_counts(50, lent=70), "obeyed", ""),
        (NOT_LENT, case_counts(50, lent=70), case_counts(50, lent=70), "not obeyed", ""),
        (NOT_LENT, GOOD, GOOD, "no data", "in the case `loans` it lent nothing"),
        (NOT_LENT, GOOD, None, "no data", "the campaign has no case `loans`"),
        (NOT_LENT, GOOD, NEVER, "no data", "no trial is done: 2 failed"),
        (NOT_LENT, GOOD, LENT_TWICE, "no data", "took loans in only 2 of 3 trials"),
        (NOT_LENT, SILENT, case_counts(50, lent=70), "no data", "nothing was heard"),
        (
            NOT_LENT,
            case_counts(50, 0, 50),
            case_counts(50, lent=70),
            "no data",
            "heard in only 2 of 3 trials",
        ),
    ],
)
def test_silence_counts_only_beside_a_control_that_heard_everything(
    expected, counts, control, answer, reason
):
    verdict = judge(expected, counts, control)
    assert verdict.answer == answer
    assert reason in verdict.reason if reason else not verdict.reason


OBEDIENT = {CONTROL: 50, "off": 0, "localhost": 50}
DEAF_TO_ALL = {CONTROL: 50, "off": 50, "localhost": 50}
BROKEN = {CONTROL: 0, "off": 0, "localhost": 0}


def table(arms, unsupported=None, trials=5):
    """Return the answer on `trials` of each arm and case on one host; `arms`: arm -> case -> the
    messages heard of 50."""
    cells, measured, received = [], {}, {}
    for arm, heard in arms.items():
        for case, count in heard.items():
            number, planned = len(cells) + 1, CASES[case]
            keys = {
                "case": case,
                "text": planned.text,
                "writer": planned.writer,
                "reader": planned.reader,
            }
            keys |= {"expected": planned.one_host, "source": planned.source}
            definition = {
                "comparison": f"w [ros_variables={case}]",
                "workload": {"name": "w", "title": "one host"},
                "factors": {"ros_variables": case},
                "ros_variables": keys,
            }
            row = {
                "arm": arm,
                "middleware": arm,
                "version": "1",
                "cell": number,
                "definition": json.dumps(definition),
            }
            cells.append(row)
            ledger = Ledger(wanted=50, delivered=count, vanished_end=50 - count)
            measured[number] = [
                SimpleNamespace(trial=number, messages=SimpleNamespace(ledger=ledger))
            ] * trials
            received[number] = count
    bundle = SimpleNamespace(
        rows=lambda _: cells,
        trials=list,
        unsupported=unsupported or {},
        columns=lambda _, trial, __: {"flags": np.zeros(received[trial], dtype="u4")},
    )
    rows = {n: [{"endpoint": 2, "kind": "subscription"}] for n in measured}
    matched = {
        n: [{"event": "matched", "value": 1, "endpoint": 2}] if received[n] else []
        for n in measured
    }
    small = SimpleNamespace(endpoints=rows, events=matched, counters={n: [] for n in measured})
    return variables_answer(bundle, measured, small)


def answers(table_of_cases):
    return {(row.case, arm.arm): arm.answer for row in table_of_cases.rows for arm in row.arms}


def test_who_ignores_a_variable_is_not_said_to_obey_where_it_is_to_be_heard():
    answer = table({"a": OBEDIENT, "b": DEAF_TO_ALL, "c": BROKEN})
    assert answers(answer) == {
        (CONTROL, "a"): "control",
        (CONTROL, "b"): "control",
        (CONTROL, "c"): "no data",
        ("off", "a"): "obeyed",
        ("off", "b"): "not obeyed",
        ("off", "c"): "no data",
        ("localhost", "a"): "obeyed",
        ("localhost", "b"): "no data",
        ("localhost", "c"): "no data",
    }
    assert answer.summary == "a: 2 obeyed. b: 1 not obeyed, 1 no data. c: 2 no data."
    assert any("no setting of ROS_AUTOMATIC_DISCOVERY_RANGE" in note for note in notes(answer))


def test_fewer_than_five_trials_decide_nothing():
    answer = table({"a": OBEDIENT, "b": DEAF_TO_ALL}, trials=4)
    assert set(answers(answer).values()) == {"control", "no data"}
    assert any(
        "not obeyed in 4 trials, and fewer than 5 decide nothing" in note for note in notes(answer)
    )


def test_an_answer_by_silence_rests_on_the_trials_of_its_control():
    """Five silent trials beside a single one that heard everything were called obedience."""
    silent, heard = case_counts(*[0] * 5), case_counts(*[50] * 5)
    control = case_counts(50)

    def judged(expected, counts):
        return _require_enough_trials(judge(expected, counts, control), expected, counts, control)

    few = judged(NOT_HEARD, silent)
    assert few.answer == "no data" and "obeyed in 1 trial" in few.reason
    assert judged(HEARD, silent).answer == "no data"
    assert judged(HEARD, heard).answer == "obeyed"
    assert judged(NOT_HEARD, heard).answer == "not obeyed"


def test_cells_with_ros_variables_are_compared_with_nothing():
    def cell(number, definition):
        return {
            "cell": number,
            "workload": "w",
            "arm": "a",
            "factors": "{}",
            "definition": json.dumps(definition),
        }

    judged_by_silence, plain = cell(1, {"ros_variables": {"case": "off"}}), cell(2, {})
    assert [
        compared["cell"]
        for comparison in comparisons((), [judged_by_silence, plain])
        for compared in comparison.cells
    ] == [2]
    planned = PlannedComparison(comparison="w", workload="w", cells=(1,))
    assert comparisons([planned], [judged_by_silence]) == []


def test_its_view_says_what_was_heard_and_links_the_documentation():
    doc = replace(typed(SuiteAnswer), ros_variables=table({"a": OBEDIENT, "b": DEAF_TO_ALL}))
    lines = "\n".join(render_blocks(ros.sections(doc), level=2))
    for text in (
        "✓ obeyed 0 of 250",
        "✗ not obeyed 250 of 250",
        "= control 250 of 250",
        "b: 1 not obeyed",
    ):
        assert text in lines, text
    assert f"[not heard]({CASES['off'].source})" in lines


def test_what_arrives_outside_the_steady_state_is_not_counted_against_it():
    assert ONLY_WARM_UP.text == (
        "heard 0 of 150, only outside the steady state in 2 of 3 trials, matched in 0 of 3 trials"
    )
    assert not case_counts(0, 0, wanted=1, at_all=(True, True)).all_heard
