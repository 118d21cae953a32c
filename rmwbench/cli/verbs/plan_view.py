"""What `rmwbench plan` shows of a plan: its size, what is compared, what cannot run here."""

from collections.abc import Iterable, Iterator, Sequence

from rmwbench.analysis.verdicts.ladders import BETWEEN_WORKLOADS, steps
from rmwbench.beside import each
from rmwbench.campaign.plan import plan_refusals, unsupported
from rmwbench.campaign.plan.cut import LINES
from rmwbench.campaign.plan.machine_limits import most_processes
from rmwbench.campaign.plan.plan import ComparedCells, Plan, duration_text
from rmwbench.report.view import Block, Facts, Items, Section, Table, Text, View
from rmwbench.results.answer.facts import names
from rmwbench.suite.arm import Arm, left_out_lines
from rmwbench.suite.cells import Cell
from rmwbench.suite.decidable import DECIDABLE_BLOCKS, percentile_name
from rmwbench.suite.network.network_words import told
from rmwbench.words.level_names import level_name
from rmwbench.words.numbers import LARGEST_RATIO, counted

COLUMNS = ("compared in", "what", ("steady", True), ("messages", True), "percentiles")


def view(made: Plan, wishes: Sequence[str], *, order: bool) -> View:
    """`wishes`: what this machine's kernel does not grant. `order`: with every trial."""
    beside = [Text(line) for lines in each("plan", "lines", made) for line in lines]
    sections = (
        Section("What is compared", [_compared(made), *map(Text, _resolution(made))]),
        _listed("Each arm with itself", _levels(made)),
        _networks(made),
        Section("Besides", beside) if beside else None,
        _listed("Arms", [f"{arm.name}: {_how(arm)}" for arm in _arms(made)]),
        _beyond(made),
        _listed("Left out, their middleware being not ready", left_out_lines(made.left_out)),
        _listed("Not supported, and not run", unsupported.told(made, made.unsupported)),
        _listed("Not granted by this machine's kernel", wishes),
        _listed("Order", _order(made) if order else ()),
    )
    return View(
        title=f"{made.suite.suite}: {made.suite.title}",
        about=[*map(Text, _size(made)), *_cut(made)],
        sections=[one for one in sections if one is not None],
    )


def _listed(title: str, lines: Iterable[str]) -> Section | None:
    listed = list(lines)
    return Section(title, [Items(listed, mark="")]) if listed else None


def _size(made: Plan) -> Iterator[str]:
    suite = made.suite
    early = len(made.looks) > 1
    at_most, worst = "at most " if early else "", duration_text(made.estimated_s)
    by_clock = made.within_s is not None and made.blocks * made.block_s > made.within_s
    yield (
        f"{counted(len(_arms(made)), 'arm')}, {counted(made.compared, 'comparison')}, "
        f"{counted(len(made.cells), 'cell')}; {at_most}{counted(made.blocks, 'block')} of "
        f"{duration_text(made.block_s)} = {counted(len(made.trials), 'trial')}, "
        f"{'ended by the clock after' if by_clock else 'about'} {worst}"
    )
    if early:
        best = duration_text(made.least_blocks * made.block_s)
        awaited = ", ".join(suite.blocks.decide)
        yield (
            f"It looks after {names(list(map(str, made.looks)))} blocks and ends as soon as "
            f"everything {f'in {awaited} ' if awaited else ''}is decided: about {best} at best, "
            f"{worst} at worst. Seed {made.seed}."
        )
    else:
        what = "for a verdict" if suite.blocks.minimum >= DECIDABLE_BLOCKS else "for the suite"
        yield (
            f"At least {counted(suite.blocks.minimum, 'block')}, {duration_text(made.minimum_s)}, "
            f"{what}. Seed {made.seed}."
        )
    if made.host.shared:
        yield f"Shared host: {made.host.told()}."


def _cut(made: Plan) -> Iterator[Block]:
    if made.cut is not None:
        yield Text(f"{made.cut.what}.", lead=f"{made.cut.heading}:")
        yield Items(made.cut.lines, mark="", most=LINES)


def _compared(made: Plan) -> Table:
    return Table(
        COLUMNS,
        [
            (
                one.key,
                one.cells[0].workload.display_title,
                f"{one.cells[0].timeline.steady_s:g} s",
                "as fast as it goes" if one.steady_messages is None else str(one.steady_messages),
                _percentiles(one),
            )
            for one in made.comparisons
        ],
    )


def _percentiles(comparison: ComparedCells) -> str:
    if comparison.steady_messages is None:
        return "as far as it goes"
    pooled = [one for one in comparison.percentiles if one.pooled]
    called = [(percentile_name(one.quantile), one.per_trial) for one in pooled]
    return " ".join(name if alone else f"[{name}]" for name, alone in called) or "none"


