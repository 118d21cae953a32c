"""A committee's report from an evaluation's directory: what was measured, what was not and why, and
nothing invented."""

import dataclasses
import json
import re
import shlex
import subprocess
import tempfile
from types import SimpleNamespace

import pytest

from rmwbench.analysis.stats.resolution import Threshold, resolvable_ratio
from rmwbench.bundle import Bundle
from rmwbench.published.committee import consistency, need_conclusions
from rmwbench.published.committee import report_page as page
from rmwbench.published.committee import report_text as markdown
from rmwbench.published.committee.report_annex import VERSIONS_TITLE
from rmwbench.published.committee.report_parts import (
    CommunityPart,
    SectionGroup,
    candidate,
    gather,
    groups_of,
    standings,
)
from rmwbench.published.committee.sections import SCATTER
from rmwbench.published.community import admission
from rmwbench.words.numbers import metric, significant
from tests.published.committee import evaluations
from tests.report.example_document import HOSTILE
from tests.report.test_ros_variables import DEAF_TO_ALL, OBEDIENT, table
from tests.support import synthetic_bundle
from tests.support.command import exit_code
from tests.support.edited import campaign_json
from tests.support.program import script

pytestmark = pytest.mark.long

TITLE = "A report"


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    return evaluations.make_evaluation(tmp_path_factory.mktemp("evaluation") / "tsc")


@pytest.fixture(scope="module")
def report(session):
    beside = [
        CommunityPart(
            title="Admission",
            view=admission.view(admission.judge(admission.OURS)),
            command="",
            opens=True,
        ),
        CommunityPart(
            title="How the projects answer",
            view=None,
            command="rmwbench published community github",
        ),
    ]
    return gather(session, TITLE, beside, evaluations.NEEDS)


@pytest.fixture(scope="module")
def text(report):
    written = markdown.write(report)
    assert all(path.is_file() for path in written)
    return written[0].read_text()


def section(text, title):
    """Return the lines between a heading of the second level and the next."""
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def with_answer(part, **changes):
    """Return the part with these changes of its answer, in one group."""
    shown = dataclasses.replace(part.answer, **changes)
    return dataclasses.replace(part, shown=shown, groups=(SectionGroup(title="", shown=shown),))


def section_of(report, part, **changes):
    """Return the section of the part, as if it were the only one."""
    text = markdown.render(dataclasses.replace(report, parts=(part,), **changes), {})
    return section(text, part.section.title)


def test_what_was_not_measured_is_a_row_with_its_reason_and_its_command(report, text):
    assert [part.section.name for part in report.measured] == ["pubsub", "robot"]
    rows = section(text, VERSIONS_TITLE).partition("### Not measured\n")[2]
    assert (
        "| Scaling | the budget of 10 min had no room for its 15 min | `rmwbench published report tsc "
        "--budget 25m" in rows
    )
    assert "| Layers of ROS 2 | no ROS 2 is sourced | `rmwbench run pipeline-2021/layers` |" in rows
    assert "\n## Scaling\n" not in text


def test_what_was_measured_before_a_problem_is_in_the_report(session, report):
    """A campaign that could not go on counted as not measured."""
    robot = dataclasses.replace(session.sections[1], problem="a worker is gone")
    (part,) = gather(dataclasses.replace(session, sections=[robot]), TITLE, [], ()).measured
    assert "\n- It could not go on: a worker is gone\n\n" in section_of(report, part)


def test_a_section_is_run_again_with_the_arms_of_the_whole_evaluation(session):
    more = dataclasses.replace(session, added=["zenoh tuned"])
    assert more.command(session.sections[0]) == "rmwbench run quick --short --with 'zenoh tuned'"
    without_time = dataclasses.replace(more, sections=[session.sections[2]])
    (part,) = gather(without_time, TITLE, [], ()).parts
    assert part.command.endswith("--budget 25m --with 'zenoh tuned' --seed 7 -o ANOTHER_DIR")


