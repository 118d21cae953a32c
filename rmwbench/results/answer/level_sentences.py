"""Says in a sentence what a factor does to an arm: first the decided differences between
neighbouring levels, then undelivered messages by their fate, then costs. The sentence is made from
the verdicts of the steps and from the values and fates at the levels, and from nothing else."""

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
from rmwbench.results.show_model import Levels
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
"""At most so many steps have a clause each."""


def names(ladder: Levels) -> list[str]:
    return [level_name(ladder.factor, level) for level in ladder.levels]


def is_ordered(ladder: Levels) -> bool:
    """Whether the levels are numbers or sizes, so that one may lie between two others. A switch,
    false or true, is neither."""
    return all(
        SIZE.fullmatch(level) if isinstance(level, str) else not isinstance(level, bool)
        for level in ladder.levels
    )


def title(ladder: Levels) -> str:
    """Return the name of the table row: the arm, its topic, and the levels of the other factors."""
    others = ", ".join(level_name(factor, level) for factor, level in ladder.others.items())
    return " · ".join(filter(None, (ladder.arm, ladder.topic, others)))


def sentence(ladder: Levels) -> str:
    """Return the sentence without the arm's name; empty if there is nothing to say."""
    clauses = [*_of_primary(ladder), *_of_delivery(ladder), *_of_costs(ladder)]
    return f"{'; '.join(clauses)}." if clauses else ""


def _of_primary(ladder: Levels) -> list[str]:
    metric = ladder.primary_metric
    neighbours = _answers(ladder, metric, neighbours=True)
    if not neighbours:
        return []
    endless = [entry.value == inf for entry in ladder.values[metric]]
    if all(endless):
        return []  # the clause about delivery says it
    title_in_sentence = title_of(metric)
    first_to_last = ladder.step(metric, ladder.levels[-1], ladder.levels[0])
    every = [answer for _, answer in _answers(ladder, metric)]
    if all(answer.verdict == "equivalent" for answer in every):
        answer = neighbours[-1][1] if len(ladder.levels) == 2 else first_to_last
        return [f"the {title_in_sentence} is the same, within the margin{_ratio_of(answer)}"]
    decided = [(at, answer) for at, answer in neighbours if _is_decided(answer)]
    if _is_decided(first_to_last) and not 0 < len(decided) <= MOST_STEPS:
        clauses = [_step(ladder, metric, len(ladder.levels) - 1, 0, first_to_last)]
        if len({answer.verdict for _, answer in decided}) == 1 and len(decided) == len(neighbours):
            rises = (decided[0][1].verdict == "worse") is not words(metric).higher
            clauses.append(f"{'more' if rises else 'less'} at each level")
    else:
        clauses = [_step(ladder, metric, at, at - 1, answer) for at, answer in decided]
    if clauses:
        return [_of_metric(metric, clauses)]
    if not any(endless) and any(answer.verdict == "undecided" for answer in every):
        ratio = _ratio_of(neighbours[0][1]) if len(ladder.levels) == 2 else ""
        if ratio and any(step.not_worse for step in ladder.steps if step.metric == metric):
            first, second = names(ladder)
            behind = words(metric).behind_of(f"{_at(ladder)} {first}")
            return [f"{_at(ladder)} {second} not {behind}{ratio}"]
        return [f"no difference in the {title_in_sentence} is decided{ratio}"]
    return []


def _answers(
    ladder: Levels, metric: str, *, neighbours: bool = False
) -> list[tuple[int, StatementAnswer]]:
    """Return (place of a level, its answer) against the level before it; without `neighbours`
    against the first level, too."""
    pairs = [(at, by) for at, by in steps(len(ladder.levels)) if not neighbours or by == at - 1]
    answers = ((at, ladder.step(metric, ladder.levels[at], ladder.levels[by])) for at, by in pairs)
    return [(at, answer) for at, answer in answers if answer is not None]


def _is_decided(answer: StatementAnswer | None) -> bool:
    return answer is not None and answer.verdict in ("worse", "better")


def _of_metric(metric: str, clauses: Sequence[str]) -> str:
    """Return the clauses behind the metric's name; `as long as` alone is about the median
    response."""
    named = metric != PRIMARY or clauses[0].startswith("worse")
    return f"{f'{title_of(metric)} ' if named else ''}{', '.join(clauses)}"


def _step(ladder: Levels, metric: str, at: int, by: int, answer: StatementAnswer | None) -> str:
    """Return `1.65× [1.25–2.16] as long at 10 Hz as at 100 Hz`, with the larger value first; `worse
    at 100 Hz than at 10 Hz` if 0 or infinity leaves no ratio."""
    more, less = names(ladder)[at], names(ladder)[by]
    ratio = answer.effect if answer is not None else None
    if not isinstance(ratio, BlockRatio):
        if answer is not None and answer.verdict == "better":
            more, less = less, more
        return f"worse {_at(ladder)} {more} than {_at(ladder)} {less}"
    if ratio.value < 1:
        more, less, ratio = less, more, ratio.inverse()
    return f"{times_as(metric, ratio)} {_at(ladder)} {more} as {_at(ladder)} {less}"


def times_as(metric: str, ratio: BlockRatio) -> str:
    """Return `1.65× [1.25–2.16] as long`, or the words of another metric."""
    return words(metric).amount(1, fmt.ratio(ratio).full).split(" ", 1)[1]


