"""What a newcomer needs to know the names of: suites, types, middlewares; and the shell's
completion of them."""

import json
import os

import pytest

from rmwbench.cli.machine import middlewares
from rmwbench.errors import UserError
from rmwbench.suite.file.suite_files import shipped_suites
from rmwbench.suite.workload.message_type import message_type_names
from tests.support import command


def rmwbench(*arguments, **environment):
    return command.rmwbench(*arguments, env={**os.environ, **environment})


def test_every_suite_has_its_line():
    lines = rmwbench("suites").stdout.splitlines()
    for name in shipped_suites():
        assert sum(line.split()[:1] == [name] for line in lines) == 1, name
    listed = json.loads(rmwbench("suites", "--json").stdout)
    assert [one["suite"] for one in listed] == shipped_suites()
    assert all(one["title"] for one in listed)


def test_every_type_has_its_line_with_its_size():
    text = rmwbench("types").stdout
    types = json.loads(rmwbench("types", "--json").stdout)
    assert [one["type"] for one in types] == message_type_names()
    for one in types:
        assert any(
            line.split()[:2] == [one["type"], str(one["payload_bytes"])]
            for line in text.splitlines()
        )
        assert one["message_bytes"] > one["payload_bytes"]
    assert "Bytes(N)" in text and "Image(WIDTHxHEIGHT)" in text


def test_a_middleware_is_shown_as_the_list_has_it():
    whole = json.loads(rmwbench("middlewares", "--json").stdout)
    one = json.loads(rmwbench("middlewares", "show", "floor", "--json").stdout)
    assert one["schema"] == whole["schema"]
    assert one["middlewares"] == [
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
