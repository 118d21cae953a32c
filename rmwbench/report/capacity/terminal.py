"""A capacity search in the terminal: the answer per arm, then each arm's curve as a table."""

import textwrap

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from rmwbench.report.capacity.rows import CAUSE, LEFT, Row, rows
from rmwbench.report.terminal_table import plain_table
from rmwbench.results.capacity import words
from rmwbench.results.capacity.model import Arm, Search, Searched
from rmwbench.results.machine.calibration import calibration_line
from rmwbench.words import numbers as fmt
from rmwbench.words.printable import printable

_STYLE = {"holds": "green", "mixed": "yellow", "fails": "red", "says nothing": "magenta"}


def print_capacity(found: Searched, console: Console) -> None:
    """At the console's width."""
    found = printable(found)
    campaign, search, trials = found.campaign, found.search, found.campaign.trials
    console.print()
    console.print(Text(words.question(search), style="bold"))
    counts = [fmt.counted(trials.done, "trial")]
    counts += [
        f"{count} {name}"
        for name, count in (("failed", trials.failed), ("void", trials.void))
        if count
    ]
    if not campaign.finished:
        counts.append("not finished")
    console.print(
        Text(
            f"{search.workload_title} · {campaign.name} · {', '.join(counts)} in "
            f"{fmt.counted(campaign.rounds, 'round')}, {fmt.duration(campaign.wall_s)}",
            style="dim",
        )
    )
    for text in (found.machine.summary, calibration_line(found.machine)):
        if text:
            console.print(Text(text, style="dim"))
    console.print()
    console.print(_answers(found))
    for arm in found.arms:
        if arm.levels:
            console.print()
            console.print(
                Text.assemble((arm.arm, "bold underline"), (f"  {_knee(arm, search)}", "dim")),
                soft_wrap=True,
            )
            console.print(_curve(arm, console, search))
    for kind, heading, mark, style in (
        ("conclude", "What you may conclude", "✓", "green"),
        ("caution", "What you may not", "✗", "yellow"),
    ):
        chosen = [one.text for one in found.conclusions if one.kind == kind]
        if chosen:
            console.print()
            console.print(Text(heading, style="bold"))
            for text in chosen:
                _bullet(console, mark, text, style)
    console.print()


def _answers(found: Searched) -> Table:
    search = found.search
    table = plain_table()
    table.add_column("arm", no_wrap=True)
    table.add_column(f"holds up to ({search.title})", justify="right", no_wrap=True)
    table.add_column("knee", justify="right", no_wrap=True)
    table.add_column("trials", justify="right", no_wrap=True)
    table.add_column("above it", overflow="fold")
    for arm in found.arms:
        capacity = arm.capacity
        marks = " (machine-bound)" if arm.machine_bound else ""
        table.add_row(
            Text(arm.arm, style="dim" if arm.role == "floor" else ""),
            Text(
                words.capacity(capacity, search.title),
                style="" if capacity.state in ("bracketed", "at least") else "magenta",
            ),
            Text(words.knee(arm, search.unit)),
            Text(str(capacity.trials)),
            Text(f"{words.beyond(arm)}{marks}", style="dim"),
        )
    return table


def _curve(arm: Arm, console: Console, search: Search) -> Table:
    """With intervals and causes where the terminal is wide enough for them; the report has them in
    any case."""
    wide = _levels(rows(arm, search))
    needed = Measurement.get(console, console.options.update(max_width=10_000), wide).minimum
    return wide if needed <= console.width else _levels(rows(arm, search, brief=True))


def _levels(body: list[Row]) -> Table:
    table = plain_table()
    for heading in body[0].cells:
        folds = heading == CAUSE
        table.add_column(
            heading,
            justify="left" if heading in LEFT else "right",
            no_wrap=not folds,
            min_width=24 if folds else None,
            overflow="fold" if folds else "ellipsis",
        )
    for row in body:
        cells = [
            Text(text, style="dim" if text in ("no data", "unstable") else "")
            for text in row.cells.values()
        ]
        cells[list(row.cells).index("limit")].stylize(_STYLE.get(row.verdict, ""))
        table.add_row(*cells)
    return table


def _knee(arm: Arm, search: Search) -> str:
    knee = arm.knee
    if knee.value is None:
        return f"no knee: {knee.no_data}"
    at = words.level(knee.value, search.unit, search.title)
    if knee.by == "queue":
        return f"knee at {at}, where the queue begins to grow"
    return (
        f"knee at {at}: the median doubles from {fmt.quantity(knee.base_ns, 'ns')} at "
        f"{words.level(knee.base, search.unit, search.title)}"
    )


def _bullet(console: Console, mark: str, text: str, style: str) -> None:
    lines = textwrap.wrap(
        text, max(20, console.width - 3), break_long_words=False, break_on_hyphens=False
    ) or [""]
    console.print(Text.assemble(" ", (mark, style), " ", lines[0]), no_wrap=True, crop=False)
    for line in lines[1:]:
        console.print(Text(f"   {line}"), no_wrap=True, crop=False)
