"""What one thing does: by the rules of a verdict, so that a feature that breaks trials does not
look fast."""

import dataclasses
import json
from types import SimpleNamespace

import pytest

from rmwbench.analysis.metrics.judged_topics import POOLED
from rmwbench.analysis.verdicts import interim
from rmwbench.analysis.verdicts.gains import Gain
from rmwbench.bundle import Bundle
from rmwbench.results.show_document import _tuned_pairs, summarise
from rmwbench.results.workload import effects
from rmwbench.results.workload import workload_arm as arm_report
from tests.support import kept, synthetic_bundle, topics_bundle
from tests.support.edited import journal
from tests.support.shown import show_document

(BASE,) = [arm for arm in synthetic_bundle.ARMS if arm.arm == "fastdds tuned"]
FAST = dataclasses.replace(
    BASE, arm="feature", base_ns=BASE.base_ns / 1.4, bytes_per_ns=BASE.bytes_per_ns * 1.4
)


@pytest.fixture
def effect(tmp_path, monkeypatch):
    """The effect of a feature that is 1.4 times as fast, with `fails` and with what its definition
    says besides."""
    usual = synthetic_bundle._cell_row
    monkeypatch.delenv(kept.VARIABLE)  # what is written depends on more than what is asked for

    def made(fails=(), **definition):
        def row(cell):
            row = usual(cell)
            if row["arm"] != "feature":
                return row
            known = json.loads(row["definition"])
            known["arm"] = {**known.get("arm", {}), "against": BASE.arm}
            return row | {"definition": json.dumps(known | definition)}

        monkeypatch.setattr(synthetic_bundle, "_cell_row", row)
        arms = (BASE, dataclasses.replace(FAST, fails=fails))
        path = tmp_path / "effect"
        synthetic_bundle.write(path, arms=arms, workloads=("camera",), blocks=10, sd=0.02)
        (one,) = show_document(Bundle(path))["workloads"][0]["effects"]
        return one

    return made


def test_a_feature_that_is_faster_lowers_latencies(effect):
    assert "lowers response_latency_p50" in effect()["text"]


def test_more_of_a_rate_is_better_and_raises_it():
    """It was said to lower the rate."""

    def gain(answer):
        return Gain(value=1.4, low=1.3, high=1.5, blocks=10, answer=answer)

    better = {"achieved_rate": gain("better"), "response_latency_p50": gain("better")}
    assert effects._words(better) == "raises achieved_rate; lowers response_latency_p50"
    worse = {"achieved_rate": gain("worse"), "pss": gain("worse"), "match_time": gain("undecided")}
    assert effects._words(worse) == "raises pss; lowers achieved_rate"


def test_a_feature_that_loses_four_of_ten_blocks_is_not_faster_for_the_other_six(effect):
    feature = effect(fails=(1, 4, 6, 8))
    assert "response_latency_p50" not in feature["text"]
    assert "publish_call_p50" not in feature["text"]
    assert feature["ratios"]["response_latency_p50"]["no_data"].startswith(
        "in 4 of 10 blocks messages that did not arrive reach the quantile, or a trial failed"
    )
    assert feature["ratios"]["pss"]["blocks"] == 6, "what a lost block would have cost is not known"


@pytest.fixture
def pair(tmp_path):
    """zenoh as it is and tuned, 1.5 times as fast, beside the floor."""
    arms = [a for a in synthetic_bundle.ARMS if a.middleware in ("floor", "zenoh")]
    return synthetic_bundle.write(
        tmp_path / "c", arms=tuple(arms), workloads=("imu",), blocks=6, sd=0.02
    )


def ratios(path):
    """Of tuning, and of zenoh as it is to the floor."""
    (workload,) = show_document(Bundle(path))["workloads"]
    (tuning,) = workload["tuning"]
    zenoh = next(a for a in workload["arms"] if a["arm"] == "zenoh untouched")
    return tuning["ratio"], zenoh["times_floor"], zenoh["verdict"]["ratio"]