def test_a_section_is_its_question_its_table_and_what_runs_it_again(report, text):
    told = section(text, "Single machine, by message type")
    assert "*How long does a message of 1 KB to 8 MB take" in told
    assert "again: `rmwbench run quick --short`" in told
    assert "**Bold** is" not in told and "Bold is best" in told


def test_versions_and_machines_stand_on_a_page_of_their_own(report, text):
    told = section(text, VERSIONS_TITLE)
    assert "| zenoh | 1.10.2-fixture |" in told
    trials = sum(part.answer.campaign.trials.done for part in report.measured)
    assert f"| 2026-11-21 | 2 | {trials} |" in told


def test_a_warning_of_one_section_is_in_the_report(report):
    """Only those of the last section were."""
    first, *others = report.parts
    machine = dataclasses.replace(
        first.answer.machine, warnings=("too hot",), red_warnings=("too hot",)
    )
    parts = (with_answer(first, machine=machine), *others)
    text = markdown.render(dataclasses.replace(report, parts=parts), {})
    assert text.count("- **Warning: too hot**") == 1


def test_ros_variables_are_told_by_who_obeys(report):
    variables = table({"a": OBEDIENT, "b": DEAF_TO_ALL})
    own = section_of(report, with_answer(report.parts[0], workloads=(), ros_variables=variables))
    assert "a: 2 obeyed. b: 1 not obeyed" in own
    assert own.count("2 obeyed. b: 1 not") == 1 and "✗ not obeyed 250 of 250" in own


def test_standings_count_every_verdict_of_every_candidate_once(report):
    shown = [part.shown for part in report.measured]
    arms = [arm for one in shown for workload in one.workloads for arm in workload.arms]
    floors = [arm for arm in arms if arm.role == "floor"]
    counted = standings(shown)
    assert sum(one.workloads for one in counted) == len(arms) - len(floors)
    assert "floor futex" not in {one.arm for one in counted}
    for one in counted:
        verdicts = [arm.verdict.verdict for arm in arms if candidate(arm) == one.arm]
        assert one.counts == {name: verdicts.count(name) for name in set(verdicts)}


def rmws():
    """Return two arms of the fixture as RMWs."""
    as_rmw = {"zenoh untouched": "rclcpp/zenoh", "fastdds tuned": "rclcpp/fastrtps"}
    return tuple(
        dataclasses.replace(arm, arm=as_rmw[arm.arm], layer="rclcpp") if arm.arm in as_rmw else arm
        for arm in synthetic_bundle.ARMS
    )


def test_rmws_are_judged_among_themselves_and_alone_concluded_of(tmp_path):
    """A committee chooses one of them: that all are slower than iceoryx2 tells it nothing."""
    report = gather(
        evaluations.make_evaluation(tmp_path / "tsc", rmws()), TITLE, [], evaluations.NEEDS
    )
    part = report.measured[0]
    (group,) = part.groups
    arms = {arm.arm for workload in group.shown.workloads for arm in workload.arms}
    assert arms == {"floor futex", "rclcpp/zenoh", "rclcpp/fastrtps"}
    told = {one.arm: one.counts for one in report.standings}
    assert told.keys() == {"rclcpp/zenoh", "rclcpp/fastrtps"} and told["rclcpp/zenoh"]["best"] > 0
    text = markdown.render(report, {})
    assert "iceoryx2" not in section(text, "Conclusions")
    assert "| need | rclcpp/zenoh | rclcpp/fastrtps |" in section(text, "Conclusions")
    assert consistency.check(report, text) == []


def test_with_and_without_security_are_never_in_one_list(session):
    part = gather(session, TITLE, [], ()).measured[0]
    arms = dict(part.arms)
    secure = next(name for name in arms if name.startswith("zenoh"))
    arms[secure] = dataclasses.replace(arms[secure], modes={"security": True})
    groups = list(groups_of(Bundle(session.place(part.section)), part.answer, arms))
    assert sorted(group.title for group in groups) == ["with security", "without security"]
    for group in groups:
        names = {
            arm.arm
            for workload in group.shown.workloads
            for arm in workload.arms
            if arm.role != "floor"
        }
        assert (names == {secure}) is (group.title == "with security")


