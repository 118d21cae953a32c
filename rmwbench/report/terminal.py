"""The answer in a terminal: one table per workload, then what to conclude and what not.

A workload is one table where that fits (about 120 columns), otherwise two (latency and verdict,
then cost), or more where a number would be cut, rather than one with columns dropped: a hidden
column reads as `not measured`. Colour comes from rich, which is silent on pipes and under NO_COLOR;
no statement rests on it alone.
"""

import textwrap
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from rmwbench.analysis.verdicts.ordered_by import is_cost
from rmwbench.report import columns, narrow
from rmwbench.report.columns import Column
from rmwbench.report.evaluated import NOT_EVALUATED, Evaluated
from rmwbench.report.marks import Told, marks
from rmwbench.report.marks import notes as marked_notes
from rmwbench.report.terminal_table import plain_table
from rmwbench.report.terminal_topics import print_topics
from rmwbench.results.answer import done, more
from rmwbench.results.answer.conclusions import Kind, said_once
from rmwbench.results.answer.facts import by_what
from rmwbench.results.answer.headline import conditions, headline
from rmwbench.results.machine.calibration import calibration_line
from rmwbench.results.model import Estimate
from rmwbench.results.ros import bring_up, recordings, ros_variables
from rmwbench.results.shown import Arm, Matrix, Shown, Workload
from rmwbench.results.workload import effects, groups, interop, outcomes
from rmwbench.words import numbers as fmt
from rmwbench.words.printable import printable

_VERDICT_STYLE = {
    "best": "bold green",
    "equivalent": "green",
    "alone": "",
    "worse": "red",
    "undecided": "yellow",
    "reference": "dim",
    "no data": "magenta",
}
MOST_OPEN = 8
"""Lines about what is open; the report and `--json` have all."""
_TONE_STYLE = {
    "decided": "bold green",
    "shared": "bold green",
    "open": "bold yellow",
    "none": "bold magenta",
}


def print_show(doc: Shown, console: Console, evaluated: Evaluated = NOT_EVALUATED) -> None:
    """Print a show document (docs/formats/show.md) to the console, at the console's width."""
    doc = printable(doc)
    _print_campaign(doc, console)
    print_ros_variables(doc, console)
    print_bring_up(doc, console)
    print_recordings(doc, console)
    told: Told = {}
    for workload in doc.workloads:
        _print_workload(doc, workload, told, console)
    _print_growth(doc, console)
    _print_outcomes(doc, console)
    _print_warnings(doc, console)
    _print_conclusions(doc, console)
    _print_claims(evaluated.lines, console)
    _print_more(doc, console)


def verdict_text(arm: Arm) -> str:
    """`best`, `worse 1.84×`, `worse by loss`, `undecided`: a ratio stands only beside a verdict
    that says there is a difference."""
    if arm.not_supported:
        return "not supported"
    verdict, name = arm.verdict, arm.verdict.verdict
    where = f" in {verdict.topic}" if verdict.topic and name in ("worse", "undecided") else ""
    return f"{name} {by_what(arm)}".rstrip() + where


def _print_campaign(doc: Shown, console: Console) -> None:
    campaign, machine = doc.campaign, doc.machine
    console.print()
    console.print(Text(campaign.title or campaign.suite or "campaign", style="bold"))
    counts = [*done.counts(campaign), done.blocks(campaign)]
    if not campaign.finished:
        counts.append("not finished")
    for text in done.whole_failures(doc):
        console.print(Text(text, style="bold red"))
    _line(console, f"{campaign.name or ''} · {'; '.join(counts)}")
    for text in filter(None, (done.selected(campaign), campaign.not_run)):
        _line(console, text)
    for text in campaign.left_out:
        _line(console, f"Left out: {text}")
    _line(console, machine.summary)
    _line(console, calibration_line(machine))
    for warning in machine.red_warnings:
        _bullet(console, "!", warning, "bold red")
    if rest := machine.other_warnings:
        told = fmt.counted(len(rest), "warning")
        _bullet(console, "!", f"{told} about this machine, below the results", "yellow")


def _print_warnings(doc: Shown, console: Console) -> None:
    """What the numbers may suffer from: the answer comes before that."""
    rest = doc.machine.other_warnings
    if rest:
        console.print()
        console.print(Text("What this machine does to these numbers", style="bold"))
    for warning in rest:
        _bullet(console, "!", warning, "yellow")


