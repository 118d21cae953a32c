"""Readers of one topic that differ, or turn out unlike, from the bundle to the terminal and the page."""

import pytest

from rmwbench.analysis.metrics.aggregate import trial_value
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.judged_topics import POOLED
from rmwbench.analysis.metrics.trial_metrics import measure_trial
from rmwbench.analysis.verdicts.interim import Looks
from rmwbench.bundle import Bundle
from rmwbench.bundle.evidence import SmallTables
from rmwbench.report.render.markdown import render_markdown
from rmwbench.report.show.suite_view import view
from rmwbench.results.answer.headline import headline
from rmwbench.results.judged_campaign import judge_campaign, readers_apart
from rmwbench.results.model import document as answer_document
from rmwbench.results.show_document import summarise
from tests.support import topics_bundle
from tests.support.topics_bundle import FURTHER, Carrier, Flow
from tests.support.views import page, printed

SENDING = ("publish_call", "publisher_period", "writing")
"""What is the same for all readers."""
FLOWS = {"x": Flow("Bytes(10000)", 10_000, 100.0)}
HELD = {"endpoints": [{"endpoint": FURTHER + 2, "hold_ns": 50_000_000}]}


def carrier(name, control, logger, lost=0.0, **more):
    return Carrier(name, {"x": (control, 0)}, readers={"x": {"logger": (logger, lost)}}, **more)


SLOW = {
    "zenoh": carrier("zenoh", 2e5, 9.4e7, definition=HELD),
    "cyclonedds": carrier("cyclonedds", 4e5, 2e8, definition=HELD),
    "iceoryx2": carrier("iceoryx2", 2.5e5, 9.4e7, 0.76, definition=HELD),
}
LIMITS = {
    "acceptable": [{"metric": "undelivered", "at_most": 0.5}],
    "topics": {"navigation": [{"metric": "response_latency_p50", "at_most": 3e5}]},
    "none": {"metric": "undelivered", "at_least": 0.95},
}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    path = tmp_path_factory.mktemp("readers") / "c"
    return Bundle(topics_bundle.write(path, flows=FLOWS, carriers=SLOW, plan={"outcomes": LIMITS}))


@pytest.fixture(scope="module")
def shown(bundle):
    return summarise(bundle)


def arm(part, name):
    return next(one for one in part.arms if one.arm == name)


def test_each_has_its_row_and_no_number_is_of_both(shown):
    (workload,) = shown.workloads
    navigation, logger = workload.topics
    assert (navigation.topic, logger.topic) == ("navigation", "logger")
    assert (logger.readers.differ, logger.readers.hold_ns) == (("hold_ns",), 50_000_000)
    fast, slow = arm(navigation, "zenoh"), arm(logger, "zenoh")
    assert fast.value("response_latency_p50") == pytest.approx(2e5, rel=0.1)
    assert slow.value("response_latency_p50") == pytest.approx(9.4e7, rel=0.2)
    assert fast.value("undelivered") == slow.value("undelivered") == 0
    lossy = [arm(part, "iceoryx2").value("undelivered") for part in (navigation, logger)]
    assert lossy == [0, pytest.approx(0.76, abs=0.05)]
    for one in workload.arms:
        without = {name for name in POOLED if one.metrics[name].no_data}
        assert POOLED - without == {name for name in POOLED if name.startswith(SENDING)}
        assert "unlike readers" in one.metrics["response_latency_p50"].no_data
        assert one.spread is None


def test_each_has_its_verdict_and_the_arm_is_worse_where_it_is_for_one(shown):
    (workload,) = shown.workloads
    navigation, logger = workload.topics
    assert arm(navigation, "cyclonedds").verdict.verdict == "worse"
    assert arm(navigation, "zenoh").verdict.verdict == "best"
    assert arm(logger, "iceoryx2").verdict.by == "delivery"
    overall = {one.arm: (one.verdict.verdict, one.verdict.topic) for one in workload.arms}
    assert overall["cyclonedds"] == ("worse", "logger")
    assert overall["iceoryx2"] == ("worse", "logger")
    assert overall["zenoh"][0] == "best"
    answer = headline(workload)
    assert "Take zenoh: it is the only arm that is worse for no reader" in answer.answer
    assert "for logger iceoryx2 loses 7" in answer.detail


