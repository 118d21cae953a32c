"""The figures document as a view: in a terminal a line per figure, on a page every chart, with what
it has and has not beside it."""

from collections.abc import Iterator, Mapping
from typing import Any

from rmwbench.published.figures.figure_words import line, words
from rmwbench.report.view import (
    Block,
    Facts,
    Html,
    On,
    Picture,
    Section,
    TableCell,
    Text,
    View,
)

READING = (
    "Each figure on the axes of its original: as published, as the same data says without its "
    "known errors, and as measured. A cross is a value that does not exist. No text and no picture "
    "of the original is used, only its numbers."
)
NOTHING = (
    "Nothing was measured: `rmwbench published figures --campaign DIR` puts a campaign beside "
    "these."
)
BESIDE = (
    "Beside each chart stand layer and blocks, and where only some of the points were measured."
)


def view(doc: Mapping[str, Any], *, draw: bool = False) -> View:
    """`draw`: with the charts, which take long to import, for a page."""
    sources = doc["sources"]
    one = sources[0]["title"] if len(sources) == 1 else "Published figures"
    return View(
        title=f"{one}, redrawn",
        about=[Text(READING, "muted", on=On.PAGE), Text(_measured(doc), "muted", on=On.PAGE)],
        answer=[*_answer(doc)],
        sections=[_source(source, place, draw) for place, source in enumerate(sources)],
    )


def _measured(doc: Mapping[str, Any]) -> str:
    told = [", ".join(doc["campaigns"])] if doc["campaigns"] else []
    if doc["shipped"]:
        shipped = (f"{one['machine']} ({one['date']})" for one in doc["shipped"])
        told.append(f"what is shipped, {'; '.join(shipped)}")
    if not told:
        return NOTHING
    return f"Measured: {'; and '.join(told)}. {BESIDE}"


def _answer(doc: Mapping[str, Any]) -> Iterator[Block]:
    for one in doc["shipped"]:
        told = f"Measured for the shipped claims: {one['machine']} ({one['date']}). --no-shipped"
        yield Text(f"{told} leaves it out.", on=On.TERMINAL)
    more = "Points with a value. `rmwbench published figures SOURCE -o page.html` draws them."
    yield Text(more, on=On.TERMINAL)


def _source(source: Mapping[str, Any], place: int, draw: bool) -> Section:
    figures = source["figures"]
    lines = [(one["id"], f"{one['title']}: {line(one)}") for one in figures]
    blocks: list[Block] = [Facts(lines, on=On.TERMINAL)]
    if draw:
        blocks.append(Text(f"Numbers of the original: {source['data']}.", "muted"))
        drawn = [_figure(one, f"f{place}-{n}") for n, one in enumerate(figures)]
        contents = [("", TableCell(one.title, link=f"#{one.anchor}")) for one in drawn]
        blocks.append(Section(f"{len(figures)} figures", [Facts(contents)], folded=True))
        blocks += drawn
    title = f"{source['title']} ({source['published']})"
    return Section(title, blocks, anchor=f"s{place}", nav=source["source"], look="panel")


def _figure(figure: Mapping[str, Any], anchor: str) -> Section:
    place = " · ".join([figure["place"], *([", ".join(figure["images"])] * bool(figure["images"]))])
    blocks: list[Block] = [Text(place, "muted")]
    if figure["note"]:
        blocks.append(Text(figure["note"]))
    if figure["not_drawn"]:
        blocks.append(Text(f"Not drawn: {figure['not_drawn']}.", "muted"))
    for part in figure["parts"]:
        drawn = [*_part(part, figure["title"])]
        blocks += [Section(part["title"], drawn)] if part["title"] else drawn
    title = f"{figure['id']}: {figure['title']}"
    return Section(title, blocks, anchor=anchor, look="redrawn")


def _part(part: Mapping[str, Any], title: str) -> Iterator[Block]:
    from rmwbench.published.figures.figure_charts import axis_title, legend_of, specs
    from rmwbench.report.page import fragment

    if part["note"]:
        yield Text(part["note"])
    drawn = specs(part)
    axes = f"{axis_title(part['y'])}, by {axis_title(part['x'])}" if part["columns"] else ""
    for name, spec in drawn:
        yield Picture("figure", name or part["title"] or title, axes, spec, wide=True)
    if drawn and (legend := legend_of(part)):
        yield Html(fragment("redrawn_legend.html.j2", legend=legend))
    if told := [*words(part)]:
        yield Facts(told, on=On.PAGE)
