"""A decision in a terminal: the answer, a table of candidates, flip points."""

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from rmwbench.report.terminal_table import plain_table
from rmwbench.results.decide import words
from rmwbench.results.decide.model import Answer, Decided, Machine
from rmwbench.words.printable import printable

STYLES: Mapping[str, str] = {
    "meets": "bold green",
    "misses": "bold red",
    "open": "yellow",
    "unknown": "magenta",
}


def print_decide(found: Decided, console: Console) -> None:
    found = printable(found)
    console.print()
    console.print(Text(found.text, style="bold"))
    for machine in found.machines:
        console.print()
        console.print(Text(f"{machine.summary} · {', '.join(machine.campaigns)}", style="dim"))
        _candidates(machine, console)
        _cases(machine, console)
        _flips(machine, console)
    for summary in found.left_out:
        console.print(
            Text(f"! {summary}: none of its cells is what the limits are of", style="yellow")
        )


def _candidates(machine: Machine, console: Console) -> None:
    table = plain_table()
    for head in ("candidate", "all limits", "P(all)", "blocks", "because"):
        table.add_column(head, justify="right" if head in ("P(all)", "blocks") else "left")
    for one in machine.candidates:
        table.add_row(
            Text(one.arm),
            Text(one.outcome, style=STYLES[one.outcome]),
            words.probability(one.probability),
            str(one.blocks),
            Text(words.reason(one)),
        )
    console.print(table)


def _cases(machine: Machine, console: Console) -> None:
    """Which case each candidate meets, where there are several."""
    if len(machine.cases) < 2:
        return
    arms = [one.arm for one in machine.candidates]
    table = plain_table()
    for head in ("case", *arms):
        table.add_column(Text(head))
    for case in machine.cases:
        by = {one.arm: one for one in case.candidates}
        cells = [_short(by[arm]) if arm in by else Text("–", style="dim") for arm in arms]
        table.add_row(Text(case.case), *cells)
    console.print()
    console.print(table)


def _short(one: Answer) -> Text:
    shown = "" if one.probability is None else f" {words.probability(one.probability)}"
    return Text(f"{one.outcome}{shown}", style=STYLES[one.outcome])


def _flips(machine: Machine, console: Console) -> None:
    for along in machine.along:
        fixed = "".join(f", {name}={level}" for name, level in along.fixed.items())
        said = [*(words.flip(one, along) for one in along.flips), *words.only(along)]
        console.print()
        head = f"Along {along.factor} ({along.workload}{fixed}): "
        console.print(Text.assemble((head, "bold"), "; ".join(said) or words.NO_FLIP))
