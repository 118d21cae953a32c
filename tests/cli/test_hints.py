"""Hints that work when pasted, and a build that leaves out what cannot be built."""

import pytest
from rich.table import Table
from rich.text import Text

from rmwbench.cli.console import say, stdout_console
from rmwbench.command_name import COMMAND, as_typed
from rmwbench.errors import UserError
from rmwbench.lab.middleware import build
from rmwbench.lab.middleware.catalogue import recipes, tool_recipes
from rmwbench.suite.file.load import load
from tests.support.command import exit_code


def test_a_hint_names_the_program_as_it_is_typed_here(monkeypatch):
    error = UserError("x", where="/a/rmwbench/b", fix="rmwbench run quick, or `rmwbench doctor`")
    assert "do: rmwbench run quick" in error.render()
    monkeypatch.setenv(COMMAND, ".venv/bin/rmwbench")
    assert "do: .venv/bin/rmwbench run quick, or `.venv/bin/rmwbench doctor`" in error.render()
    for text in (
        "/a/rmwbench/b",
        "rmwbench-floor is a worker",
        "this rmwbench",
        ".venv/bin/rmwbench run quick",
    ):
        assert as_typed(text) == text


def test_every_text_of_a_console_names_it_so_also_where_it_is_wrapped(monkeypatch, capsys):
    monkeypatch.setenv(COMMAND, "x/rmwbench")
    monkeypatch.setenv("COLUMNS", "30")
    console = stdout_console()
    table = Table("name")
    table.add_row("[bold]b[/bold] `rmwbench run a`")
    for text in (
        "see [dim]rmwbench doctor[/dim]: it tells",
        Text("rmwbench show d", style="bold"),
        table,
    ):
        console.print(text)
    say("ledger: rmwbench published claims")
    printed = " ".join(capsys.readouterr().out.split())
    for call in (
        "x/rmwbench doctor: it",
        "x/rmwbench show d",
        "b `x/rmwbench run",
        "ledger: x/rmwbench published",
    ):
        assert call in printed


def test_every_command_of_a_suite_file_that_has_no_short_version_can_be_pasted():
    with pytest.raises(UserError) as error:
        load("quick", shortened=True)
    assert "rmwbench plan`" not in error.value.render()


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
