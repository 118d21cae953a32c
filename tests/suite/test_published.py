"""Suites of published evaluations hold what the originals varied: compared with the originals' own
files."""

import json
from pathlib import Path

import pytest

from rmwbench.suite.file.load import load
from rmwbench.suite.file.places import shipped_suites
from rmwbench.suite.workload.message_type import message_type

PUBLISHED = (
    Path(__file__).parents[3] / "shared/data/eprosima-benchmarking/TSC_RMW_report_2021_config"
)


@pytest.mark.parametrize("kind", ["interprocess", "intraprocess"])
def test_the_vendor_reports_matrices_are_read_as_they_are(kind):
    file = PUBLISHED / f"rmw_report_2021_config_{kind}.json"
    if not file.exists():
        pytest.skip(f"{file} is not here: the original's matrix cannot be compared")
    asked = json.loads(file.read_text())
    suite = load(f"fastdds-2021/{kind}")
    assert list(suite.factors["message"]) == asked["topics"]
    assert [int(rate) for rate in suite.factors["rate_hz"]] == asked["rates"]
    assert list(suite.factors["subscribers"]) == asked["num_subs"]
    assert sorted(suite.factors["reliability"]) == sorted(asked["perf_test"]["reliability"])
    workload = suite.workloads[0]
    assert [workload.qos.depth] == asked["perf_test"]["history_depth"]
    assert [workload.qos.durability] == asked["perf_test"]["durability"]
    assert [suite.timeline.steady_s] == asked["perf_test"]["max_runtime"]
    # Every XML file of theirs is an arm: the publish mode, and data sharing on or off.
    ours = {
        (arm.publish_mode, arm.profile.name == "data_sharing")
        for arm in suite.arms
        if arm.middleware == "fastdds"
    }
    theirs = {
        ("async" if name.endswith("_async.xml") else "sync", "no_datasharing" not in name)
        for name in asked["fastdds_xml_files"]
    }
    assert theirs <= ours
    assert (workload.processes == "one") == (asked["process_mode"] == ["intra-process"])


@pytest.mark.parametrize("shortened", [False, True])
@pytest.mark.parametrize("kind", ["interprocess", "intraprocess"])
def test_a_published_matrix_read_as_it_is_asks_what_the_shipped_suite_asks(kind, shortened):
    file = PUBLISHED / f"rmw_report_2021_config_{kind}.json"
    if not file.exists():
        pytest.skip(f"{file} is not here: the original's matrix cannot be read")
    read, ours = (
        load(str(file), shortened=shortened),
        load(f"fastdds-2021/{kind}", shortened=shortened),
    )
    assert dict(read.factors) == dict(ours.factors)
    for asked, shipped in zip(read.workloads, ours.workloads, strict=True):
        assert asked.model_dump() == shipped.model_dump()
    assert (read.arms, read.blocks, read.timeline) == (ours.arms, ours.blocks, ours.timeline)


def test_mininets_matrix_is_the_originals():
    suite = load("galactic-2020/mininet")
    assert suite.factors["network.rate_mbps"] == (54, 300, 1000)
    assert suite.factors["network.loss"] == (0.0, 0.1, 0.2, 0.3, 0.4)
    assert suite.factors["message"] == ("Array1k", "PointCloud512k")
    assert suite.timeline.steady_s == 15.0


@pytest.mark.parametrize("shortened", [False, True])
def test_mininets_round_trip_has_its_conditions_and_ends_on_the_host_where_it_begins(shortened):
    one_way = load("galactic-2020/mininet", shortened=shortened)
    suite = load("galactic-2020/mininet-round-trip", shortened=shortened)
    assert dict(suite.factors) == dict(one_way.factors)
    assert (suite.networks, suite.arms) == (one_way.networks, one_way.arms)
    assert suite.timeline.steady_s == one_way.timeline.steady_s
    (workload,) = suite.workloads
    assert workload.primary_metric == "end_to_end_latency_p50"
    talker, listener = workload.nodes
    (back,) = listener.publishers
    assert (back.arrival.kind, back.arrival.source) == ("relay", talker.publishers[0].topic)
    assert talker.subscriptions[0].topic == back.topic and talker.host != listener.host


def test_gscams_cameras_have_the_originals_bytes_per_frame():
    """Three bytes per pixel; the title says the format."""
    suite = load("gscam-2025")
    assert len(suite.workloads) == 14
    for workload in suite.workloads:
        width, height, rate_hz = (
            int(word) for word in workload.title.replace("×", "at").split() if word.isdigit()
        )
        assert workload.message == f"Image({width}x{height})" and workload.rate_hz == rate_hz
        assert message_type(workload.message).payload_bytes == 3 * width * height
    theirs = {(workload.name, workload.message, workload.rate_hz) for workload in suite.workloads}
    pipeline = load("gscam-2025/gstreamer")
    assert {
        (workload.name, workload.message, workload.rate_hz) for workload in pipeline.workloads
    } == theirs
    assert pipeline.factors["frames"] == ("synthetic", "gstreamer")
    pools = load("gscam-2025/pools")
    tiered = {
        str(arm.options["roudi_pools"])
        for one in (suite, pipeline, pools)
        for arm in one.arms
        if _has_tiers(arm)
    }
    assert tiered == {"1K:10000 128K:1000 3M:100 9M:50 25M:20"}  # the original's roudi_config.toml
    assert {
        (workload.name, workload.message, workload.rate_hz) for workload in pools.workloads
    } < theirs
    assert pools.blocks.minimum >= 5


def _has_tiers(arm) -> bool:
    return " " in str(arm.options.get("roudi_pools", ""))


PUBLISHED_FOLDERS = (
    *("galactic-2020", "fastdds-2021", "pipeline-2021", "rclcpp-intraprocess-2019", "gscam-2025"),
    *("hop-chain-2026", "zenoh-wireless-2026"),
)
BESIDE = ("robot", "discovery", "features/discovery-server")
"""Not in the folder of an evaluation: what its questionnaire and claims lean on, and our own."""


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in shipped_suites()
        if name.split("/")[0] in PUBLISHED_FOLDERS or name in BESIDE
    ],
)
def test_a_published_evaluation_has_a_short_version_with_the_same_factors(name):
    assert set(load(name, shortened=True).factors) == set(load(name).factors)