def _print_workload(doc: Shown, workload: Workload, told: Told, console: Console) -> None:
    answer = headline(workload, conditions(doc).get(workload.workload))
    name, title = workload.workload, workload.title
    console.print()
    console.print(
        Text.assemble((name, "bold underline"), (f"  {title}" if title != name else "", "dim"))
    )
    if answer.limits:
        console.print(Text(answer.limits, style="bold"))
    console.print(Text(answer.answer, style=_TONE_STYLE[answer.tone]))
    if answer.detail:
        console.print(Text(answer.detail))
    console.print()
    if workload.matrix:
        console.print(_matrix(workload, workload.matrix))
        console.print()
    print_topics(workload, console)
    shown = columns.of(workload)
    whole = _table(workload, shown, released=True, judged=True)
    if (
        Measurement.get(console, console.options.update(max_width=10_000), whole).maximum
        <= console.width
    ):
        console.print(whole)
    else:
        latency, cost, *others = (
            tuple(c for c in shown if c.group == name)
            for name in ("latency", "cost", "beside", "asked")
        )
        parts = [_table(workload, latency, released=False, judged=True)]
        parts.append(_table(workload, cost, released=True, judged=False))
        parts += [
            _table(workload, columns, released=False, judged=False) for columns in others if columns
        ]
        for place, part in enumerate(
            table for whole in parts for table in narrow.fitting(whole, console)
        ):
            if place:
                console.print()
            console.print(part)
    for note in _notes(workload, told):
        _line(console, note)
    _print_effects(doc, workload, console)
    _print_groups(workload, console)
    for arm in workload.arms:
        if arm.not_supported:
            _bullet(console, "–", f"{arm.arm}: not supported: {arm.not_supported}", "dim")
        for failure in done.told_one_by_one(arm):
            # the first line tells what happened; the whole reason is in --json and in the report
            lines = (failure.reason or "").splitlines()
            reason = lines[0] if lines else "no reason recorded"
            _bullet(
                console,
                "!",
                f"{arm.arm}: trial {failure.trial} {failure.status}: {reason}",
                "magenta",
            )


def _matrix(workload: Workload, matrix: Matrix) -> Table:
    """Talkers down, listeners across: a mark, and the median where messages arrived."""
    table = plain_table()
    table.add_column("talker ↓  listener →", no_wrap=True)
    for listener in matrix.listeners:
        table.add_column(listener, justify="right")
    for talker, row in interop.shown(workload):
        cells = [
            Text("")
            if cell is None
            else Text(f"{cell.mark} {cell.words}", style=_OUTCOME_STYLE[cell.outcome])
            for cell in row
        ]
        table.add_row(Text(talker), *cells)
    return table


_OUTCOME_STYLE = dict.fromkeys(interop.OUTCOMES, "dim") | {
    "delivers": "green",
    "degraded": "yellow",
    "no delivery": "red",
    "no match": "red",
    "failed": "red",
}


def _print_effects(doc: Shown, workload: Workload, console: Console) -> None:
    """Arms against the one that they differ from in one thing, as ratios."""
    shown = effects.columns(workload)
    if not shown:
        return
    table = plain_table()
    table.add_column("one thing changed", no_wrap=True)
    for name in shown:
        table.add_column(doc.glossary[name].title, justify="right")
    for row in effects.rows(workload):
        table.add_row(*row)
    console.print()
    console.print(table)


def _print_groups(workload: Workload, console: Console) -> None:
    """Links, late nodes, interruptions: an arm's numbers below each other where they do not fit
    beside each other."""
    for group in groups.groups(workload):
        rows = groups.rows(workload, group)
        table = plain_table()
        across = [[row[0], *(text.partition(" [")[0] for text in row[1:])] for row in rows]
        heads = ["arm", *group.metrics]
        for place, head in enumerate(heads):
            table.add_column(head, justify="right" if place else "left", no_wrap=True)
        for row in across:
            table.add_row(*row)
        if (
            Measurement.get(console, console.options.update(max_width=10_000), table).maximum
            > console.width
        ):
            table = plain_table()
            for head in ("", *(row[0] for row in rows)):
                table.add_column(head, justify="right" if head else "left")
            for place, title in enumerate(group.metrics, start=1):
                table.add_row(title, *(row[place] for row in across))
        console.print()
        console.print(Text(group.title, style="bold"))
        console.print(table)


