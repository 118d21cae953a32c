"""What a view says, for tests of who makes one."""

import io
from collections.abc import Iterable, Iterator

from rich.console import Console

from rmwbench.report import view as shown
from rmwbench.report.evaluated import NOT_EVALUATED, Evaluated
from rmwbench.report.render.html import render_html
from rmwbench.report.render.terminal import print_view
from rmwbench.report.show.suite_view import view as of_shown
from rmwbench.report.view import Block, Facts, Items, Picture, Section, Table, Text
from rmwbench.results.show_model import SuiteAnswer


def printed(view: shown.View, width: int = 160) -> str:
    """What a terminal has of it, without colours."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_view(view, console)
    return console.file.getvalue()


def page(doc: SuiteAnswer, evaluated: Evaluated = NOT_EVALUATED) -> str:
    """The page of a campaign's report."""
    return render_html(of_shown(doc, evaluated, draw=True))


def blocks(shown_blocks: Iterable[Block]) -> Iterator[Block]:
    """All of them, those in sections too."""
    for block in shown_blocks:
        yield block
        if isinstance(block, Section):
            yield from blocks(block.blocks)


def of_view(view: shown.View) -> list[Block]:
    return list(blocks((*view.about, *view.answer, *view.sections)))


def section(view: shown.View, title: str) -> Section:
    return next(b for b in of_view(view) if isinstance(b, Section) and b.title == title)


def texts(shown_blocks: Iterable[Block]) -> list[str]:
    """The sentences, also of lists and of facts."""
    out: list[str] = []
    for block in blocks(shown_blocks):
        if isinstance(block, Text):
            out.append(f"{block.lead} {block.text}".strip())
        elif isinstance(block, Items):
            out += [one if isinstance(one, str) else one.text for one in block.items]
        elif isinstance(block, Facts):
            out += [
                f"{name}: {one if isinstance(one, str) else one.text}" for name, one in block.facts
            ]
    return out


def tables(shown_blocks: Iterable[Block]) -> list[Table]:
    return [block for block in blocks(shown_blocks) if isinstance(block, Table)]


def pictures(shown_blocks: Iterable[Block]) -> list[Picture]:
    return [block for block in blocks(shown_blocks) if isinstance(block, Picture)]


def heads(table: Table) -> list[str]:
    return [shown.column(one).title for one in table.columns]


def cells(table: Table) -> list[list[str]]:
    """The texts of its cells, row by row."""
    return [[shown.cell(one).text for one in shown.row(row).cells] for row in table.rows]
