"""The machine card and the one table, for a person."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.ratio import has_interval

STYLES = {
    "met": "green",
    "not met": "red",
    "undecided": "yellow",
    "no promise": "dim",
    "no data": "yellow",
}


def render_machine(document: Mapping[str, Any], console: Any) -> None:
    """Prints the machine card and its load, which every document of `bench` begins with."""
    from rich.text import Text

    card = document["machine"]
    console.print(Text(card["summary"], "bold"))
    for warning in card["warnings"]:
        console.print(Text(f"  ! {warning}", "yellow"))
    loads = document["load_average"]
    console.print(
        Text(
            f"  load average {loads['begin']:.2f} at the beginning, {loads['end']:.2f} at the end",
            "dim",
        )
    )


def render(document: Mapping[str, Any], console: Any) -> None:
    """Prints the document of `--json` (docs/benchmarks.md) on a rich Console."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    render_machine(document, console)
    console.print()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading, justify in (
        ("what", "left"),
        ("ratio [95 %]", "right"),
        ("promised", "right"),
        ("", "left"),
    ):
        table.add_column(heading, justify=justify)
    for line in document["results"]:
        outcome = Text(line["verdict"], STYLES[line["verdict"]])
        if line["note"]:
            outcome.append(f": {line['note']}", "dim")
        table.add_row(Text(what(line)), ratio(line), limit(line["limit"]), outcome)
    for crash in document["crashed"]:
        table.add_row(Text(crash["bench"]), "", "", Text(f"crashed: {crash['problem']}", "red"))
    console.print(table)
    counts = [
        f"{n} {name}"
        for name in STYLES
        if (n := sum(r["verdict"] == name for r in document["results"]))
    ]
    console.print(Text(", ".join(counts) or "nothing was measured"))
    if document["interrupted"]:
        console.print(Text("interrupted: the rest was not measured", "red"))


def what(line: Mapping[str, Any]) -> str:
    return (
        f"{line['bench']} {size(line['message_bytes'])}, {line['metric'].replace('_', ' ')}: "
        f"{line['name']}"
    )


def size(message_bytes: int) -> str:
    for unit, factor in (("MB", 1e6), ("KiB", 1024)):
        if message_bytes >= 10_000 and message_bytes >= factor:
            return f"{message_bytes / factor:.3g} {unit}"
    return f"{message_bytes} B"


def ratio(line: Mapping[str, Any]) -> str:
    if line["pairs"] == 0:
        return "–"
    point = number(line["ratio"])
    if not has_interval(line):
        return f"{point} [–]"
    return f"{point} [{number(line['low'])}–{number(line['high'])}]"


def number(value: float | None) -> str:
    """Three significant digits; JSON has null for infinity."""
    return "∞" if value is None else f"{value:.2f}" if value < 10 else f"{value:.3g}"


def limit(limits: Sequence[float | None] | None) -> str:
    if limits is None:
        return ""
    lower, upper = limits
    if lower is None:
        return f"≤ {upper:g}"
    return f"≥ {lower:g}" if upper is None else f"{lower:g}–{upper:g}"
