"""The view of `rmwbench decide`: which candidate to take, then for each machine its candidates with
the reasons, each case where there are several, and where the answer flips along a factor."""

from collections.abc import Mapping

from rmwbench.analysis.decide.decisions import DecisionAnswer, FactorOutcomes, LimitDecision
from rmwbench.report.view import (
    Block,
    Items,
    On,
    Section,
    Table,
    TableCell,
    TableColumn,
    Text,
    Tone,
    View,
)
from rmwbench.results.decide import decide_words
from rmwbench.results.decide.decide_model import Decided, MachineDecision
from rmwbench.results.workload.outcomes import in_words
from rmwbench.words.level_names import named_level

TONES: Mapping[str, Tone] = {"meets": "good", "misses": "bad", "open": "open", "unknown": "odd"}
CANDIDATES = (
    TableColumn("candidate"),
    TableColumn("all limits"),
    TableColumn("P(all)", right=True),
    TableColumn("blocks", right=True),
    TableColumn("because", key="sentence"),
)


def view(decided: Decided) -> View:
    limits, rules = decided.limits, decided.rules
    meaning = (
        f"Limits {limits.name}: {in_words(limits.acceptable, limits.topics or {})}. P(all) is the "
        "probability that a candidate meets every limit; where it is open and yet near 0 or 1, the "
        "value that would decide it stands beside it. "
        f"All answers of a machine share an error of {100 * rules.alpha:.0f} %; "
        f"fewer than {rules.min_blocks} blocks decide nothing."
    )
    left_out = [
        Text(f"{summary}: none of its cells is what the limits are of", "warning")
        for summary in decided.left_out
    ]
    return View(
        title=f"Which middleware for {limits.title or limits.name}?",
        about=[Text(meaning, "muted", on=On.DOCUMENT), *left_out],
        answer=[Text(decided.text, "strong")],
        sections=[_machine(machine) for machine in decided.machines],
        card=[f"limits {limits.name}"],
    )


def _machine(machine: MachineDecision) -> Section:
    candidates: list[list[TableCell | str]] = [
        [
            candidate.arm,
            _outcome(candidate),
            decide_words.probability(candidate),
            str(candidate.blocks),
            decide_words.reason(candidate),
        ]
        for candidate in machine.candidates
    ]
    several = len(machine.cases) > 1
    limit_tables = [
        Section(
            f"Every limit of {candidate.arm}",
            [Items([_met(met, several) for met in candidate.limits])],
            folded=True,
        )
        for candidate in machine.candidates
    ]
    blocks: list[Block] = [
        Text(", ".join(machine.campaigns), "muted"),
        Table(CANDIDATES, candidates, look="results"),
        *limit_tables,
    ]
    if several:
        blocks.append(Section("Case by case", [_cases(machine)]))
    if machine.along:
        along = [_along(ladder) for ladder in machine.along]
        blocks.append(Section("Where the answer flips", along))
    return Section(machine.summary, blocks, look="panel")


def _outcome(answer: DecisionAnswer) -> TableCell:
    return TableCell(answer.outcome, TONES[answer.outcome])


def _met(met: LimitDecision, several: bool) -> str:
    case = f"{met.case}: " if several else ""
    why = f": {met.no_data}" if met.no_data else ""
    return (
        f"{case}{decide_words.measured(met)} ({met.outcome}, P {decide_words.probability(met)}, "
        f"{decide_words.observed(met)}{why})"
    )


def _cases(machine: MachineDecision) -> Table:
    """Which case each candidate meets."""
    arms = [candidate.arm for candidate in machine.candidates]
    rows: list[list[TableCell | str]] = []
    for case in machine.cases:
        by = {candidate.arm: candidate for candidate in case.candidates}
        rows.append([case.case, *(_short(by.get(arm)) for arm in arms)])
    return Table([TableColumn(head) for head in ("case", *arms)], rows)


def _short(answer: DecisionAnswer | None) -> TableCell:
    if answer is None:
        return TableCell("–", "muted")
    chance = "" if answer.probability is None else f" {decide_words.probability(answer)}"
    return TableCell(f"{answer.outcome}{chance}", TONES[answer.outcome])


def _along(along: FactorOutcomes) -> Text:
    fixed = "".join(f", {named_level(*level)}" for level in along.fixed.items())
    flips = [
        *(decide_words.flip(change, along) for change in along.flips),
        *decide_words.only(along),
    ]
    return Text(
        "; ".join(flips) or decide_words.NO_FLIP,
        lead=f"Along {along.factor} ({along.workload}{fixed}):",
    )
