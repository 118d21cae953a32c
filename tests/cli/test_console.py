"""Consoles are made in one place, what goes into a pipe is neither wrapped nor cut, and the commands
of hints work when pasted."""

import re
import sys
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from rmwbench.cli.console import say, stderr_console, stdout_console
from rmwbench.command_name import COMMAND, as_typed
from rmwbench.errors import UserError
from rmwbench.suite.file.load import load
from tests.support.command import exit_code

PACKAGE = Path(__file__).parents[2] / "rmwbench"
LONG = "word-" * 60


@pytest.fixture
def piped(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)

    def lines():
        table = Table("name", "text")
        table.add_row("a", LONG)
        table.add_row("b", "some words that a narrow terminal wraps " * 5)
        console = stdout_console()
        console.print(table)
        console.print(LONG + " " + LONG)
        return capsys.readouterr().out.splitlines()

    return lines


def test_a_pipe_gets_a_line_per_row(piped):
    lines = piped()
    assert sum(LONG in line for line in lines) == 2 and "…" not in "".join(lines)
    assert any("some words that a narrow terminal wraps " * 5 in line for line in lines)
    # two rules of the table, its head and the rule below, two rows, the sentence
    assert len(lines) == 7


def test_columns_asks_for_a_width(piped, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    assert max(map(len, piped())) <= 70


@pytest.mark.parametrize("columns", ["0", "²"])
def test_a_width_that_is_none_is_ignored(capsys, monkeypatch, columns):
    """At a width of 0 the whole answer was empty."""
    monkeypatch.setenv("COLUMNS", columns)
    exit_code("plan", "quick")
    assert "percentiles" in capsys.readouterr().out


def test_a_line_number_in_a_text_is_no_emoji(capsys):
    """:100: and :1234: are names of pictures."""
    for console in (stdout_console(), stderr_console()):
        console.print("roudi.cpp:100: assertion failed")
    printed = capsys.readouterr()
    assert "roudi.cpp:100: assertion" in printed.out and "roudi.cpp:100: assertion" in printed.err


def test_a_terminal_has_a_width(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert stdout_console().width < 1000


def test_a_pipe_has_no_width_also_if_colour_is_forced(piped, monkeypatch):
    """As in the logs of many services that run tests: tables were wrapped to 80 columns."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert sum(LONG in line for line in piped()) == 2


def test_no_verb_makes_a_console_of_its_own():
    modules = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if re.search(r"\bConsole\)?\((?!quiet=True)", path.read_text(encoding="utf-8"))
    }
    assert modules == {"cli/console.py"}


@pytest.mark.parametrize(
    "verb",
    [
        ["published", "figures", "gscam-2025"],
        ["published", "claims", "ga-34-stall"],
        ["plan", "quick"],
        ["doctor"],
    ],
)
def test_what_goes_into_a_pipe_is_not_padded_to_a_width_that_it_has_not(capsys, monkeypatch, verb):
    monkeypatch.delenv("COLUMNS", raising=False)
    exit_code(*verb)
    lines = capsys.readouterr().out.splitlines()
    assert lines and max(map(len, lines)) < 2000


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
