"""What an imported bundle shows: where it comes from, what its original could not tell, which
errors it has, and its figures as published beside as corrected.

An imported bundle has no records, so the metrics of a campaign would all be `no data`; they are
named with the reason instead.
"""

from collections import Counter
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rmwbench.bundle import Bundle
from rmwbench.errors import UserError
from rmwbench.words.printable import printable


def is_imported(bundle: Bundle) -> bool:
    """Whether the bundle was imported and not measured by us."""
    return "imported" in bundle.campaign


def refuse_imported(bundle: Bundle) -> None:
    """Raises UserError where a verb that needs records was given an imported bundle."""
    if is_imported(bundle):
        raise UserError(
            "this bundle was imported: it has seconds or totals, and this needs messages",
            where=str(bundle.directory),
            fix="`rmwbench show` has its figures, `rmwbench query` its tables",
        )


def document(bundle: Bundle) -> dict[str, Any]:
    """The imported document (docs/importers.md)."""
    imported = bundle.campaign["imported"]
    rows = bundle.rows("figures")
    return {
        "schema": "rmwbench/imported",
        "version": 1,
        "campaign": {"name": bundle.campaign.get("campaign"), "directory": str(bundle.directory)},
        "imported": imported,
        "cells": len(bundle.rows("cells")),
        "trials": len(bundle.trials()),
        "windows": bundle.table("windows", columns=["trial"]).num_rows,
        "summary": _summary(rows),
        "figures": rows,
    }


def _summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        found = counts.setdefault((row["figure"], row["unit"]), Counter())
        found["points"] += 1
        found["published"] += row["as_published"] is not None
        found["no_data"] += row["as_corrected"] is None
        both = row["as_published"] is not None and row["as_corrected"] is not None
        found["changed"] += both and not _same(row["as_published"], row["as_corrected"])
    names = ("points", "published", "changed", "no_data")
    return [
        {"figure": f, "unit": u, **{n: found[n] for n in names}} for (f, u), found in counts.items()
    ]


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b))


def print_imported(doc: dict[str, Any], console: Console, *, figures: bool = False) -> None:
    """Print the document; with `figures` every point instead of a line per figure."""
    doc = printable(doc)
    imported = doc["imported"]
    source = imported["source"]
    console.print()
    console.print(Text(imported["title"], style="bold"))
    counts = (
        f"{doc['cells']} cells, {doc['trials']} trials, {doc['windows']} windows, "
        f"{len(doc['figures'])} figure points"
    )
    console.print(
        Text(
            f"{imported['kind']}, imported from {source['name']} ({source['files']} files): "
            f"{counts}"
        )
    )
    if source.get("skipped"):
        why = "an archive is imported by itself, links and pipes are not read"
        console.print(Text(f"skipped ({why}): {', '.join(source['skipped'])}"))
    if source.get("checked"):
        console.print(
            Text(f"{source['checked']} files agree with the list of checksums that comes with them")
        )
    console.print(Text(f"bundle: {doc['campaign']['directory']}", style="dim"))
    console.print()
    if figures:
        console.out("\n".join(_points(doc["figures"])), highlight=False)
        console.print()
    else:
        console.print(_lines(doc["summary"]))
    _list(
        console,
        "Known errors of the original",
        [(e["name"], e["text"]) for e in imported["errors"]],
    )
    _list(console, "No data", [(x["metric"], x["no_data"]) for x in imported["limits"]])


def _lines(summary: list[dict[str, Any]]) -> Table:
    table = _table(
        ("figure", False), ("unit", False), ("points", True), ("changed", True), ("no data", True)
    )
    for line in summary:
        changed = str(line["changed"]) if line["changed"] else ""
        missing = str(line["no_data"]) if line["no_data"] else ""
        table.add_row(
            *(
                Text(x)
                for x in (line["figure"], line["unit"], str(line["points"]), changed, missing)
            )
        )
    return table


POINT = ("figure", "series", "x", "unit", "as published", "as corrected", "n", "note")
NUMBERS = ("as published", "as corrected", "n")


def _points(rows: list[dict[str, Any]]) -> list[str]:
    """A line per point, however narrow the terminal is: there are thousands, and they are searched
    by the line."""
    lines = [POINT]
    for row in rows:
        published = "–" if row["as_published"] is None else f"{row['as_published']:.6g}"
        corrected = "no data" if row["as_corrected"] is None else f"{row['as_corrected']:.6g}"
        count = "" if row["count"] is None else str(row["count"])
        cells = (
            row["figure"],
            row["series"],
            row["x"],
            row["unit"],
            published,
            corrected,
            count,
            row["note"] or "",
        )
        lines.append(tuple(" ".join(cell.split()) for cell in cells))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = [">" if name in NUMBERS else "<" for name in POINT]
    return [
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(line, sides, widths, strict=True)
        ).rstrip()
        for line in lines
    ]


def _table(*columns: tuple[str, bool]) -> Table:
    from rich import box

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, right in columns:
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    return table


def _list(console: Console, title: str, entries: list[tuple[str, str]]) -> None:
    if entries:
        console.print(Text(title, style="bold"))
        for name, text in entries:
            console.print(Text(f"  – {name}: {text}"))
        console.print()
