"""The report as Markdown with its charts beside it as SVG and PNG, for wikis, issues and pull
requests.

Every picture carries its experiment card (suite, blocks, date, machine): it will be copied out of
the page it was made for. Texts are escaped so that a name or a log line stays text in the renderers
that allow HTML.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from rmwbench.report import columns, topic_rows
from rmwbench.report.chart.drawing import svg_of
from rmwbench.report.chart.workload import card, figures
from rmwbench.report.evaluated import NOT_EVALUATED, Evaluated
from rmwbench.report.marks import Told, marks
from rmwbench.report.marks import notes as marked_notes
from rmwbench.report.view import Picture
from rmwbench.results.answer import done, more
from rmwbench.results.answer.conclusions import Kind, said_once
from rmwbench.results.answer.facts import by_what_whole
from rmwbench.results.answer.headline import conditions, headline
from rmwbench.results.machine.calibration import calibration_line
from rmwbench.results.machine.model import Machine
from rmwbench.results.ros import bring_up, recordings, ros_variables
from rmwbench.results.shown import Shown, Workload
from rmwbench.results.workload import effects, groups, interop, outcomes, topics
from rmwbench.whole_file import make_directory, write_whole
from rmwbench.words import numbers as fmt


def write_markdown(
    doc: Shown,
    path: Path | str,
    evaluated: Evaluated = NOT_EVALUATED,
    *,
    bitmaps: bool = True,
    charts: Collection[str] | None = None,
) -> list[Path]:
    """Write the report to `path` and its charts to the directory `NAME-charts` beside it; every
    path written. The report shows the charts as SVG; `bitmaps`: as PNG too, for places that take no
    SVG. `charts`: only those of these keys; all where None."""
    import vl_convert

    from rmwbench.report.chart.charts import with_card

    path = Path(path)
    directory = charts_directory(path)
    make_directory(directory)
    written = [path]
    drawn = {workload.workload: list(figures(workload)) for workload in doc.workloads}
    images: dict[tuple[str, str], str] = {}
    for workload in doc.workloads:
        for figure in drawn[workload.workload]:
            if figure.spec is None or (charts is not None and figure.key not in charts):
                continue
            spec = with_card(figure.spec, f"{workload.title}: {figure.title}", card(doc, workload))
            name = f"{file_name(workload.workload)}-{figure.key}"
            svg = svg_of(spec)
            write_whole(directory / f"{name}.svg", svg)
            written.append(directory / f"{name}.svg")
            if bitmaps:
                write_whole(directory / f"{name}.png", vl_convert.svg_to_png(svg, scale=1.5))
                written.append(directory / f"{name}.png")
            images[workload.workload, figure.key] = f"{directory.name}/{name}.svg"
    write_whole(path, render_markdown(doc, drawn, images, evaluated))
    return written


def charts_directory(path: Path) -> Path:
    """Where the charts of a report at `path` are: WORKLOAD-KEY.svg and .png, by `file_name` and the
    figure's key."""
    return path.with_name(f"{path.stem}-charts")


def render_markdown(
    doc: Shown,
    drawn: dict[str, list[Picture]],
    images: dict[tuple[str, str], str],
    evaluated: Evaluated = NOT_EVALUATED,
) -> str:
    """The text; `drawn` has the figures of each workload, `images` the relative path of each
    (workload, figure)."""
    tables = (bring_up_lines, ros_variable_lines, recording_lines, outcome_lines)
    lines, told = [*_head(doc), *(line for table in tables for line in table(doc))], Told()
    for workload in doc.workloads:
        lines += _workload(doc, workload, drawn[workload.workload], images, told)
    if doc.growth:
        lines += ["## Growth with the number of nodes", ""]
        lines += [
            table_row(["arm", "cost", "exponent", "it"]),
            table_row(["---", "---", "---:", "---"]),
        ]
        for row in doc.growth:
            title = doc.glossary[row.metric].title
            lines.append(table_row([escape(row.arm), title, fmt.exponent(row), row.text]))
        lines.append("")
    kinds: tuple[tuple[Kind, str], ...] = (
        ("conclude", "What you may conclude"),
        ("caution", "What you may not"),
    )
    for kind, heading in kinds:
        items = said_once(doc, kind)
        if items:
            lines += [f"## {heading}", ""]
            lines += [f"- {_prefix(at)}{escape(text)}" for at, text in items]
            lines.append("")
    if found := more.lines(doc):
        lines += [
            "## What more blocks would decide",
            "",
            *(f"- {escape(text)}" for text in found),
            "",
        ]
    lines += _claims(evaluated)
    lines += _machine(doc)
    return "\n".join(lines).rstrip() + "\n"


