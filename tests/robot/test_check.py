"""`rmwbench check`: candidates by the suite's limits, what changed since the last check, the exit
code, and where checks are kept."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rmwbench.analysis.verdicts.limit_outcomes import Outcome, Why
from rmwbench.bundle import Bundle
from rmwbench.campaign.plan.default_arms import default_arms
from rmwbench.cli.verbs.check import CheckOptions, last_command
from rmwbench.errors import UserError
from rmwbench.report.render.html import render_html
from rmwbench.report.render.markdown import render_markdown
from rmwbench.results.model import Estimate, document
from rmwbench.results.show_model import ArmInCondition, LimitedValue
from rmwbench.robot.check import check_places
from rmwbench.robot.check.check_document import (
    MoreTime,
    _candidate,
    _Place,
    blocks_needed,
    robot_check,
)
from rmwbench.robot.check.check_view import view
from rmwbench.suite.file.candidate_list import NO_CHOICE, Choice
from rmwbench.suite.file.load import plain
from rmwbench.suite.file.suite_files import suites_directory
from tests.support import command, synthetic_bundle
from tests.support.edited import limit_median
from tests.support.views import of_view, texts

FLOOR, FAST, SLOW = synthetic_bundle.ARMS[:3]
BETWEEN_NS = 40_000
"""A limit that FAST meets and SLOW misses."""


def campaign(place, *, at_most_ns=BETWEEN_NS, slow=SLOW, blocks=8, **asked):
    """A check of a suite whose median has this limit; none where None."""
    arms = (FLOOR, FAST, slow)
    path = synthetic_bundle.write(
        place, workloads=("imu",), arms=arms, blocks=blocks, merged=True, **asked
    )
    if at_most_ns is not None:
        limit_median(path, at_most_ns)
    return Bundle(path)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    return campaign(tmp_path_factory.mktemp("checks") / "20261121-101500")


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    """Another version of the slow one, which takes three times as long."""
    slow = replace(SLOW, version="1.11.0-fixture", base_ns=3 * SLOW.base_ns)
    return campaign(tmp_path_factory.mktemp("later") / "20261128-101500", slow=slow, seed=8)


def test_the_first_check_has_a_line_for_each_candidate_best_first(first):
    check = robot_check(first, None)
    assert [(candidate.arm, candidate.outcome) for candidate in check.candidates] == [
        (FAST.arm, Outcome.MEETS),
        (SLOW.arm, Outcome.MISSES),
    ]
    for candidate in check.candidates:  # the one with the least room, and the one that is missed
        assert candidate.limit.at_most == BETWEEN_NS and candidate.limit.value.high is not None
    assert (check.since, check.not_compared) == (None, None)
    assert all(candidate.more_time is None for candidate in check.candidates)
    assert check.in_use == (FAST.arm,) and check.exit_code == 0


@pytest.mark.parametrize(
    ("use", "outcome", "code"),
    [
        ((FAST.arm,), Outcome.MEETS, 0),
        ((SLOW.arm,), Outcome.MISSES, 1),
        ((FAST.arm, SLOW.arm), Outcome.MISSES, 1),
    ],
)
def test_the_exit_code_is_about_what_the_robot_uses(first, use, outcome, code):
    check = robot_check(first, None, use)
    assert (check.outcome, check.exit_code) == (outcome, code)


def test_a_candidate_that_the_suite_has_not_is_refused(first):
    with pytest.raises(UserError, match="no candidate"):
        robot_check(first, None, ("zenoh untuched",))


def test_the_second_check_says_which_version_changed_and_what_got_worse(first, second):
    since = robot_check(second, first).since
    software = next(topic for topic in since.environment if topic.topic == "software")
    assert [(difference.a, difference.b) for difference in software.differences] == [
        (SLOW.version, "1.11.0-fixture"),
    ]
    by_arm = {row.arm_b: row.verdict for row in since.rows if row.metric == "response_latency_p50"}
    assert by_arm[SLOW.arm] == "worse" and by_arm[FAST.arm] != "worse"


def test_too_few_blocks_are_open_and_say_what_would_decide(tmp_path):
    check = robot_check(campaign(tmp_path / "few", blocks=3), None)
    assert check.exit_code == 2
    assert {candidate.outcome for candidate in check.candidates} == {Outcome.OPEN}
    assert [candidate.more_time.blocks for candidate in check.candidates] == [5, 5]
    assert all(
        candidate.more_time.minutes == pytest.approx(5 * 50 / 60) for candidate in check.candidates
    )


def test_an_interval_around_its_limit_says_how_many_blocks_would_decide(tmp_path):
    near = robot_check(campaign(tmp_path / "near", at_most_ns=62_000, sd=0.3), None, (SLOW.arm,))
    open_ = next(candidate for candidate in near.candidates if candidate.arm == SLOW.arm)
    assert near.exit_code == 2 and open_.limit.value.low < 62_000 < open_.limit.value.high
    assert open_.more_time.blocks is None or open_.more_time.blocks > 8


@pytest.mark.parametrize(
    ("value", "low", "high", "needed"),
    [
        (90.0, 70.0, 130.0, 128),  # half of the interval is four times as far as the limit
        (110.0, 90.0, 140.0, 32),
        (50.0, 40.0, 60.0, 9),  # decided by itself: one more than there are
        (99.9, 50.0, 200.0, None),
    ],
)
def test_an_interval_is_as_wide_as_one_by_the_root_of_its_blocks(value, low, high, needed):
    assert blocks_needed(limited(value, low, high), 5) == needed


def judged_place(*open_limits, outcome=Outcome.OPEN, why=Why.INTERVAL):
    arm = ArmInCondition(
        arm="a",
        outcome=outcome,
        why=why,
        metric=None,
        topic=None,
        reason="",
        brief="",
        limit=next(iter(open_limits), None),
        open_limits=open_limits or None,
    )
    return _Place("w", arm)


def limited(value, low, high):
    estimate = Estimate(unit="ns", value=value, low=low, high=high, count=800, trials=8)
    return LimitedValue(metric="response_latency_p50", topic=None, at_most=100.0, value=estimate)


@pytest.mark.parametrize(
    ("places", "needed"),
    [
        ([judged_place(limited(110.0, 90.0, 140.0), limited(90.0, 70.0, 130.0))], 128),
        (
            [judged_place(limited(110.0, 90.0, 140.0)), judged_place(limited(90.0, 70.0, 130.0))],
            128,
        ),
        (
            [
                judged_place(limited(110.0, 90.0, 140.0)),
                judged_place(outcome=Outcome.MEETS, why=Why.LIMIT),
            ],
            32,
        ),
        ([judged_place(limited(110.0, 90.0, 140.0), limited(99.9, 50.0, 200.0))], None),
    ],
)
def test_a_candidate_is_decided_when_the_last_of_its_open_limits_is(places, needed):
    plan = SimpleNamespace(blocks=SimpleNamespace(minimum=5), block_s=None)
    bundle = SimpleNamespace(campaign=SimpleNamespace(plan=plan))
    assert _candidate(places, bundle).more_time == MoreTime(blocks=needed, minutes=None)


def test_no_number_of_blocks_is_named_where_blocks_settle_only_a_part():
    places = [judged_place(limited(110.0, 90.0, 140.0)), judged_place(why=Why.FAILED)]
    assert _candidate(places, None).more_time is None


def test_without_limits_only_change_is_judged(tmp_path, second):
    bare = campaign(tmp_path / "a", at_most_ns=None)
    alone = robot_check(bare, None)
    assert (alone.candidates, alone.outcome, alone.exit_code) == ((), None, 2)
    slow = replace(SLOW, base_ns=3 * SLOW.base_ns)
    later = campaign(tmp_path / "b", at_most_ns=None, slow=slow, seed=8)
    assert robot_check(later, bare).exit_code == 1


def test_every_renderer_has_each_candidate_and_what_changed(first, second):
    check_view = view(robot_check(second, first))
    words = " ".join(texts(of_view(check_view)))
    pages = (render_html(check_view), render_markdown(check_view))
    for page in pages:
        assert FAST.arm in page and SLOW.arm in page and "1.11.0-fixture" in page
    assert str(second.directory) in words


def test_the_last_check_is_the_last_finished_one_before(tmp_path):
    checks = tmp_path / "checks"
    campaign(checks / "20261101-000000")
    campaign(checks / "20261108-000000", finished=False)
    (checks / "20261109-000000").mkdir()
    last = campaign(checks / "20261115-000000")
    assert check_places.newest(checks).directory == last.directory
    assert check_places.before(last).directory.name == "20261101-000000"
    assert check_places.before(check_places.before(last)) is None
    with pytest.raises(UserError, match="not checked"):
        check_places.newest(tmp_path)


def test_a_suites_checks_have_a_folder_of_their_own(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    mine, others = (check_places.checks_of(name) for name in ("my robot/1", "others"))
    assert mine.parent == others.parent and mine.name == "my-robot-1"
    assert check_places.checks_of("..").name == "suite"


def test_a_suites_checks_are_found_after_a_boot_that_left_a_little_less_memory(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    machine = check_places.machine_card.describe()
    for memory_bytes in (16_500_100_000, 16_499_900_000):
        booted = {**machine, "hardware": {**machine["hardware"], "memory_bytes": memory_bytes}}
        monkeypatch.setattr(check_places.machine_card, "describe", lambda booted=booted: booted)
        check_places.checks_of("mine").mkdir(parents=True, exist_ok=True)
    assert len([*tmp_path.glob("**/checks/*")]) == 1


NO_ARMS = """\
suite: mine
title: a robot
blocks: {minimum: 5}
workloads: [{name: imu, message: Bytes(320), rate_hz: 100}]
"""


def arms(text, choice):
    return [arm["name"] for arm in plain(text, where="mine.yaml", choice=choice)["arms"]]


def test_a_suite_without_arms_has_each_middleware_as_installed_and_tuned(tmp_path, monkeypatch):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    default = default_arms(tmp_path / "mine.yaml", NO_ARMS, NO_CHOICE, names_arm=False)
    assert {"zenoh", "zenoh tuned", "iceoryx2"} <= set(
        arms(NO_ARMS, default.choice)
    ) and default.note
    assert default_arms(tmp_path / "m.yaml", NO_ARMS, NO_CHOICE, names_arm=True) == default
    added = default_arms(tmp_path / "m.yaml", NO_ARMS, Choice(added=("rustdds",)), names_arm=False)
    assert {"zenoh", "rustdds"} <= set(arms(NO_ARMS, added.choice))


def test_quick_compares_the_rmws_where_one_is_ready(monkeypatch):
    path = suites_directory() / "quick.yaml"
    text = path.read_text()
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    without = default_arms(path, text, NO_CHOICE, names_arm=False)
    assert without.choice == NO_CHOICE and "setup.sh" in without.note
    monkeypatch.setattr("rmwbench.campaign.plan.default_arms._lacking", lambda: None)
    sourced = default_arms(path, text, NO_CHOICE, names_arm=False)
    assert sourced.choice == Choice(candidates=("ros2",))
    assert "--candidates quick" in sourced.note
    names = arms(text, sourced.choice)
    assert "rclcpp/zenoh" in names and "floor futex" in names and "zenoh tuned" not in names


@pytest.mark.parametrize("asked", [Choice(candidates=("quick",)), Choice(without=("zenoh tuned",))])
def test_whoever_names_arms_of_quick_gets_these(monkeypatch, asked):
    monkeypatch.setattr("rmwbench.campaign.plan.default_arms._lacking", lambda: None)
    path = suites_directory() / "quick.yaml"
    assert default_arms(path, path.read_text(), asked, names_arm=False).choice == asked
    assert default_arms(path, path.read_text(), NO_CHOICE, names_arm=True).choice == NO_CHOICE


def test_the_last_answer_again(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    suite = tmp_path / "mine.yaml"
    suite.write_text(NO_ARMS)
    checks = check_places.checks_of("mine")
    campaign(checks / "20261101-000000")
    campaign(checks / "20261108-000000", seed=8)
    page = tmp_path / "page.html"
    done = command.rmwbench("check", suite, "--last", "--use", SLOW.arm, "--json", "-o", page)
    assert done.returncode == 1, done.stderr
    printed = json.loads(done.stdout)
    assert (printed["schema"], printed["outcome"]) == ("rmwbench/check", "misses")
    assert printed == json.loads(json.dumps(document(robot_check(*_last(checks), (SLOW.arm,)))))
    assert page.stat().st_size > 1000
    assert command.rmwbench("check", suite, "--last").returncode == 0


def _last(checks):
    last = check_places.newest(checks)
    return last, check_places.before(last)


def test_check_takes_what_run_takes():
    assert {"suite", "budget", "added", "without", "at", "use"} <= set(
        CheckOptions.__dataclass_fields__
    )


SYNTHETIC = """\
suite: planted
title: a planted robot
blocks: {minimum: 5, maximum: 20}
timeline: {warmup_s: 0.05, drain_s: 0.6}
arms:
  - {name: quick, middleware: synthetic, options: {latency: constant ns=1000000}}
  - {name: slow, middleware: synthetic, options: {latency: constant ns=400000000}}
