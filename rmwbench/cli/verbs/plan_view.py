"""The view of a plan for `rmwbench plan`: its size, its comparisons, and the cells that cannot run
here."""

from collections.abc import Iterable, Iterator, Sequence

from rmwbench.analysis.verdicts.ladders import BETWEEN_WORKLOADS, steps
from rmwbench.beside import from_features
from rmwbench.campaign.plan import preflight, unsupported_cells
from rmwbench.campaign.plan.budget_cut import LINES
from rmwbench.campaign.plan.machine_limits import most_processes
from rmwbench.campaign.plan.plan import ComparedCells, Plan, duration_text
from rmwbench.report.view import Block, Facts, Items, Section, Table, Text, View
from rmwbench.results.answer.facts import names
from rmwbench.suite.arm import Arm, left_out_lines
from rmwbench.suite.cells import Cell
from rmwbench.suite.network.network_words import network_lines
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS, percentile_name
from rmwbench.words.level_names import level_name, named_level
from rmwbench.words.numbers import LARGEST_RATIO, counted

COLUMNS = ("compared in", "what", ("steady", True), ("messages", True), "percentiles")


def view(plan: Plan, ungranted: Sequence[str], *, order: bool) -> View:
    """Return the view. `ungranted`: a line per buffer that this machine's kernel does not grant.
    `order`: list every trial."""
    feature_lines = [Text(line) for lines in from_features("plan", "lines", plan) for line in lines]
    sections = (
        Section(
            "What is compared",
            [_compared(plan), *map(Text, [*_one_by_one(plan), *_resolution(plan)])],
        ),
        _section("Each arm with itself", _level_lines(plan)),
        _networks(plan),
        Section("Besides", feature_lines) if feature_lines else None,
        _section("Arms", [f"{arm.name}: {_arm_text(arm)}" for arm in _arms(plan)]),
        _beyond(plan),
        _section("Left out, since their middleware is not ready", left_out_lines(plan.left_out)),
        _section(
            "Not supported, and not run",
            unsupported_cells.unsupported_lines(plan, plan.unsupported),
        ),
        _section("Not granted by this machine's kernel", ungranted),
        _section("Order", _order(plan) if order else ()),
    )
    return View(
        title=f"{plan.suite.suite}: {plan.suite.title}",
        about=[*map(Text, _size(plan)), *_cut(plan)],
        sections=[section for section in sections if section is not None],
    )


def _section(title: str, lines: Iterable[str]) -> Section | None:
    items = list(lines)
    return Section(title, [Items(items, mark="")]) if items else None


def _size(plan: Plan) -> Iterator[str]:
    suite = plan.suite
    has_looks = len(plan.looks) > 1
    at_most, worst = "at most " if has_looks else "", duration_text(plan.estimated_s)
    ends_by_clock = plan.within_s is not None and plan.blocks * plan.block_s > plan.within_s
    yield (
        f"{counted(len(_arms(plan)), 'arm')}, {counted(plan.compared, 'comparison')}, "
        f"{counted(len(plan.cells), 'cell')}; {at_most}{counted(plan.blocks, 'block')} of "
        f"{duration_text(plan.block_s)} = {counted(len(plan.trials), 'trial')}, "
        f"{'ended by the clock after' if ends_by_clock else 'about'} {worst}"
    )
    if has_looks:
        best = duration_text(plan.least_blocks * plan.block_s)
        workloads = ", ".join(suite.blocks.decide)
        yield (
            f"It looks after {names(list(map(str, plan.looks)))} blocks and ends as soon as "
            f"everything {f'in {workloads} ' if workloads else ''}is decided: about {best} at "
            f"best, {worst} at worst. Seed {plan.seed}."
        )
    else:
        purpose = "for a verdict" if suite.blocks.minimum >= DECIDABLE_BLOCKS else "for the suite"
        yield (
            f"At least {counted(suite.blocks.minimum, 'block')}, {duration_text(plan.minimum_s)}, "
            f"{purpose}. Seed {plan.seed}."
        )
    if plan.host.shared:
        yield f"Shared host: {plan.host.text()}."


def _cut(plan: Plan) -> Iterator[Block]:
    if plan.cut is not None:
        yield Text(f"{plan.cut.share_text}.", lead=f"{plan.cut.heading}:")
        yield Items(plan.cut.lines, mark="", most=LINES)


def _compared(plan: Plan) -> Table:
    return Table(
        COLUMNS,
        [
            (
                comparison.key,
                comparison.cells[0].workload.display_title,
                f"{comparison.cells[0].timeline.steady_s:g} s",
                "as fast as it goes"
                if comparison.steady_messages is None
                else str(comparison.steady_messages),
                _percentiles(comparison),
            )
            for comparison in plan.comparisons
        ],
    )


def _percentiles(comparison: ComparedCells) -> str:
    if comparison.steady_messages is None:
        return "as far as it goes"
    texts = []
    for percentile in comparison.percentiles:
        if percentile.pooled:
            name = percentile_name(percentile.quantile)
            texts.append(name if percentile.per_trial else f"[{name}]")
    return " ".join(texts) or "none"


def _one_by_one(plan: Plan) -> Iterator[str]:
    """Yield a sentence about the topics and readers that have verdicts of their own, each of which
    is a comparison."""
    keys_of_topics: dict[tuple[str, ...], list[str]] = {}
    for comparison in plan.comparisons:
        keys_of_topics.setdefault(comparison.topics, []).append(comparison.key)
    for topics, keys in keys_of_topics.items():
        if topics:
            yield f"In {unsupported_cells.few(keys)} each is judged by itself: {unsupported_cells.few(topics)}."


