"""A campaign for Python programs: the same numbers as the show document, in types that say what is
absent."""

import math

import pytest

import rmwbench
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.bundle import Bundle
from rmwbench.results import model
from rmwbench.results.library import metric_of
from tests.support import synthetic_bundle, topics_bundle
from tests.support.shown import show_document


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return synthetic_bundle.write(tmp_path_factory.mktemp("library") / "campaign", merged=True)


@pytest.fixture(scope="module")
def campaign(directory):
    return rmwbench.open(directory)


def test_a_number_is_reached_as_the_design_says(campaign, directory):
    metric = campaign.arms["camera"]["zenoh tuned"].response_latency.p50
    (camera,) = [
        one for one in show_document(Bundle(directory))["workloads"] if one["workload"] == "camera"
    ]
    (arm,) = [one for one in camera["arms"] if one["arm"] == "zenoh tuned"]
    shown = arm["metrics"]["response_latency_p50"]
    of_document = [shown[name] for name in ("value", "low", "high")]
    assert [float(metric), metric.low, metric.high] == pytest.approx(of_document, rel=1e-5)
    assert metric.unit == "ns"
    assert metric.low < metric.value < metric.high and metric.title == "response latency, median"


def test_every_metric_verdict_and_trial_of_the_document_is_there(campaign, directory):
    document = show_document(Bundle(directory))
    for workload in document["workloads"]:
        arms = campaign.arms[workload["workload"]]
        assert list(arms) == [arm["arm"] for arm in workload["arms"]]
        for arm in workload["arms"]:
            mine = arms[arm["arm"]]
            assert mine.verdict.verdict == arm["verdict"]["verdict"]
            assert mine.is_floor == (arm["role"] == "floor")
            for name, shown in arm["metrics"].items():
                metric = mine.metrics[name]
                assert metric.no_data == shown.get("no_data")
                assert model.document(metric.value) == shown.get("value"), name
            for name, values in arm["per_trial"].items():
                of_document = [float(one["value"]) for one in values]
                mine_of = [one.value for one in mine.per_trial[name]]
                assert mine_of == pytest.approx(of_document, rel=1e-5)


def test_what_is_absent_has_a_reason_and_is_not_zero():
    metric = metric_of(
        "response_latency_p999", model.Estimate(unit="ns", no_data="too few messages")
    )
    assert metric.value is None
    with pytest.raises(ValueError, match="too few messages"):
        float(metric)
    bound = metric_of(
        "response_latency_p999", model.Estimate(unit="ns", at_least=math.inf, count=4)
    )
    assert bound.value is None and bound.at_least == math.inf
    assert metric_of("pss", None).no_data and metric_of("pss", None).unit == GLOSSARY["pss"].unit


def test_tables_have_a_row_for_each_number(campaign):
    metrics, trials = campaign.metrics_table(), campaign.trials_table()
    arms = [arm for workload in campaign.workloads.values() for arm in workload.arms.values()]
    assert metrics.num_rows == sum(len(arm.metrics) for arm in arms)
    assert trials.num_rows == sum(len(values) for arm in arms for values in arm.per_trial.values())
    rows = metrics.to_pylist()
    assert all(
        (row["value"] is None and row["at_least"] is None) == (row["no_data"] is not None)
        for row in rows
    )
    assert {row["unit"] for row in trials.to_pylist()} <= {
        entry.unit for entry in GLOSSARY.values()
    }
    assert campaign.table("sent", trial=1).num_rows > 0


def test_topics_that_are_unlike_stand_apart(tmp_path):
    campaign = rmwbench.open(topics_bundle.write(tmp_path / "campaign"))
    (workload,) = campaign.workloads.values()
    assert workload.topics
    for topic in workload.topics.values():
        assert list(topic.arms) == list(workload.arms)
    assert {row["topic"] for row in campaign.metrics_table().to_pylist()} == {
        None,
        *workload.topics,
    }


def test_nothing_can_be_changed(campaign):
    arm = campaign.arms["imu"]["zenoh tuned"]
    with pytest.raises(AttributeError):
        arm.name = "mine"
    with pytest.raises(TypeError):
        arm.metrics["pss"] = None
    with pytest.raises(TypeError):
        campaign.document["campaign"] = {}