workloads:
  - {name: imu, message: Bytes(320), rate_hz: 200, timeline: {steady_s: 0.3}}
outcomes: {acceptable: {response_latency_p50_ms: 150}}
"""


@pytest.mark.traffic
@pytest.mark.own_host
def test_two_checks_of_a_planted_robot(tmp_path, monkeypatch):
    """The slow one is above the limit by its law alone, however busy the machine is. So both are
    settled at the first look, though how they compare with others is not what it waits for."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    suite = tmp_path / "planted.yaml"
    suite.write_text(SYNTHETIC)
    first = command.rmwbench("check", suite, "--use", "slow", "--json")
    # open where the machine had no time left
    assert first.returncode in (1, 2) and not first.stderr.startswith("error"), first.stderr
    look = Bundle(json.loads(first.stdout)["directory"]).last_look
    assert (look.stop, look.blocks, look.open) == ("decided", 5, ())
    again = command.rmwbench("check", suite, "--use", "slow", "--json")
    printed = json.loads(again.stdout)
    assert printed["since"]["a"]["directory"] == json.loads(first.stdout)["directory"]
    assert {row["metric"] for row in printed["since"]["rows"]} == {"response_latency_p50"}
    outcomes = {candidate["arm"]: candidate["outcome"] for candidate in printed["candidates"]}
    assert again.returncode == {"misses": 1, "open": 2}[outcomes["slow"]]


def test_several_in_use_are_judged_by_the_worst(first):
    check_view = view(robot_check(first, None, (FAST.arm, SLOW.arm)))
    words = " ".join(texts(of_view(check_view)))
    assert f"about the worst of {FAST.arm} and {SLOW.arm}, which misses a limit" in words


def test_a_check_that_was_stopped_is_looked_at_with_its_network_and_candidates():
    """The command lacked both, and showed another check, another answer, or none."""
    options = CheckOptions(suite="my-robot.yaml", network="wifi", use=["zenoh tuned"])
    arguments = "my-robot.yaml --network wifi --use 'zenoh tuned'"
    assert last_command(options) == f"rmwbench check {arguments} --last"


def test_a_check_without_a_time_has_no_time_in_its_title(first, second):
    check = robot_check(second, first)
    undated = replace(check.since, a=replace(check.since.a, created_utc=None))
    titles = [section.title for section in view(replace(check, since=undated)).sections]
    assert titles[0] == "Since the last check"
