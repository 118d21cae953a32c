"""What a view says, for tests of who makes one."""

from collections.abc import Iterable, Iterator

from rmwbench.report import view as shown
from rmwbench.report.view import Block, Facts, Items, Picture, Section, Table, Text


def blocks(found: Iterable[Block]) -> Iterator[Block]:
    """All of them, those in sections too."""
    for block in found:
        yield block
        if isinstance(block, Section):
            yield from blocks(block.blocks)


def of_view(view: shown.View) -> list[Block]:
    return list(blocks((*view.about, *view.answer, *view.sections)))


def section(view: shown.View, title: str) -> Section:
    return next(b for b in of_view(view) if isinstance(b, Section) and b.title == title)


def texts(found: Iterable[Block]) -> list[str]:
    """The sentences, also of lists and of facts."""
    out: list[str] = []
    for block in blocks(found):
        if isinstance(block, Text):
            out.append(f"{block.lead} {block.text}".strip())
        elif isinstance(block, Items):
            out += [one if isinstance(one, str) else one.text for one in block.items]
        elif isinstance(block, Facts):
            out += [
                f"{name}: {one if isinstance(one, str) else one.text}" for name, one in block.facts
            ]
    return out


def tables(found: Iterable[Block]) -> list[Table]:
    return [block for block in blocks(found) if isinstance(block, Table)]


def pictures(found: Iterable[Block]) -> list[Picture]:
    return [block for block in blocks(found) if isinstance(block, Picture)]


def heads(table: Table) -> list[str]:
    return [shown.column(one).title for one in table.columns]


def cells(table: Table) -> list[list[str]]:
    """The texts of its cells, row by row."""
    return [[shown.cell(one).text for one in shown.row(row).cells] for row in table.rows]
