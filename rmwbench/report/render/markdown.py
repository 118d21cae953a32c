"""A view as Markdown with its charts beside it as SVG and PNG, for wikis, issues and pull requests.

Every picture contains its experiment card (suite, blocks, date, machine), because readers copy
pictures out of their pages. Texts are escaped, so that a name or a log line stays text in renderers
that allow HTML."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from rmwbench.report import view as shown
from rmwbench.report.chart.style import svg_of
from rmwbench.report.view import (
    Block,
    Facts,
    Items,
    On,
    Picture,
    Section,
    Table,
    TableCell,
    Text,
    Verbatim,
    View,
)
from rmwbench.whole_file import make_directory, write_whole
from rmwbench.words import numbers as fmt

_LEADS = {"warning": "Warning:", "alarm": "Warning:"}
NO_IMAGES: Mapping[tuple[str, str], str] = {}


def write_markdown(
    view: View, path: Path | str, *, bitmaps: bool = True, charts: Collection[str] | None = None
) -> list[Path]:
    """Write the text to `path` and its charts to the directory `NAME-charts` beside it, and return
    every path written. The text shows the charts as SVG; with `bitmaps` each is also written as
    PNG, for places that take no SVG. `charts` are the keys of the charts to write; all by
    default."""
    import vl_convert

    from rmwbench.report.chart.frame import with_card

    path = Path(path)
    directory = charts_directory(path)
    written: list[Path] = [path]
    images: dict[tuple[str, str], str] = {}
    for picture in pictures((*view.answer, *view.sections)):
        if picture.spec is None or (charts is not None and picture.key not in charts):
            continue
        card = list(picture.card or view.card)
        title = ": ".join(filter(None, (picture.of, picture.title)))
        svg = svg_of(with_card(picture.spec, title, card))
        make_directory(directory)
        target = directory / f"{file_name('-'.join(filter(None, (picture.of, picture.key))))}.svg"
        write_whole(target, svg)
        written.append(target)
        if bitmaps:
            write_whole(target.with_suffix(".png"), vl_convert.svg_to_png(svg, scale=1.5))
            written.append(target.with_suffix(".png"))
        images[picture.of, picture.key] = f"{directory.name}/{target.name}"
    write_whole(path, render_markdown(view, images))
    return written


def charts_directory(path: Path) -> Path:
    """Return the directory of the charts of a report at `path`; `file_name` makes their names,
    OF-KEY.svg and OF-KEY.png."""
    return path.with_name(f"{path.stem}-charts")


def pictures(blocks: Iterable[Block], on: On = On.MARKDOWN) -> Iterator[Picture]:
    """Yield the pictures of blocks and of the sections in them, in reading order."""
    for block in blocks:
        if on not in block.on:
            continue
        if isinstance(block, Picture):
            yield block
        elif isinstance(block, Section):
            yield from pictures(block.blocks, on)


def render_markdown(view: View, images: Mapping[tuple[str, str], str] = NO_IMAGES) -> str:
    """Return the text; `images` has the relative path of each picture by its `of` and `key`."""
    lines = [f"# {escape(view.title)}", ""]
    for blocks in (view.about, view.answer, view.sections):
        lines += render_blocks(blocks, images, level=2)
    return "\n".join(lines).rstrip() + "\n"


def render_blocks(
    blocks: Iterable[Block], images: Mapping[tuple[str, str], str] = NO_IMAGES, *, level: int
) -> Iterator[str]:
    """Yield the lines of blocks. The title of a section is a heading of `level`; sections in it
    have headings one level deeper."""
    for block in blocks:
        if On.MARKDOWN not in block.on:
            continue
        if isinstance(block, Section):
            yield from _section(block, images, level)
        elif isinstance(block, Text):
            yield from (_text(block), "")
        elif isinstance(block, Items):
            yield from (*(f"- {_item(item)}" for item in block.items), "")
        elif isinstance(block, Facts):
            yield from (*(f"- {_fact(name)}{_cell(value)}" for name, value in block.facts), "")
        elif isinstance(block, Table):
            yield from _table(block)
        elif isinstance(block, Picture):
            yield from _picture(block, images)
        elif isinstance(block, Verbatim):
            yield from ("```text", block.text.replace("```", "'''"), "```", "")


def _section(section: Section, images: Mapping[tuple[str, str], str], level: int) -> Iterator[str]:
    if section.folded:
        return
    lines = list(render_blocks(section.blocks, images, level=level + bool(section.title)))
    if lines and section.title:
        yield from (f"{'#' * level} {escape(section.title)}", "")
    yield from lines


def _text(block: Text) -> str:
    lead = block.lead or _LEADS.get(block.tone, "")
    text = f"**{escape(lead)}** {escape(block.text)}" if lead else escape(block.text)
    if block.tone in _LEADS:
        return f"> {text}"
    return f"**{text}**" if block.tone == "strong" else text


def _item(item: Text | str) -> str:
    return escape(item) if isinstance(item, str) else _text(item)


def _fact(name: str) -> str:
    return f"**{escape(name)}**: " if name else ""


def _table(table: Table) -> Iterator[str]:
    columns = [shown.column(column) for column in table.columns]
    visible = [n for n, column in enumerate(columns) if On.MARKDOWN in column.on]
    if table.title:
        yield from (f"**{escape(table.title)}**", "")
    yield _line(escape(columns[n].title) for n in visible)
    yield _line("---:" if columns[n].right else "---" for n in visible)
    for row in map(shown.row, table.rows):
        if row.heading:
            yield _line([f"*{escape(row.heading)}*", *([""] * (len(visible) - 1))])
        yield _line(_cell(row.cells[n]) for n in visible)
    yield ""


def _cell(value: TableCell | Verbatim | str) -> str:
    cell = shown.cell(value)
    text = escape(cell.text)
    if cell.link.startswith("http"):
        text = f"[{text}]({cell.link})"
    elif cell.badge:
        text = f"**{text}**"
    return " ".join(part for part in (text, escape(cell.detail)) if part)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _picture(picture: Picture, images: Mapping[tuple[str, str], str]) -> Iterator[str]:
    image = images.get((picture.of, picture.key))
    if picture.spec is not None and image is None:
        return
    yield from (f"**{escape(picture.title)}.** {escape(picture.reading)}", "")
    if image is not None:
        yield from (f"![{escape(picture.title)}]({image})", "")


def escape(text: str) -> str:
    """Return the text with Markdown's and HTML's special characters escaped and line breaks as
    spaces. A command of this tool between backticks stays code."""
    flat = " ".join(str(text).split("\n")).strip()
    return "".join(
        f"`{part}`" if command else _escaped(part) for part, command in fmt.commands(flat)
    )


def _escaped(flat: str) -> str:
    flat = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#])", r"\\\1", flat)


def file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text) or "workload"