def test_without_rmws_all_are_candidates(report, text):
    assert [len(part.groups) for part in report.measured] == [1, 1]
    assert "iceoryx2" in section(text, "Conclusions")


def test_what_is_as_installed_is_one_candidate_however_suites_call_it(report):
    (camera,) = report.parts[1].answer.workloads
    installed = next(arm for arm in camera.arms if arm.arm == "zenoh untouched")

    def name(**changes):
        return candidate(dataclasses.replace(installed, options={}, **changes))

    assert name() == name(arm="zenoh") == "zenoh"
    tuned_by_hand = dataclasses.replace(installed, options={"peer_range": 2})
    assert candidate(tuned_by_hand) == "zenoh untouched"
    assert name(arm="zenoh multicast") == "zenoh multicast"
    assert name(arm="zenoh tuned", profile="tuned") == "zenoh tuned"


def test_every_number_of_a_table_is_in_its_campaign(report, text):
    (camera,) = report.parts[1].answer.workloads
    told = section(text, "A whole robot on one board")
    for arm in camera.arms:
        value = markdown.escape(metric(arm.metrics[camera.primary_metric]).full)
        assert value in told, arm.arm


def test_needs_are_answered_by_their_own_section_or_say_why_not(report, text):
    asked, absent = report.needs
    assert asked.candidates and all(one.answer.limits for one in asked.candidates)
    assert (
        not absent.candidates and absent.why == report.parts[2].not_measured_because
    )  # its section did not fit
    told = section(text, "Conclusions")
    assert f"- **A robot over WiFi.** Nothing is known: {absent.why}." in told
    assert "| A robot over WiFi | ? |" in told
    limits = section(text, need_conclusions.LIMITS_TITLE)
    for one in asked.candidates:
        assert f"| A small robot: a camera | {one.candidate_name} | {one.outcome} |" in limits


def test_a_section_without_a_good_trial_is_not_called_measured(tmp_path, session):
    copied = evaluations.copy(session, tmp_path / "copy")
    one = evaluations.planned_section("services", "Services", "services")
    copied.sections.append(one)
    arms = tuple(dataclasses.replace(arm, fails=(0, 1)) for arm in synthetic_bundle.ARMS)
    synthetic_bundle.write(copied.place(one), blocks=2, arms=arms, workloads=("camera",))
    (part,) = [part for part in gather(copied, TITLE, []).parts if part.section.name == "services"]
    assert part.shown is None and part.not_measured_because == "none of its trials was good"


def test_a_vendors_words_are_quoted_and_stay_words(tmp_path, session):
    copied = evaluations.copy(session, tmp_path / "copy")
    comments = copied.directory / "comments"
    comments.mkdir()
    (comments / "a vendor.md").write_text(
        "We disagree.\n\n# Not a heading of yours\n<script>alert(1)</script>\n"
    )
    text = markdown.render(gather(copied, TITLE, []), {})
    assert "\n> # Not a heading of yours\n" in text
    html = page.render(text, copied.directory)
    assert "<script" not in html and "&lt;script&gt;" in html and "<blockquote>" in html
    assert HOSTILE not in html


def test_the_page_holds_its_pictures_and_asks_for_nothing(session, text):
    html = page.render(text, session.directory)
    assert "default-src 'none'" in html and "<script" not in html
    images = re.findall(r'<img[^>]*src="([^"]{0,40})', html)
    assert images and all(source.startswith("data:image/svg+xml;base64,") for source in images)
    assert html.count("<h2 id=") == text.count("\n## ") == html.count('<li><a href="#section-')
    for target in re.findall(r'<a href="(sections/[^"]*)"', html):
        assert (session.directory / target).is_file()