def _print_growth(doc: Shown, console: Console) -> None:
    if not doc.growth:
        return
    console.print()
    console.print(Text("Growth with the number of nodes", style="bold underline"))
    for row in doc.growth:
        title = doc.glossary[row.metric].title
        _bullet(console, "∝", f"{row.arm}: {title} ∝ nodes^{fmt.exponent(row)}: {row.text}", "")


_OBEYED_STYLE = {
    ros_variables.OBEYED: "green",
    ros_variables.NOT_OBEYED: "red",
    ros_variables.NO_DATA: "magenta",
}


def print_ros_variables(doc: Shown, console: Console) -> None:
    """For each case of ROS variables and each arm: obeyed or not, and what was heard."""
    told, found = doc.ros_variables, ros_variables.shown(doc)
    if told is None or found is None:
        return
    for part in found.parts:
        table = plain_table("case", "by the documentation", *found.heads)
        for row in part.rows:
            said = [_obeyed(cell) for cell in row.cells]
            table.add_row(Text(f"{row.case}: {row.text}"), Text(row.expected), *said)
        console.print()
        console.print(Text(part.title, style="bold underline"))
        console.print(table)
    console.print()
    console.print(Text(told.summary))
    _line(console, f"{told.text} Beside each answer: messages heard of those published.")
    for note in ros_variables.notes(told):
        _bullet(console, "!", note, "magenta")


def print_bring_up(doc: Shown, console: Console) -> None:
    """For each workload with lifecycle nodes: how they came up, and how many were active after how
    long."""
    if doc.bring_up is None:
        return
    for part in bring_up.shown(doc):
        console.print()
        console.print(Text(part.title, style="bold underline"))
        _line(console, f"{part.about}.")
        for heads, rows in ((part.heads, part.rows), (part.up_heads, part.up_rows)):
            table = plain_table(*heads)
            for row in rows:
                table.add_row(*map(Text, row))
            console.print(table)
    _line(console, doc.bring_up.text)


_RECORDED_STYLE = {
    recordings.KEPT_ALL: "green",
    recordings.LOSES: "red",
    recordings.NO_DATA: "magenta",
}


def print_recordings(doc: Shown, console: Console) -> None:
    """For each case of a recorder and each arm: what it kept, and where the rest was lost."""
    found = recordings.shown(doc)
    if found is None:
        return
    for part in found.parts:
        # An arm is a column: the places are too many for a terminal's width.
        table = plain_table()
        for place, arm in enumerate(["", *(row.arm for row in part.rows)]):
            table.add_column(Text(arm), justify="right" if place else "left")
        answers = [
            Text(row.cells[1], style=_RECORDED_STYLE.get(row.answer, "dim")) for row in part.rows
        ]
        table.add_row("", *answers)
        for place, head in enumerate(found.heads[2:], start=2):
            table.add_row(head, *(row.cells[place] for row in part.rows))
        console.print()
        console.print(Text(part.title, style="bold underline"))
        console.print(table)
    console.print()
    _line(console, found.text)
    for note in recordings.notes(doc):
        _bullet(console, "!", note, "magenta")


def _obeyed(cell: ros_variables.Cell | None) -> Text:
    if cell is None:
        return Text("")
    said = f"{cell.mark} {cell.answer} {cell.words}".rstrip()
    return Text(said, style=_OBEYED_STYLE.get(cell.answer, "dim"))


def _print_outcomes(doc: Shown, console: Console) -> None:
    """What becomes of each condition: words where they fit, otherwise a letter for an arm, and its
    mark alone."""
    judged, found = doc.outcomes, outcomes.shown(doc)
    if judged is None or found is None:
        return
    table, letters = _outcome_table(found, words=True), ""
    if (
        Measurement.get(console, console.options.update(max_width=10_000), table).maximum
        > console.width
    ):
        table = _outcome_table(found, words=False)
        letters = ", ".join(f"{_letter(place)} {arm}" for place, arm in enumerate(found.arms))
    console.print()
    console.print(Text("What becomes of each condition", style="bold underline"))
    if found.everywhere:
        _line(console, found.everywhere)
    console.print(table)
    _line(console, letters)
    console.print(Text(judged.summary))
    _line(console, judged.text)
    _line(console, "  ".join(f"{mark} {name}" for name, mark in outcomes.MARKS.items()))


