"""The tables of errors, for a person."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.table import render_machine

SCALES = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")),
    "byte/s": ((1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")),
}


def render(document: Mapping[str, Any], console: Any) -> None:
    """Prints the document of `--json` (docs/other-tools.md) on a rich Console."""
    from rich.text import Text

    render_machine(document, console)
    _table(console, "What other tools say of the same traffic", document["tools"])
    for absent in document["not_here"]:
        console.print(Text(f"not here: {absent['tool']}: {absent['reason']}", "bold yellow"))
    _table(console, "The same records, evaluated as others do", document["habits"])
    for pooled in document["seconds_as_samples"]:
        held = (
            f"{pooled['held']} of {pooled['trials']} intervals of 95 % hold the mean of the "
            "other trials"
        )
        console.print(Text(f"seconds as samples: {pooled['scenario']}: {held}"))
    for failure in document["failed"]:
        console.print(Text(f"failed: {failure['what']}: {failure['problem']}", "red"))
    if document["interrupted"]:
        console.print(Text("interrupted: the rest was not measured", "red"))


def _table(console: Any, title: str, lines: Sequence[Mapping[str, Any]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left", title_style="bold"
    )
    for heading, justify in (
        ("tool", "left"),
        ("scenario", "left"),
        ("quantity", "left"),
        ("it says", "right"),
        ("ledger", "right"),
        ("error [95 %]", "right"),
        ("n", "right"),
        ("", "left"),
    ):
        table.add_column(heading, justify=justify)
    for line in lines:
        says, ledger = (number(line[side], line["unit"]) for side in ("says", "ledger"))
        cells = [
            line["tool"],
            line["scenario"],
            line["quantity"],
            says,
            ledger,
            error(line),
            str(line["repetitions"]),
        ]
        table.add_row(*map(Text, cells), Text(line["note"] or "", "dim"))
    console.print(table)


def number(value: float | None, unit: str) -> str:
    """The value with its unit; three significant digits where it is not a count."""
    if value is None:
        return "–"
    if unit == "messages":
        return f"{value:,.0f}".replace(",", " ")
    if unit in SCALES:
        factor, name = next(((f, n) for f, n in SCALES[unit] if abs(value) >= f), SCALES[unit][-1])
        return f"{_digits(value / factor)} {name}"
    return f"{_digits(value)} {unit}"


def _digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def error(line: Mapping[str, Any]) -> str:
    """The error is relative where the ledger's value is not 0 and not a count; else it is in the
    quantity's unit."""
    if line["error"] is None:
        return "–"
    if line["unit"] == "messages" or line["relative"] is None:
        point, *bounds = (number(line[name], line["unit"]) for name in ("error", "low", "high"))
    else:
        point, *bounds = (_percent(value) for value in line["relative"])
    return f"{point} [{bounds[0]} … {bounds[1]}]" if line["low"] is not None else f"{point} [–]"


def _percent(value: float | None) -> str:
    if value is None:
        return "–"
    if value >= 1:
        return f"× {value + 1:.3g}"
    # a thousandth is the rounding of the tool's own digits
    return (
        "0 %"
        if abs(value) < 5e-4
        else f"{100 * value:+.1f} %"
        if value > -0.99
        else f"{100 * value:+.2f} %"
    )