def _head(doc: Shown) -> Iterable[str]:
    campaign, machine = doc.campaign, doc.machine
    yield f"# {escape(campaign.title or campaign.suite or 'campaign')}"
    yield ""
    for text in done.whole_failures(doc):
        yield f"**{escape(text)}**"
        yield ""
    counts = ", ".join(done.counts(campaign))
    yield (
        f"{escape(machine.summary)} · {str(campaign.created_utc)[:10]} · {counts} · "
        f"{done.blocks(campaign)} · campaign `{campaign.name}`"
    )
    yield ""
    if calibrated := calibration_line(machine):
        yield escape(calibrated)
        yield ""
    for text in filter(None, (done.selected(campaign), campaign.not_run)):
        yield escape(text)
        yield ""
    for text in campaign.left_out:
        yield escape(f"Left out: {text}")
        yield ""
    if not campaign.finished:
        yield "> **Not finished.** The campaign stopped early."
        yield ""
    for warning in machine.warnings:
        yield f"> **Warning:** {escape(warning)}"
        yield ""


def ros_variable_lines(doc: Shown) -> Iterable[str]:
    told, found = doc.ros_variables, ros_variables.shown(doc)
    if told is None or found is None:
        return
    yield from ("## ROS variables, obeyed or not", "", escape(told.summary), "")
    for part in found.parts:
        yield from (f"### {escape(part.title)}", "")
        yield table_row(map(escape, ["case", "by the documentation", *found.heads]))
        yield table_row(["---"] * (2 + len(found.heads)))
        for row in part.rows:
            cells = [f"{c.mark} {c.answer} {c.words}".rstrip() if c else "" for c in row.cells]
            must = f"[{escape(row.expected)}]({row.source})"
            yield table_row([escape(f"{row.case}: {row.text}"), must, *map(escape, cells)])
        yield ""
    yield escape(f"{told.text} Beside each answer: messages heard of those published.")
    yield ""
    if notes := [f"- {escape(note)}" for note in ros_variables.notes(told)]:
        yield from (*notes, "")


def bring_up_lines(doc: Shown) -> Iterable[str]:
    if doc.bring_up is None:
        return
    yield from ("## Bring-up", "", escape(doc.bring_up.text), "")
    for part in bring_up.shown(doc):
        yield from (f"### {escape(part.title)}", "", escape(f"{part.about}."), "")
        for heads, rows in ((part.heads, part.rows), (part.up_heads, part.up_rows)):
            yield table_row(map(escape, heads))
            yield table_row(["---"] * len(heads))
            yield from (table_row(map(escape, row)) for row in rows)
            yield ""


def recording_lines(doc: Shown) -> Iterable[str]:
    found = recordings.shown(doc)
    if found is None:
        return
    yield from ("## What the recorder kept, and where it lost the rest", "")
    for part in found.parts:
        yield from (f"### {escape(part.title)}", "")
        yield table_row(map(escape, found.heads))
        yield table_row(["---", "---"] + ["---:"] * (len(found.heads) - 2))
        for row in part.rows:
            yield table_row(map(escape, row.cells))
        yield ""
    yield from (escape(found.text), "")
    if notes := [f"- {escape(note)}" for note in recordings.notes(doc)]:
        yield from (*notes, "")