def _outcome_table(found: outcomes.OutcomeMatrix, *, words: bool) -> Table:
    table = plain_table()
    for head in found.heads:
        table.add_column(head if words else head.rpartition(".")[2], no_wrap=True)
    for place, arm in enumerate(found.arms):
        table.add_column(arm if words else _letter(place), no_wrap=True)
    table.add_column("all together")
    for row in found.rows:
        cells = [
            Text("")
            if cell is None
            else Text(
                f"{cell.mark} {cell.outcome} {cell.value}".rstrip() if words else cell.mark,
                style=_CONDITION_STYLE.get(cell.outcome, "dim"),
            )
            for cell in row.cells
        ]
        whole = f"{row.mark} {row.words}" + (f" ({row.more})" if words and row.more else "")
        table.add_row(
            *row.labels, *cells, Text(whole, style=_CONDITION_STYLE.get(row.outcome, "dim"))
        )
    return table


def _letter(place: int) -> str:
    """`a` to `z`, then `a1`."""
    turn, at = divmod(place, 26)
    return "abcdefghijklmnopqrstuvwxyz"[at] + (str(turn) if turn else "")


_CONDITION_STYLE = {
    "meets": "green",
    "misses": "yellow",
    "only": "yellow",
    "none": "red",
    "open": "magenta",
}


def _table(workload: Workload, shown: tuple[Column, ...], *, released: bool, judged: bool) -> Table:
    table = Table(
        box=None, padding=(0, 2, 0, 0), collapse_padding=False, header_style="dim", pad_edge=False
    )
    table.add_column("arm", no_wrap=True)
    metrics = {column.key: columns.chosen(workload, column) for column in shown}
    primary = workload.primary_metric
    for column in shown:
        # Only what has no short title may wrap.
        whole = column.key != "primary"
        table.add_column(columns.title(column, metrics[column.key]), justify="right", no_wrap=whole)
    if released:
        table.add_column("released", no_wrap=True)
    if judged:
        table.add_column("× floor", justify="right", no_wrap=True)
        table.add_column("verdict", no_wrap=True)
    for place, arm in enumerate(workload.arms):
        if family := columns.family_begins(workload, place):
            table.add_row(Text(family, style="dim italic"))
        cells: list[Text] = [
            Text(f"{arm.label}{marks(arm)}", style="dim" if arm.role == "floor" else "")
        ]
        for column in shown:
            value = fmt.metric(arm.metrics.get(metrics[column.key] or ""))
            whole = column is columns.MEDIAN or (
                column in columns.IDLE and metrics[column.key] == primary
            )
            text = value.full if whole else "never" if value.state == "never" else value.text
            cells.append(
                Text(
                    text,
                    style={"absent": "dim", "never": "red", "bound": "italic"}.get(value.state, ""),
                )
            )
        if released:
            cells.append(Text((arm.release_date or "–")[:7], style="dim"))
        if judged:
            floor = fmt.ratio(arm.times_floor)
            cells.append(Text(floor.text if floor.state == "measured" else "–"))
            cells.append(Text(verdict_text(arm), style=_VERDICT_STYLE[arm.verdict.verdict]))
        table.add_row(*cells)
    return table


def _notes(workload: Workload, told: Told) -> list[str]:
    """`told`: what the workloads before it have said."""
    notes = []
    measured = [
        entry
        for arm in workload.arms
        if (entry := arm.metrics.get(workload.primary_metric)) and entry.value is not None
    ]
    if measured:
        counts = _range([entry.count for entry in measured])
        what = "trials" if is_cost(workload.primary_metric) else "messages"
        notes.append(f"[low–high]: {_intervals(measured)}; n = {counts} {what} per arm")
    if judged := _judged(workload, told):
        notes.append(judged)
    if workload.resolution.text:
        notes.append(workload.resolution.text)
    notes += [f"{mark} {text}" for mark, text in marked_notes(workload, told)]
    return notes