def test_the_page_is_printed_where_there_is_a_browser(tmp_path, monkeypatch, session, text):
    printer = page.browser()
    if printer is None:
        pytest.skip("THE REPORT WAS NOT PRINTED: no Chromium here (apt install chromium)")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # others print at the same time
    html = tmp_path / "report.html"
    page.write_html(session.directory / "report.md", html)
    assert page.write_pdf(html, tmp_path / "report.pdf", printer) is None
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True)
    assert left.stdout == ""


def test_a_printer_that_fails_says_why(tmp_path):
    broken = script(tmp_path / "broken", "echo no display >&2\nexit 3")
    assert page.write_pdf(tmp_path / "a.html", tmp_path / "a.pdf", str(broken)) == "no display"


@pytest.fixture
def no_printer(monkeypatch):
    """Chromium would take longer than all the rest; one test above prints."""
    monkeypatch.setattr("rmwbench.published.committee.report_page.browser", lambda: None)


def error_of(capsys, *words):
    """Return the error of the command, in one line."""
    assert exit_code(*words) == 2
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.usefixtures("no_printer")
def test_the_verb_writes_the_report_of_what_is_finished(session, capsys):
    # two sections are not measured
    assert exit_code("published", "report", "tsc", "-o", session.directory, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "rmwbench/evaluation"
    assert [one["section"] for one in document["sections"] if one["campaign"]] == [
        "pubsub",
        "robot",
    ]
    assert all((session.directory / name).is_file() for name in ("report.md", "report.html"))
    # its command writes an answer there
    survey = shlex.quote(str(session.directory / "community" / "survey.json"))
    assert f"--json > {survey}` makes it" in (session.directory / "report.md").read_text()
    assert (session.directory / "community").is_dir()


@pytest.mark.usefixtures("no_printer")
def test_resume_goes_on_with_an_evaluation_and_takes_nothing_that_would_change_it(session, capsys):
    for option, value in (("--budget", "1h"), ("--no-report", None)):
        words = ["resume", session.directory, option, *([value] if value else [])]
        assert f"{option} does not go with this" in error_of(capsys, *words)
    (session.directory / "report.md").unlink(missing_ok=True)
    # as `evaluate` ends: two sections are not measured
    assert exit_code("resume", session.directory) == 1
    assert f"report: {session.directory / 'report.md'}" in capsys.readouterr().out


@pytest.mark.usefixtures("no_printer")
def test_what_was_measured_so_far_is_a_report_too(session, tmp_path, capsys):
    copied = evaluations.copy(session, tmp_path / "tsc")
    # it waits: evaluate would run it
    copied.sections.insert(0, evaluations.planned_section("services", "Services"))
    copied.save()
    assert exit_code("report", copied.directory) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        f"report: {copied.directory / name}" for name in ("report.md", "report.html")
    ]
    assert "| Services | it was not run yet |" in (copied.directory / "report.md").read_text()
    assert "into its own directory" in error_of(
        capsys, "report", copied.directory, "--out", tmp_path / "mine.html"
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--budget", "1h"], "keeps its plan: --budget would change it"),
        (["--candidates", "ros2"], "keeps its plan: --candidates would change it"),
    ],
)
def test_an_evaluation_that_was_begun_keeps_its_plan(session, capsys, words, says):
    assert says in error_of(capsys, "published", "report", "tsc", "-o", session.directory, *words)


