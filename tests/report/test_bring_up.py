"""Bring-up in a report: the tables of every renderer, and the curve of nodes that are up."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rmwbench.analysis.metrics.aggregate import MeasuredTrial, aggregate
from rmwbench.analysis.metrics.bring_up import TrialBringUp, metrics
from rmwbench.analysis.metrics.glossary import GLOSSARY, MetricScope, names_of
from rmwbench.beside.bring_up.answer import active_after, bring_up_answer, chart
from rmwbench.report.chart import charts
from rmwbench.report.show import ros
from rmwbench.results.model import document
from rmwbench.results.show_model import Charts, SuiteAnswer, WorkloadAnswer
from tests.support.typed import typed
from tests.support.views import cells, heads, tables, texts

S = 1_000_000_000
ASKED = {"manager": "manager", "nodes": ["a", "b", "c", "d"], "service_timeout_s": 5.0}


class Trial(SimpleNamespace):
    """As much of one as a bring-up fills."""

    messages = SimpleNamespace(samples={}, arrived_in_window=0)

    def __init__(self, block, *up_s, stopped=None):
        nodes = TrialBringUp(4, tuple(s * S for s in up_s), stopped or {}, float(S))
        more = {"values": {}, "fractions": {}, "reasons": {}, "clock_bounds": {}}
        super().__init__(trial=block, block=block, bring_up=nodes, **more)
        MeasuredTrial.take(self, metrics(nodes, {"pss": 4e6, "cpu_cores": 0.1}, 20 * S))


WHOLE = [Trial(block, 1.0, 1.5, 2.0, 4.0 + block) for block in range(2)]
HUNG = [
    Trial(block, 1.0, 2.0, stopped={"configure.timed_out": 1, "service.timed_out": 1})
    for block in range(2)
]


def arm(name, trials, not_supported=None):
    definition = {"bring_up": ASKED, "timeline": {"steady_s": 20.0}}
    cell = {"middleware": name, "version": "1", "cell": 1}
    return SimpleNamespace(
        name=name, trials=trials, definition=definition, cell=cell, not_supported=not_supported
    )


@pytest.fixture
def doc():
    arms = [arm("good", WHOLE), arm("bad", HUNG), arm("other", [], "it has no lifecycle nodes")]
    answer = bring_up_answer({"w": arms}, {"w": "four nodes"})
    shown_arms = [
        {
            "arm": a.name,
            "metrics": {
                name: document(aggregate(GLOSSARY[name], a.trials))
                for name in names_of(MetricScope.NODES)
            },
        }
        for a in arms
    ]
    workload = {"workload": "w", "primary_metric": "bring_up_time", "arms": shown_arms}
    return replace(typed(SuiteAnswer, {"workloads": [workload]}), bring_up=answer)


def test_a_document_counts_whole_trials_and_where_the_others_stopped(doc):
    json.dumps(document(doc), allow_nan=False)
    (row,) = doc.bring_up.rows
    assert (row.nodes, row.window_s, row.service_timeout_s) == (4, 20.0, 5.0)
    good, bad, other = row.arms
    assert (good.complete, good.trials, good.blocks, good.stopped) == (2, 2, 2, ())
    assert (bad.complete, bad.nodes_of_all_trials) == (0, 8)
    assert [(stop.place, stop.nodes) for stop in bad.stopped] == [
        ("service.timed_out", 2),
        ("configure.timed_out", 2),
    ]
    assert (other.trials, other.up, other.not_supported) == (0, (), "it has no lifecycle nodes")


def test_nodes_are_counted_after_round_times_until_all_that_ever_are_are_there(doc):
    good, bad, _ = doc.bring_up.rows[0].arms
    assert [step.after_s for step in good.up] == [0.5, 1, 2, 3, 5]
    assert [step.nodes for step in good.up] == [0, 1, 3, 3, 4]
    assert [step.nodes for step in bad.up] == [0, 1, 2, 2, 2]
    assert active_after([WHOLE[0].bring_up, WHOLE[1].bring_up], 4.5) == 3.5


def test_the_tables_say_never_where_a_node_never_was_active(doc):
    (section,) = ros.sections(doc)
    whole, up = tables([section])
    good, bad, other = cells(whole)
    assert "4 lifecycle nodes, service time-out 5 s, window 20 s." in texts([section])
    assert good[:2] == ["good", "2 of 2"] and good[-1] == "none"
    assert bad[:2] == ["bad", "0 of 2"] and "never" in bad
    assert bad[-1] == "service not available 2, configure timed out 2 (of 8)"
    assert other[1] == "no data" and other[-1] == "not supported: it has no lifecycle nodes"
    assert all(len(row) == len(heads(whole)) for row in cells(whole))
    assert heads(up)[:3] == ["nodes up after", "0.5 s", "1 s"]
    assert [row[0] for row in cells(up)] == ["good", "bad"]


def test_the_chart_has_a_curve_for_each_arm_and_a_line_at_all_nodes():
    arms = [
        {"arm": name, "role": "contender", "middleware": name, "profile": "untouched"}
        for name in ("good", "bad")
    ]
    workload = typed(WorkloadAnswer, {"arms": arms})
    curves = (chart("good", WHOLE), chart("bad", HUNG))
    drawn = replace(workload, charts=replace(typed(Charts), up=curves))
    points = charts.up(drawn)["datasets"]["points"]
    assert {point["arm"] for point in points} == {"good", "bad"}
    assert max(point["y"] for point in points) == 4.0
    assert charts.up(workload) is None
