"""`ros2 bench …`: the command of ros2cli hands everything to rmwbench. The class is tested without
ROS 2, and with the real `ros2` where one is sourced."""

import argparse
import os
import shutil
import subprocess
import sys
import types
from importlib import import_module
from pathlib import Path

import pytest

from rmwbench.lab.middleware import ros2
from tests.ros2 import sourced
from tests.support.program import run_program, script

PACKAGE = Path(__file__).parents[2] / "ros2" / "ros2bench"


@pytest.fixture
def bench(monkeypatch):
    """The module of the command, on a stub of ros2cli."""
    stub = types.ModuleType("ros2cli.command")
    stub.CommandExtension = object
    monkeypatch.setitem(sys.modules, "ros2cli", types.ModuleType("ros2cli"))
    monkeypatch.setitem(sys.modules, "ros2cli.command", stub)
    monkeypatch.syspath_prepend(PACKAGE)
    monkeypatch.setenv("RMWBENCH_COMMAND", "")  # so that what the command sets is undone
    monkeypatch.delenv("RMWBENCH_COMMAND")
    return import_module("ros2bench.command.bench")


def called(bench, monkeypatch, words: list[str]) -> tuple[list[list[str]], int | None]:
    """What is executed for `ros2 bench WORDS…`, and the exit code where nothing is."""
    executed: list[list[str]] = []
    monkeypatch.setattr(bench.os, "execv", lambda _, words: executed.append(words))
    parser = argparse.ArgumentParser("ros2")
    command = parser.add_subparsers().add_parser("bench")
    extension = bench.BenchCommand()
    extension.add_arguments(command, "ros2 bench")
    return executed, extension.main(parser=parser, args=parser.parse_args(["bench", *words]))


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--help"],
        ["-h"],
        ["run", "quick", "--budget", "2m"],
        ["--version"],
        ["show", "--", "x"],
    ],
)
def test_every_word_is_handed_on(bench, monkeypatch, words):
    executed, _ = called(bench, monkeypatch, words)
    assert executed == [[sys.executable, "-m", "rmwbench", *words]]
    assert os.environ["RMWBENCH_COMMAND"] == "ros2 bench"


@pytest.mark.parametrize("there", [(), ("rmwbench",)])
def test_a_program_on_the_path_will_do(bench, monkeypatch, there):
    """Also where this Python sees a checkout and nothing that it imports."""
    monkeypatch.setattr(bench, "find_spec", lambda name: name in there or None)
    monkeypatch.setattr(bench.shutil, "which", lambda name: "/venv/bin/rmwbench")
    executed, _ = called(bench, monkeypatch, ["doctor"])
    assert executed == [["/venv/bin/rmwbench", "doctor"]]


def test_without_rmwbench_one_sentence_says_how_to_get_it(bench, monkeypatch, capsys):
    monkeypatch.setattr(bench, "find_spec", lambda name: None)
    monkeypatch.setattr(bench.shutil, "which", lambda name: None)
    executed, code = called(bench, monkeypatch, ["run", "quick"])
    assert (executed, code) == ([], 2)
    assert "pip install" in capsys.readouterr().err


@sourced.needed
def test_ros2_knows_the_command(tmp_path):
    """The package as pip installs it, beside the ros2 of the sourced ROS 2."""
    if shutil.which("ros2") is None:
        pytest.skip("the sourced ROS 2 has no ros2cli")
    python = ros2.python(ros2._environment(dict(os.environ)))
    shutil.copytree(PACKAGE, tmp_path / "package")
    into = ["--install-dir", tmp_path / "lib"]
    install = ["setup.py", "--quiet", "install_lib", *into, "install_egg_info", *into]
    subprocess.run([python, *install], cwd=tmp_path / "package", check=True, capture_output=True)
    script(tmp_path / "bin" / "rmwbench", 'echo "$RMWBENCH_COMMAND: $*"\nexit 7')
    paths = {
        "PYTHONPATH": f"{tmp_path / 'lib'}:{os.environ.get('PYTHONPATH', '')}",
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
    }
    # Without the checkout: the program on the PATH is what this test looks at.
    kept = [p for p in paths["PYTHONPATH"].split(":") if not (Path(p) / "rmwbench").is_dir()]
    environment = os.environ | paths | {"PYTHONPATH": ":".join(kept)}
    environment.pop("RMWBENCH_COMMAND", None)
    done = run_program(python, shutil.which("ros2"), "bench", "run", "--help", env=environment)
    assert (done.returncode, done.stdout) == (7, "ros2 bench: run --help\n"), done.stderr