def test_a_directory_of_something_else_is_left_alone(tmp_path, capsys, monkeypatch):
    """The error comes before planning, which takes seconds."""
    planning = "rmwbench.published.committee.sections.costs"
    monkeypatch.setattr(planning, lambda *_: pytest.fail("it was planned"))
    (tmp_path / "mine.txt").write_text("mine")
    said = error_of(capsys, "published", "report", "tsc", "-o", tmp_path, "--budget", "2h")
    assert "no evaluation was begun in it" in said
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_workloads_of_too_few_blocks_say_that_and_stand_nowhere(report):
    part = report.parts[1]
    (camera,) = part.answer.workloads
    arms = tuple(
        dataclasses.replace(arm, trials=dataclasses.replace(arm.trials, done=4, failed=0))
        for arm in camera.arms
    )
    with_few = dataclasses.replace(camera, arms=arms)

    few = with_answer(part, workloads=(with_few,))
    said = "Nothing can be said: 4 blocks at most, and fewer than 5 decide nothing."
    assert said in section_of(report, few, standings=())
    assert standings([few.answer]) == []
    both = with_answer(part, workloads=(with_few, dataclasses.replace(camera, workload="other")))
    said = "Of 1 of 2 conditions nothing can be said: 4 blocks at most"
    assert said in section_of(report, both)


def test_candidates_of_many_sections_stand_in_the_appendix(report, text):
    table = section(text, "Appendix: where each candidate stands")
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")][2:]
    wanted = [one for one in report.standings if one.sections == 2]
    assert [row[0].removeprefix("| ") for row in rows] == [one.arm for one in wanted] and wanted


def test_a_section_advises_nobody_where_every_candidate_loses_its_messages(report):
    part = report.parts[1]
    (camera,) = part.answer.workloads

    def losing(arm):
        lost = dataclasses.replace(arm.metrics["undelivered"], value=0.5, low=0.4, high=0.6)
        metrics = {**arm.metrics, **dict.fromkeys(("loss", "undelivered"), lost)}
        return dataclasses.replace(arm, metrics=metrics)

    flood = dataclasses.replace(camera, arms=tuple(map(losing, camera.arms)))
    own = section_of(report, with_answer(part, workloads=(flood,)), needs=())
    assert "No candidate carries this: iceoryx2 event loses 50 % of its messages, " in own
    assert "Take " not in own


def test_a_title_names_the_conditions_that_ran(tmp_path, session):
    copied = evaluations.copy(session, tmp_path / "copy")
    with campaign_json(copied.place(copied.sections[1])) as campaign:
        campaign["plan"]["not_run"] = {
            "comparisons": ["imu", "pointcloud"],
            "text": "Not run within 1 min: 2 of 3 comparisons",
        }
    report = gather(copied, TITLE, [], ())
    text = markdown.render(report, {})
    title = "A whole robot on one board (camera; imu and pointcloud were not run)"
    assert f"\n## {title}\n" in text and "\n## Single machine, by message type\n" in text
    assert consistency.check(report, text) == []
    claims_all = text.replace(f"## {title}", "## A whole robot on one board")
    (finding,) = consistency.check(report, claims_all)
    assert finding.code is consistency.Contradiction.TITLE


def answer_of(alpha, comparisons):
    """Return a section's answer: one workload of three arms after six blocks."""
    trials = SimpleNamespace(done=6, failed=0)
    arms = tuple(SimpleNamespace(role="contender", trials=trials) for _ in range(3))
    workload = SimpleNamespace(
        arms=arms,
        judged=SimpleNamespace(alpha=alpha),
        resolution=SimpleNamespace(comparisons=comparisons),
    )
    return SimpleNamespace(workloads=(workload,))


@pytest.mark.parametrize(
    ("alpha", "comparisons"), [(0.05, 6), (0.02, 6), (0.05, 12)], ids=["end", "look", "lossy"]
)
def test_a_section_resolves_what_the_level_of_its_verdicts_lets_it_find(alpha, comparisons):
    finds, twice = (
        resolvable_ratio(blocks, comparisons, SCATTER, Threshold(alpha=alpha)) for blocks in (6, 12)
    )
    text = markdown._resolution(answer_of(alpha, comparisons))
    assert f"6 blocks find a true ratio of {significant(finds)}× in" in text
    assert text.endswith(f"twice as many would find {significant(twice)}×.")


def test_a_section_that_can_find_nothing_names_no_ratio():
    assert markdown._resolution(answer_of(0.0, 6)) == ""
