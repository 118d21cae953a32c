"""Every command that a page or a suite shows can be typed: its verb, its options and its suite are
there, and a line holds one command."""

import contextlib
import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from markdown_it import MarkdownIt

from rmwbench.cli.main import VERBS, _app
from rmwbench.suite.file.suite_files import shipped_suites

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("suites/**/*.yaml")),
    *sorted(ROOT.glob("limits/*.yaml")),
]
COMMAND = re.compile(rf"\brmwbench ((?:{'|'.join(sorted(VERBS))})\b.*)")
END = re.compile(r"\s#|[|;&<>`]|\s{2,}|\$\(")
"""What ends a command: a remark, another command, a redirection, a column of words."""
PLACEHOLDER = re.compile(r"[A-Z_]{2,}|…|\.\.\.|[\[\]]")
"""A word of the reader's own, as in SUITE or DIR."""


@functools.cache
def verb(name: str):
    return typer.main.get_command(_app(name)).commands[name]


def shown(path: Path) -> Iterator[str]:
    """The lines of code of a page, and the comments of a YAML file."""
    text = path.read_text().replace("\\\n", " ")
    if path.suffix == ".yaml":
        remarks = [line[1:] for line in text.splitlines() if line.startswith("#")]
        yield from (line for line in remarks if line.startswith("    "))
        yield from re.findall("`([^`]+)`", " ".join(remarks))
        return
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type in ("code_block", "fence"):
            yield from token.content.splitlines()
        for child in token.children or ():
            if child.type == "code_inline":
                yield child.content


def commands(line: str) -> Iterator[list[str]]:
    """The words behind `rmwbench` of the command in a line, if any; nothing where a quote goes on in
    the next line."""
    found = COMMAND.search(line)
    if found is not None:
        with contextlib.suppress(ValueError):
            yield shlex.split(END.split(found[1], maxsplit=1)[0])


def fault(words: list[str]) -> str | None:
    """What keeps the command from being typed."""
    command, words = verb(words[0]), words[1:]
    while own := getattr(command, "commands", {}):
        named = bool(words) and words[0] in own
        if not named and "show" not in own:  # otherwise names stand for `show` of them
            return f"nothing is called {' '.join(words)}" if words else None
        command, words = own[words[0] if named else "show"], words[1:] if named else words
    context = typer.Context(command, info_name=command.name)
    try:
        values, rest, _ = command.make_parser(context).parse_args(list(words))
    except typer.TyperException as error:
        return str(error.format_message())
    if rest:
        return f"nothing takes {' '.join(rest)}"
    suite = values.get("suite")
    if suite is None or PLACEHOLDER.search(suite) or suite.endswith(".yaml"):
        return None
    return None if suite in shipped_suites() else f"no suite {suite}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_is_shown_can_be_typed(page):
    wrong = {}
    for line in shown(page):
        for words in commands(line):
            if (why := fault(words)) is not None:
                wrong[line] = why
    assert wrong == {}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("rmwbench run quick --seed 1 rmwbench show DIR", "nothing takes rmwbench show DIR"),
        ("rmwbench run quik", "no suite quik"),
        ("rmwbench run quick --sed 1", "No such option"),
        ("$ rmwbench show DIR --json  # for programs", None),
        ("rmwbench published claims run --budget 40m", None),
        ("rmwbench published clams", "nothing is called clams"),
    ],
)
def test_a_command_that_cannot_be_typed_is_found(line, why):
    (words,) = commands(line)
    found = fault(words)
    assert found is None if why is None else why in (found or "")
