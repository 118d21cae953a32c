"""What is known to help: the file is true, the documents say the same, and a symptom that is seen
in a bundle has its remedy, its command, and what it gained."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from rmwbench.analysis.causes.symptoms import Conduct, Symptom, symptoms
from rmwbench.analysis.verdicts.statements import FractionChange, StatementAnswer
from rmwbench.analysis.verdicts.verdict import NoRatio
from rmwbench.bundle import Bundle
from rmwbench.report.explain import explain_view
from rmwbench.results.advice import known_remedies
from rmwbench.results.answer.advice_sentences import TITLES, gain, lines
from rmwbench.results.explain.explain_document import explanations
from rmwbench.results.explain.explain_model import TriedRemedy
from rmwbench.results.show_document import summarise
from rmwbench.suite.file.candidates_file import shipped_candidates
from tests.support.edited import campaign_json
from tests.support.synthetic_bundle import Arm, write
from tests.support.views import section, texts

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "fastdds": ["fastdds"],
    "cyclonedds": ["cyclonedds"],
    "zenoh": ["zenoh"],
    "iceoryx2": ["iceoryx2"],
    "rclcpp": ["rclcpp/rmw_fastrtps_cpp", "rclcpp/rmw_cyclonedds_cpp"],
}
CANDIDATES = shipped_candidates().by_name


def table(middlewares: list[str]) -> str:
    """The section of a page, as Markdown."""
    rows = ["| symptom | what helps | worth, as measured here |", "|---|---|---|"]
    for one in known_remedies().remedies:
        if {*middlewares} & {*one.middlewares}:
            arm = f'`--with "{one.arm}"`: ' if one.arm else ""
            worth = one.worth.figure if one.worth else "–"
            rows.append(f"| {TITLES[one.symptom]} | {arm}{one.setting} | {worth} |")
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_what_the_file_says(page):
    path = ROOT / "docs" / "middlewares" / f"{page}.md"
    before, _, rest = path.read_text().partition("## What helps\n")
    section, _, after = rest.partition("\n## ")
    wanted = f"\n{table(PAGES[page])}"
    if os.environ.get("RMWBENCH_UPDATE_SNAPSHOTS"):
        path.write_text(f"{before}## What helps\n{wanted}\n## {after}")
    else:
        assert section == wanted


@pytest.mark.parametrize("one", known_remedies().remedies, ids=lambda r: f"{r.symptom}-{r.arm}")
def test_a_remedy_has_an_arm_of_its_middleware_and_a_document(one):
    if one.arm is not None:
        assert CANDIDATES[one.arm].arm["middleware"] in one.middlewares
        assert one.setting
    assert one.worth is None or (ROOT / one.worth.where).is_file()


def test_every_symptom_has_words_and_is_in_the_file():
    assert {*TITLES} == {*Symptom} == {one.symptom for one in known_remedies().remedies}


MS = 1e6
LARGE = Conduct(payload_bytes=4_000_000, wanted=100)
SEEN = {
    Symptom.SEGMENT_TOO_SMALL: (
        replace(LARGE, segment_bytes=524_288.0, way_ns=60 * MS),
        {"segment_bytes": 8e6},
    ),
    Symptom.RECEIVE_BUFFER_FULL: (replace(LARGE, dropped=30, missing=5), {"dropped": 0}),
    Symptom.LATE_REPAIR: (
        Conduct(reliable=True, frames_lost=0.3, heartbeat_ns=3e9, stall_ns=2.9e9, period_ns=0.5e9),
        {"heartbeat_ns": 1e7, "stall_ns": 0.6e9},
    ),
    Symptom.BURST_OVER_DEPTH: (Conduct(depth=10, burst=50, missing=3), {"depth": 50}),
    Symptom.QUEUE_HOLDS_PUBLISHER: (Conduct(held_ns=50 * MS, period_ns=10 * MS), {"held_ns": MS}),
    Symptom.COPIES_THOUGH_IT_LENDS: (replace(LARGE, lends=True), {"lent": True}),
    Symptom.THREAD_OF_THE_WAIT_SET: (
        Conduct(payload_bytes=320, waits_in_a_set=True, calls_back=True),
        {"waits_in_a_set": False},
    ),
    Symptom.SLEEPING_PROCESSOR: (
        Conduct(period_ns=100 * MS, slower_when_rare=True),
        {"slower_when_rare": False},
    ),
}


@pytest.mark.parametrize("symptom", Symptom)
def test_a_symptom_is_seen_with_its_amounts_and_not_without_its_cause(symptom):
    conduct, mended = SEEN[symptom]
    (one,) = symptoms(conduct)
    assert one.symptom is symptom
    assert all(value is not None for value in one.amounts.values() if symptom.is_harm)
    assert not symptoms(replace(conduct, **mended))


@pytest.mark.parametrize("symptom", [s for s in Symptom if s.is_harm])
def test_a_setting_that_harms_nothing_is_no_symptom(symptom):
    conduct, _ = SEEN[symptom]
    harmless = {"missing": 0, "way_ns": MS, "stall_ns": 0.6e9, "held_ns": MS}
    assert not symptoms(replace(conduct, **harmless))


SLOW = Arm("fastdds", "fastdds", "native", "3.6.2", "2026-07-01", "untouched", 6e7, 1.5)
TUNED = replace(SLOW, arm="fastdds tuned", profile="tuned", base_ns=1e6)
OTHER = replace(SLOW, arm="zenoh", middleware="zenoh", base_ns=2e6)


def advised(directory: Path, *arms: Arm, suite: str = "/elsewhere/image.yaml", **request: object):
    """Of a campaign of cameras with these arms."""
    path = write(directory / "bundle", blocks=5, arms=arms, workloads=("camera",))
    with campaign_json(path) as document:
        document["request"] = {"suite_file": suite, **request}
    return summarise(Bundle(path)).advice


def test_a_symptom_in_a_bundle_has_the_command_that_tries_its_remedy(tmp_path):
    (one,) = advised(tmp_path, SLOW, OTHER)
    assert one.symptom is Symptom.SEGMENT_TOO_SMALL and one.is_harm and not one.tried
    assert [(seen.workload, seen.arm) for seen in one.seen] == [("camera", "fastdds")]
    assert one.seen[0].amounts == {"segment_bytes": 524_288, "payload_bytes": 6_220_800}
    assert one.command == 'rmwbench run ./image.yaml --with "fastdds tuned"'
    assert one.command in lines([one])[0]


def test_a_shipped_suite_is_called_by_its_name(tmp_path):
    (one,) = advised(tmp_path, SLOW, OTHER, suite="/there/suites/degraded/wifi.yaml")
    assert one.command == 'rmwbench run degraded/wifi --with "fastdds tuned"'


def test_the_command_quotes_its_file_and_has_the_network_of_the_campaign(tmp_path):
    (one,) = advised(tmp_path, SLOW, OTHER, suite="/elsewhere/my image.yaml", network="wifi")
    assert one.command.startswith("rmwbench run './my image.yaml' --network wifi --with")


def test_a_remedy_that_is_in_the_campaign_says_what_it_gained(tmp_path):
    (one,) = advised(tmp_path, SLOW, TUNED, OTHER)
    assert one.command is None
    answers = {tried.metric: tried for tried in one.tried}
    gained = answers["response_latency_p50"]
    assert (gained.arm, gained.against) == ("fastdds tuned", "fastdds")
    assert gained.answer.verdict == "better" and gained.answer.effect.value < 0.5
    assert answers["undelivered"].answer.verdict == "equivalent"
    assert "(better)" in lines([one])[0]


def test_a_remedy_of_one_host_is_not_advised_for_a_workload_between_hosts(tmp_path, monkeypatch):
    """Both have the symptom in the same middleware: each has its own remedy, or none."""
    full = replace(LARGE, dropped=30, missing=5)

    def conduct(arm, *_, **__):
        return replace(full, one_host=arm.cell["workload"] == "camera")

    monkeypatch.setattr("rmwbench.results.advice.conduct", conduct)
    arm = replace(SLOW, arm="cyclonedds", middleware="cyclonedds")
    path = write(tmp_path / "bundle", blocks=5, arms=(arm,), workloads=("camera", "imu"))
    arm_by_workload = {
        seen.workload: one.arm for one in summarise(Bundle(path)).advice for seen in one.seen
    }
    known = {
        workload: known_remedies().remedy(
            Symptom.RECEIVE_BUFFER_FULL, "cyclonedds", one_host=one_host
        )
        for workload, one_host in (("camera", True), ("imu", False))
    }
    assert known["camera"] != known["imu"]
    assert arm_by_workload == {w: remedy and remedy.arm for w, remedy in known.items()}
    shown = section(explain_view.view(explanations(Bundle(path))), "What helps")
    assert len(texts([shown])) == 2, "explain had the remedy of one workload alone"


def test_an_arm_without_harm_has_no_advice(tmp_path):
    assert not advised(tmp_path, TUNED, OTHER)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ((-0.005, -0.02, 0.01), "0.5 percentage points less [−1.00–2.00] is missing (undecided)"),
        ((0.005, -0.01, 0.02), "0.5 percentage points more [−1.00–2.00] is missing (undecided)"),
        ((-0.5, -0.6, -0.4), "50 percentage points less [40.0–60.0] is missing (undecided)"),
    ],
)
def test_an_end_on_the_other_side_of_what_a_remedy_gained_is_negative(change, text):
    answer = StatementAnswer("undecided", FractionChange(*change, blocks=5), "few")
    assert gain(tried("undelivered", answer)) == text


def test_a_gain_without_a_ratio_has_its_metric():
    answer = StatementAnswer("better", NoRatio(no_data="most never arrived"), "by sign")
    assert (
        gain(tried("response_latency_p50", answer)) == "median response better"
    )  # better, by order


def tried(metric, answer):
    return TriedRemedy(workload="w", topic=None, arm="a", against="b", metric=metric, answer=answer)
