"""What a factor does to an arm, as a sentence: what is decided between neighbouring levels first,
then what is not delivered, by its fate, then what it costs. Made from the verdicts of its steps and
from the values and fates at its levels, and from nothing else.
"""

from collections.abc import Sequence
from math import inf

from rmwbench.analysis.metrics.aggregate import judged_loss
from rmwbench.analysis.metrics.comparisons import PRIMARY
from rmwbench.analysis.metrics.fates import HELD, Fates
from rmwbench.analysis.metrics.glossary import Fate
from rmwbench.analysis.verdicts.ladders import BETWEEN_WORKLOADS, steps
from rmwbench.analysis.verdicts.ranking_words import words
from rmwbench.analysis.verdicts.statements import FractionChange, StatementAnswer
from rmwbench.analysis.verdicts.verdict import BlockRatio
from rmwbench.results.answer.facts import title_of
from rmwbench.results.shown import Levels
from rmwbench.words import numbers as fmt
from rmwbench.words.level_names import SIZE, level_name

CPU = "cpu_per_message"
PUBLISH = "publish_call_p50"
IS = {
    Fate.LOST: "is lost",
    Fate.LATE: "is late",
    Fate.NEVER_SENT: "is never sent",
    Fate.FAILED: "is missing in failed trials",
}
MOST_STEPS = 3
"""So many steps have a clause each."""


def names(one: Levels) -> list[str]:
    return [level_name(one.factor, level) for level in one.levels]


def is_ordered(one: Levels) -> bool:
    """Whether a level lies between two others: of numbers and sizes."""
    return all(not isinstance(level, str) or SIZE.fullmatch(level) for level in one.levels)


def title(one: Levels) -> str:
    """What the row of a table calls it: the arm, its topic, and the levels of the other factors."""
    others = ", ".join(level_name(factor, level) for factor, level in one.others.items())
    return " · ".join(filter(None, (one.arm, one.topic, others)))


def sentence(one: Levels) -> str:
    """Without the arm's name; empty where there is nothing to say."""
    clauses = [*_of_primary(one), *_of_delivery(one), *_of_costs(one)]
    return f"{'; '.join(clauses)}." if clauses else ""


def _of_primary(one: Levels) -> list[str]:
    metric = one.primary_metric
    neighbours = _answers(one, metric, neighbours=True)
    if not neighbours:
        return []
    endless = [entry.value == inf for entry in one.values[metric]]
    if all(endless):
        return []  # what does not arrive says it
    known = title_of(metric)
    first_to_last = one.step(metric, one.levels[-1], one.levels[0])
    every = [answer for _, answer in _answers(one, metric)]
    if all(answer.verdict == "equivalent" for answer in every):
        (_, answer) = neighbours[-1] if len(one.levels) == 2 else (0, first_to_last)
        ratio = _ratio_of(answer)
        return [f"the {known} is the same, within the margin{f' ({ratio})' if ratio else ''}"]
    decided = [(at, answer) for at, answer in neighbours if _is_decided(answer)]
    if len(decided) > MOST_STEPS and _is_decided(first_to_last):
        clauses = [_step(one, metric, len(one.levels) - 1, 0, first_to_last)]
        if len({answer.verdict for _, answer in decided}) == 1 and len(decided) == len(neighbours):
            rises = (decided[0][1].verdict == "worse") is not words(metric).higher
            clauses.append(f"{'more' if rises else 'less'} at each level")
        return [_of_metric(metric, clauses)]
    if decided:
        return [_of_metric(metric, [_step(one, metric, at, at - 1, it) for at, it in decided])]
    if _is_decided(first_to_last):
        return [_of_metric(metric, [_step(one, metric, len(one.levels) - 1, 0, first_to_last)])]
    if not any(endless) and any(answer.verdict == "undecided" for answer in every):
        ratio = _ratio_of(neighbours[0][1]) if len(one.levels) == 2 else ""
        if ratio and any(step.not_worse for step in one.steps if step.metric == metric):
            there, here = names(one)
            behind = words(metric).behind_of(f"{_at(one)} {there}")
            return [f"{_at(one)} {here} not {behind} ({ratio})"]
        return [f"no difference in the {known} is decided{f' ({ratio})' if ratio else ''}"]
    return []


def _answers(
    one: Levels, metric: str, *, neighbours: bool = False
) -> list[tuple[int, StatementAnswer]]:
    """(place of a level, its answer) against the level before it; without `neighbours` against the
    first, too."""
    pairs = [(at, by) for at, by in steps(len(one.levels)) if not neighbours or by == at - 1]
    answers = ((at, one.step(metric, one.levels[at], one.levels[by])) for at, by in pairs)
    return [(at, answer) for at, answer in answers if answer is not None]


def _is_decided(answer: StatementAnswer | None) -> bool:
    return answer is not None and answer.verdict in ("worse", "better")


def _of_metric(metric: str, clauses: Sequence[str]) -> str:
    """`as long as` is of the median response where no other metric is named."""
    named = metric != PRIMARY or clauses[0].startswith("worse")
    return f"{f'{title_of(metric)} ' if named else ''}{', '.join(clauses)}"