def _resolution(made: Plan) -> Iterator[str]:
    """One sentence per number of contenders; mostly one."""
    least = f", {made.least_blocks} at least" if len(made.looks) > 1 else ""
    yield (
        "Only percentiles with at least ten messages beyond them are printed. [p90] stands on all "
        f"blocks together{least}."
    )
    if made.blocks < DECIDABLE_BLOCKS:
        yield (
            f"With fewer than {DECIDABLE_BLOCKS} blocks nothing is decided: there are values but no "
            "verdicts."
        )
        return
    by_contenders = {one.contenders: one for one in reversed(made.comparisons) if one.contenders}
    for contenders, among in sorted(by_contenders.items()):
        ratios = " and ".join(
            f"{_times(ratio)} where block ratios scatter by {sd:g}"
            for sd, ratio in among.resolvable
        )
        blocks = f"{'all ' * (len(made.looks) > 1)}{counted(made.blocks, 'block')}"
        yield (
            f"With {blocks} and {counted(contenders, 'contender')} it finds, in 95 of 100 "
            f"campaigns, a difference of {ratios} (standard deviation of their logarithm); smaller "
            "ones by luck."
        )


def _times(ratio: float) -> str:
    """A ratio beyond any that two middlewares ever had is not a promise."""
    return f"{ratio:.3g}×" if ratio < LARGEST_RATIO else f"none below {LARGEST_RATIO}×"


def _levels(made: Plan) -> Iterator[str]:
    """What is compared besides arms with each other: each line with all arms of which it holds."""
    found: dict[str, list[str]] = {}
    for one in made.ladders:
        called = [level_name(one.factor, level) for level in one.levels]
        pairs = ", ".join(f"{called[at]} with {called[by]}" for at, by in steps(len(called)))
        others = ", ".join(level_name(name, level) for name, level in one.others.items())
        along = "" if one.factor == BETWEEN_WORKLOADS else f"{one.workload} along {one.factor}"
        where = f"{', '.join(filter(None, (along, others)))}: " if along else ""
        found.setdefault(f"{where}{pairs}", []).append(one.arm)
    for text, arms in found.items():
        yield f"{text} ({', '.join(dict.fromkeys(arms))})"


def _networks(made: Plan) -> Section | None:
    """What lies between hosts, each network once with what is compared over it, and which link of
    it is asked for more than it carries."""
    found: dict[tuple[str, ...], list[str]] = {}
    for cell in made.cells:
        if cell.links is not None:
            beyond = (one.text for one in plan_refusals.overloads(cell) if one.times > 1)
            found.setdefault((*told(cell.links), *beyond), []).append(cell.comparison)
        elif cell.real is not None:
            found.setdefault(tuple(cell.real.told()), []).append(cell.comparison)
    if not found:
        return None
    over = [(", ".join(dict.fromkeys(where)), "\n".join(lines)) for lines, where in found.items()]
    return Section("Between hosts", [Facts(over)])


def _arms(made: Plan) -> list[Arm]:
    return list({cell.arm.name: cell.arm for cell in made.cells}.values())


def _how(arm: Arm) -> str:
    how = [f"{arm.middleware}, profile {arm.profile.name}, wait {arm.wait}"]
    how += [f"publish {arm.publish_mode}"] * (arm.publish_mode != "default")
    how += ["loan"] * arm.loan
    how += [f"take {arm.take}"] * (arm.take != "typed")
    how += [f"{name}={value}" for name, value in [*arm.modes.items(), *arm.options.items()]]
    how += [f"{key}: {side.over(arm).middleware}" for key, side in arm.processes.items()]
    how += ["the floor"] * arm.is_floor
    return ", ".join(how)


def _beyond(made: Plan) -> Section | None:
    """The comparisons that ask for more than the machine has, each reason once with all of them,
    and how many processes share its processors."""
    if made.machine is None:
        return None
    reasons: dict[str, list[Cell]] = {}
    for number, reason in made.beyond.items():
        reasons.setdefault(reason, []).append(made.cell(number))
    lines = []
    for reason, found in reasons.items():
        arms = counted(len({cell.arm.name for cell in found}), "arm")
        where = unsupported.few(list(dict.fromkeys(cell.comparison for cell in found)))
        lines.append(f"{arms} in {where}: {reason}")
    title = "Beyond this machine, and run nevertheless: how each saturates is a finding"
    blocks: list[Block] = [Items(lines, mark="")] if lines else []
    processes, where = most_processes(made.cells)
    if processes > made.machine["processors"]:
        shared = counted(made.machine["processors"], "processor")
        blocks.append(Text(f"Up to {processes} processes at once, in {where}, share {shared}."))
    return Section(title if lines else "Processors", blocks) if blocks else None


def _order(made: Plan) -> Iterator[str]:
    for trial in made.trials:
        cell = made.cell(trial.cell)
        yield f"trial {trial.trial:>4}  block {trial.block}  {cell.comparison}  {cell.arm.name}"
