"""The outcome matrix: from a bundle whose suite declares limits to the document and its three
renderings."""

import json
import re
from dataclasses import replace

import pytest

from rmwbench.bundle import Bundle
from rmwbench.report.show.matrices import conditions
from rmwbench.results.explain.explain_model import ArmTrials, Losses
from rmwbench.results.model import Estimate, document
from rmwbench.results.show_document import summarise
from rmwbench.results.show_model import ArmInCondition
from rmwbench.results.workload import outcomes
from tests.support import synthetic_bundle
from tests.support.edited import campaign_json
from tests.support.typed import exact, typed
from tests.support.views import heads, page, tables

DECLARED = {
    "acceptable": [
        {"metric": "undelivered", "at_most": 0.25},
        {"metric": "service_latency_p50", "at_most": 30e6},
    ],
    "none": {"metric": "undelivered", "at_least": 0.95},
}
NAMES = ("floor futex", "iceoryx2 event", "zenoh tuned", "cyclonedds untouched")


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Two arms without loss, one that loses 40 %, and a floor, under two conditions."""
    chosen = (arm for arm in synthetic_bundle.ARMS if arm.arm in NAMES)
    arms = tuple(replace(arm, loss=0.4) if arm.loss else arm for arm in chosen)
    path = synthetic_bundle.write(
        tmp_path_factory.mktemp("outcomes") / "c",
        blocks=5,
        arms=arms,
        workloads=("camera",),
        levels=2,
    )
    with campaign_json(path) as document:
        document["plan"]["outcomes"] = DECLARED
    return summarise(Bundle(path))


def changed(shown, condition, arm, metrics=None, **changes):
    """The answer with an arm's part of one condition changed, judged again."""
    workloads = list(shown.workloads)
    known = {name: typed(Estimate, metric) for name, metric in (metrics or {}).items()}
    workloads[condition] = replace(
        workloads[condition],
        arms=tuple(
            replace(one, metrics={**one.metrics, **known}, **changes) if one.arm == arm else one
            for one in workloads[condition].arms
        ),
    )
    judged = outcomes.outcome_matrix(outcomes.declared(DECLARED, 5), workloads, {})
    return replace(shown, workloads=tuple(workloads), outcomes=judged)


def undelivered(low, high, value=None):
    value = low if value is None else value
    known = {"unit": "fraction", "value": value, "low": low, "high": high}
    return {"undelivered": {**known, "count": 900, "trials": 5, "interval": "95 %"}}


def test_the_document_has_every_condition_and_every_contender(shown):
    written = document(shown.outcomes)
    assert json.loads(json.dumps(written)) == written
    assert {key: written[key] for key in DECLARED} == DECLARED
    assert [one["levels"] for one in written["conditions"]] == [{"level": 0}, {"level": 1}]
    for one in written["conditions"]:
        assert {arm["arm"]: arm["outcome"] for arm in one["arms"]} == {
            "iceoryx2 event": "meets",
            "zenoh tuned": "meets",
            "cyclonedds untouched": "misses",
        }
        assert (one["outcome"], one["only"], one["may"]) == ("misses", None, [])
    assert written["summary"] == "Of 2 conditions: 2 misses."
    assert (
        "undelivered of at most 25 % and service latency, median of at most 30 ms"
        in written["text"]
    )


@pytest.mark.parametrize(
    ("at_most", "metric", "text"),
    [
        (30e9, "recovery_time", "30000 ms"),  # 3e+04 ms
        (1234.5e6, "response_latency_p99", "1234.5 ms"),  # 1234 ms
        (16384.0 * (1 << 20), "pss", "16384 MiB"),  # 1.638e+04 MiB
        (0.07, "undelivered", "7 %"),
        (1.5, "cpu_cores", "1.5 cores"),
    ],
)
def test_a_limit_is_printed_as_its_file_has_it(at_most, metric, text):
    assert outcomes.amount(at_most, metric) == text


def test_without_a_limited_topic_in_any_trial_there_is_no_condition(shown):
    """`Of 0 conditions: .` where every trial of a suite with limits of topics alone failed."""
    limits = {"acceptable": [], "topics": {"front": DECLARED["acceptable"]}}
    declared = outcomes.declared(DECLARED | limits, 5)
    judged = outcomes.outcome_matrix(declared, shown.workloads, {})
    assert judged.summary.startswith("No condition can be judged")


