"""What a newcomer needs to know the names of: suites, types, candidates, middlewares; the shell's
completion of them; and a build that leaves out what cannot be built."""

import json
import os

import pytest

from rmwbench.cli.machine import middlewares
from rmwbench.cli.options import complete_candidate
from rmwbench.cli.verbs import candidates, plan_view
from rmwbench.errors import UserError
from rmwbench.lab.middleware import build, find
from rmwbench.lab.middleware.catalogue import recipes, tool_recipes
from rmwbench.suite.file.candidates_file import known_candidates
from rmwbench.suite.file.suite_files import shipped_suites
from rmwbench.suite.workload.message_type import message_type_names
from tests.suite.suite_text import cells_of
from tests.support import command
from tests.support.command import exit_code


def rmwbench(*arguments, **environment):
    return command.rmwbench(*arguments, env={**os.environ, **environment})


def test_every_suite_has_its_line():
    lines = rmwbench("suites").stdout.splitlines()
    for name in shipped_suites():
        assert sum(line.split()[:1] == [name] for line in lines) == 1, name
    listed = json.loads(rmwbench("suites", "--json").stdout)
    assert [entry["suite"] for entry in listed] == shipped_suites()
    assert all(entry["title"] for entry in listed)
    for words in ((), ("reports",)):
        assert "No suite has that text." in rmwbench("suites", *words, "--grep", "xyzzy").stdout


def test_every_type_has_its_line_with_its_size():
    text = rmwbench("types").stdout
    types = json.loads(rmwbench("types", "--json").stdout)
    assert [entry["type"] for entry in types] == message_type_names()
    for entry in types:
        assert any(
            line.split()[:2] == [entry["type"], str(entry["payload_bytes"])]
            for line in text.splitlines()
        )
        assert entry["message_bytes"] > entry["payload_bytes"]
    assert "Bytes(N)" in text and "Image(WIDTHxHEIGHT)" in text


def test_a_middleware_is_shown_as_the_list_has_it():
    whole = json.loads(rmwbench("middlewares", "--json").stdout)
    shown = json.loads(rmwbench("middlewares", "show", "floor", "--json").stdout)
    assert shown["schema"] == whole["schema"]
    assert shown["middlewares"] == [
        entry for entry in whole["middlewares"] if entry["middleware"] == "floor"
    ]


def test_the_part_before_a_slash_is_each_of_its_rmws(monkeypatch, capsys):
    names = ["rclcpp/rmw_cyclonedds_cpp", "rclpy/rmw_zenoh_cpp", "rclcpp/rmw_zenoh_cpp", "roscpp"]
    entries = [{"middleware": name} for name in names]
    monkeypatch.setattr(middlewares, "document", lambda: {"middlewares": entries})
    middlewares.show(["rclcpp", "rclcpp/rmw_zenoh_cpp"], as_json=True)
    entries_shown = json.loads(capsys.readouterr().out)["middlewares"]
    assert [entry["middleware"] for entry in entries_shown] == [names[0], names[2]]
    with pytest.raises(UserError, match="no middleware is called `rclcp`"):
        middlewares.show(["rclcp"])


def test_the_shell_completes_verbs_and_suites():
    def completed(words, at):
        done = rmwbench(_RMWBENCH_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(at))
        return done.stdout.split()

    assert completed("rmwbench sui", 1) == ["suites"]
    assert completed("rmwbench plan degraded/lo", 2) == ["degraded/lossy"]
    # Without the shell that is found by looking at this process's parents, which a pipeline may not
    # have.
    shown = rmwbench("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "complete" in shown.stdout


@pytest.fixture(autouse=True)
def without_a_ros2(monkeypatch):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)


def test_every_candidate_is_listed_with_its_sets_and_what_would_make_it_ready():
    document = candidates.document([])
    assert (document["schema"], document["version"]) == ("rmwbench/candidates", 1)
    assert [entry["candidate"] for entry in document["candidates"]] == list(
        known_candidates().by_name
    )
    assert [entry["set"] for entry in document["sets"]] == list(known_candidates().sets)
    for entry in document["candidates"]:
        assert entry["ready"] == (entry["reason"] is None)
        assert entry["ready"] == (entry["version"] is not None)
    connext = next(
        entry for entry in document["candidates"] if entry["candidate"] == "rclcpp/connextdds"
    )
    assert not connext["ready"] and "licence" in connext["needs"] and connext["layer"] == "rclcpp"
    assert "candidates.yaml:" in connext["where"]


