"""The terminal's text, compared with snapshots; its width, its colour, and what a hostile log
cannot do."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from rmwbench.report.render.terminal import print_view
from rmwbench.report.show.suite_view import view
from rmwbench.results.show_model import SuiteAnswer
from tests.report.example_document import example, example_document
from tests.report.snapshot import check
from tests.support.typed import typed


def printed(shown, width, **console):
    out = io.StringIO()
    print_view(view(shown), Console(file=out, width=width, highlight=False, **console))
    return out.getvalue()


@pytest.mark.parametrize("width", [120, 80])
def test_snapshot(width):
    check(f"terminal-{width}.txt", printed(example(), width))


@pytest.mark.parametrize("width", [200, 120, 100, 80])
def test_no_line_is_wider_than_the_terminal_and_no_number_is_cut(width):
    lines = printed(example(), width).splitlines()
    assert max(len(line.rstrip()) for line in lines) <= width
    assert "…" not in "".join(lines)


def test_colour_only_on_terminals(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" not in printed(example(), 120)
    coloured = printed(example(), 120, force_terminal=True, color_system="standard")
    assert "\x1b[32m" in coloured or "\x1b[1;32m" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    plain = printed(example(), 120, force_terminal=True, color_system="standard")
    assert "\x1b[32m" not in plain and "\x1b[1;32m" not in plain and "\x1b[31m" not in plain


def test_a_log_cannot_drive_the_terminal():
    document = example_document()
    evil = "\x1b]0;owned\x07 \x1b[2J[red]not markup[/red] \x9b31m"
    document["workloads"][0]["arms"][1]["not_supported"] = evil
    text = printed(typed(SuiteAnswer, document), 120)
    assert "\x1b" not in text and "\x07" not in text and "\x9b" not in text
    assert "[red]not markup[/red]" in text


def test_of_the_machine_only_what_makes_numbers_worthless_is_in_a_terminal():
    doc = example()
    red, other = "everything is emulated", "two cores"
    machine = replace(doc.machine, warnings=(other, red), red_warnings=(red,))
    text = printed(replace(doc, machine=machine), 120)
    assert red in text and other not in text
    assert "1 warning about this machine" in text


def test_the_answer_stands_last():
    text = printed(example(), 100)
    end = text[text.index("The answer") :]
    assert all(workload.workload in end for workload in example().workloads)
    assert len(end.splitlines()) <= 20
