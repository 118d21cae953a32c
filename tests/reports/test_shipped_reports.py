"""The shipped reports, how one is judged, kept and told, and the verb that lists them."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from rmwbench.bundle import Bundle
from rmwbench.errors import UserError
from rmwbench.published.campaign import of_shown
from rmwbench.published.campaign_section import evaluated
from rmwbench.published.reports.measure import measure
from rmwbench.published.reports.public_report import (
    judged,
    line,
    report_of,
    shipped_reports,
    summary_text,
)
from rmwbench.results.show_document import summarise
from rmwbench.suite.file.load import parse
from rmwbench.suite.file.suite_files import suite_file
from tests.reports.recorded import answer, bundle
from tests.support.command import rmwbench
from tests.support.edited import campaign_json

REPORTS = {one.name: one for one in shipped_reports()}
SUITE = """suite: mine
title: mine
reported:
  effect: Something is slow.
  source: a/b#1
  figures: twice
  seen:
    - {metric: response_latency_p50, left: fastdds, relation: greater, right: zenoh%s}
arms: [fastdds, zenoh]
workloads: [{name: x, message: Bytes(100), rate_hz: 100}]
blocks: {planned: 5}
"""


def test_there_are_thirty_of_their_own_sources_and_each_is_short():
    assert len(REPORTS) >= 30
    sources = [one.reported.source for one in REPORTS.values()]
    assert len(set(sources)) == len(sources)
    for one in REPORTS.values():
        assert len(suite_file(one.suite).read_text().splitlines()) <= 20, one.name
        assert one.claim.tests[0].suite == one.name
    assert {name for name, one in REPORTS.items() if one.needs_ros} == {"latched", "response-lost"}


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("rate", "holds"),
        ("sizes", "holds"),
        ("second-reader", "holds"),
        ("image", "holds"),
        ("burst", "holds"),
        ("slow-detector", "holds"),
        ("slow-logger", "does not hold"),
        ("thin-viewer", "does not hold"),
        ("five-readers", "undecided"),
        ("late-history", "undecided"),
    ],
)
def test_recorded_campaigns_are_judged(name, state):
    assert judged(REPORTS[name], [of_shown(answer(name))]).state == state


def test_what_is_kept_is_judged_as_the_campaign_was(tmp_path, monkeypatch):
    report, campaign = REPORTS["image"], of_shown(answer("image"))
    text = summary_text(report, campaign)
    assert len(text) < 4000
    (tmp_path / "measured").mkdir()
    (tmp_path / "measured" / "image.json").write_text(text)
    monkeypatch.setattr(
        "rmwbench.published.reports.public_report.source_directory", lambda name: tmp_path
    )
    found = judged(report)
    assert found.state == "holds"
    assert found.here == judged(report, [campaign]).here
    assert found.here.startswith(
        "seen here: response latency, median of fastdds against zenoh 11.6"
    )


def test_a_report_without_a_measurement_says_so_and_what_it_needs():
    unmeasured = replace(REPORTS["latched"], suite="reports/unmeasured")
    assert "not measured yet" in line(judged(unmeasured))
    assert "needs ROS 2" in line(judged(unmeasured))


def test_an_effect_that_is_not_seen_says_why():
    unseen = [found for one in REPORTS.values() if (found := judged(one)).state == "does not hold"]
    assert len(unseen) > 5 and all(found.why for found in unseen)
    why = {found.report.name: found.why for found in unseen}
    assert why["large-cloud"].startswith("reported of Cyclone DDS 0.6; the long waits were mended")
    assert why["slow-logger"].startswith("its queue overflows as installed")
    assert f"({why['large-cloud']})" in line(judged(REPORTS["large-cloud"]))


def test_what_is_finished_is_not_run_again(tmp_path):
    (tmp_path / "runs").mkdir()
    bundle("image", tmp_path / "runs" / "image")
    (found,) = measure(
        [REPORTS["image"]], tmp_path / "runs", tmp_path / "kept", Console(quiet=True)
    )
    assert found.state == "holds"
    assert json.loads((tmp_path / "kept" / "image.json").read_text())["source"] == "reports"
    assert len(Bundle(tmp_path / "runs" / "image").trials("done")) == 10


def test_a_report_that_cannot_be_measured_here_has_no_answer_of_another_machine(
    tmp_path, monkeypatch
):
    def refused(report, directory, console):
        raise UserError("no worker is here")

    monkeypatch.setattr("rmwbench.published.reports.measure._run", refused)
    assert judged(REPORTS["image"]).state != "open"
    (found,) = measure([REPORTS["image"]], tmp_path, None, Console(quiet=True))
    assert (found.state, found.here) == ("open", "not measured yet")


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ((SUITE % "").replace("suite: mine", "suite: My_Robot"), "my-robot"),
        (
            (SUITE % "").replace("arms: [fastdds, zenoh]", "arms: [fastdds, of_another_machine]"),
            None,
        ),
    ],
)
def test_a_report_of_a_users_suite_has_an_id_and_none_where_the_suite_cannot_be_read(text, claim):
    found = report_of(text, Path())
    assert (found and found.claim.id) == claim


def test_a_campaigns_own_report_stands_beside_its_answer(tmp_path):
    directory = bundle("image", tmp_path / "image")
    assert evaluated(summarise(Bundle(directory))).reported == ""
    with campaign_json(directory) as document:
        document["suite"]["text"] = suite_file("reports/image").read_text()
    told = evaluated(summarise(Bundle(directory))).reported
    assert "eProsima/Fast-DDS#5686" in told and "seen here" in told
    shutil.rmtree(directory)


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (", at: {rate_hz: 10}", "unknown factor `rate_hz`"),
        (", workload: y", "unknown workload `y`"),
        (", level: 3", "a test compares with another side or with a level"),
    ],
)
def test_a_wrong_predicate_has_a_line(more, what):
    assert parse(SUITE % "", where="mine.yaml").reported.seen[0].right == "zenoh"
    with pytest.raises(UserError) as found:
        parse(SUITE % more, where="mine.yaml")
    assert found.value.what == what and str(found.value.where).startswith("mine.yaml:8")


def test_suites_are_found_by_what_they_say(tmp_path):
    listed = json.loads(rmwbench("suites", "--grep", "late joiner", "--json").stdout)
    names = {one["suite"] for one in listed}
    assert {"late-joiner", "reports/late-history", "reports/five-of-history"} <= names
    assert "quick" not in names
    reports = json.loads(rmwbench("suites", "reports", "--json").stdout)
    assert {one["suite"] for one in reports} == {one.suite for one in REPORTS.values()}
    assert all(one["effect"] and one["source"] and one["here"] for one in reports)
    wrong = rmwbench("suites", "report")
    assert wrong.returncode == 2 and "did you mean `reports`?" in wrong.stderr
