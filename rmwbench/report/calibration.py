"""A calibration in the terminal, in full."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rmwbench.results.machine.calibration import exit_code, own_text
from rmwbench.results.model import Metric
from rmwbench.words import numbers as fmt


def print_calibration(document: Mapping[str, Any], console: Console) -> None:
    """The whole of a calibration: what failed in a table, then the answer in one sentence."""
    truths, aa, own = document["truths"], document["aa"], document["own_cost"]
    odd = [truth for truth in truths["list"] if truth["outcome"] != "recovered"]
    if odd:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
        for name in ("truth", "arm", "outcome", "what", "expected", "found"):
            table.add_column(name, overflow="fold")
        for truth in odd:
            checks = [check for check in truth["checks"] if check["outcome"] != "recovered"]
            rows = [(c["what"], c["expected"], c["found"]) for c in checks] or [
                (truth["reason"] or "", "", "")
            ]
            for what, expected, found in rows:
                style = "red" if truth["outcome"] == "failed" else "yellow"
                cells = (
                    truth["truth"],
                    f"{truth['workload']}: {truth['arm']}",
                    truth["outcome"],
                    what,
                    expected,
                    found,
                )
                table.add_row(*(Text(str(cell)) for cell in cells), style=style)
        console.print(table)
        console.print()
    for pair in aa["pairs"]:
        if pair["outcome"] != "no difference":
            console.print(
                Text(
                    f"A/A {pair['middleware']} {pair['workload']}: {pair['outcome']}, "
                    f"{pair['reason']}"
                )
            )
        if pair["unconfirmed"]:
            text = (
                f"A/A {pair['middleware']} {pair['workload']}: different at first, not again "
                f"({pair['unconfirmed']})"
            )
            console.print(Text(text))
    for missing in document["not_tested"]:
        console.print(Text(f"not tested: {missing['what']}: {missing['why']}", style="dim"))
    answer = (
        f"recovered {truths['recovered']} of {truths['total']} injected truths"
        + (f" ({truths['failed']} failed, {truths['unknown']} could not tell)" if odd else "")
        + f"; A/A declared different in {aa['different']} of {aa['total']}"
        + (f" ({aa['unknown']} could not tell)" if aa["unknown"] else "")
    )
    console.print(
        Text(answer, style=("bold green", "bold red", "bold yellow")[exit_code(document)])
    )
    console.print(
        Text(
            f"{truths['checks']} checks, {fmt.counted(truths['void_trials'], 'trial')} void by the "
            "machine"
        )
    )
    floor = aa["floor"]
    if floor.get("all") is not None:
        text = f"A/A floor at {aa['floor_blocks']} blocks: {_percent(floor['all'])}"
        sizes = [
            f"{name} {_percent(value)}"
            for name, value in floor.items()
            if name != "all" and value is not None
        ]
        console.print(
            Text(f"{text} ({', '.join(sizes)}): a smaller difference is told with a warning")
        )
    for size in ("small", "large"):
        own_floors = [
            f"{pair['middleware']} {_percent(of['value'])} [{_percent(of['low'])} to "
            f"{_percent(of['high'])}]"
            for pair in aa["pairs"]
            if pair["workload"] == size and (of := pair.get("floor"))
        ]
        if own_floors:
            console.print(Text(f"  each arm's own, {size}: {', '.join(own_floors)}", style="dim"))
    if text := own_text(own):
        console.print(Text(text))
    costs = [
        f"{title} {fmt.metric(Metric.of(own[name])).full}"
        for name, title in (("clock_read", "a reading of the clock"), ("record", "a record"))
        if "value" in own.get(name, {})
    ]
    if costs:
        console.print(Text(", ".join(costs)))
    console.print(
        Text(
            f"took {fmt.duration(document['wall_s'])}; stored as {document['stored']}", style="dim"
        )
    )


def _percent(fraction: float) -> str:
    return f"{fmt.significant(100 * fraction)} %"
