"""A comparison in a terminal: the differences of environment, a table per cell, what is not
comparable, the answer."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rmwbench.analysis.verdicts.statements import StatementVerdict
from rmwbench.results.compare.model import Compared, ComparedSide, Row, Topic
from rmwbench.results.model import Estimate
from rmwbench.words import numbers as fmt
from rmwbench.words.printable import printable

STYLES: Mapping[StatementVerdict, str] = {
    "worse": "bold red",
    "better": "bold green",
    "equivalent": "green",
    "undecided": "yellow",
    "no data": "magenta",
}
MOST_DIFFERENCES, MOST_LINES = 12, 12
FEW_CELLS = 3
"""Up to so many cells are all shown; of more those in which something changed."""
WIDE = 90
"""Columns from which on there is room for how long a decision would take."""

ANSWERS = {
    "worse": "B is worse than A in something.",
    "better": "B is better than A in something and worse in nothing.",
    "equivalent": "B is equivalent to A.",
    "undecided": "Not decided: nothing is shown to be worse, and not everything to be equivalent "
    "or better.",
}


def print_compare(found: Compared, console: Console) -> None:
    found = printable(found)
    console.print()
    for letter, side in (("A", found.a), ("B", found.b)):
        console.print(Text.assemble((f"{letter}  ", "bold"), side_text(side)))
    console.print()
    _answer(found, console)
    _environment(found.environment, console)
    for text in found.cautions:
        console.print(Text.assemble(("! ", "yellow"), text))
    _rows(found, console)
    if found.not_comparable:
        console.print()
        console.print(Text("Not comparable", "bold"))
        for item in found.not_comparable:
            console.print(Text(f"  {item.cell}: {item.reason}"))


def _answer(found: Compared, console: Console) -> None:
    """What changed, before everything else; then one line per metric of what did not."""
    console.print(
        Text.assemble((answer(found), STYLES[found.verdict]), (f"  {counts(found)}", "dim"))
    )
    for row in changed(found):
        console.print(Text.assemble((f"  {row.verdict}  ", STYLES[row.verdict]), change_text(row)))
    for line in unchanged(found):
        console.print(Text(f"  {line}", "dim"))


def side_text(side: ComparedSide) -> str:
    chosen = ", ".join(f"{k} {' or '.join(v)}" for k, v in side.selection.items())
    parts = [side.directory, chosen, side.created_utc, fmt.counted(side.trials.done, "trial")]
    if not side.finished:
        parts.append("not finished")
    return " · ".join(str(p) for p in parts if p)


def answer(found: Compared) -> str:
    if not found.rows:
        return "Nothing could be compared."
    number = Counter(row.verdict for row in found.rows)
    if found.verdict == "undecided" and not (number["undecided"] or number["no data"]):
        return "Not decided: A has cells that B lacks, or that are other workloads in B."
    if found.verdict == "worse":
        worse = (
            f"B is worse than A in {number['worse']} of "
            f"{fmt.counted(len(found.rows), 'comparison')}"
        )
        return f"{worse}, and better in {number['better'] or 'none'}."
    return ANSWERS[found.verdict]


def counts(found: Compared) -> str:
    """`2 worse, 5 equivalent`."""
    number = Counter(row.verdict for row in found.rows)
    return ", ".join(f"{number[verdict]} {verdict}" for verdict in STYLES if number[verdict])


def changed(found: Compared) -> list[Row]:
    """The rows that are decided to differ, worse ones first."""
    differing = (row for row in found.rows if row.verdict in ("worse", "better"))
    return sorted(differing, key=lambda row: row.verdict != "worse")


def unchanged(compared: Compared) -> list[str]:
    """A line per metric of the rows that are not decided to differ: `pss: 5 equivalent, 2 undecided
    (0.9× to 1.2×)`."""
    out = []
    by_metric: dict[str, list[Row]] = {}
    for row in compared.rows:
        if row.verdict not in ("worse", "better"):
            by_metric.setdefault(row.title, []).append(row)
    for title, rows in by_metric.items():
        number = Counter(row.verdict for row in rows)
        kinds = ", ".join(f"{n} {verdict}" for verdict, n in number.items())
        ratios = sorted(
            row.ratio.value for row in rows if row.ratio is not None and row.ratio.value is not None
        )
        span = (
            f" ({fmt.significant(ratios[0])}× to {fmt.significant(ratios[-1])}×)"
            if len(ratios) > 1
            else ""
        )
        out.append(f"{title}: {kinds}{span}")
    return out


def change_text(row: Row) -> str:
    ratio, interval = effect(row)
    return f"{row.cell}: {row.title} {row.reason if ratio == '–' else f'{ratio} {interval}'}"


def value(metric: Estimate | None) -> str:
    return fmt.metric(metric).text


def effect(row: Row) -> tuple[str, str]:
    """(`1.20×`, `[1.10–1.31]`), of a fraction (`+1.2 %`, `[0.8–1.6 %]`); an absent one reads
    `–`."""
    if (change := row.difference) is not None:
        low, high = _points(100 * change.low), _points(100 * change.high)
        return _points(100 * change.value), f"[{low} … {high}]"
    shown = fmt.ratio(row.ratio)
    return (shown.text, shown.interval) if shown.state == "measured" else ("–", "")


def _points(percent: float) -> str:
    return f"{'+' if percent > 0 else ''}{fmt.percent(percent / 100)}"


def _environment(topics: Sequence[Topic], console: Console) -> None:
    console.print()
    for topic in topics:
        word = {"same": "yes", "different": "no", "unknown": "not described"}[topic.answer]
        style = {"same": "green", "different": "yellow", "unknown": "magenta"}[topic.answer]
        question = topic.question
        console.print(Text.assemble(f"{question[0].upper()}{question[1:]} ", (word, style)))
        for d in topic.differences[:MOST_DIFFERENCES]:
            if d.lines:
                console.print(Text(f"  {d.name}:"))
                for line in d.lines[:MOST_LINES]:
                    console.print(
                        Text(f"    {line}", {"-": "red", "+": "green"}.get(line[:1], "dim")),
                        soft_wrap=True,
                    )
                if (more := len(d.lines) - MOST_LINES) > 0:
                    console.print(Text(f"    … {more} more lines (--json has them)", "dim"))
                continue
            cells = f"  ({', '.join(d.cells)})" if d.cells else ""
            sides = (shown(d.a), "bold"), " → ", (shown(d.b), "bold")
            console.print(Text.assemble(f"  {d.name}: ", *sides, (cells, "dim")))
        if (more := len(topic.differences) - MOST_DIFFERENCES) > 0:
            console.print(Text(f"  … {more} more (--json has them)", "dim"))
    console.print()


def shown(text: str | None) -> str:
    if text is None:
        return "absent"
    return text if len(text) <= 100 else text[:97] + "…"


def _rows(found: Compared, console: Console) -> None:
    """A table for each cell in which something changed, or for each at all where there are few."""
    cells = by_cell(found.rows)
    differing = [x for x in cells if any(row.verdict in ("worse", "better") for row in x[1])]
    shown_cells = cells if len(cells) <= FEW_CELLS else differing
    waits = any(row.needed for _, rows in shown_cells for row in rows) and console.width >= WIDE
    for cell, rows in shown_cells:
        console.print()
        arms = "" if rows[0].arm_a == rows[0].arm_b else f"  against {rows[0].arm_b}"
        console.print(Text.assemble((cell, "bold underline"), arms))
        table = Table(box=None, pad_edge=False)
        table.add_column("", min_width=16)
        for heading in ("A", "B", "B ÷ A", "interval"):
            table.add_column(heading, justify="right", header_style="dim", no_wrap=True)
        table.add_column("", no_wrap=True)
        if waits:
            table.add_column("would take", justify="right", header_style="dim", no_wrap=True)
        for row in rows:
            ratio, interval = effect(row)
            verdict = Text(row.verdict, STYLES[row.verdict])
            needed = [str(row.needed or "")] if waits else []
            table.add_row(row.title, value(row.a), value(row.b), ratio, interval, verdict, *needed)
        console.print(table)
        for row in rows:
            if row.verdict in ("undecided", "no data") and not row.needed:
                console.print(Text(f"  {row.title}: {row.reason}", "dim"))
        for flag in rows[0].flags:
            console.print(Text.assemble(("  ! ", "yellow"), flag))
    if hidden := len(cells) - len(shown_cells):
        console.print()
        console.print(
            Text(
                f"{fmt.counted(hidden, 'cell')} without a change not shown (--json and --html have "
                "them)",
                "dim",
            )
        )
    if waits:
        unit = "blocks" if found.paired else "trials of each arm in each campaign"
        console.print()
        console.print(
            Text(
                f"would take: {unit} that would decide it, were the ratio and its spread as they "
                "look now",
                "dim",
            )
        )


def by_cell(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    found: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        found.setdefault((row.cell_a, row.cell_b), []).append(row)
    return [(rows[0].cell, rows) for rows in found.values()]