def _at(ladder: Levels) -> str:
    return "in" if ladder.factor == BETWEEN_WORKLOADS else "at"


def _ratio_of(answer: StatementAnswer | None) -> str:
    """Return ` (1.02× [0.98–1.06])`; empty if the answer has no ratio."""
    ratio = answer.effect if answer is not None else None
    return f" ({fmt.ratio(ratio).full})" if isinstance(ratio, BlockRatio) else ""


def _of_delivery(ladder: Levels) -> list[str]:
    metric = judged_loss(ladder.primary_metric)
    counted = [entry.value for entry in ladder.values.get(metric, ())]
    if not counted or any(share is None for share in counted):
        return []
    shares = [fates.undelivered for fates in ladder.fates]
    if not any(shares):
        if any(fates.late for fates in ladder.fates):
            return [_most(ladder, [fates.late for fates in ladder.fates])]
        return ["everything is delivered at each level" if len(shares) > 2 else "all is delivered"]
    if begins := _where_it_begins(ladder, shares):
        return [begins]
    if decided := [
        _of_step(ladder, at, at - 1, answer)
        for at, answer in _answers(ladder, metric, neighbours=True)
        if _is_decided(answer)
    ]:
        return decided[:MOST_STEPS]
    return [f"{_most(ladder, shares)}, and no difference in what is delivered is decided"]


def _most(ladder: Levels, shares: Sequence[float]) -> str:
    """Return `at 10 Hz it never sends 28 % of its messages (its publish call was held)` for the
    level with the largest share."""
    place = shares.index(max(shares))
    return f"{_at(ladder)} {names(ladder)[place]} it {ladder.fates[place].verbs()}"


def _only(fates: Sequence[Fates]) -> Fate | None:
    """Return the fate of all undelivered messages at these levels; None if there are several."""
    kinds = {kind for of_level in fates for kind in of_level.shares}
    return kinds.pop() if len(kinds) == 1 else None


def _where_it_begins(ladder: Levels, shares: Sequence[float]) -> str:
    """Return `loss begins between 600 kB and 2 MB, and is 19 % at 10 MB`; empty if not all messages
    arrive at the first level, if no level is decided to deliver less, or if levels have no
    order."""
    if shares[0] > 0 or not is_ordered(ladder):
        return ""
    metric, level_names = judged_loss(ladder.primary_metric), names(ladder)
    for at in range(1, len(shares)):
        answer = ladder.step(metric, ladder.levels[at], ladder.levels[0])
        if answer is None or answer.verdict != "worse":
            continue
        before = level_names[at - 1] if not any(shares[:at]) else level_names[0]
        between = f"between {before} and {level_names[at]}"
        if _only(ladder.fates) is not Fate.LOST:
            return f"what is not delivered begins {between}: {_most(ladder, shares)}"
        most = max(shares)
        return f"loss begins {between}, and is {fmt.percent(most)} at {level_names[shares.index(most)]}"
    return ""


def _of_step(ladder: Levels, at: int, by: int, answer: StatementAnswer) -> str:
    """Return `at 2 readers 45 percentage points less [30–60] is lost than at 1 reader`; if there
    are several fates, each level has its own behind its name."""
    much = "more" if answer.verdict == "worse" else "less"
    if isinstance(answer.effect, FractionChange):
        much = points_more(answer.effect)
    only = _only([ladder.fates[at], ladder.fates[by]])
    after, before = (
        name if only else f"{name} ({fates.short() or 'all delivered'})"
        for name, fates in ((names(ladder)[place], ladder.fates[place]) for place in (at, by))
    )
    verb = IS[only] if only else "is undelivered"
    held = {fates.held_by for fates in (ladder.fates[at], ladder.fates[by]) if fates.held_by}
    why = f" ({' or '.join(sorted(HELD[cause] for cause in held))})" if held else ""
    return f"{_at(ladder)} {after} {much} {verb} than {_at(ladder)} {before}{why}"


def points_more(change: FractionChange) -> str:
    """Return `45 percentage points more [30–60]`, or `less`. An end of the interval on the other
    side of 0 is negative."""
    word, sign = ("more", 1) if change.value > 0 else ("less", -1)
    low, high = sorted(sign * end * 100 for end in (change.low, change.high))
    return f"{fmt.points(change.value)} {word} [{fmt.significant(low)}–{fmt.significant(high)}]"


def _of_costs(ladder: Levels) -> list[str]:
    """Return the costs that are decided between the first level and the last: the processor time,
    and the publish call with its values."""
    clauses = []
    first, last = ladder.levels[0], ladder.levels[-1]
    if ladder.primary_metric != CPU and _is_decided(answer := ladder.step(CPU, last, first)):
        clauses.append(f"CPU per message {_step(ladder, CPU, len(ladder.levels) - 1, 0, answer)}")
    answer = ladder.step(PUBLISH, last, first)
    values = [entry.value for entry in ladder.values.get(PUBLISH, ())]
    if ladder.primary_metric != PUBLISH and _is_decided(answer) and values[0] and values[-1]:
        verb = "grows" if (answer and answer.verdict == "worse") else "falls"
        ends = " to ".join(fmt.quantity(value, "ns") for value in (values[0], values[-1]))
        clauses.append(f"the publish call {verb} from {ends}")
    return clauses
