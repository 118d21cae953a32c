"""A calibration in the terminal, in full."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rmwbench.results.machine.calibration import exit_code, own_text
from rmwbench.results.machine.model import Calibrated, Cost
from rmwbench.results.model import Metric
from rmwbench.words import numbers as fmt


def print_calibration(answer: Calibrated, console: Console) -> None:
    """The whole of a calibration: what failed in a table, then the answer in one sentence."""
    truths, aa, own = answer.truths, answer.aa, answer.own_cost
    odd = [truth for truth in truths.list_ or () if truth.outcome != "recovered"]
    if odd:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
        for name in ("truth", "arm", "outcome", "what", "expected", "found"):
            table.add_column(name, overflow="fold")
        for truth in odd:
            checks = [check for check in truth.checks if check.outcome != "recovered"]
            rows = [(c.what, c.expected, c.found) for c in checks] or [(truth.reason or "", "", "")]
            for what, expected, found in rows:
                style = "red" if truth.outcome == "failed" else "yellow"
                cells = (
                    truth.truth,
                    f"{truth.workload}: {truth.arm}",
                    truth.outcome,
                    what,
                    expected,
                    found,
                )
                table.add_row(*(Text(str(cell)) for cell in cells), style=style)
        console.print(table)
        console.print()
    for pair in aa.pairs or ():
        if pair.outcome != "no difference":
            console.print(
                Text(f"A/A {pair.middleware} {pair.workload}: {pair.outcome}, {pair.reason}")
            )
        if pair.unconfirmed:
            text = (
                f"A/A {pair.middleware} {pair.workload}: different at first, not again "
                f"({pair.unconfirmed})"
            )
            console.print(Text(text))
    for missing in answer.not_tested:
        console.print(Text(f"not tested: {missing.what}: {missing.why}", style="dim"))
    text = (
        f"recovered {truths.recovered} of {truths.total} injected truths"
        + (f" ({truths.failed} failed, {truths.unknown} could not tell)" if odd else "")
        + f"; A/A declared different in {aa.different} of {aa.total}"
        + (f" ({aa.unknown} could not tell)" if aa.unknown else "")
    )
    console.print(Text(text, style=("bold green", "bold red", "bold yellow")[exit_code(answer)]))
    console.print(
        Text(
            f"{truths.checks} checks, {fmt.counted(truths.void_trials or 0, 'trial')} void by the "
            "machine"
        )
    )
    floor = aa.floor or {}
    if (whole := floor.get("all")) is not None:
        text = f"A/A noise at {aa.floor_blocks} blocks: {_percent(whole)}"
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
            f"{pair.middleware} {_percent(of.value)} [{_percent(of.low)} to {_percent(of.high)}]"
            for pair in aa.pairs or ()
            if pair.workload == size and (of := pair.floor)
        ]
        if own_floors:
            console.print(Text(f"  each arm's own, {size}: {', '.join(own_floors)}", style="dim"))
    if text := own_text(own):
        console.print(Text(text))
    costs = [
        f"{title} {fmt.metric(_metric(cost)).full}"
        for cost, title in ((own.clock_read, "a reading of the clock"), (own.record, "a record"))
        if cost is not None and cost.value is not None
    ]
    if costs:
        console.print(Text(", ".join(costs)))
    console.print(
        Text(f"took {fmt.duration(answer.wall_s)}; stored as {answer.stored}", style="dim")
    )


def _metric(cost: Cost) -> Metric:
    return Metric(unit=cost.unit, value=cost.value, low=cost.low, high=cost.high)


def _percent(fraction: float) -> str:
    return f"{fmt.significant(100 * fraction)} %"