def test_a_reason_has_the_value_its_interval_and_the_limit(shown):
    reasons = {arm.arm: arm.reason for arm in shown.outcomes.conditions[0].arms}
    assert re.fullmatch(
        r"undelivered [34][.\d]* % \[[\d.]+–[\d.]+\]; the limit is 25 %",
        reasons["cyclonedds untouched"],
    )
    assert reasons["zenoh tuned"].startswith("undelivered 0 % [0–")


def test_what_was_still_under_way_leaves_a_limit_open_and_is_said(shown):
    losses = typed(Losses, {"wanted": 1000, "under_way": 400})
    metrics = undelivered(0.0, 0.004) | {"service_latency_p50": exact(1e6, "ns")}
    metrics["undelivered"]["count"] = 1000
    made = changed(shown, 1, "zenoh tuned", losses=losses, metrics=metrics)
    one = next(arm for arm in made.outcomes.conditions[1].arms if arm.arm == "zenoh tuned")
    assert (one.outcome, one.metric) == ("open", "undelivered")
    assert (
        "400 messages (40.0 %) were still under way when the trials ended: late, not lost"
        in one.reason
    )
    assert "the limit is 25 %" in one.reason


def test_an_interval_on_both_sides_is_undecided_whatever_its_value(shown):
    made = changed(shown, 1, "cyclonedds untouched", metrics=undelivered(0.0, 0.3, value=0.001))
    one = made.outcomes.conditions[1]
    assert (one.outcome, one.may) == ("open", ("meets", "misses"))
    assert replace(one.arms[2], reason="", limit=None, open_limits=None) == ArmInCondition(
        arm="cyclonedds untouched",
        outcome="open",
        why="interval",
        metric="undelivered",
        topic=None,
        reason="",
        brief="",
    )
    assert made.outcomes.summary == "Of 2 conditions: 1 misses, 1 open."


def test_an_open_arm_has_each_limit_that_is_open(shown):
    latency = {"unit": "ns", "value": 20e6, "low": 10e6, "high": 40e6, "trials": 5}
    both = undelivered(0.0, 0.3) | {"service_latency_p50": latency}
    one = changed(shown, 1, "zenoh tuned", metrics=both).outcomes.conditions[1]
    arms = {arm.arm: arm for arm in one.arms}
    limits = arms["zenoh tuned"].open_limits
    assert [limit.metric for limit in limits] == ["undelivered", "service_latency_p50"]
    assert arms["zenoh tuned"].metric == "undelivered"
    assert arms["iceoryx2 event"].open_limits is None


def test_absent_is_no_data_with_its_reason_and_leaves_the_condition_open(shown):
    failure = {"trial": 9, "block": 0, "status": "failed", "reason": "it died\nat once"}
    none = typed(ArmTrials, {"failed": 1, "failures": [failure]})
    made = changed(shown, 0, "cyclonedds untouched", trials=none)
    one = made.outcomes.conditions[0]
    assert (one.arms[2].outcome, one.arms[2].reason) == ("unknown", "trial 9 failed: it died")
    assert (one.outcome, one.may) == ("open", ("meets", "misses"))
    *_, arm, whole = tables(conditions(made))[0].rows[0]
    assert (arm.detail, whole.detail) == ("trial 9 failed", "meets or misses")


def only_zenoh(shown):
    silent = {
        "metrics": undelivered(0.97, 1.0, value=1.0),
        "losses": typed(Losses, {"wanted": 900, "missing": 900, "not_located": 900}),
    }
    made = changed(shown, 0, "cyclonedds untouched", **silent)
    return changed(made, 0, "iceoryx2 event", **silent)


def test_its_view_has_a_row_for_each_condition_whose_cells_open_their_arms(shown):
    doc = only_zenoh(shown)
    (section,) = conditions(doc)
    (table,) = tables([section])
    assert [[one.text for one in row[1:]] for row in table.rows] == [
        ["✗ none", "✓ meets", "✗ none", "! only zenoh tuned"],
        ["✓ meets", "✓ meets", "! misses", "! misses"],
    ]
    assert heads(table)[0] == "level" and heads(table)[-1] == "all together"
    html = page(doc)
    for one in (cell for row in table.rows for cell in row[1:-1]):
        assert f'id="{one.link[1:]}"' in html
    assert '<a href="#outcomes">outcomes</a>' in html


def test_only_one_delivers(shown):
    one = only_zenoh(shown).outcomes.conditions[0]
    assert (one.outcome, one.only) == ("only", "zenoh tuned")
    assert one.arms[0].reason == "nothing arrived; undelivered 100 % [97.0–100]: at least 95 %"
