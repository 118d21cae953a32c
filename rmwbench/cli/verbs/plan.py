"""`rmwbench plan SUITE`: what a campaign would run, how long it takes and what it could tell,
without running anything."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from rmwbench.beside import each
from rmwbench.cli.console import print_json, stdout_console
from rmwbench.cli.options import SuiteOptions, taking
from rmwbench.errors import UserError
from rmwbench.typed import as_typed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console
    from rich.table import Table

    from rmwbench.campaign.plan.cut import Cut
    from rmwbench.campaign.plan.plan import ComparedCells, Plan
    from rmwbench.campaign.plan.request import Planner, Request
    from rmwbench.suite.cells import Cell


def register(app: typer.Typer) -> None:
    app.command(
        name="plan", help="Show cells, trials, time and resolution of a suite, without running it."
    )(taking(PlanOptions, plan))


@dataclass(frozen=True, kw_only=True)
class PlanOptions(SuiteOptions):
    order: Annotated[bool, typer.Option("--order", help="List every trial in its order.")] = False
    cluster: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=100_000,
            help="Also say what it takes on N machines of a cluster (docs/cluster.md).",
        ),
    ] = None
    gang: Annotated[
        bool,
        typer.Option(
            "--gang", help="With --cluster: hosts are machines, with the real network between them."
        ),
    ] = False
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the plan document (docs/formats/plan.md).")
    ] = False


def plan(options: PlanOptions) -> None:
    from rmwbench.cluster import duration

    made, wishes, per_trial = _made(options)
    on_cluster = (
        None if options.cluster is None else duration.document(made, options.cluster, per_trial)
    )
    if options.as_json:
        print_json(made.document() | ({} if on_cluster is None else {"cluster": on_cluster}))
    else:
        _print(made, options.order, wishes)
        if on_cluster is not None:
            typer.echo(f"\n{duration.text(on_cluster)}")


def _made(options: PlanOptions) -> "tuple[Plan, list[str], int]":
    """The plan, the buffers that this machine's kernel does not grant, and how many machines a trial
    takes."""
    from rmwbench.campaign.here import Here
    from rmwbench.campaign.plan import machine_limits, unsupported
    from rmwbench.campaign.plan.machine_limits import MachineLimits
    from rmwbench.campaign.plan.request import Planner
    from rmwbench.campaign.start import checked
    from rmwbench.lab.host.host_choice import NAMESPACES
    from rmwbench.lab.machine import card
    from rmwbench.lab.middleware import find_workers
    from rmwbench.suite.file.places import find, read

    path = find(options.named("plan"))
    gang, cluster = options.gang, options.cluster
    if gang and cluster is None:
        raise UserError("--gang is about the machines of a cluster", expected="--cluster N besides")
    text = read(path)
    request = options.request(str(path.absolute()), placed="--gang" if gang else None)
    compared = options.compared(str(path)) if cluster is None else options.choice
    planner = Planner(text, request.suite_file, compared)
    request, absent = planner.without_absent(request)
    left_out: Cut | None = None
    machine = MachineLimits.here() if cluster is None else None
    if machine is not None:
        request, left_out = planner.within_budget(request, machine)
    _, cells = planner.chosen(request)
    wishes: list[str] = []
    if cluster is None:
        host = Here().host()
        workers, lacking = checked(planner, request, text, Here())
        wishes = machine_limits.told(cells, workers, card.sysctls())
    else:  # its machines have other workers than this one, which nobody asks before the campaign
        host = NAMESPACES
        workers = find_workers({name for cell in cells for name in cell.middlewares})
        lacking = unsupported.described(cells, workers, host)
        lacking = {} if len(lacking) == len(cells) else lacking
    per_trial = max(len(cell.hosts) for cell in cells) if gang else 1
    if cluster is not None:
        request = _for_each_machine(planner, request, lacking, max(1, cluster // per_trial))
    made = planner.plan(request, lacking, machine, left_out=absent, cut=left_out, host=host)
    return made, wishes, per_trial


def _for_each_machine(
    planner: "Planner", request: "Request", lacking: "Mapping[int, str]", gangs: int
) -> "Request":
    """With the budget of one machine, where so many work at once for that of all."""
    from rmwbench.cluster import duration

    if request.budget_s is None:
        return request
    budget_s = duration.machine_budget_s(
        lambda machine_s: planner.plan(replace(request, budget_s=machine_s), lacking),
        gangs,
        request.budget_s,
    )
    return replace(request, budget_s=budget_s)


def _print(made: "Plan", order: bool, wishes: "Sequence[str]") -> None:
    from rich.markup import escape

    from rmwbench.campaign.plan import unsupported
    from rmwbench.suite.arm import left_out_lines

    console = stdout_console(soft_wrap=True)
    suite = made.suite
    console.print(f"[bold]{escape(suite.suite)}[/bold]: {escape(suite.title)}")
    _print_size(console, made)
    if made.host.shared:
        console.print(f"[bold]Shared host[/bold]: {escape(made.host.told())}.\n")
    _print_cut(console, made)
    console.print(_workload_table(made), soft_wrap=False)
    console.print(
        "\nOnly percentiles with at least ten messages beyond them are printed. \\[p90] stands on "
        "all blocks together" + (f", {made.least_blocks} at least." if len(made.looks) > 1 else ".")
    )
    _print_resolution(console, made)
    _print_levels(console, made)
    _print_networks(console, made)
    for line in (line for lines in each("plan", "lines", made) for line in lines):
        console.print(f"\n{line}")
    _print_arms(console, made)
    _print_beyond(console, made)
    _print_list("Left out[/bold], their middleware being not ready", left_out_lines(made.left_out))
    _print_list("Not supported[/bold], and not run", unsupported.told(made, made.unsupported))
    _print_list("Not granted[/bold] by this machine's kernel", [as_typed(wish) for wish in wishes])
    if order:
        console.print("\n[bold]Order[/bold]")
        for trial in made.trials:
            cell = made.cell(trial.cell)
            console.print(
                f"  trial {trial.trial:>4}  block {trial.block}  {escape(cell.comparison)}  "
                f"{escape(cell.arm.name)}"
            )


def _print_size(console: "Console", made: "Plan") -> None:
    from rich.markup import escape

    from rmwbench.campaign.plan.plan import duration_text
    from rmwbench.suite.decidable import DECIDABLE_BLOCKS

    suite = made.suite
    arms = len({cell.arm.name for cell in made.cells})
    early = len(made.looks) > 1
    at_most, worst = "at most " if early else "", duration_text(made.estimated_s)
    by_clock = made.within_s is not None and made.blocks * made.block_s > made.within_s
    console.print(
        f"{_count(arms, 'arm')}, {_count(made.compared, 'comparison')}, "
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


def _print_arms(console: "Console", made: "Plan") -> None:
    from rich.markup import escape

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


def _print_list(heading: str, lines: "Iterable[str]") -> None:
    from rich.markup import escape

    listed = list(lines)
    if listed:
        console = stdout_console(soft_wrap=True)
        console.print(f"\n[bold]{heading}")
    for line in listed:
        console.print(f"  {escape(line)}")


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
    """What lies between hosts, each network once with what is compared over it, and which link of
    it is asked for more than it carries."""
    from rich.markup import escape

    from rmwbench.campaign.plan import overload
    from rmwbench.suite.network.network_words import told

    found: dict[tuple[str, ...], list[str]] = {}
    for cell in made.cells:
        if cell.links is not None:
            beyond = (one.text for one in overload.found(cell) if one.times > 1)
            found.setdefault((*told(cell.links), *beyond), []).append(cell.comparison)
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
    from rmwbench.suite.decidable import percentile_name

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


def _print_levels(console: "Console", made: "Plan") -> None:
    """What is compared besides arms with each other: each line with all arms of which it holds."""
    from rich.markup import escape

    from rmwbench.analysis.verdicts.ladders import BETWEEN_WORKLOADS, steps
    from rmwbench.words.level_names import level_name

    found: dict[str, list[str]] = {}
    for one in made.ladders:
        called = [level_name(one.factor, level) for level in one.levels]
        pairs = ", ".join(f"{called[at]} with {called[by]}" for at, by in steps(len(called)))
        others = ", ".join(level_name(name, level) for name, level in one.others.items())
        along = "" if one.factor == BETWEEN_WORKLOADS else f"{one.workload} along {one.factor}"
        where = f"{', '.join(filter(None, (along, others)))}: " if along else ""
        found.setdefault(f"{where}{pairs}", []).append(one.arm)
    if found:
        console.print("\n[bold]Each arm with itself[/bold]")
    for text, arms in found.items():
        names = dict.fromkeys(arms)
        console.print(f"  {escape(text)} ({escape(', '.join(names))})")


def _times(ratio: float) -> str:
    """A ratio beyond any that two middlewares ever had is not a promise."""
    from rmwbench.words.numbers import LARGEST_RATIO

    return f"{ratio:.3g}×" if ratio < LARGEST_RATIO else f"none below {LARGEST_RATIO}×"


def _series(numbers: "tuple[int, ...]") -> str:
    return ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
