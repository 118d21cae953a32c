"""Candidates: written down once, named by suites and on the command line."""

from pathlib import Path
from typing import Any

import pytest

from rmwbench.campaign.plan.request import Planner, Request
from rmwbench.errors import UserError
from rmwbench.suite.arm import INSTALLED, bare
from rmwbench.suite.file.candidate_list import Choice
from rmwbench.suite.file.candidates_file import candidates_of, known_candidates
from rmwbench.suite.file.load import added_arms, parse, plain
from rmwbench.suite.file.suite_files import find, read, shipped_middlewares

SUITE = """\
suite: mine
title: two arms and what refers to them
arms:
  - {name: floor, middleware: floor}
  - zenoh
  - {candidate: fastdds, against: zenoh}
workloads:
  - {name: small, message: Bytes(320), rate_hz: 100}
exclude:
  - {arm: zenoh, message: Array1k}
factors:
  message: [Array1k, Array4k]
short:
  arms: [zenoh, fastdds]
"""


def arms(text: str, **choice: tuple[str, ...]) -> list[str]:
    return [arm.name for arm in parse(text, where="mine.yaml", choice=Choice(**choice)).arms]


def with_arms(*lines: str) -> str:
    arm_lines = "".join(f"  - {line}\n" for line in lines)
    return (
        f"suite: mine\ntitle: t\narms:\n{arm_lines}workloads: [{{name: w, message: Bytes(320), "
        f"rate_hz: 100}}]\n"
    )


def failure(text: str, **choice: tuple[str, ...]) -> UserError:
    with pytest.raises(UserError) as caught:
        arms(text, **choice)
    return caught.value


def shipped_arms(suite: str) -> list[dict[str, Any]]:
    """Arms of a shipped one; only those of the file are read, which takes a tenth of the time."""
    text = read(find(suite))
    begin = text.index("\narms:") + 1
    lines = text[begin:].split("\n")
    end = next(n for n, line in enumerate(lines[1:], start=1) if line and line[0] not in " #-")
    return plain("\n".join(lines[:end]), where=suite)["arms"]


def test_every_shipped_candidate_is_an_arm_of_a_known_middleware():
    known = known_candidates()
    for candidate in known.by_name.values():
        middleware = candidate.arm["middleware"]
        shipped = {middleware, bare(middleware)} & set(shipped_middlewares())
        assert shipped or middleware.startswith(INSTALLED), candidate.name
    suite = parse(with_arms(*(f"'{name}'" for name in known.by_name)), where="mine.yaml")
    assert [arm.name for arm in suite.arms] == list(known.by_name)
    assert all(known.of_set(name) for name in known.sets)


def test_a_suite_names_candidates_and_sets():
    assert arms(with_arms("network")) == ["cyclonedds", "fastdds", "zenoh"]
    assert arms(with_arms("{set: network, without: [zenoh]}", "iceoryx2")) == [
        "cyclonedds",
        "fastdds",
        "iceoryx2",
    ]
    loaded = parse(
        with_arms("{set: network, wait: poll}", "{candidate: zenoh, name: z, profile: tuned}"),
        where="m.yaml",
    )
    assert [(arm.name, arm.wait, arm.profile.name) for arm in loaded.arms] == [
        ("cyclonedds", "poll", "untouched"),
        ("fastdds", "poll", "untouched"),
        ("zenoh", "poll", "untouched"),
        ("z", "block", "tuned"),
    ]
    assert loaded.arms[1].publish_mode == "sync"  # the candidate's own key stays


@pytest.mark.parametrize(
    ("line", "words", "fix"),
    [
        ("zenho", "unknown candidate or set `zenho`", "did you mean `zenoh`"),
        ("{set: ros3}", "unknown set `ros3`", "`ros2`"),
        ("{candidate: ros2}", "unknown candidate `ros2`", "rmwbench candidates"),
        (
            "{set: network, without: [iceoryx2]}",
            "unknown candidate of `network` `iceoryx2`",
            "rmwbench candidates",
        ),
        ("{set: network, without: zenoh}", "`without` is not a list", ""),
        ("{set: [native, network]}", "unknown set `['native', 'network']`", "rmwbench candidates"),
        ("{candidate: [zenoh]}", "unknown candidate `['zenoh']`", "`zenoh`"),
        ("{name: z, middleware: zenoh, in: [[native]]}", "unknown set `['native']`", "`native`"),
        ("{set: network, name: n}", "`name` and `set` contradict", ""),
        ("{set: network, candidate: zenoh}", "`candidate` and `set` contradict", ""),
        ("{candidate: zenoh, profle: tuned}", "unknown key `profle`", "profile"),
    ],
)
def test_a_mistake_in_a_suite_has_its_line_and_the_nearest_names(line, words, fix):
    error = failure(with_arms("cyclonedds", line))
    assert error.where == "mine.yaml:5"
    assert words in error.what
    assert fix in (error.fix or "")


