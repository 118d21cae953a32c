"""The drawn figures as a view: in a terminal one line per figure; on a page, every chart, with a
text that says which points exist; an exported picture has the short sentences of it.

A campaign's own figures page has those figures of the published evaluations that it measures, with
the shipped points of the originals. It lies beside the report, which links to it. A campaign of any
other suite has no such page.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.figures.drawn_figures import (
    VERSIONS,
    DrawnFigure,
    DrawnFigures,
    DrawnPart,
    DrawnSource,
    MeasuredPoints,
)
from rmwbench.published.figures.figure_points import draw as draw_figures
from rmwbench.published.figures.figures_file import load, published_points
from rmwbench.published.sources import sources_about
from rmwbench.report.view import Block, Facts, Html, On, Picture, Section, TableCell, Text, View
from rmwbench.suite.file.suite_files import FIGURES_FILE
from rmwbench.whole_file import is_written_through, make_directory, write_whole
from rmwbench.words import numbers as fmt

READ_FROM = {
    "data": "",
    "text": "as printed in the text",
    "table": "as printed in a table",
    "plot": "read off the plot by eye, 2 % of the axis at best",
}
NOTHING_CHANGES = "the same: no known error touches these points"
_MOST_PLACES = 4
_MOST_REASONS = 4


def notes(part: DrawnPart) -> Iterator[tuple[str, str]]:
    """Yield what stands beside a chart: (version, sentence) for each version that has something to
    say."""
    published, corrected, measured = part.published, part.corrected, part.measured
    if published.absent:
        yield "published", published.absent
    elif READ_FROM[published.read_from]:
        yield "published", READ_FROM[published.read_from]
    if part.counts["published"]:
        yield "corrected", corrected.absent or _corrected_text(part)
    texts = (
        [measured.absent]
        if measured.absent
        else [*origins(measured), coverage(part), _machine_bound(measured), _why_absent(measured)]
    )
    if any(texts):
        yield "measured", "; ".join(text for text in texts if text)


def origins(measured: MeasuredPoints) -> list[str]:
    """Return machine, date, layers and blocks of what was measured, for each machine and day."""
    grouped: dict[tuple[str | None, str | None, str | None], list[int]] = {}
    for place, source in enumerate(measured.from_):
        key = (source.machine, source.date, None if source.shipped else source.campaign)
        grouped.setdefault(key, []).append(place)
    lines = []
    for (machine, date, campaign), places in grouped.items():
        points = [point for point in measured.points if point.from_ in places]
        layers = dict.fromkeys(point.layer for point in points if point.layer)
        blocks = sorted({point.blocks for point in points if point.blocks})
        texts = [
            machine or "",
            f"{date}, shipped" if date and not campaign else date or "",
            f"campaign {campaign}" if campaign else "",
            f"layer {' and '.join(layers)}" if layers else "",
            _range(blocks),
        ]
        lines.append(", ".join(text for text in texts if text))
    return lines


def coverage(part: DrawnPart) -> str:
    """Return how many of the cells were measured and at which places of the x axis, if only some
    were; empty otherwise."""
    cells = part.measured.cells
    if cells is None or cells.measured == cells.total:
        return ""
    text = f"only {cells.measured} of {fmt.counted(cells.total, 'cell')} of the whole suite"
    if not cells.at or len(cells.at) == cells.places:
        return text
    many = len(cells.at) > _MOST_PLACES
    at = f"{len(cells.at)} of {cells.places}" if many else ", ".join(cells.at)
    return f"{text} ({part.original.x.title}: {at})"


def summary_line(figure: DrawnFigure) -> str:
    """Return what a figure has in one line: the numbers of points published, corrected and
    measured, or why there are none."""
    if figure.original.not_drawn:
        return f"not drawn: {figure.original.not_drawn}"
    parts = figure.parts
    sums = {version: sum(part.counts[version] for part in parts) for version in VERSIONS}
    texts = [_points_text("published", sums, parts)]
    if sums["published"]:
        changed = sum(part.corrected.changed for part in parts)
        same = sums["corrected"] == sums["published"] and not changed
        differ = f" ({changed} differ)" if changed else ""
        corrected = _points_text("corrected", sums, parts) + differ
        texts.append("corrected the same" if same else corrected)
    cells = [part.measured.cells for part in parts if part.measured.cells]
    measured, total = sum(x.measured for x in cells), sum(x.total for x in cells)
    cell_counts = f" ({measured} of {total} cells)" if cells else ""
    texts.append(_points_text("measured", sums, parts) + cell_counts)
    return "; ".join(texts)


def _points_text(version: str, sums: Mapping[str, int], parts: Sequence[DrawnPart]) -> str:
    if sums[version]:
        return f"{version} {sums[version]}"
    absent = (part.versions[version].absent for part in parts)
    reasons = list(dict.fromkeys(reason or "no point has a value" for reason in absent))
    more = f" (and {fmt.counted(len(reasons) - 1, 'other reason')})" if len(reasons) > 1 else ""
    return f"{version} none: {reasons[0].partition('; ')[0]}{more}"


def _corrected_text(part: DrawnPart) -> str:
    corrected = part.corrected
    pairs = zip(part.published.points, corrected.points, strict=True)
    without_value = sum(a.y is not None and b.y is None for a, b in pairs)
    if not corrected.changed and not without_value:
        return NOTHING_CHANGES
    changed = corrected.changed
    points = fmt.counted(part.counts["published"], "point")
    text = f"{changed} of {points} change{'s' * (changed == 1)}"
    if not without_value:
        return text
    reasons = list(dict.fromkeys(point.note for point in corrected.points if point.note))
    reason = f" ({_reasons_text(reasons)})" if reasons else ""
    has = "has" if without_value == 1 else "have"
    return f"{text}, {without_value} {has} no value{reason}"


def _machine_bound(measured: MeasuredPoints) -> str:
    """Return a sentence about the points whose processors were busy throughout, if any: such points
    say little about a network and nothing about scaling."""
    points = [point for point in measured.points if point.y is not None]
    bound = sum(bool(point.machine_bound) for point in points)
    text = f"{bound} of {fmt.counted(len(points), 'point')} on processors that were busy throughout"
    return text if bound else ""


def _why_absent(measured: MeasuredPoints) -> str:
    """Return which arms have no value, where on the x axis, and why."""
    places_by_reason: dict[tuple[str, str], dict[str, None]] = {}
    for point in measured.points:
        if point.y is None and point.note:
            places_by_reason.setdefault((point.arm, point.note), {})[point.x] = None
    return _reasons_text(
        [
            f"{arm} at {_places_text(list(at))}: {note}"
            for (arm, note), at in places_by_reason.items()
        ]
    )


def _reasons_text(reasons: Sequence[str]) -> str:
    further = len(reasons) - _MOST_REASONS
    more = [f"and {further} more"] if further > 0 else []
    return "; ".join([*reasons[:_MOST_REASONS], *more])


def _places_text(places: Sequence[str]) -> str:
    return ", ".join(places) if len(places) <= _MOST_PLACES else f"{len(places)} places"


def _range(blocks: Sequence[int]) -> str:
    if not blocks:
        return ""
    low, high = blocks[0], blocks[-1]
    return fmt.counted(high, "block") if low == high else f"{low} to {high} blocks"


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


def view(drawn: DrawnFigures, *, draw: bool = False) -> View:
    """Return the view of the figures. `draw`: with the charts, which take long to import, for a
    page."""
    sources = drawn.sources
    title = sources[0].file.title if len(sources) == 1 else "Published figures"
    return View(
        title=f"{title}, redrawn",
        about=[
            Text(READING, "muted", on=On.PAGE),
            Text(_measured_text(drawn), "muted", on=On.PAGE),
        ],
        answer=[*_answer(drawn)],
        sections=[_source(source, place, draw) for place, source in enumerate(sources)],
    )


def _measured_text(drawn: DrawnFigures) -> str:
    sources = [", ".join(drawn.campaigns)] if drawn.campaigns else []
    if drawn.shipped:
        shipped = (f"{machine} ({date})" for machine, date in drawn.shipped)
        sources.append(f"what is shipped, {'; '.join(shipped)}")
    if not sources:
        return NOTHING
    return f"Measured: {'; and '.join(sources)}. {BESIDE}"


def _answer(drawn: DrawnFigures) -> Iterator[Block]:
    for machine, date in drawn.shipped:
        source = f"Measured for the shipped claims: {machine} ({date}). --no-shipped"
        yield Text(f"{source} leaves it out.", on=On.TERMINAL)
    more = "Points with a value. `rmwbench published figures SOURCE -o page.html` draws them."
    yield Text(more, on=On.TERMINAL)


def _source(source: DrawnSource, place: int, draw: bool) -> Section:
    figures = source.figures
    lines = [(x.original.id, f"{x.original.title}: {summary_line(x)}") for x in figures]
    blocks: list[Block] = [Facts(lines, on=On.TERMINAL)]
    if draw:
        blocks.append(Text(f"Numbers of the original: {source.data}.", "muted"))
        sections = [_figure(figure, f"f{place}-{n}") for n, figure in enumerate(figures)]
        contents = [("", TableCell(x.title, link=f"#{x.anchor}")) for x in sections]
        blocks.append(Section(fmt.counted(len(figures), "figure"), [Facts(contents)], folded=True))
        blocks += sections
    title = f"{source.file.title} ({source.file.published})"
    return Section(title, blocks, anchor=f"s{place}", nav=source.file.figures, look="panel")


def _figure(drawn: DrawnFigure, anchor: str) -> Section:
    figure = drawn.original
    place = " · ".join([figure.place, *([", ".join(figure.images)] * bool(figure.images))])
    blocks: list[Block] = [Text(place, "muted")]
    if figure.note:
        blocks.append(Text(figure.note))
    if figure.not_drawn:
        blocks.append(Text(f"Not drawn: {figure.not_drawn}.", "muted"))
    for part in drawn.parts:
        of_part = [*_part(part, figure.title)]
        blocks += [Section(part.original.title, of_part)] if part.original.title else of_part
    title = f"{figure.id}: {figure.title}"
    return Section(title, blocks, anchor=anchor, look="redrawn")


def _part(drawn: DrawnPart, title: str) -> Iterator[Block]:
    from rmwbench.published.figures.figure_charts import axis_title, legend_of, specs
    from rmwbench.report.render.html import fragment

    part = drawn.original
    if part.note:
        yield Text(part.note)
    charts = specs(drawn)
    axes = f"{axis_title(part.y)}, by {axis_title(part.x)}" if part.columns else ""
    for name, spec in charts:
        yield Picture("figure", name or part.title or title, axes, spec, wide=True)
    if charts and (legend := legend_of(drawn)):
        yield Html(fragment("redrawn_legend.html.j2", legend=legend))
    if facts := [*notes(drawn)]:
        yield Facts(facts, on=On.PAGE)


SHIPPED = "the points extracted from the published data, five digits"


def measured_by(campaign: MeasuredCampaign) -> DrawnFigures:
    """Return the figures that a campaign measures, and no others."""
    sources = []
    for name in sources_about(str(campaign.suite), FIGURES_FILE):
        rows = published_points(name)
        data = SHIPPED if rows else "what its text prints, where it prints any"
        sources.append((load(name), rows, data))
    drawn = draw_figures(sources, [campaign]).filter(
        lambda figure: any(part.counts["measured"] for part in figure.parts)
    )
    return replace(drawn, sources=[source for source in drawn.sources if source.figures])


def write_beside(campaign: MeasuredCampaign, report: Path) -> str | None:
    """Write the page beside a report and return its name; None if there is nothing to draw, or no
    place for it (beside /dev/stdout)."""
    from rmwbench.report.render.html import write_html  # a terminal takes none of it

    if is_written_through(report):
        return None
    drawn = measured_by(campaign)
    if not drawn.sources:
        return None
    path = report.with_name(f"{report.stem}-figures.html")
    write_html(view(drawn, draw=True), path)
    return path.name


def write_pictures(drawn: DrawnFigures, directory: Path) -> list[Path]:
    """Write every chart as SVG and PNG into a directory and return the files."""
    import vl_convert  # these take long, and most views draw nothing

    from rmwbench.published.figures.figure_charts import for_export, specs
    from rmwbench.report.chart.style import svg_of

    make_directory(directory)
    files = []
    for source in drawn.sources:
        for figure in source.figures:
            for number, part in enumerate(figure.parts):
                for title, spec in specs(part, legend=True):
                    titles = (figure.original.title, part.original.title, title)
                    heading = ": ".join(filter(None, titles))
                    origin = f"{source.file.title} ({source.file.published})"
                    card = [f"{origin}, {figure.original.place}", *_card(part)]
                    words = (source.file.figures, figure.original.id, str(number + 1), title)
                    name = re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(words)).strip("-").lower()
                    svg = svg_of(for_export(spec, heading, card))
                    files += [directory / f"{name}.svg", directory / f"{name}.png"]
                    write_whole(files[-2], svg)
                    write_whole(files[-1], vl_convert.svg_to_png(svg, scale=1.5))
    return files


def _card(part: DrawnPart) -> list[str]:
    texts = [
        f"{version}: {text}"
        for version, text in notes(part)
        if version != "measured" and len(text) < 120
    ]
    texts += [f"measured: {text}" for text in origins(part.measured)]
    return [" · ".join(texts)] if texts else []
