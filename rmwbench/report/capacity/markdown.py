"""A capacity search as Markdown with its pictures beside it as SVG and PNG."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from rmwbench.report.capacity.charts import figures
from rmwbench.report.capacity.html import card
from rmwbench.report.capacity.rows import rows
from rmwbench.report.chart.drawing import svg_of
from rmwbench.report.markdown import escape
from rmwbench.results.capacity import words
from rmwbench.results.capacity.model import Searched
from rmwbench.whole_file import make_directory, write_whole
from rmwbench.words import numbers as fmt


def write_markdown(found: Searched, path: Path | str) -> list[Path]:
    """Write the text to `path` and its charts to the directory `NAME-charts` beside it; every path
    written."""
    import vl_convert

    from rmwbench.report.chart.charts import with_card

    path = Path(path)
    directory = path.with_name(f"{path.stem}-charts")
    make_directory(directory)
    written, images = [path], {}
    for figure in figures(found):
        if figure.spec is None:
            continue
        svg = svg_of(with_card(figure.spec, figure.title, card(found)))
        target = directory / f"{figure.key}.svg"
        write_whole(target, svg)
        write_whole(target.with_suffix(".png"), vl_convert.svg_to_png(svg, scale=1.5))
        written += [target, target.with_suffix(".png")]
        images[figure.key] = f"{directory.name}/{target.name}"
    write_whole(path, render_markdown(found, images))
    return written


def render_markdown(found: Searched, images: Mapping[str, str]) -> str:
    """The text; `images` has the relative path of each figure."""
    search, campaign = found.search, found.campaign
    trials = campaign.trials
    counts = fmt.counted(trials.done, "trial") + "".join(
        f", {count} {name}"
        for name, count in (("failed", trials.failed), ("void", trials.void))
        if count
    )
    lines = [
        f"# {escape(words.question(search))}",
        "",
        f"{escape(search.workload_title)} · {escape(found.machine.summary)} · "
        f"{str(campaign.created_utc)[:10]} · {counts} · campaign `{campaign.name}`",
        "",
    ]
    if not campaign.finished:
        lines += ["> **Not finished.** The search was stopped early.", ""]
    for warning in found.machine.warnings:
        lines += [f"> **Warning:** {escape(warning)}", ""]
    lines += [*_table(["arm", "holds up to", "knee", "trials", "above it"], _answers(found)), ""]
    for figure in figures(found):
        if figure.key in images:
            lines += [
                f"**{figure.title}.** {figure.reading}",
                "",
                f"![{figure.title}]({images[figure.key]})",
                "",
            ]
    for kind, heading in (("conclude", "What you may conclude"), ("caution", "What you may not")):
        texts = [one.text for one in found.conclusions if one.kind == kind]
        if texts:
            lines += [f"## {heading}", "", *(f"- {escape(text)}" for text in texts), ""]
    for arm in found.arms:
        if arm.levels:
            body = [row.cells for row in rows(arm, search)]
            lines += [
                f"## {escape(arm.arm)}",
                "",
                *_table(list(body[0]), (list(c.values()) for c in body)),
                "",
            ]
    return "\n".join(lines).rstrip() + "\n"


def _answers(found: Searched) -> Iterable[list[str]]:
    search = found.search
    for arm in found.arms:
        yield [
            arm.arm,
            words.capacity(arm.capacity, search.title),
            words.knee(arm, search.unit),
            str(arm.capacity.trials),
            f"{words.beyond(arm)}{' (machine-bound)' if arm.machine_bound else ''}",
        ]


def _table(headings: list[str], body: Iterable[list[str]]) -> Iterable[str]:
    yield f"| {' | '.join(headings)} |"
    yield f"|{'|'.join(['---'] * len(headings))}|"
    for row in body:
        yield f"| {' | '.join(escape(cell) for cell in row)} |"