def test_an_unknown_name_is_an_error_with_the_nearest():
    with pytest.raises(
        UserError, match=r"(?s)unknown candidate or set `ros3`.*did you mean `ros2`"
    ):
        candidates.document(["ros3"])


def test_an_rmw_of_the_sourced_ros2_that_is_not_a_candidate_is_shown_with_its_line(
    monkeypatch, capsys
):
    described = {"middleware": "rclcpp/rmw_novel_cpp", "version": "1"}
    worker = find.Worker("rclcpp/rmw_novel_cpp", None, described, None)  # type: ignore[arg-type]
    monkeypatch.setattr(
        "rmwbench.lab.middleware.find_workers", lambda wanted=None: {worker.middleware: worker}
    )
    document = candidates.document(["ros2"])
    assert document["unlisted"] == ["rclcpp/rmw_novel_cpp"]
    lacking = {entry["candidate"]: entry["reason"] for entry in document["candidates"]}
    assert lacking["rclcpp/zenoh"] == "the sourced ROS 2 has rclcpp/rmw_novel_cpp"
    candidates.candidates(["ros2"], as_json=False)
    assert (
        "{name: rclcpp/novel, in: [ros2, tsc], middleware: rclcpp/rmw_novel_cpp"
        in capsys.readouterr().out
    )


def test_as_json_it_is_one_document(capsys):
    candidates.candidates(["rmw_zenoh"], as_json=True)
    assert {entry["candidate"] for entry in json.loads(capsys.readouterr().out)["candidates"]} == {
        "hiroz",
        "rclcpp/zenoh",
    }


def test_the_shell_completes_candidates_and_sets():
    assert complete_candidate("ros") == ["ros2", "ros2_tuned"]
    assert "rclcpp/zenoh" in complete_candidate("rclcpp/")


def test_a_switch_is_written_as_in_a_suite():
    """It was `batching=False`, and `loan True`."""
    settings = {"loan": True, "modes": {"batching": False}}
    assert candidates._settings_text(settings) == "loan true, batching=false"
    (cell,) = cells_of(
        "message: Bytes(64), rate_hz: 9", "middleware: zenoh, modes: {batching: false}"
    )
    assert "batching=false" in plan_view._arm_text(cell.arm)


NAMES = ("floor", "fastdds")


def built(
    monkeypatch, capsys, *failing: str, options=("--partly",), names=NAMES, missing=None
) -> tuple[int, str]:
    """Return exit code and output of a build of `names` in which these fail. `missing`: middleware
    -> the packages that it lacks."""

    def fake(chosen, announce):
        return [
            build.BuildResult(r.middleware, "it broke" if r.middleware in failing else None)
            for r in chosen
        ]

    monkeypatch.setattr(build, "build", fake)
    # whatever version this machine has beside the system's
    monkeypatch.setattr(build, "with_newest", lambda chosen, newer: list(chosen))
    monkeypatch.setattr(build, "check", lambda chosen: None)
    monkeypatch.setattr(build, "missing_packages", lambda chosen: missing or {})
    return exit_code("middlewares", "build", *names, *options), capsys.readouterr().out


def test_a_worker_that_does_not_build_costs_its_own_arms_only(monkeypatch, capsys):
    assert {"floor", "fastdds"} <= recipes().keys()
    code, output = built(monkeypatch, capsys, "fastdds")
    assert (
        code == 0
        and "fastdds: its arms are left out until it is built: rmwbench middlewares build fastdds"
        in output
    )
    assert built(monkeypatch, capsys, "fastdds", options=())[0] == 1
    assert built(monkeypatch, capsys, "fastdds", "floor")[0] == 1
    assert built(monkeypatch, capsys, next(iter(tool_recipes())))[0] == 1


def test_a_partial_build_without_any_of_its_middlewares_has_failed(monkeypatch, capsys):
    """It ended with 0 if all of them lacked packages."""
    missing = {"fastdds": ("libfastdds-dev",)}
    code, output = built(monkeypatch, capsys, names=("fastdds",), missing=missing)
    assert code == 1 and "fastdds: left out, it needs libfastdds-dev" in output
    assert built(monkeypatch, capsys, missing=missing)[0] == 0  # floor is built
    assert built(monkeypatch, capsys, names=(next(iter(tool_recipes())),))[0] == 0
