"""What people needed to hear is what the answer's verdicts say: one test per suite, on campaigns
that were recorded."""

import json
from collections import Counter

import pytest

from rmwbench.analysis.causes.median import Phase
from rmwbench.analysis.causes.symptoms import Symptom
from rmwbench.analysis.records.ledger import UnsentBy
from rmwbench.analysis.verdicts.ladders import steps
from rmwbench.bundle import Bundle
from rmwbench.campaign.plan.plan import make_plan
from rmwbench.results.answer import facts
from rmwbench.results.answer.headline import headline
from rmwbench.results.answer.level_sentences import sentence
from rmwbench.results.compare.compare_document import compare
from rmwbench.results.explain.explain_document import explanations
from rmwbench.results.judged_campaign import judge_campaign
from rmwbench.results.selection import select
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse
from tests.reports.recorded import NAMES, along, answer, bundle, workload

P50 = "response_latency_p50"
SEGMENT = Symptom.SEGMENT_TOO_SMALL


def fact(name, called):
    return headline(workload(name, called)).facts[0]


def test_rate_is_told_against_the_first_level_and_its_neighbour():
    one = along("rate", "cyclonedds")
    assert one.levels == (10, 100, 1000)
    assert one.step(P50, 100, 10).verdict == "better"
    assert one.step(P50, 100, 10).effect.value == pytest.approx(1 / 5.90, rel=0.01)
    assert one.step(P50, 1000, 10).verdict == "better"
    assert one.step(P50, 1000, 100) is not None
    assert sentence(one).startswith("5.90× [3.98–8.76] as long at 10 Hz as at 100 Hz")


@pytest.mark.parametrize("name", ["rate", "sizes", "second-reader", "thin-viewer", "slow-logger"])
def test_the_levels_that_a_plan_announces_are_those_that_are_judged(name, tmp_path):
    made = plan_of(name, tmp_path)
    planned = {
        (one.ladder.arm, one.ladder.factor, topic, one.ladder.levels[at], one.ladder.levels[by])
        for one in made.levels
        for topic in one.topics
        for at, by in steps(len(one.ladder.levels))
    }
    judged = {
        (one.arm, one.factor, one.topic, step.level, step.against)
        for one in answer(name).levels
        for step in one.steps
        if step.metric == "undelivered"
    }
    assert planned == judged and planned


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_announces_as_many_comparisons_as_are_judged(name, tmp_path):
    """Also within topics and for readers that are judged apart, and of levels."""
    made, shown = plan_of(name, tmp_path), answer(name)
    judged = {w.workload: [t for t in w.topics if t.judged] for w in shown.workloads}
    assert {one.key: one.topics for one in made.comparisons} == {
        key: tuple(topic.topic for topic in topics) for key, topics in judged.items()
    }
    families = Counter(
        (w.workload, place, arm.family)
        for w in shown.workloads
        for place, part in enumerate(judged[w.workload] or [w])
        for arm in part.arms
        if arm.role == "contender" and arm.verdict.verdict != "no data"
    )
    levels = [step for one in shown.levels for step in one.steps if step.metric == "undelivered"]
    assert made.compared == sum(arms > 1 for arms in families.values()) + len(levels)


def plan_of(name, tmp_path):
    document = json.loads((bundle(name, tmp_path / "c") / "campaign.json").read_text())
    suite = parse(document["suite"]["text"], where=f"{name}.yaml")
    return make_plan(suite, cells(suite), seed=0)


def test_sizes_says_between_which_levels_loss_begins():
    one = along("sizes", "fastdds")
    shares = [entry.value for entry in one.values["undelivered"]]
    assert shares[:2] == [0, 0] and min(shares[2:]) > 0.8
    assert sentence(one).startswith("loss begins between 400 kB and 600 kB")
    assert not [one for one in answer("sizes").workloads if not headline(one).is_alone]


def test_a_second_reader_loses_less():
    change = along("second-reader", "cyclonedds").step("undelivered", 2, 1)
    assert change.verdict == "better"
    assert change.effect.value == pytest.approx(-0.72, abs=0.01)
    assert change.effect.high < 0


def test_a_burst_longer_than_the_history_is_carried_by_none():
    found = fact("burst", "can")
    assert isinstance(found, facts.NoneCarries)
    assert [arm for arm, _ in found.fates] == ["cyclonedds", "zenoh", "fastdds", "iceoryx2"]
    assert all(0.5 < fates.lost < 0.8 for _, fates in found.fates)


def test_image_is_decided_by_its_median():
    assert fact("image", "image") == facts.Best("zenoh")
    (slower,) = [one for one in headline(workload("image", "image")).facts[1:2]]
    assert slower.arms[0][0] == "fastdds"
    assert slower.arms[0][1] == pytest.approx(11.6, rel=0.01)


def test_image_is_explained_by_its_way_to_the_reader_and_by_the_segment(tmp_path):
    found = {one.arm: one for one in explanations(Bundle(bundle("image", tmp_path / "c")))}
    (median,) = found["fastdds"].medians
    shares = {one.phase: one.share for one in median.phases}
    assert shares[Phase.WAY] == pytest.approx(0.95, abs=0.01)
    assert (median.verdict, median.against) == ("worse", "zenoh")
    (seen,) = [s for one in found["fastdds"].advice if one.symptom is SEGMENT for s in one.seen]
    assert seen.arm == "fastdds" and seen.amounts["segment_bytes"] == 524_288
    assert seen.amounts["payload_bytes"] > seen.amounts["segment_bytes"]
    others = [one for arm, said in found.items() if arm != "fastdds" for one in said.advice]
    assert SEGMENT not in {one.symptom for one in others}