def _judged(workload: Workload, told: Told) -> str:
    """Than whom an arm is worse, and once per report what `undecided` means."""
    than: dict[str, list[str]] = {}
    for arm in workload.arms:
        if arm.verdict.verdict == "worse" and arm.verdict.against:
            than.setdefault(arm.verdict.against, []).append(arm.arm)
    said = []
    if len(than) == 1:
        said.append(f"worse: than {next(iter(than))}")
    elif than:
        said.append(
            "worse: " + "; ".join(f"{', '.join(arms)} than {best}" for best, arms in than.items())
        )
    open_ = {arm.arm for arm in workload.arms if arm.verdict.verdict == "undecided"}
    if open_ and not told.setdefault(("", "undecided"), set()):
        told["", "undecided"] |= open_
        said.append("undecided: it may be the best, or as good, or worse")
    return "; ".join(said)


def _intervals(measured: Sequence[Estimate]) -> str:
    """How the intervals of most arms were made, with the fewest and the most trials that one of
    those rests on: decided arms leave early."""
    kinds: dict[str, list[Estimate]] = {}
    for entry in measured:
        kind = (entry.interval or "interval").replace(f" {entry.trials} trial", " {} trial")
        kinds.setdefault(kind, []).append(entry)
    kind, alike = max(kinds.items(), key=lambda item: len(item[1]))
    most = "" if len(kinds) == 1 else "of most arms a "
    return most + kind.replace("{}", _range([entry.trials for entry in alike]))


def _range(counts: Iterable[int | None]) -> str:
    known = sorted(count for count in counts if count is not None)
    if not known:
        return "unknown"
    low, high = fmt.significant_count(known[0]), fmt.significant_count(known[-1])
    return low if low == high else f"{low} to {high}"


def _print_conclusions(doc: Shown, console: Console) -> None:
    kinds: tuple[tuple[Kind, str, str, str], ...] = (
        ("conclude", "What you may conclude", "✓", "green"),
        ("caution", "What you may not", "✗", "yellow"),
    )
    for kind, heading, mark, style in kinds:
        chosen = said_once(doc, kind)
        if not chosen:
            continue
        console.print()
        console.print(Text(heading, style="bold"))
        for at, text in chosen:
            _bullet(console, mark, f"{at}: {text}" if at else text, style)
    console.print()


def _print_claims(claimed: Sequence[tuple[str, str]], console: Console) -> None:
    """Those that are decided; the others are counted."""
    if not claimed:
        return
    console.print(Text("Claims of published evaluations", style="bold"))
    for answer, mark, style in (("holds", "✓", "green"), ("does not hold", "✗", "red")):
        for text in (text for found, text in claimed if found == answer):
            _bullet(console, mark, printable(text), style)
    rest = sum(answer not in ("holds", "does not hold") for answer, _ in claimed)
    if rest:
        _bullet(console, "–", f"{rest} undecided or without data; the report has them", "dim")
    console.print()


def _print_more(doc: Shown, console: Console) -> None:
    """What is open, and how many blocks would decide it: the last thing, because it is what to do
    next."""
    lines = more.lines(doc)
    if not lines:
        return
    console.print(
        Text(
            "What more blocks would decide, were ratios and scatter what they are now", style="bold"
        )
    )
    for text in lines[:MOST_OPEN]:
        _bullet(console, "?", text, "yellow")
    if len(lines) > MOST_OPEN:
        _bullet(
            console, "?", f"{len(lines) - MOST_OPEN} more take longer: --json has them", "yellow"
        )
    console.print()


def _line(console: Console, text: str) -> None:
    if text:
        console.print(Text(fmt.plain(text), style="dim"))


def _bullet(console: Console, mark: str, text: str, style: str) -> None:
    """A marked paragraph with a hanging indent; wrapped here because a grid pads every line with
    blanks."""
    lines = textwrap.wrap(
        fmt.plain(text), max(20, console.width - 3), break_long_words=False, break_on_hyphens=False
    ) or [""]
    console.print(Text.assemble(" ", (mark, style), " ", lines[0]), no_wrap=True, crop=False)
    for line in lines[1:]:
        console.print(Text(f"   {line}"), no_wrap=True, crop=False)