def outcome_lines(doc: Shown) -> Iterable[str]:
    judged, found = doc.outcomes, outcomes.shown(doc)
    if judged is None or found is None:
        return
    yield from ("## What becomes of each condition", "", escape(judged.summary), "")
    if found.everywhere:
        yield from (escape(found.everywhere), "")
    yield table_row(map(escape, [*found.heads, *found.arms, "all together"]))
    yield table_row(["---"] * (len(found.heads) + len(found.arms) + 1))
    for row in found.rows:
        cells = [f"{c.mark} {c.outcome} {c.value}".rstrip() if c else "" for c in row.cells]
        more = f" ({escape(row.more)})" if row.more else ""
        yield table_row(
            [
                *map(escape, [*row.labels, *cells]),
                f"**{row.mark} {escape(row.words)}**{more}",
            ]
        )
    yield from ("", escape(judged.text), "")


def _workload(
    doc: Shown,
    workload: Workload,
    drawn: list[Picture],
    images: dict[tuple[str, str], str],
    told: Told,
) -> Iterable[str]:
    answer = headline(workload, conditions(doc).get(workload.workload))
    yield f"## {escape(workload.title)}"
    yield ""
    if answer.limits:
        yield f"**{escape(answer.limits)}**"
        yield ""
    yield f"**{escape(answer.answer)}** {escape(answer.detail)}".rstrip()
    yield ""
    yield from _image(workload, "comparison", images)
    yield from matrix_lines(workload)
    yield from _topics(workload)
    yield from _table(workload)
    yield ""
    yield from _effects(doc, workload)
    yield from _groups(workload)
    notes = [f"- {escape(mark)} {escape(text)}" for mark, text in marked_notes(workload, told)]
    notes += [
        f"- {escape(arm.arm)}: not supported: {escape(arm.not_supported)}"
        for arm in workload.arms
        if arm.not_supported
    ]
    notes += [
        f"- {escape(arm.arm)}, trial {failure.trial} {failure.status}: "
        f"{escape(_first_line(failure.reason))}"
        for arm in workload.arms
        for failure in done.told_one_by_one(arm)
    ]
    if notes:
        yield from [*notes, ""]
    if workload.resolution.text:
        yield escape(workload.resolution.text)
        yield ""
    for figure in drawn:
        if figure.key == "comparison":
            continue
        if (workload.workload, figure.key) in images:
            yield f"**{figure.title}.** {figure.reading}"
            yield ""
            yield from _image(workload, figure.key, images)
        elif figure.key == "loss":
            yield f"**{figure.title}.** {figure.reading}"
            yield ""


def _topics(workload: Workload) -> Iterable[str]:
    """Arms by topics; empty where the workload has one, or topics that are alike."""
    found = workload.topics
    if not found:
        return
    yield table_row(["arm", *(escape(topic.topic) for topic in found), "worst"])
    yield table_row(["---", *(["---:"] * len(found)), "---"])
    for row in topic_rows.rows(workload):
        cells = [
            " ".join(part for part in (cell.full, cell.mark, cell.missing) if part)
            for cell in row.cells
        ]
        yield table_row(map(escape, [row.arm, *cells, row.worst or "–"]))
    yield ""
    told = "; ".join(f"{topic.topic}: {topics.facts(topic)}" for topic in found)
    yield f"{escape(topic_rows.KEY)}. {escape(told)}."
    yield ""


def _image(workload: Workload, key: str, images: dict[tuple[str, str], str]) -> Iterable[str]:
    image = images.get((workload.workload, key))
    if image:
        yield f"![{escape(workload.title)}: {key}]({image})"
        yield ""


