"""Consoles are made in one place, and what goes into a pipe is neither wrapped nor cut."""

import re
from pathlib import Path

import pytest
from rich.table import Table

from rmwbench.cli.console import stdout_console
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


def test_a_terminal_has_a_width(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes it for a terminal
    assert stdout_console().width < 1000


def test_no_verb_makes_a_console_of_its_own():
    made = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if re.search(r"\bConsole\)?\((?!quiet=True)", path.read_text(encoding="utf-8"))
    }
    assert made == {"cli/console.py"}


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