def test_the_command_line_puts_others_in_the_place_of_the_arms_and_the_floor_stays():
    assert arms(SUITE, candidates=("iceoryx2",)) == ["floor", "iceoryx2"]
    assert arms(SUITE, candidates=("network", "iceoryx2")) == [
        "floor",
        "cyclonedds",
        "fastdds",
        "zenoh",
        "iceoryx2",
    ]


def test_the_command_line_adds_and_leaves_out():
    # what is there is the same
    assert arms(SUITE, added=("network",)) == ["floor", "zenoh", "fastdds", "cyclonedds"]
    assert arms(SUITE, without=("zenoh", "floor")) == ["fastdds"]
    assert arms(SUITE, without=("network",)) == ["floor"]
    assert arms(SUITE, candidates=("ros2",), without=("rclcpp/zenoh",)) == [
        "floor",
        "rclcpp/cyclonedds",
        "rclcpp/fastrtps",
        "rclcpp/connextdds",
    ]


def test_a_campaign_keeps_the_names_of_what_the_command_line_added():
    assert added_arms(SUITE, where="mine.yaml", choice=Choice(added=("network",))) == (
        "cyclonedds",
    )
    assert added_arms(SUITE, where="mine.yaml") == ()


@pytest.mark.parametrize(
    ("choice", "where", "fix"),
    [
        ({"candidates": ("zenho",)}, "--candidates", "`zenoh`"),
        ({"added": ("rclcpp/zeno",)}, "--with", "`rclcpp/zenoh`"),
        ({"added": ("zenoh",)}, "--with", "leave --with out"),
        ({"without": ("fastdd",)}, "--without", "`fastdds`"),
        ({"without": ("cyclonedds",)}, "--without", "rmwbench candidates"),
    ],
)
def test_an_unknown_name_on_the_command_line_is_one_error_with_the_nearest(choice, where, fix):
    error = failure(SUITE, **choice)
    assert error.where == where
    assert fix in (error.fix or "")


def own_file(directory: Path, text: str) -> str:
    path = directory / "mine.yaml"
    path.write_text(text)
    return str(path)


def test_a_file_of_ones_own_is_a_set_and_names_shipped_ones(tmp_path):
    (tmp_path / "fast.xml").write_text("<dds/>")
    file = own_file(
        tmp_path,
        "candidates:\n  - zenoh\n  - {set: network, without: [zenoh, fastdds], wait: poll}\n"
        "  - {name: mine, middleware: fastdds, profile: ./fast.xml}\n",
    )
    loaded = parse(SUITE, where="elsewhere/mine.yaml", choice=Choice(candidates=(file,)))
    assert [(arm.name, arm.wait, arm.profile.name) for arm in loaded.arms[1:]] == [
        ("zenoh", "block", "untouched"),
        ("cyclonedds", "poll", "untouched"),
        ("mine", "block", "fast"),  # the path counts from the candidates' file
    ]
    assert loaded.arms[3].profile.text == "<dds/>"
    assert arms(SUITE, candidates=(file,), without=(file,), added=("iceoryx2",)) == [
        "floor",
        "iceoryx2",
    ]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            "candidates:\n  - {name: a, middleware: zenoh}\n  - {name: a, middleware: zenoh}\n",
            3,
            "already",
        ),
        (
            "sets: {lab: mine}\ncandidates:\n  - {name: lab, middleware: zenoh}\n",
            3,
            "a set already",
        ),
        ("candidates:\n  - {name: a, middleware: zenoh, in: [ros3]}\n", 2, "unknown set `ros3`"),
        ("candidates:\n  - {name: a, midleware: zenoh}\n", 2, "unknown key `midleware`"),
        (
            "candidates:\n  - {name: a, middleware: zenoh, profile: ./none.xml}\n",
            2,
            "cannot be read",
        ),
        ("candidates:\n  - zenho\n", 2, "unknown candidate or set `zenho`"),
        ("candidates: []\n", 1, "candidates"),
        ("candidates: zenoh\n", 1, "candidates"),
        ("suite: mine\n", 1, "unknown key `suite`"),
    ],
)
def test_a_mistake_in_a_file_of_candidates_has_its_line(tmp_path, text, line, words):
    file = own_file(tmp_path, text)
    with pytest.raises(UserError) as caught:
        candidates_of(Path(file))
    assert caught.value.where == f"{file}:{line}"
    assert words in caught.value.what


