"""`rmwbench evaluate tsc --budget TIME`: how an evaluation's sections would share the time, before anything runs."""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmwbench.cli.console import print_json, stdout_console
from rmwbench.cli.verbs.plan import parse_duration_s

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmwbench.campaign.plan.evaluation import Share


def register(app: typer.Typer) -> None:
    app.command(
        name="evaluate",
        help="Plan a committee's evaluation: which sections a budget holds, what each takes and could tell apart.",
        epilog="Plans only, and prints the commands that run the sections. Exit code 0: every section fits, "
        "1: one does not fit or cannot run here.",
    )(evaluate)


def evaluate(
    evaluation: Annotated[str, typer.Argument(metavar="NAME", help="Which evaluation: tsc.")] = "tsc",
    budget: Annotated[str, typer.Option(metavar="TIME", help="For all sections together, such as 2h or 8h.")] = "8h",
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as one document.")] = False,
) -> None:
    from rmwbench.campaign.plan.evaluation import EVALUATIONS, costs, share
    from rmwbench.errors import UserError, did_you_mean

    if evaluation not in EVALUATIONS:
        raise UserError(
            f"no evaluation is called `{evaluation}`",
            expected="one of " + ", ".join(EVALUATIONS),
            fix=did_you_mean(evaluation, EVALUATIONS),
        )
    budget_s = parse_duration_s(budget)
    found, absent = costs(EVALUATIONS[evaluation])
    shares = share(found, budget_s)
    document = _document(evaluation, budget_s, shares, absent)
    if as_json:
        print_json(document)
    else:
        _print(document)
    raise typer.Exit(1 if absent or any(not one.blocks for one in shares) else 0)


def _document(name: str, budget_s: float, shares: "Sequence[Share]", absent: "Mapping[str, str]") -> dict[str, Any]:
    from rmwbench.campaign.plan.evaluation import SCATTER, WITHOUT_RUNS

    return {
        "schema": "rmwbench/evaluate-plan",
        "version": 1,
        "evaluation": name,
        "budget_s": budget_s,
        "estimated_s": round(sum(one.seconds for one in shares), 1),
        "scatter": SCATTER,
        "sections": [
            {
                "section": one.cost.section.name,
                "title": one.cost.section.title,
                "suite": one.cost.section.suite,
                "short": one.cost.short,
                "blocks": one.blocks,
                "estimated_s": round(one.seconds, 1),
                "least_s": round(one.cost.least * one.cost.block_s, 1),
                "trials": one.blocks * one.cost.trials,
                "arms": list(one.cost.arms),
                "resolvable_ratio": one.resolves,
            }
            for one in shares
        ],
        "cannot_run": dict(absent),
        "without_runs": dict(WITHOUT_RUNS),
    }


def _print(doc: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    from rmwbench.words import numbers as fmt

    console = stdout_console()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in ("section", "blocks", "time", "trials", "finds"):
        table.add_column(head, justify="left" if head == "section" else "right")
    for one in doc["sections"]:
        if one["blocks"]:
            finds = f"{fmt.significant(one['resolvable_ratio'])}×"
            cells = (str(one["blocks"]), fmt.duration(one["estimated_s"]), str(one["trials"]), finds)
        else:
            cells = ("–", f"needs {fmt.duration(one['least_s'])}", "–", "not measured")
        table.add_row(Text(one["title"]), *map(Text, cells))
    console.print(table)
    console.print(
        Text(
            f"\n{fmt.duration(doc['estimated_s'])} of {fmt.duration(doc['budget_s'])}. A section finds ratios from the "
            f"last column on, in 95 of 100 campaigns, where block log-ratios scatter by {doc['scatter']:g}."
        )
    )
    for name, reason in doc["cannot_run"].items():
        console.print(Text(f"! {name} cannot run here: {reason}"))
    console.print(Text("\nTo run it, section by section:"))
    for one in doc["sections"]:
        if one["blocks"]:
            short = " --short" if one["short"] else ""
            spent = math.ceil(one["estimated_s"])
            run = f"rmwbench run {one['suite']}{short} --budget {spent}s --out evaluation/{one['section']}"
            console.print(Text(f"  {run}"))
    told = ", ".join(f"{name} ({verb})" for name, verb in doc["without_runs"].items())
    console.print(Text(f"Nothing runs in {told}."))