def test_five_readers_all_delivered_and_all_decided():
    found = workload("five-readers", "image")
    assert fact("five-readers", "image") == facts.Best("tcp")
    assert {arm.arm: arm.verdict.verdict for arm in found.arms} == {
        "shm": "worse",
        "udp": "worse",
        "tcp": "best",
    }
    assert all(facts.own_failures(arm) == 0 and arm.value("loss") == 0 for arm in found.arms)


def test_a_segment_of_the_librarys_own_size_is_not_of_zero_bytes():
    """So Fast DDS writes what its own choice is, with the transport set to shared memory."""
    (found,) = [one for one in answer("five-readers").advice if one.symptom is SEGMENT]
    assert {seen.arm: seen.amounts["segment_bytes"] for seen in found.seen} == {"shm": 524_288}


def test_the_reader_behind_the_thin_link_has_a_row_of_its_own():
    found = workload("thin-viewer", "image [network=thin]")
    assert {topic.topic: topic.judged for topic in found.topics} == {
        "planner": True,
        "viewer": True,
    }
    lost = {t.topic: {arm.arm: arm.value("loss") for arm in t.arms} for t in found.topics}
    assert set(lost["planner"].values()) == {0.0}
    assert lost["viewer"] == pytest.approx({"cyclonedds": 1.0, "fastdds": 1.0, "zenoh": 0.89})
    assert not any(arm.trials.failures for arm in found.arms)
    nobody, best = headline(found).facts[:2]
    assert isinstance(nobody, facts.NoneCarries) and nobody.where == "for viewer"
    assert best == facts.Equal(("cyclonedds",), (), ())
    # The planner beside itself: both readers together have 6.02 ms over the good link.
    planner = along("thin-viewer", "fastdds", "planner")
    assert planner.values[P50][0].value == pytest.approx(5.74e6, rel=0.01)
    assert planner.step(P50, "thin", "good").verdict == "undecided"
    assert planner.step(P50, "thin", "good").effect.value == pytest.approx(0.935, abs=0.001)
    assert sentence(planner).startswith("no difference in the median response is decided (0.935×")
    unharmed = along("thin-viewer", "cyclonedds", "planner")
    assert sentence(unharmed).startswith("at thin not slower than at good (0.939× [0.878–1.00])")


def test_what_was_measured_before_a_reader_was_apart_is_measured_again(tmp_path):
    """A look at a campaign that runs may see the good link's trials first."""
    one = Bundle(bundle("thin-viewer", tmp_path / "c"))
    known = {}
    for number in (1, 2):
        for found in judge_campaign(one, measured_trials=known).arms["image [network=good]"]:
            assert all(t.readers.keys() == {"planner", "viewer"} for t in found.trials), number
            for trial in found.trials:
                known[trial.trial].readers.clear()


def test_compare_puts_a_reader_beside_itself(tmp_path):
    """Where it is one of two that are alike, over the good link, it is not both of them."""
    directory = bundle("thin-viewer", tmp_path / "c")
    good, thin = (f"{directory}:arm=fastdds,network={level}" for level in ("good", "thin"))
    rows = {r.topic: r.a.value for r in compare(select(good), select(thin)).rows if r.metric == P50}
    assert rows == pytest.approx({"planner": 5.78e6, "viewer": 5.94e6}, rel=0.01)


def test_the_slow_logger_has_a_row_of_its_own_and_harms_nobody():
    found = workload("slow-logger", "one_slow")
    lost = {t.topic: {arm.arm: arm.value("loss") for arm in t.arms} for t in found.topics}
    assert set(lost["control"].values()) == {0.0}
    assert all(value == pytest.approx(0.76, abs=0.02) for value in lost["logger"].values())
    nobody, best = headline(found).facts[:2]
    assert isinstance(nobody, facts.NoneCarries) and nobody.where == "for logger"
    assert best == facts.OverTopics("iceoryx2", what="reader")
    for arm in lost["control"]:
        step = along("slow-logger", arm, "control").step(P50, "one_slow", "both_quick")
        assert step.verdict != "worse"


def test_a_detector_that_is_too_slow_is_carried_by_none():
    found = fact("slow-detector", "image")
    assert isinstance(found, facts.NotStationary) and found.all_arms
    assert set(found.arms) == {"cyclonedds", "fastdds", "zenoh", "iceoryx2"}


def test_a_history_that_does_not_come_is_a_result_and_no_fault_of_the_trial():
    found = workload("late-history", "map")
    assert not any(facts.own_failures(arm) for arm in found.arms)
    first = fact("late-history", "map")
    assert isinstance(first, facts.NoneCarries)
    fates = dict(first.fates)
    assert fates["cyclonedds"].lost > 0.3 and fates["fastdds"].lost > 0.5
    assert fates["zenoh"].lost == 0 and fates["zenoh"].never_sent > 0.4
    assert fates["zenoh"].held_by is UnsentBy.CALL
    late = {arm.arm: arm for topic in found.topics if topic.topic == "late" for arm in topic.arms}
    assert late["cyclonedds"].value("loss") == late["fastdds"].value("loss") == 1.0
