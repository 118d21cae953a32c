"""`plan --budget` of every suite of the published evaluations, as a user types it."""

import json
from functools import partial

import pytest

from rmwbench.lab.host import host_kind
from rmwbench.suite.file.suite_files import shipped_suites
from tests.network.laboratory import taps
from tests.support.command import captured

SOURCES = (
    "galactic-2020",
    "fastdds-2021",
    "pipeline-2021",
    "rclcpp-intraprocess-2019",
    "gscam-2025",
)
PUBLISHED = [name for name in shipped_suites() if name.split("/")[0] in SOURCES]
HALF_AN_HOUR_S = 1800


@pytest.fixture
def plan(capsys):
    """The exit code of `rmwbench plan …` with both streams."""

    return partial(captured, capsys, "plan")


@pytest.mark.long
@pytest.mark.parametrize("suite", PUBLISHED)
def test_every_published_suite_fits_into_half_an_hour(plan, suite):
    """Whole comparisons, the minimum of blocks, and by name whatever of the suite is missing."""
    code, out, errors = plan(suite, "--budget", "30m", "--json")
    if "several hosts" in errors:
        if host_kind().shared:
            pytest.skip(f"{suite}: several hosts cannot be made here")
        taps()
    assert (code, errors) == (0, "")
    document = json.loads(out)
    assert document["blocks"]["count"] >= document["blocks"]["minimum"]
    assert document["estimated_s"] <= HALF_AN_HOUR_S + 1e-6
    here = {comparison["comparison"] for comparison in document["comparisons"]}
    cut = document["not_run"]
    if cut is None:
        return
    assert cut["whole_minimum_s"] > HALF_AN_HOUR_S
    assert not here & set(cut["comparisons"])
    assert len(here | set(cut["comparisons"])) == cut["of"]
    assert cut["lines"] if cut["comparisons"] else not cut["lines"]
    assert "Not run within 30 min" in cut["text"]
    arms = {cell["arm"]["name"] for cell in document["cells"]}
    # without exclusions every arm is in every comparison
    if "interprocess" in suite or "pubsub" in suite:
        assert all(len(comparison["cells"]) == len(arms) for comparison in document["comparisons"])


@pytest.mark.own_host
def test_a_plan_in_words_names_what_is_left_out(plan):
    taps()
    code, out, _ = plan("galactic-2020/mininet", "--budget", "30m")
    assert code == 0
    assert "Not run within 30 min: 27 of 30 comparisons" in out
    assert "network.rate_mbps=300|1000" in out


def test_five_seconds_hold_nothing_and_the_error_says_what_would(plan):
    code, out, errors = plan("galactic-2020/pubsub", "--budget", "5s")
    assert (code, out) == (2, "")
    assert "holds not even one comparison" in errors
    assert "--workload NAME" in errors and "--arm NAME" in errors and "--short --budget" in errors


def test_workloads_and_arms_are_chosen_as_run_does(plan):
    chosen = ["--workload", "robot", "--arm", "cyclonedds", "--arm", "zenoh"]
    document = json.loads(plan("galactic-2020/pubsub", *chosen, "--json")[1])
    assert {cell["arm"]["name"] for cell in document["cells"]} == {"cyclonedds", "zenoh"}
    assert {cell["workload"]["name"] for cell in document["cells"]} == {"robot"}
    code, _, errors = plan("galactic-2020/pubsub", "--workload", "robt")
    assert code == 2
    assert "did you mean `robot`?" in errors


def test_a_plan_marks_what_this_machine_cannot_carry(plan, monkeypatch):
    monkeypatch.setattr("rmwbench.campaign.plan.machine_limits.copy_bytes_per_s", lambda: 5e9)
    code, out, _ = plan("galactic-2020/pubsub")
    assert code == 0
    assert "Beyond this machine" in out
    text = " ".join(out.split())
    assert "needs to copy 16.8 GB/s in one endpoint's thread; a processor copies 5 GB/s" in text
    document = json.loads(plan("galactic-2020/pubsub", "--json")[1])
    marked = {
        document["cells"][beyond["cell"] - 1]["comparison"]
        for beyond in document["machine"]["beyond"]
    }
    assert "thousand [processes=one, message=Array8m]" in marked
    assert not any(comparison.startswith("robot") for comparison in marked)
    assert document["machine"]["copy_bytes_per_s"] == 5e9
    assert document["not_run"] is None
