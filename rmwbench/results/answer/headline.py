"""The answer of one workload, or of one of its topics, in one sentence: what is decided first, then
what is open.

It is made from the typed facts of `facts.py` and from nothing else, so it never claims more than
the verdicts do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rmwbench.analysis.verdicts.ranking_words import RankingWords, words
from rmwbench.results.answer import facts as said
from rmwbench.results.answer.facts import AnswerTone, WorkloadFact
from rmwbench.results.shown import (
    AnyArm,
    LevelsOutcome,
    Part,
    SuiteAnswer,
    TopicAnswer,
    WorkloadAnswer,
    WorkloadArm,
)
from rmwbench.words import numbers as fmt


@dataclass(frozen=True)
class Headline:
    """`answer` is the sentence of `facts`, `detail` the numbers behind it, `limits` which arms meet
    the user's limits (empty without any). `lead` is the answer's first statement as a sentence,
    `rest` the others as another: a page prints one larger. Both are empty where the answer is one
    statement."""

    answer: str
    detail: str
    tone: AnswerTone
    facts: tuple[WorkloadFact, ...] = ()
    limits: str = ""
    lead: str = ""
    rest: str = ""

    @property
    def is_alone(self) -> bool:
        """Whether every family has one arm alone, so that nothing was compared."""
        others = [fact for fact in self.facts if not isinstance(fact, said.LimitsFact)]
        kinds = said.Alone | said.NoneCarries
        return any(isinstance(fact, said.Alone) for fact in others) and all(
            isinstance(fact, kinds) for fact in others
        )


def headline(workload: Part, condition: LevelsOutcome | None = None) -> Headline:
    """`condition`: what the suite's limits make of the workload (the document's `outcomes`), if it
    has any. A sentence per family."""
    kept = said.limits(condition, workload)
    contenders = said.contenders(workload)
    if contenders and all(is_untimed(arm) for arm in contenders):
        return Headline(
            "Not timed: allocations were counted here.",
            "Times beside them are not results.",
            "none",
        )
    found = [(opening, _of_family(part)) for opening, part in said.families(workload)]
    one = together(found)
    if kept is None:
        return one
    facts = (kept, *one.facts) if one.facts else ()
    return replace(one, facts=facts, limits=said.sentence([kept], words(workload.primary_metric)))


def together(found: Sequence[tuple[str, Headline]]) -> Headline:
    """Of the families of one workload, each behind how a sentence about it opens."""
    if len(found) == 1:
        return found[0][1]
    opened = [said.opened(opening, one.answer) for opening, one in found]
    leads = [said.opened(opening, one.lead or one.answer) for opening, one in found]
    rests = [said.opened(opening, one.rest) for opening, one in found if one.rest]
    tones = [one.tone for _, one in found]
    return Headline(
        " ".join(opened),
        " ".join(one.detail for _, one in found if one.detail),
        next(tone for tone in ("open", "shared", "decided", "none") if tone in tones),
        tuple(fact for _, one in found for fact in one.facts),
        lead=" ".join(leads),
        rest=" ".join(rests),
    )


def _of_family(workload: Part) -> Headline:
    workload, order = said.labelled(workload), words(workload.primary_metric)
    found = said.of_workload(workload)
    if not found:
        return Headline("No arm delivered enough to compare.", "See the failures below.", "none")
    worst = [fact for fact in found if isinstance(fact, said.AtWorst)]
    here = [fact for fact in found if fact not in worst]
    if not isinstance(workload, TopicAnswer) and (none := said.none_carries(workload)):
        return _nobody(none, here, order)
    first = next((fact for fact in found if not isinstance(fact, said.NoneCarries)), None)
    if first is None:
        return Headline(said.sentence(here, order), "", "none", (*found,))
    advise = not isinstance(workload, TopicAnswer) and _all_carry(first, found[0], workload)
    text = said.sentence(here, order, advise=advise)
    tone = first.tone
    if worst:
        each = "Each arm" if isinstance(first, said.NoneInAll) else "Each other arm"
        detail = f"{each} at its worst: {said.sentence(worst, order)}"
        return Headline(text or detail, detail if text else "", tone, (*found,))
    several = len(here) > 1
    return Headline(
        text,
        _detail(workload, first),
        tone,
        (*found,),
        lead=said.sentence(here[:1], order, advise=advise) if several else "",
        rest=said.sentence(here[1:], order, advise=advise) if several else "",
    )


def _nobody(none: said.NoneCarries, here: Sequence[WorkloadFact], order: RankingWords) -> Headline:
    """Where nobody carries the workload that is the answer, and who is the best a detail."""
    kept = [fact for fact in here if fact.beside_none]
    first = here[0]
    if isinstance(first, said.Best | said.BestByDelivery):
        first = replace(first, fates=None)  # which is said already
    best = isinstance(first, said.Best | said.BestByDelivery | said.BestByBlocks)
    slower = [fact for fact in here if isinstance(fact, said.Slower)]
    detail = said.sentence([first, *slower], order) if best else ""
    return Headline(said.sentence([none, *kept], order), detail, "none", (none, *here))


def _all_carry(first: WorkloadFact, lead: WorkloadFact, workload: Part) -> bool:
    """Whether nobody that a sentence would advise to take loses more than can be carried: in the
    topics that somebody carries, where the sentence begins with those that nobody does."""
    parts: Sequence[Part] = (workload,)
    if first is not lead and isinstance(workload, WorkloadAnswer):
        parts = [one for one in workload.topics if one.judged and not said.none_carries(one)]
    return all(
        said.carries(arm, part)
        for part in parts
        for arm in said.contenders(part)
        if arm.arm in first.offered
    )


def conditions(shown: SuiteAnswer) -> dict[str, LevelsOutcome]:
    """Workload -> what the suite's limits make of it; empty where it declares none."""
    return {one.workload: one for one in shown.outcomes.conditions} if shown.outcomes else {}


def is_untimed(arm: AnyArm) -> bool:
    """Whether its trials counted allocations, which costs time."""
    return isinstance(arm, WorkloadArm) and arm.untimed


def _detail(workload: Part, first: WorkloadFact) -> str:
    """The number of the arm that the sentence begins with; what would decide the rest stands at the
    end of a report."""
    if isinstance(first, said.PairsFact):
        return ""  # the matrix has them
    if isinstance(first, said.Between):
        if len(first.arms) > 3:
            return ""  # the table has them
        return "; ".join(
            f"{arm.arm} {shown.full}"
            for arm in said.contenders(workload)
            if arm.arm in first.arms
            and (shown := fmt.metric(arm.metrics.get(workload.primary_metric))).state == "measured"
        )
    lead = said.leader(workload)
    return "" if lead is None else _numbers(lead, workload.primary_metric)


def _numbers(arm: AnyArm, metric: str) -> str:
    shown = fmt.metric(arm.metrics.get(metric))
    if shown.state != "measured":
        return ""
    floor = fmt.ratio(arm.times_floor)
    over = " over readers that turned out unlike" if arm.spread and arm.spread.unlike else ""
    text = f"{arm.arm}: {shown.full} {said.title_of(metric)}{over}"
    return f"{text}, {floor.text} the floor." if floor.state == "measured" else f"{text}."