def _step(one: Levels, metric: str, at: int, by: int, answer: StatementAnswer | None) -> str:
    """`1.65× [1.25–2.16] as long at 10 Hz as at 100 Hz`: the larger one first; `worse at 100 Hz than
    at 10 Hz` where 0 or infinity leaves no ratio."""
    here, there = names(one)[at], names(one)[by]
    ratio = answer.effect if answer is not None else None
    if not isinstance(ratio, BlockRatio):
        if answer is not None and answer.verdict == "better":
            here, there = there, here
        return f"worse {_at(one)} {here} than {_at(one)} {there}"
    if ratio.value < 1:
        here, there, ratio = there, here, ratio.inverse()
    much = words(metric).amount(1, fmt.ratio(ratio).full).split(" ", 1)[1]
    return f"{much} {_at(one)} {here} as {_at(one)} {there}"


def _at(one: Levels) -> str:
    return "in" if one.factor == BETWEEN_WORKLOADS else "at"


def _ratio_of(answer: StatementAnswer | None) -> str:
    ratio = answer.effect if answer is not None else None
    return fmt.ratio(ratio).full if isinstance(ratio, BlockRatio) else ""


def _of_delivery(one: Levels) -> list[str]:
    metric = judged_loss(one.primary_metric)
    counted = [entry.value for entry in one.values.get(metric, ())]
    if not counted or any(share is None for share in counted):
        return []
    shares = [fates.undelivered for fates in one.fates]
    if not any(shares):
        if any(fates.late for fates in one.fates):
            return [_most(one, [fates.late for fates in one.fates])]
        return ["everything is delivered at each level" if len(shares) > 2 else "all is delivered"]
    if begins := _where_it_begins(one, shares):
        return [begins]
    if decided := [
        _of_step(one, at, at - 1, answer)
        for at, answer in _answers(one, metric, neighbours=True)
        if _is_decided(answer)
    ]:
        return decided[:MOST_STEPS]
    return [f"{_most(one, shares)}, and no difference in what is delivered is decided"]


def _most(one: Levels, shares: Sequence[float]) -> str:
    """`at 10 Hz it never sends 28 % of its messages (its publish call was held)`: at the level with
    the largest share."""
    most = max(range(len(shares)), key=shares.__getitem__)
    return f"{_at(one)} {names(one)[most]} it {one.fates[most].verbs()}"


def _only(fates: Sequence[Fates]) -> Fate | None:
    """The fate of all that was not delivered there; None where there are several."""
    kinds = {kind for one in fates for kind in one.shares}
    return kinds.pop() if len(kinds) == 1 else None


def _where_it_begins(one: Levels, shares: Sequence[float]) -> str:
    """`loss begins between 600 kB and 2 MB, and is 19 % at 10 MB`; empty where not all is delivered
    at the first level, none is decided to deliver less than it, or levels have no order."""
    if shares[0] > 0 or not is_ordered(one):
        return ""
    metric, called = judged_loss(one.primary_metric), names(one)
    for at in range(1, len(shares)):
        answer = one.step(metric, one.levels[at], one.levels[0])
        if answer is None or answer.verdict != "worse":
            continue
        before = called[at - 1] if not any(shares[:at]) else called[0]
        between = f"between {before} and {called[at]}"
        if _only(one.fates) is not Fate.LOST:
            return f"what is not delivered begins {between}: {_most(one, shares)}"
        most = max(range(len(shares)), key=shares.__getitem__)
        return f"loss begins {between}, and is {fmt.percent(shares[most])} at {called[most]}"
    return ""


def _of_step(one: Levels, at: int, by: int, answer: StatementAnswer) -> str:
    """`at 2 readers 45 percentage points less [30–60] is lost than at 1 reader`; where there are
    several fates, with these at both levels."""
    change = answer.effect
    much = "more" if answer.verdict == "worse" else "less"
    if isinstance(change, FractionChange):
        ends = sorted(abs(end) * 100 for end in (change.low, change.high))
        between = f"[{fmt.significant(ends[0])}–{fmt.significant(ends[1])}]"
        much = f"{fmt.points(change.value)} {much} {between}"
    only = _only([one.fates[at], one.fates[by]])
    here, there = (
        name if only else f"{name} ({fates.short() or 'all delivered'})"
        for name, fates in ((names(one)[place], one.fates[place]) for place in (at, by))
    )
    what = IS[only] if only else "is undelivered"
    held = {fates.held_by for fates in (one.fates[at], one.fates[by]) if fates.held_by}
    why = f" ({' or '.join(sorted(HELD[cause] for cause in held))})" if held else ""
    return f"{_at(one)} {here} {much} {what} than {_at(one)} {there}{why}"


def _of_costs(one: Levels) -> list[str]:
    """What is decided between the first level and the last: the processor, and the publish call in
    its values."""
    clauses = []
    first, last = one.levels[0], one.levels[-1]
    if one.primary_metric != CPU and _is_decided(answer := one.step(CPU, last, first)):
        clauses.append(f"CPU per message {_step(one, CPU, len(one.levels) - 1, 0, answer)}")
    answer = one.step(PUBLISH, last, first)
    values = [entry.value for entry in one.values.get(PUBLISH, ())]
    if one.primary_metric != PUBLISH and _is_decided(answer) and values[0] and values[-1]:
        verb = "grows" if (answer and answer.verdict == "worse") else "falls"
        ends = " to ".join(fmt.quantity(value, "ns") for value in (values[0], values[-1]))
        clauses.append(f"the publish call {verb} from {ends}")
    return clauses