def test_a_limit_may_be_of_a_reader(shown):
    (condition,) = shown.outcomes.conditions
    assert {one.arm: (one.outcome, one.topic) for one in condition.arms} == {
        "zenoh": ("meets", None),
        "cyclonedds": ("misses", "navigation"),
        "iceoryx2": ("misses", "logger"),
    }


def fan_out(tmp_path, slowest, lost=0.0, blocks=8):
    carriers = {name: carrier(name, 2e5, slowest, lost) for name in ("zenoh", "cyclonedds")}
    path = topics_bundle.write(tmp_path / "c", flows=FLOWS, carriers=carriers, blocks=blocks)
    return summarise(Bundle(path))


def test_a_symmetrical_fan_out_is_pooled_with_the_spread_beside(tmp_path):
    shown = fan_out(tmp_path, 2.4e5)
    (workload,) = shown.workloads
    one = arm(workload, "zenoh")
    assert workload.topics == () and one.value("response_latency_p50")
    assert (one.spread.readers, one.spread.blocks, one.spread.unlike) == (2, 8, ())
    assert (one.spread.quickest.node, one.spread.slowest.node) == ("navigation", "logger")
    assert one.spread.slowest.response_p50_ns == pytest.approx(2.4e5, rel=0.1)
    assert not any("unlike" in flag for flag in one.flags)
    assert "turned out unlike" not in printed(view(shown), 100)
    assert "2 readers: medians from" in page(shown)
    spread = answer_document(shown)["workloads"][0]["arms"][0]["spread"]
    assert (spread["readers"], spread["apart"]) == (2, [])


@pytest.mark.parametrize(
    ("slowest", "lost", "by"), [(9.4e7, 0.0, "latency"), (2.2e5, 0.3, "delivery")]
)
def test_readers_that_turn_out_unlike_are_told_apart(tmp_path, slowest, lost, by):
    shown = fan_out(tmp_path, slowest, lost)
    one = arm(shown.workloads[0], "zenoh")
    assert one.spread.unlike == (by,)
    assert [reader.node for reader in one.spread.apart] == ["navigation", "logger"]
    for told in (printed(view(shown), 100), page(shown)):
        assert "its readers turned out unlike" in told.replace("\n", " ")
    assert any("turned out unlike" in flag for flag in one.flags)


def test_a_reader_is_put_beside_itself_among_readers_that_are_alike(bundle, tmp_path):
    """As in a workload without the hold, or at a level without the thin link."""
    carriers = {"zenoh": carrier("zenoh", 2e5, 3e5)}
    path = topics_bundle.write(tmp_path / "c", flows=FLOWS, carriers=carriers)
    (alike,) = judge_campaign(Bundle(path)).arms["whole"]
    (apart,) = [one for one in judge_campaign(bundle).arms["whole"] if one.name == "zenoh"]
    assert apart.shared(alike) == alike.shared(apart) == ["navigation", "logger"]
    small = SmallTables(Bundle(path))
    (trial, *_) = Bundle(path).evidence(Bundle(path).trials("done"), small)
    alone = measure_trial(trial, readers_apart(bundle, SmallTables(bundle))).readers
    p50 = GLOSSARY["response_latency_p50"]
    medians = {name: trial_value(p50, one) for name, one in alone.items()}
    assert medians == pytest.approx({"navigation": 2e5, "logger": 3e5}, rel=0.1)


def test_the_terminal_and_the_page_have_a_column_each(shown):
    text, html = printed(view(shown), 100), page(shown)
    for told in (text, html):
        assert "navigation" in told and "logger" in told
        assert "keeps each message 50.0 ms" in told
        assert "By reader: " in told
    assert render_markdown(view(shown)).count("By reader: ") == 1
    assert "Reader logger" in html
    assert "n = " not in text  # no interval of a pooled median


def test_a_look_judges_what_the_report_says(bundle):
    assert list(Looks(bundle).arms()) == ["whole · navigation", "whole · logger"]