def test_what_two_hosts_clocks_leave_open_is_in_every_ratio(pair, effect, monkeypatch):
    plain = ratios(pair)
    assert plain[0]["answer"] == "better"
    # half of the difference between 40 and 60 µs, and more than what the floor takes
    for module in (interim, arm_report):
        monkeypatch.setattr(module, "clock_bound", lambda entry, trial: 15e3, raising=False)
    tuning, times_floor, _ = ratios(pair)
    assert tuning["answer"] == "undecided" and tuning["low"] < 25 / 75 * 1.1
    assert times_floor["value"] == plain[1]["value"]
    assert times_floor["low"] < plain[1]["low"] * 0.9 and times_floor["high"] == "inf"
    monkeypatch.setattr(arm_report, "clock_bound", lambda entry, trial: 1e9, raising=False)
    assert effect()["ratios"]["response_latency_p50"]["answer"] == "undecided"


@pytest.mark.parametrize(
    ("settings", "pairs"),
    [
        ({}, 1),
        ({"options": {"path": "shm"}}, 1),
        ({"modes": {"transport": "shm"}}, 0),
        ({"options": {"roudi_pools": "25M:20"}}, 0),
        ({"loan": True}, 0),
    ],
)
def test_arms_that_differ_in_more_than_the_profile_do_not_show_what_tuning_is_worth(
    settings, pairs
):
    def report(profile, **arm):
        cell = {"middleware": "m", "layer": "rclcpp", "factors": "{}", "profile": profile}
        return SimpleNamespace(
            cell=cell, arm={"name": profile, "profile": {"name": profile}, "loan": False} | arm
        )

    tuned, untouched = report("tuned"), report("untouched", **settings)
    assert list(_tuned_pairs([tuned, untouched])) == [(tuned, untouched)] * pairs


def test_a_block_that_ran_behind_the_last_look_is_in_no_ratio(pair, effect, tmp_path):
    def put_behind(path):
        with journal(path) as lines:
            lines.sort(key=lambda line: line.get("block") == 0)

    put_behind(pair)
    assert [ratio["blocks"] for ratio in ratios(pair)] == [5, 5, 5]
    effect()
    put_behind(tmp_path / "effect")
    (feature,) = show_document(Bundle(tmp_path / "effect"))["workloads"][0]["effects"]
    assert {ratio["blocks"] for ratio in feature["ratios"].values()} == {9}


def test_untimed_trials_have_no_times_to_compare(effect):
    feature = effect(sampling={"allocations": True})
    assert set(feature["ratios"]) & {"response_latency_p50", "cpu_per_message"} == set()
    assert "pss" in feature["ratios"]


def test_over_unlike_topics_each_has_its_own_ratios(tmp_path, monkeypatch):
    """zenoh takes 600, 3 000 and 620 µs where iceoryx2 takes 190, 900 and 190."""
    usual = topics_bundle._cell
    monkeypatch.delenv(kept.VARIABLE)

    def row(number, name, carrier):
        row = usual(number, name, carrier)
        known = json.loads(row["definition"])
        if name == "zenoh":
            known["arm"]["against"] = "iceoryx2"
        return row | {"definition": json.dumps(known)}

    monkeypatch.setattr(topics_bundle, "_cell", row)
    shown = summarise(Bundle(topics_bundle.write(tmp_path / "c")))
    whole, *own = shown.workloads[0].effects
    assert whole.topic is None and not POOLED & whole.ratios.keys()
    ratios = {one.topic: one.ratios["response_latency_p50"] for one in own}
    assert {topic: ratio.value for topic, ratio in ratios.items()} == {
        "imu": pytest.approx(600 / 190, rel=0.1),
        "front": pytest.approx(3000 / 900, rel=0.1),
        "commands": pytest.approx(620 / 190, rel=0.1),
    }
    assert {ratio.answer for ratio in ratios.values()} == {"worse"}
    assert all("raises response_latency_p50" in one.text for one in own)
    assert "zenoh ÷ iceoryx2 · front" in {one.name for one in shown.workloads[0].effects}