def _resolution(plan: Plan) -> Iterator[str]:
    """Yield what the plan can resolve: a sentence per number of contenders, and none for an arm
    without a rival."""
    least = f", {plan.least_blocks} at least" if len(plan.looks) > 1 else ""
    yield (
        "Only percentiles with at least ten messages beyond them are printed. [p90] stands on all "
        f"blocks together{least}."
    )
    if plan.blocks < DECIDABLE_BLOCKS:
        yield (
            f"With fewer than {DECIDABLE_BLOCKS} blocks nothing is decided: there are values but no "
            "verdicts."
        )
        return
    by_contenders = {
        comparison.contenders: comparison
        for comparison in reversed(plan.comparisons)
        if comparison.contenders > 1
    }
    for contenders, comparison in sorted(by_contenders.items()):
        ratios = " and ".join(
            f"{_times(ratio)} where block ratios scatter by {sd:g}"
            for sd, ratio in comparison.resolvable
        )
        blocks = f"{'all ' * (len(plan.looks) > 1)}{counted(plan.blocks, 'block')}"
        yield (
            f"With {blocks} and {counted(contenders, 'contender')} it finds, in 95 of 100 "
            f"campaigns, a difference of {ratios} (standard deviation of their logarithm); smaller "
            "ones only by luck."
        )


def _times(ratio: float) -> str:
    """Return the ratio in words; one beyond any that two middlewares ever had is no promise."""
    return f"{ratio:.3g}×" if ratio < LARGEST_RATIO else f"none below {LARGEST_RATIO}×"


def _level_lines(plan: Plan) -> Iterator[str]:
    """Yield a line per comparison of an arm with itself at other levels, with all its arms."""
    arms_of_line: dict[str, list[str]] = {}
    for comparison in plan.levels:
        ladder = comparison.ladder
        levels = [level_name(ladder.factor, level) for level in ladder.levels]
        pairs = ", ".join(f"{levels[at]} with {levels[step]}" for at, step in steps(len(levels)))
        other_levels = ", ".join(level_name(name, level) for name, level in ladder.others.items())
        axis = (
            "" if ladder.factor == BETWEEN_WORKLOADS else f"{ladder.workload} along {ladder.factor}"
        )
        condition = f"{', '.join(filter(None, (axis, other_levels)))}: " if axis else ""
        topics = [topic for topic in comparison.topics if topic is not None]
        per_topic = f", for each of {unsupported_cells.few(topics)}" if topics else ""
        arms_of_line.setdefault(f"{condition}{pairs}{per_topic}", []).append(ladder.arm)
    for text, arms in arms_of_line.items():
        yield f"{text} ({', '.join(dict.fromkeys(arms))})"


def _networks(plan: Plan) -> Section | None:
    """Return the section with each network once, the comparisons over it, and its links that are
    asked for more than they carry."""
    comparisons_over: dict[tuple[str, ...], list[str]] = {}
    for cell in plan.cells:
        if cell.links is not None:
            overloads = [o.text for o in preflight.overloads(cell) if o.times > 1]
            lines = (*network_lines(cell.links), *overloads)
        elif cell.real is not None:
            lines = tuple(cell.real.lines())
        else:
            continue
        comparisons_over.setdefault(lines, []).append(cell.comparison)
    networks = [
        (", ".join(dict.fromkeys(comparisons)), "\n".join(lines))
        for lines, comparisons in comparisons_over.items()
    ]
    return Section("Between hosts", [Facts(networks)]) if networks else None


def _arms(plan: Plan) -> list[Arm]:
    return list({cell.arm.name: cell.arm for cell in plan.cells}.values())


def _arm_text(arm: Arm) -> str:
    settings = [f"{arm.middleware}, profile {arm.profile.name}, wait {arm.wait}"]
    settings += [f"publish {arm.publish_mode}"] * (arm.publish_mode != "default")
    settings += ["loan"] * arm.loan
    settings += [f"take {arm.take}"] * (arm.take != "typed")
    settings += [named_level(*item) for item in [*arm.modes.items(), *arm.options.items()]]
    settings += [f"{key}: {side.over(arm).middleware}" for key, side in arm.processes.items()]
    settings += ["the floor"] * arm.is_floor
    return ", ".join(settings)


def _beyond(plan: Plan) -> Section | None:
    """Return the section with the comparisons that ask for more than the machine has, each reason
    once with all of them, and with the number of processes that share its processors."""
    if plan.machine is None:
        return None
    cells_of_reason: dict[str, list[Cell]] = {}
    for number, reason in plan.beyond.items():
        cells_of_reason.setdefault(reason, []).append(plan.cell(number))
    lines = []
    for reason, cells in cells_of_reason.items():
        arms = counted(len({cell.arm.name for cell in cells}), "arm")
        place = unsupported_cells.few(list(dict.fromkeys(cell.comparison for cell in cells)))
        lines.append(f"{arms} in {place}: {reason}")
    title = "Beyond this machine, and run nevertheless: how each saturates is a finding"
    blocks: list[Block] = [Items(lines, mark="")] if lines else []
    processes, place = most_processes(plan.cells)
    if processes > plan.machine["processors"]:
        processors = counted(plan.machine["processors"], "processor")
        blocks.append(Text(f"Up to {processes} processes at once, in {place}, share {processors}."))
    return Section(title if lines else "Processors", blocks) if blocks else None


def _order(plan: Plan) -> Iterator[str]:
    for trial in plan.trials:
        cell = plan.cell(trial.cell)
        yield f"trial {trial.trial:>4}  block {trial.block}  {cell.comparison}  {cell.arm.name}"
