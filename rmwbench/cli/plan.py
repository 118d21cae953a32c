"""`rmwbench plan SUITE`: what a campaign would run, how long it takes and what it could tell, without running
anything."""

import functools
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from rmwbench.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from rmwbench.campaign.plan import Comparison, Plan

LARGEST_RATIO = 1000
UNIT_S = {"s": 1, "m": 60, "min": 60, "h": 3600}


def register(app: typer.Typer) -> None:
    app.command(name="plan", help="Show cells, trials, time and resolution of a suite, without running it.")(plan)


def plan(
    suite: Annotated[
        str | None,
        typer.Argument(metavar="SUITE", help="A shipped suite such as `quick`, or the path of a suite file (.yaml)."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Fit whole blocks into this time, such as 90s, 5m or 1h30m; never fewer than the suite needs.",
        ),
    ] = None,
    short: Annotated[
        bool, typer.Option("--short", help="The suite's short version: the same factors, fewer levels, shorter trials.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Draws the order of trials and their schedules.")] = 0,
    order: Annotated[bool, typer.Option("--order", help="List every trial in its order.")] = False,
    cluster: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Also say what it takes on N machines of a cluster (docs/cluster.md)."),
    ] = None,
    gang: Annotated[
        bool,
        typer.Option("--gang", help="With --cluster: hosts are machines, with the real network between them."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan document (docs/formats/plan.md).")] = False,
    claims: Annotated[
        bool,
        typer.Option(
            "--claims",
            help="What `run --claims` would run for a published evaluation (SUITE is then its name; all if absent).",
        ),
    ] = False,
) -> None:
    import json

    if claims:
        from rmwbench.cli.claims_run import plan_claims

        unsuited = {"--short": short or None, "--order": order or None, "--cluster": cluster, "--gang": gang or None}
        plan_claims(suite, unsuited, budget=budget, as_json=as_json)
        return
    if suite is None:
        raise UserError("which suite?", expected="rmwbench plan SUITE", fix="rmwbench plan quick")

    from rmwbench.campaign import unsupported
    from rmwbench.campaign.plan import make_plan
    from rmwbench.cluster import estimate
    from rmwbench.lab.middleware import find_workers, names_here
    from rmwbench.suite.cells import cells, renumbered
    from rmwbench.suite.load import load
    from rmwbench.suite.placement import placed

    loaded = load(
        suite, middlewares=names_here(), shortened=short
    )  # as `run` does: a user's own worker is as good as a shipped one
    absent = unsupported.left_out(loaded.arms)
    chosen = [arm.name for arm in loaded.arms if arm.name not in absent]
    unsupported.check_arms_left(chosen, absent, suite)
    found = renumbered(tuple(cell for cell in cells(loaded) if cell.arm.name in chosen))
    if gang:
        if cluster is None:
            raise UserError("--gang is about the machines of a cluster", expected="--cluster N besides")
        found = placed(found, "--gang")
    workers = find_workers({name for cell in found for name in cell.middlewares})
    lacking = unsupported.described(found, workers)
    if len(lacking) == len(found):  # `run` refuses it with the reason; there is still a plan to look at
        lacking = {}
    budget_s = None if budget is None else parse_duration_s(budget)
    make = functools.partial(make_plan, loaded, found, seed=seed, unsupported=lacking)
    if cluster is not None and budget_s is not None:
        gangs = max(1, cluster // (max(len(cell.hosts) for cell in found) if gang else 1))
        budget_s = estimate.machine_budget_s(lambda machine_s: make(budget_s=machine_s), gangs, budget_s)
    made = replace(make(budget_s=budget_s), left_out=absent)
    per_trial = max(len(cell.hosts) for cell in found) if gang else 1
    on_cluster = None if cluster is None else estimate.document(made, cluster, per_trial)
    if as_json:
        document = made.document() | ({} if on_cluster is None else {"cluster": on_cluster})
        typer.echo(json.dumps(document, ensure_ascii=False))
    else:
        _print(made, order)
        if on_cluster is not None:
            typer.echo(f"\n{estimate.text(on_cluster)}")


def parse_duration_s(text: str) -> float:
    """Seconds of `90s`, `5m`, `1.5h` or `1h30m`; UserError for anything else, a bare number included (it names no
    unit)."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(min|[smh])", text)
    if not parts or re.sub(r"(\d+(?:\.\d+)?)\s*(min|[smh])|\s", "", text):
        bare = re.fullmatch(r"\s*\d+(\.\d+)?\s*", text)
        raise UserError(
            f"`{text}` is no time",
            where="--budget",
            expected="a number with its unit: 90s, 5m, 1h30m",
            actual=text,
            fix=f"did you mean `{text.strip()}m`?" if bare else None,
        )
    seconds = math.fsum(float(number) * UNIT_S[unit] for number, unit in parts)
    if not seconds > 0:
        raise UserError("a budget of no time runs nothing", where="--budget", expected="more than 0 s", actual=text)
    return seconds


def _print(made: "Plan", order: bool) -> None:
    from rich.console import Console
    from rich.markup import escape

    from rmwbench.campaign import unsupported
    from rmwbench.campaign.plan import duration_text
    from rmwbench.suite.suite import DECIDABLE_BLOCKS

    console = Console(highlight=False, soft_wrap=True)
    suite = made.suite
    console.print(f"[bold]{escape(suite.suite)}[/bold]: {escape(suite.title)}")
    arms = len({cell.arm.name for cell in made.cells})
    early = len(made.looks) > 1
    at_most, worst = "at most " if early else "", duration_text(made.estimated_s)
    console.print(
        f"{_count(arms, 'arm')}, {_count(len(made.comparisons), 'comparison')}, {_count(len(made.cells), 'cell')}; "
        f"{at_most}{_count(made.blocks, 'block')} of {duration_text(made.block_s)} = "
        f"{_count(len(made.trials), 'trial')}, about [bold]{worst}[/bold]"
    )
    if early:
        best = duration_text(made.least_blocks * made.block_s)
        awaited = ", ".join(suite.blocks.decide)
        console.print(
            f"It looks after {_series(made.looks)} blocks and ends as soon as everything "
            f"{f'in {escape(awaited)} ' if awaited else ''}is decided: "
            f"about [bold]{best}[/bold] at best, {worst} at worst. Seed {made.seed}.\n"
        )
    else:
        what = "for a verdict" if suite.blocks.minimum >= DECIDABLE_BLOCKS else "for the suite"
        console.print(
            f"At least {_count(suite.blocks.minimum, 'block')}, {duration_text(made.minimum_s)}, {what}. "
            f"Seed {made.seed}.\n"
        )
    console.print(_workload_table(made), soft_wrap=False)
    console.print(
        "\nOnly percentiles with at least ten messages beyond them are printed. \\[p90] stands on all blocks together"
        + (f", {made.least_blocks} at least." if len(made.looks) > 1 else ".")
    )
    _print_resolution(console, made)
    _print_networks(console, made)
    console.print("\n[bold]Arms[/bold]")
    for arm in {cell.arm.name: cell.arm for cell in made.cells}.values():
        how = [f"{arm.middleware}, profile {arm.profile.name}, wait {arm.wait}"]
        how += [f"publish {arm.publish_mode}"] * (arm.publish_mode != "default") + ["loan"] * arm.loan
        how += [f"{name}={value}" for name, value in [*arm.modes.items(), *arm.options.items()]]
        how += [f"{key}: {side.over(arm).middleware}" for key, side in arm.processes.items()]
        how += ["the floor"] * arm.is_floor
        console.print(f"  {escape(arm.name)}: {escape(', '.join(how))}")
    if made.left_out:
        console.print("\n[bold]Left out[/bold], being optional and not here")
        for text in unsupported.told_left_out(made.left_out):
            console.print(f"  {escape(text)}")
    if made.unsupported:
        console.print("\n[bold]Not supported[/bold], and not run")
        for text in unsupported.told(made, made.unsupported):
            console.print(f"  {escape(text)}")
    if order:
        console.print("\n[bold]Order[/bold]")
        for trial in made.trials:
            cell = made.cell(trial.cell)
            console.print(
                f"  trial {trial.trial:>4}  block {trial.block}  {escape(cell.comparison)}  {escape(cell.arm.name)}"
            )


def _print_networks(console: "Console", made: "Plan") -> None:
    """What lies between hosts, each network once with what is compared over it."""
    from rich.markup import escape

    from rmwbench.suite.network_words import told

    found: dict[tuple[str, ...], list[str]] = {}
    for cell in made.cells:
        if cell.links is not None:
            found.setdefault(tuple(told(cell.links)), []).append(cell.comparison)
        elif cell.real is not None:
            found.setdefault(tuple(cell.real.told()), []).append(cell.comparison)
    if found:
        console.print("\n[bold]Between hosts[/bold]")
    for lines, where in found.items():
        console.print(f"  {escape(', '.join(dict.fromkeys(where)))}")
        for line in lines:
            console.print(f"    {escape(line)}")


def _workload_table(made: "Plan"):
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading, justify in (
        ("compared in", "left"),
        ("what", "left"),
        ("steady", "right"),
        ("messages", "right"),
        ("percentiles", "left"),
    ):
        table.add_column(heading, justify=justify, overflow="fold")
    for comparison in made.comparisons:
        cell = comparison.cells[0]
        messages = "as fast as it goes" if comparison.steady_messages is None else str(comparison.steady_messages)
        steady = f"{cell.timeline.steady_s:g} s"
        table.add_row(
            escape(comparison.key),
            escape(cell.workload.display_title),
            steady,
            messages,
            escape(_percentiles(comparison)),
        )
    return table


def _percentiles(comparison: "Comparison") -> str:
    from rmwbench.suite.percentiles import percentile_name

    if comparison.steady_messages is None:
        return "as far as it goes"
    allowed = [p for p in comparison.percentiles if p.pooled]
    return (
        " ".join(percentile_name(p.quantile) if p.per_trial else f"[{percentile_name(p.quantile)}]" for p in allowed)
        or "none"
    )


def _print_resolution(console, made: "Plan") -> None:
    """One sentence per number of contenders; mostly one."""
    from rmwbench.suite.suite import DECIDABLE_BLOCKS

    if made.blocks < DECIDABLE_BLOCKS:
        console.print(
            f"With fewer than {DECIDABLE_BLOCKS} blocks nothing is decided: there are values, and no verdicts."
        )
        return
    for contenders in sorted({comparison.contenders for comparison in made.comparisons}):
        if not contenders:
            continue
        among = next(comparison for comparison in made.comparisons if comparison.contenders == contenders)
        ratios = " and ".join(f"{_times(ratio)} at a log-ratio sd of {sd:g}" for sd, ratio in among.resolvable)
        blocks = f"{'all ' * (len(made.looks) > 1)}{_count(made.blocks, 'block')}"
        console.print(
            f"With {blocks} and {_count(contenders, 'contender')} it finds, in 95 of 100 campaigns, a difference of "
            f"{ratios}; smaller ones by luck."
        )


def _times(ratio: float) -> str:
    """A ratio beyond any that two middlewares ever had is no promise."""
    return f"{ratio:.3g}×" if ratio < LARGEST_RATIO else f"none below {LARGEST_RATIO}×"


def _series(numbers: "tuple[int, ...]") -> str:
    return ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
