"""Suites of published evaluations hold what the originals varied: compared with the originals' own
files."""

import json
from pathlib import Path

import pytest

from rmwbench.suite.file.load import load

PUBLISHED = (
    Path(__file__).parents[3] / "shared/data/eprosima-benchmarking/TSC_RMW_report_2021_config"
)


@pytest.mark.parametrize("kind", ["interprocess", "intraprocess"])
def test_the_vendor_reports_matrices_are_read_as_they_are(kind):
    file = PUBLISHED / f"rmw_report_2021_config_{kind}.json"
    if not file.exists():
        pytest.skip(f"{file} is not here: the original's matrix cannot be compared")
    matrix = json.loads(file.read_text())
    suite = load(f"fastdds-2021/{kind}")
    assert list(suite.factors["message"]) == matrix["topics"]
    assert [int(rate) for rate in suite.factors["rate_hz"]] == matrix["rates"]
    assert list(suite.factors["subscribers"]) == matrix["num_subs"]
    assert sorted(suite.factors["reliability"]) == sorted(matrix["perf_test"]["reliability"])
    workload = suite.workloads[0]
    assert [workload.qos.depth] == matrix["perf_test"]["history_depth"]
    assert [workload.qos.durability] == matrix["perf_test"]["durability"]
    assert [suite.timeline.steady_s] == matrix["perf_test"]["max_runtime"]
    # Every XML file of theirs is an arm: the publish mode, and data sharing on or off.
    ours = {
        (arm.publish_mode, arm.profile.name == "data_sharing")
        for arm in suite.arms
        if arm.middleware == "fastdds"
    }
    theirs = {
        ("async" if name.endswith("_async.xml") else "sync", "no_datasharing" not in name)
        for name in matrix["fastdds_xml_files"]
    }
    assert theirs <= ours
    assert (workload.processes == "one") == (matrix["process_mode"] == ["intra-process"])


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
    for workload, shipped in zip(read.workloads, ours.workloads, strict=True):
        assert workload.model_dump() == shipped.model_dump()
    assert (read.arms, read.blocks, read.timeline) == (ours.arms, ours.blocks, ours.timeline)
