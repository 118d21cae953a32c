"""The suites that come along: they are found by the names that people type, those of degraded
networks have the hosts that they talk about, those of published evaluations hold what the originals
varied, and the whole suites of docs/suites.md are suites as they stand."""

import json
import re
from pathlib import Path

import pytest

from rmwbench.errors import UserError
from rmwbench.suite.cells import cells
from rmwbench.suite.file import suite_files
from rmwbench.suite.file.load import load, parse
from rmwbench.suite.file.suite_files import argument_of, find, shipped_suites, suite_file

ROOT = Path(__file__).parents[2]
DEGRADED = [path.stem for path in sorted((ROOT / "suites/degraded").glob("*.yaml"))]
PUBLISHED = ROOT.parent / "shared/data/eprosima-benchmarking/TSC_RMW_report_2021_config"
PAGE = (ROOT / "docs" / "suites.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(suite: .*?)```", PAGE, re.DOTALL)
"""Others are a part of a suite."""


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A directory of suites: one at the top, one in a folder, and a published source with two
    suites and its claims."""
    for name in (
        "quick",
        "features/soak",
        "published/old-2020/old-2020",
        "published/old-2020/wifi",
    ):
        file = tmp_path / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("suite: x\n")
    (tmp_path / "published/old-2020/claims.yaml").write_text("")
    monkeypatch.setattr(suite_files, "suites_directory", lambda: tmp_path)
    return tmp_path


def test_a_published_suite_is_called_by_its_source_and_its_own_name(shipped):
    assert shipped_suites() == ["features/soak", "old-2020", "old-2020/wifi", "quick"]
    assert suite_file("old-2020") == shipped / "published/old-2020/old-2020.yaml"
    assert find("old-2020/wifi") == shipped / "published/old-2020/wifi.yaml"
    with pytest.raises(UserError, match="no suite"):
        find("published/old-2020/wifi")


@pytest.mark.parametrize("name", DEGRADED)
def test_every_cell_has_a_network_between_hosts(name):
    suite_cells = cells(load(f"degraded/{name}"))
    # a process dies on a robot by itself, too: shared memory is half of the question
    if name == "kill":
        suite_cells = [cell for cell in suite_cells if len(cell.hosts) > 1]
    assert suite_cells
    for cell in suite_cells:
        assert len(cell.hosts) > 1
        assert cell.definition()["network"]["hosts"] == list(cell.hosts)
        crossing = {
            e.topic for e in cell.endpoints if e.writes for p in e.peers if _host(cell, p) != e.host
        }
        assert crossing, "nothing crosses the network"


def _host(cell, endpoint):
    return next(e.host for e in cell.endpoints if e.endpoint == endpoint)


def test_every_suite_of_degraded_networks_is_shipped():
    assert {f"degraded/{name}" for name in DEGRADED} <= set(shipped_suites())


def test_outages_lie_within_the_window_and_end_in_it():
    for name in ("range", "boot-order"):
        for short in (False, True):
            for cell in cells(load(f"degraded/{name}", shortened=short)):
                changes = [
                    c
                    for c in cell.definition()["network"]["changes"]
                    if c["change"] != "new_address"
                ]
                assert changes[-1]["change"] == "up"
                # A lease of ten seconds must have had the time to run out, or the absence to be
                # shorter than it.
                assert cell.timeline.steady_s - changes[-1]["at_s"] >= 8


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


@pytest.mark.parametrize(
    "text", EXAMPLES, ids=[re.search(r"suite: (\w+)", text)[1] for text in EXAMPLES]
)
def test_an_example_loads(text):
    assert cells(parse(text, where="docs/suites.md"))


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("quick", "quick"),
        ("lossy", "degraded/lossy"),
        ("my-robot", "./my-robot.yaml"),
    ],
)
def test_the_suite_of_a_campaign_is_found_by_the_argument_that_a_report_prints(name, argument):
    """The report printed the name inside the file, which `run` does not find in a folder."""
    assert argument_of(name) == argument
    if argument in shipped_suites():
        assert load(argument).suite == name
