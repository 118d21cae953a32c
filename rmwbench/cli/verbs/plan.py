"""`rmwbench plan SUITE`: what a campaign would run, how long it takes and what it could tell,
without running anything."""

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from rmwbench.beside import each
from rmwbench.cli.choice import At, Candidates, With, Without, choice
from rmwbench.cli.console import print_json, stdout_console
from rmwbench.cli.verbs.suites import complete_suite
from rmwbench.errors import UserError
from rmwbench.typed import as_typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from rmwbench.campaign.plan.cut import Cut
    from rmwbench.campaign.plan.plan import ComparedCells, Plan
    from rmwbench.suite.cells import Cell

UNIT_S = {"s": 1, "m": 60, "min": 60, "h": 3600}


def register(app: typer.Typer) -> None:
    app.command(
        name="plan", help="Show cells, trials, time and resolution of a suite, without running it."
    )(plan)


def plan(
    suite: Annotated[
        str | None,
        typer.Argument(
            metavar="SUITE",
            help="A shipped suite such as `quick` (`rmwbench suites` lists them), or the path of a "
            "suite file (.yaml).",
            autocompletion=complete_suite,
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Fit whole blocks into this time, such as 90s, 5m or 1h30m; for a suite that is "
            "too long for it, the short version, or a part that says what it left out.",
        ),
    ] = None,
    short: Annotated[
        bool,
        typer.Option(
            "--short",
            help="The suite's short version: the same factors, fewer levels, shorter trials.",
        ),
    ] = False,
    seed: Annotated[
        int, typer.Option(min=0, help="Draws the order of trials and their schedules.")
    ] = 0,
    workload: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this workload; may be repeated.")
    ] = None,
    arm: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this arm; may be repeated.")
    ] = None,
    candidates: Candidates = None,
    added: With = None,
    without: Without = None,
    at: At = None,
    order: Annotated[bool, typer.Option("--order", help="List every trial in its order.")] = False,
    cluster: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=100_000,
            help="Also say what it takes on N machines of a cluster (docs/cluster.md).",
        ),
    ] = None,
    gang: Annotated[
        bool,
        typer.Option(
            "--gang", help="With --cluster: hosts are machines, with the real network between them."
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the plan document (docs/formats/plan.md).")
    ] = False,
) -> None:
    if suite is None:
        raise UserError("which suite?", expected="rmwbench plan SUITE", fix="rmwbench plan quick")

    from rmwbench.campaign.here import Here
    from rmwbench.campaign.plan import buffers, unsupported
    from rmwbench.campaign.plan.machine_limits import MachineLimits
    from rmwbench.campaign.plan.request import Planner, Request
    from rmwbench.campaign.start import checked
    from rmwbench.cluster import duration
    from rmwbench.lab.host.host_kind import NAMESPACES
    from rmwbench.lab.machine import card
    from rmwbench.lab.middleware import find_workers
    from rmwbench.suite.file.places import find, read

    if gang and cluster is None:
        raise UserError("--gang is about the machines of a cluster", expected="--cluster N besides")
    path = find(suite)
    text = read(path)
    budget_s = None if budget is None else parse_duration_s(budget)
    placed = "--gang" if gang else None
    request = Request(
        str(path.absolute()),
        seed,
        budget_s,
        tuple(workload or ()),
        tuple(arm or ()),
        {},
        short,
        placed,
        at=tuple(at or ()),
    )
    planner = Planner(text, request.suite_file, choice(candidates, added, without))
    request, absent = planner.without_absent(request)
    left_out: Cut | None = None
    machine = MachineLimits.here() if cluster is None else None
    if machine is not None:
        request, left_out = planner.within_budget(request, machine)
    _, found = planner.chosen(request)
    wishes: list[str] = []
    if cluster is None:
        host = Here().host()
        workers, lacking = checked(planner, request, text, Here())
        wishes = buffers.told(found, workers, card.sysctls())
    else:  # its machines have other workers than this one, which nobody asks before the campaign
        host = NAMESPACES
        workers = find_workers({name for cell in found for name in cell.middlewares})
        lacking = unsupported.described(found, workers, host)
        lacking = {} if len(lacking) == len(found) else lacking
    if cluster is not None and budget_s is not None:
        gangs = max(1, cluster // (max(len(cell.hosts) for cell in found) if gang else 1))
        budget_s = duration.machine_budget_s(
            lambda machine_s: planner.plan(replace(request, budget_s=machine_s), lacking),
            gangs,
            budget_s,
        )
        request = replace(request, budget_s=budget_s)
    made = planner.plan(request, lacking, machine, left_out=absent, cut=left_out, host=host)
    per_trial = max(len(cell.hosts) for cell in found) if gang else 1
    on_cluster = None if cluster is None else duration.document(made, cluster, per_trial)
    if as_json:
        document = made.document() | ({} if on_cluster is None else {"cluster": on_cluster})
        print_json(document)
    else:
        _print(made, order, wishes)
        if on_cluster is not None:
            typer.echo(f"\n{duration.text(on_cluster)}")


def parse_duration_s(text: str) -> float:
    """Seconds of `90s`, `5m`, `1.5h` or `1h30m`; UserError for anything else, a bare number
    included (it names no unit)."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(min|[smh])", text)
    if not parts or re.sub(r"(\d+(?:\.\d+)?)\s*(min|[smh])|\s", "", text):
        bare = re.fullmatch(r"\s*\d+(\.\d+)?\s*", text)
        raise UserError(
            f"`{text}` is not a valid time",
            where="--budget",
            expected="a number with its unit: 90s, 5m, 1h30m",
            actual=text,
            fix=f"did you mean `{text.strip()}m`?" if bare else None,
        )
    seconds = math.fsum(float(number) * UNIT_S[unit] for number, unit in parts)
    if not seconds > 0:
        raise UserError(
            "a budget of no time runs nothing",
            where="--budget",
            expected="more than 0 s",
            actual=text,
        )
    return seconds


def _print(made: "Plan", order: bool, wishes: "Sequence[str]") -> None:
    from rich.markup import escape

    from rmwbench.campaign.plan import unsupported
    from rmwbench.campaign.plan.plan import duration_text
    from rmwbench.suite.arm import left_out_lines
    from rmwbench.suite.decidable import DECIDABLE_BLOCKS

    console = stdout_console(soft_wrap=True)
    suite = made.suite
    console.print(f"[bold]{escape(suite.suite)}[/bold]: {escape(suite.title)}")
    arms = len({cell.arm.name for cell in made.cells})
    early = len(made.looks) > 1
    at_most, worst = "at most " if early else "", duration_text(made.estimated_s)
    by_clock = made.within_s is not None and made.blocks * made.block_s > made.within_s
    console.print(
        f"{_count(arms, 'arm')}, {_count(len(made.comparisons), 'comparison')}, "
        f"{_count(len(made.cells), 'cell')}; {at_most}{_count(made.blocks, 'block')} of "
        f"{duration_text(made.block_s)} = {_count(len(made.trials), 'trial')}, "
        + (
            f"ended by the clock after [bold]{worst}[/bold]"
            if by_clock
            else f"about [bold]{worst}[/bold]"
        )
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
            f"At least {_count(suite.blocks.minimum, 'block')}, {duration_text(made.minimum_s)}, "
            f"{what}. Seed {made.seed}.\n"
        )
    if made.host.shared:
        console.print(f"[bold]Shared host[/bold]: {escape(made.host.told())}.\n")
    _print_cut(console, made)
    console.print(_workload_table(made), soft_wrap=False)
    console.print(
        "\nOnly percentiles with at least ten messages beyond them are printed. \\[p90] stands on "
        "all blocks together" + (f", {made.least_blocks} at least." if len(made.looks) > 1 else ".")
    )
    _print_resolution(console, made)
    _print_networks(console, made)
    for line in (line for lines in each("plan", "lines", made) for line in lines):
        console.print(f"\n{line}")
    console.print("\n[bold]Arms[/bold]")
    for arm in {cell.arm.name: cell.arm for cell in made.cells}.values():
        how = [f"{arm.middleware}, profile {arm.profile.name}, wait {arm.wait}"]
        how += [f"publish {arm.publish_mode}"] * (arm.publish_mode != "default") + [
            "loan"
        ] * arm.loan
        how += [f"take {arm.take}"] * (arm.take != "typed")
        how += [f"{name}={value}" for name, value in [*arm.modes.items(), *arm.options.items()]]
        how += [f"{key}: {side.over(arm).middleware}" for key, side in arm.processes.items()]
        how += ["the floor"] * arm.is_floor
        console.print(f"  {escape(arm.name)}: {escape(', '.join(how))}")
    _print_beyond(console, made)
    if made.left_out:
        console.print("\n[bold]Left out[/bold], their middleware being not ready")
        for text in left_out_lines(made.left_out):
            console.print(f"  {escape(text)}")
    if made.unsupported:
        console.print("\n[bold]Not supported[/bold], and not run")
        for text in unsupported.told(made, made.unsupported):
            console.print(f"  {escape(text)}")
    if wishes:
        console.print("\n[bold]Not granted[/bold] by this machine's kernel")
        for text in wishes:
            console.print(f"  {escape(as_typed(text))}")
    if order:
        console.print("\n[bold]Order[/bold]")
        for trial in made.trials:
            cell = made.cell(trial.cell)
            console.print(
                f"  trial {trial.trial:>4}  block {trial.block}  {escape(cell.comparison)}  "
                f"{escape(cell.arm.name)}"
            )


def _print_cut(console: "Console", made: "Plan") -> None:
    from rich.markup import escape

    from rmwbench.campaign.plan.cut import LINES

    cut = made.cut
    if cut is None:
        return
    console.print(f"[bold]{escape(cut.heading)}[/bold]: {escape(cut.what)}.")
    for line in cut.lines[:LINES]:
        console.print(f"  {escape(line)}")
    if len(cut.lines) > LINES:
        console.print(
            f"  and {len(cut.lines) - LINES} more lines like these: --json has every comparison"
        )
    console.print()


def _print_beyond(console: "Console", made: "Plan") -> None:
    """The comparisons that ask for more than the machine has, each reason once with all of them,
    and how many processes share its processors."""
    from rich.markup import escape

    from rmwbench.campaign.plan import unsupported
    from rmwbench.campaign.plan.machine_limits import most_processes

    if made.machine is None:
        return
    if made.beyond:
        console.print(
            "\n[bold]Beyond this machine[/bold], and run nevertheless: how each saturates is a "
            "finding"
        )
        reasons: dict[str, list[Cell]] = {}
        for number, reason in made.beyond.items():
            reasons.setdefault(reason, []).append(made.cell(number))
        for reason, found in reasons.items():
            arms = _count(len({cell.arm.name for cell in found}), "arm")
            where = unsupported.few(list(dict.fromkeys(cell.comparison for cell in found)))
            console.print(f"  {arms} in {escape(where)}: {escape(reason)}")
    processes, where = most_processes(made.cells)
    if processes > made.machine["processors"]:
        console.print(
            f"\nUp to {processes} processes at once, in {escape(where)}, share "
            f"{_count(made.machine['processors'], 'processor')}."
        )


def _print_networks(console: "Console", made: "Plan") -> None:
    """What lies between hosts, each network once with what is compared over it."""
    from rich.markup import escape

    from rmwbench.suite.network.network_words import told

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


def _workload_table(made: "Plan") -> "Table":
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("compared in", "what", "steady", "messages", "percentiles"):
        right = heading in ("steady", "messages")
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for comparison in made.comparisons:
        cell = comparison.cells[0]
        messages = (
            "as fast as it goes"
            if comparison.steady_messages is None
            else str(comparison.steady_messages)
        )
        steady = f"{cell.timeline.steady_s:g} s"
        table.add_row(
            escape(comparison.key),
            escape(cell.workload.display_title),
            steady,
            messages,
            escape(_percentiles(comparison)),
        )
    return table


def _percentiles(comparison: "ComparedCells") -> str:
    from rmwbench.suite.percentiles import percentile_name

    if comparison.steady_messages is None:
        return "as far as it goes"
    allowed = [p for p in comparison.percentiles if p.pooled]
    return (
        " ".join(
            percentile_name(p.quantile) if p.per_trial else f"[{percentile_name(p.quantile)}]"
            for p in allowed
        )
        or "none"
    )


def _print_resolution(console: "Console", made: "Plan") -> None:
    """One sentence per number of contenders; mostly one."""
    from rmwbench.suite.decidable import DECIDABLE_BLOCKS

    if made.blocks < DECIDABLE_BLOCKS:
        console.print(
            f"With fewer than {DECIDABLE_BLOCKS} blocks nothing is decided: there are values but "
            "no verdicts."
        )
        return
    for contenders in sorted({comparison.contenders for comparison in made.comparisons}):
        if not contenders:
            continue
        among = next(
            comparison for comparison in made.comparisons if comparison.contenders == contenders
        )
        ratios = " and ".join(
            f"{_times(ratio)} where block ratios scatter by {sd:g}"
            for sd, ratio in among.resolvable
        )
        blocks = f"{'all ' * (len(made.looks) > 1)}{_count(made.blocks, 'block')}"
        console.print(
            f"With {blocks} and {_count(contenders, 'contender')} it finds, in 95 of 100 "
            f"campaigns, a difference of {ratios} (standard deviation of their logarithm); "
            "smaller ones by luck."
        )


def _times(ratio: float) -> str:
    """A ratio beyond any that two middlewares ever had is not a promise."""
    from rmwbench.words.numbers import LARGEST_RATIO

    return f"{ratio:.3g}×" if ratio < LARGEST_RATIO else f"none below {LARGEST_RATIO}×"


def _series(numbers: "tuple[int, ...]") -> str:
    return ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