def test_a_resumed_campaign_has_the_arms_it_began_with_whatever_the_candidates_became(tmp_path):
    file = own_file(tmp_path, "candidates: [{name: mine, middleware: zenoh, profile: tuned}]\n")
    began = Planner(SUITE, "mine.yaml", Choice(added=(file,)))
    request = Request("mine.yaml", 1, None, (), (), written=began.arms_written())
    before = began.select(request)[1]
    Path(file).unlink()
    again = Planner(SUITE, "mine.yaml", Choice(written=request.written))
    assert again.select(request)[1] == before
    assert Planner(with_arms("{name: z, middleware: zenoh}"), "mine.yaml").arms_written() is None


def test_an_arm_of_the_suites_own_that_is_in_a_set_comes_and_goes_with_it():
    own = "{candidate: fastdds, name: fastdds udp, in: [network], modes: {transport: udp}}"
    text = with_arms("{name: floor, middleware: floor}", own, "iceoryx2")
    network = ["floor", "fastdds udp", "cyclonedds", "fastdds", "zenoh"]
    assert arms(text, candidates=("network",)) == network
    assert arms(text, candidates=("zenoh",)) == ["floor", "zenoh"]
    assert arms(text, without=("network",)) == ["floor", "iceoryx2"]
    assert arms(text) == ["floor", "fastdds udp", "iceoryx2"]
    error = failure(with_arms("cyclonedds", own.replace("network", "netwrk")))
    assert error.where == "mine.yaml:5" and "unknown set `netwrk`" in error.what


def test_a_candidate_that_is_another_arm_of_the_same_name_is_refused():
    text = with_arms("{name: zenoh, middleware: zenoh, profile: tuned}")
    error = failure(text, added=("zenoh",))
    assert error.where == "--with" and "already" in error.what
    assert "tuned" in (error.actual or "")


def test_a_file_that_is_not_there_is_said(tmp_path):
    assert "cannot read" in failure(SUITE, candidates=(str(tmp_path / "none.yaml"),)).what


def test_pairs_are_made_of_a_set():
    pairs = arms(with_arms("{pairs: [{set: rmw_zenoh}, zenoh]}"))
    assert len(pairs) == 9 and pairs[1] == "hiroz → rclcpp/rmw_zenoh_cpp"


def test_a_profile_file_of_the_command_line_is_an_arm_more(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.xml").write_text("<CycloneDDS/>")
    Path("written").mkdir()
    Path("written/tuned.json5").write_text("{}")
    text = "suite: s\ntitle: t\narms: [{name: a, middleware: zenoh}]\n"
    text += "workloads: [{name: w, message: Array1k, rate_hz: 100}]\n"
    words = "cyclonedds=./mine.xml", "zenoh=written", "fastdds=mine.xml", "fastdds async=mine.xml"
    choice = Choice(profiles=words)
    arms = parse(text, where="s.yaml", choice=choice).arms
    assert [(arm.name, arm.middleware, arm.profile.name) for arm in arms] == [
        ("a", "zenoh", "untouched"),
        ("cyclonedds mine.xml", "cyclonedds", "mine"),
        ("zenoh tuned.json5", "zenoh", "tuned"),
        ("fastdds mine.xml", "fastdds", "mine"),
        ("fastdds async mine.xml", "fastdds", "mine"),
    ]
    assert [arm.publish_mode for arm in arms[-2:]] == ["default", "async"]  # of a candidate its own
    assert added_arms(text, where="s.yaml", choice=choice) == (
        "cyclonedds mine.xml",
        "zenoh tuned.json5",
        "fastdds mine.xml",
        "fastdds async mine.xml",
    )
    for word in ("mine.xml", "cyclonedds=", "cyclonedds=./none.xml", "cyclonedds=written/none"):
        with pytest.raises(UserError) as refused:
            parse(text, where="s.yaml", choice=Choice(profiles=(word,)))
        assert refused.value.where == "--profile"