def _effects(doc: Shown, workload: Workload) -> Iterable[str]:
    shown = effects.columns(workload)
    if not shown:
        return
    yield table_row(["one thing changed", *(doc.glossary[name].title for name in shown)])
    yield table_row(["---", *(["---:"] * len(shown))])
    for name, *words in effects.rows(workload):
        yield table_row([escape(name), *words])
    yield ""


def _groups(workload: Workload) -> Iterable[str]:
    """Links, late nodes, interruptions."""
    for group in groups.groups(workload):
        yield f"**{group.title}.** {group.reading}"
        yield ""
        yield table_row(["arm", *group.metrics])
        yield table_row(["---", *(["---:"] * len(group.metrics))])
        for row in groups.rows(workload, group):
            yield table_row(map(escape, row))
        yield ""


def matrix_lines(workload: Workload) -> Iterable[str]:
    """Nothing where its arms are no pairs."""
    if workload.matrix is None:
        return
    yield table_row(["talker ↓ listener →", *map(escape, workload.matrix.listeners)])
    yield table_row(["---", *(["---:"] * len(workload.matrix.listeners))])
    for talker, row in interop.shown(workload):
        yield table_row(
            [
                escape(talker),
                *("" if cell is None else escape(f"{cell.mark} {cell.words}") for cell in row),
            ]
        )
    yield ""


def _table(workload: Workload) -> Iterable[str]:
    shown = [(column, columns.chosen(workload, column)) for column in columns.of(workload)]
    header = [
        "arm",
        *(columns.title(column, metric) for column, metric in shown),
        "released",
        "× floor",
        "verdict",
    ]
    yield table_row(header)
    yield table_row(["---", *(["---:"] * len(shown)), "---", "---:", "---"])
    for place, arm in enumerate(workload.arms):
        if family := columns.family_begins(workload, place):
            yield table_row([f"*{family}*", *([""] * (len(header) - 1))])
        cells = [f"{escape(arm.label)} {escape(marks(arm))}".rstrip()]
        cells += [escape(fmt.metric(arm.metrics.get(metric or "")).full) for _, metric in shown]
        floor = fmt.ratio(arm.times_floor)
        cells.append(escape(arm.release_date or "–"))
        cells.append(escape(floor.full) if floor.state == "measured" else "–")
        cells.append(f"**{arm.verdict.verdict}** {escape(by_what_whole(arm))}".rstrip())
        yield table_row(cells)


def _claims(evaluated: Evaluated) -> Iterable[str]:
    if evaluated.table:
        yield from ("## Claims", "")
        yield from table(
            ("claim", "as published", "as corrected", "here"),
            (map(escape, row) for row in evaluated.table),
        )


def _machine(doc: Shown) -> Iterable[str]:
    yield from ("## The machine", "")
    yield from facts_table(doc.machine)


def facts_table(machine: Machine) -> Iterator[str]:
    """The machine's facts, as a table."""
    rows = ((fact.name, fact.value, fact.note or "") for fact in machine.facts)
    yield from table(("fact", "value", "note"), (map(escape, row) for row in rows))


def _prefix(at: str) -> str:
    return f"**{escape(at)}:** " if at else ""


def table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """A table of texts, and the empty line behind it."""
    yield table_row(heads)
    yield table_row(["---"] * len(heads))
    yield from map(table_row, rows)
    yield ""


def table_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escape(text: str) -> str:
    """Text that stays text: Markdown's and HTML's special characters escaped, line breaks as
    spaces. A command of ours between backticks stays code."""
    flat = " ".join(str(text).split("\n")).strip()
    return "".join(
        f"`{part}`" if command else _escaped(part) for part, command in fmt.commands(flat)
    )


def _escaped(flat: str) -> str:
    flat = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#])", r"\\\1", flat)


def _first_line(reason: str | None) -> str:
    return ((reason or "").splitlines() or ["no reason recorded"])[0]


def file_name(workload: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", workload) or "workload"
