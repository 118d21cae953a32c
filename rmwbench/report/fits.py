"""Fitted distributions for a person, and as CSV."""

import csv
import io
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rmwbench.results.fits import Fitted
from rmwbench.words.numbers import quantity, significant

CSV_COLUMNS = (
    *("workload", "arm", "metric", "messages", "lost", "autocorrelation", "effective"),
    *("family", "parameter", "value", "unit", "aic", "ks_distance"),
)


def as_csv(answer: Iterable[Fitted]) -> str:
    """A row per parameter of each family; times in ns."""
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(CSV_COLUMNS)
    for one in answer:
        about = [getattr(one, key) for key in CSV_COLUMNS[:7]]
        for family in one.families:
            for name, value in family.parameters.items():
                unit = "ns" if name.endswith("_ns") else "1"
                good = (family.aic, family.ks_distance)
                rows.writerow([*about, family.family, name, value, unit, *good])
    return text.getvalue()


def print_fits(answer: Sequence[Fitted], console: Console) -> None:
    if not answer:
        console.print("No trial of this campaign sent a message.")
    for one in answer:
        console.print(
            f"[bold]{escape(one.workload)}[/bold]  {escape(one.arm)}  [dim]{one.metric}[/dim]"
        )
        console.print(f"  {escape(one.text)}", soft_wrap=True)
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
        for title in ("  family", "distance", "ΔAIC", "p95 off by", "parameters"):
            table.add_column(
                title, justify="left" if title in ("  family", "parameters") else "right"
            )
        for family in one.families:
            table.add_row(
                f"  {family.family}",
                f"{family.ks_distance * 100:.2g} %",
                f"{family.aic - one.families[0].aic:.0f}",
                f"{family.quantile_errors['p95'] * 100:+.2g} %",
                ", ".join(_parameter(name, value) for name, value in family.parameters.items()),
            )
        if one.families:
            console.print(table)
        console.print()


def _parameter(name: str, value: float) -> str:
    stem = name.removesuffix("_ns").replace("_", " ")
    return f"{stem} {quantity(value, 'ns') if name.endswith('_ns') else significant(value)}"
