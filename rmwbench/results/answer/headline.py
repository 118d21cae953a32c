"""Answers one workload, or one of its topics, in one sentence: the decided facts first, then the
open ones.

The sentence is made from the typed facts of `facts.py` and from nothing else, so it never claims
more than the verdicts do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rmwbench.analysis.verdicts.ranking_words import RankingWords, words
from rmwbench.results.answer import facts
from rmwbench.results.answer.facts import AnswerTone, WorkloadFact
from rmwbench.results.show_model import (
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
    """`answer` is the sentence of `facts`, `detail` the numbers behind it, `limits` says which arms
    meet the user's limits (empty without limits). `lead` is the answer's first statement as a
    sentence, `rest` the others as another one: a page prints the lead larger. Both are empty if the
    answer is one statement."""

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
        others = [fact for fact in self.facts if not isinstance(fact, facts.LimitsFact)]
        kinds = facts.Alone | facts.NoneCarries
        return any(isinstance(fact, facts.Alone) for fact in others) and all(
            isinstance(fact, kinds) for fact in others
        )


def headline(workload: Part, condition: LevelsOutcome | None = None) -> Headline:
    """Return the headline, with a sentence per family. `condition`: the outcome of the workload
    under the suite's limits (`outcomes` of the document), if it has any."""
    limits = facts.limits(condition, workload)
    contenders = facts.contenders(workload)
    if contenders and all(is_untimed(arm) for arm in contenders):
        return Headline(
            "Not timed: allocations were counted here.",
            "Times beside them are not results.",
            "none",
        )
    whole = together([(opening, _of_family(part)) for opening, part in facts.families(workload)])
    if limits is None:
        return whole
    return replace(
        whole,
        facts=(limits, *whole.facts) if whole.facts else (),
        limits=facts.sentence([limits], words(workload.primary_metric)),
    )


def together(headlines: Sequence[tuple[str, Headline]]) -> Headline:
    """Return the headlines of the families of one workload as one, each behind its opening."""
    if len(headlines) == 1:
        return headlines[0][1]
    openings = [facts.with_opening(opening, part.answer) for opening, part in headlines]
    leads = [facts.with_opening(opening, part.lead or part.answer) for opening, part in headlines]
    rests = [facts.with_opening(opening, part.rest) for opening, part in headlines if part.rest]
    tones = [part.tone for _, part in headlines]
    return Headline(
        " ".join(openings),
        " ".join(part.detail for _, part in headlines if part.detail),
        next(tone for tone in ("open", "shared", "decided", "none") if tone in tones),
        tuple(fact for _, part in headlines for fact in part.facts),
        lead=" ".join(leads),
        rest=" ".join(rests),
    )


def _of_family(workload: Part) -> Headline:
    workload, order = facts.with_labels(workload), words(workload.primary_metric)
    family_facts = facts.of_workload(workload)
    if not family_facts:
        return _nothing_compared(workload, order)
    worst = [fact for fact in family_facts if isinstance(fact, facts.AtWorst)]
    others = [fact for fact in family_facts if fact not in worst]
    if not isinstance(workload, TopicAnswer) and (none := facts.none_carries(workload)):
        return _nobody(none, others, order)
    first = next((fact for fact in family_facts if not isinstance(fact, facts.NoneCarries)), None)
    if first is None:
        return Headline(facts.sentence(others, order), "", "none", (*family_facts,))
    advise = not isinstance(workload, TopicAnswer) and _all_carry(first, family_facts[0], workload)
    text = facts.sentence(others, order, advise=advise)
    tone = first.tone
    if worst:
        arms = "Each arm" if isinstance(first, facts.NoneInAll) else "Each other arm"
        detail = f"{arms} at its worst: {facts.sentence(worst, order)}"
        return Headline(text or detail, detail if text else "", tone, (*family_facts,))
    several = len(others) > 1
    return Headline(
        text,
        _detail(workload, first),
        tone,
        (*family_facts,),
        lead=facts.sentence(others[:1], order, advise=advise) if several else "",
        rest=facts.sentence(others[1:], order, advise=advise) if several else "",
    )


def _nothing_compared(workload: Part, order: RankingWords) -> Headline:
    """Return the headline of a workload in which no contender has data."""
    arms = facts.contenders(workload)
    if not arms:
        return Headline("Only the floor was measured: there is nothing to compare.", "", "none")
    unable = [a.arm for a in arms if isinstance(a, WorkloadArm) and a.not_supported]
    if len(unable) == len(arms):
        return Headline(facts.sentence([facts.Unable(tuple(unable))], order), "", "none")
    done = any(arm.trials.done for arm in arms)
    text = "delivered enough to compare" if done else "came to the end of a trial"
    return Headline(f"No arm {text}.", "The cautions have the reasons.", "none")


def _nobody(
    none: facts.NoneCarries, stated: Sequence[WorkloadFact], order: RankingWords
) -> Headline:
    """Return the headline of a workload that no arm carries: that is the answer, and the best arm
    is a detail."""
    beside = [fact for fact in stated if fact.beside_none]
    first = stated[0]
    if isinstance(first, facts.Best | facts.BestByDelivery):
        first = replace(first, fates=None)  # the first sentence has them
    best = isinstance(first, facts.Best | facts.BestByDelivery | facts.BestByBlocks)
    slower = [fact for fact in stated if isinstance(fact, facts.Slower)]
    detail = facts.sentence([first, *slower], order) if best else ""
    return Headline(facts.sentence([none, *beside], order), detail, "none", (none, *stated))


def _all_carry(first: WorkloadFact, lead: WorkloadFact, workload: Part) -> bool:
    """Whether every arm that the sentence would advise to take carries the workload; if the
    sentence begins with topics that no arm carries, whether it carries the other topics."""
    parts: Sequence[Part] = (workload,)
    if first is not lead and isinstance(workload, WorkloadAnswer):
        parts = [t for t in workload.topics if t.judged and not facts.none_carries(t)]
    return all(
        facts.carries(arm, part)
        for part in parts
        for arm in facts.contenders(part)
        if arm.arm in first.offered
    )


def conditions(suite: SuiteAnswer) -> dict[str, LevelsOutcome]:
    """Return each workload's outcome under the suite's limits; empty if the suite declares none."""
    return {c.workload: c for c in suite.outcomes.conditions} if suite.outcomes else {}


def is_untimed(arm: AnyArm) -> bool:
    """Whether the arm's trials counted allocations, which costs time."""
    return isinstance(arm, WorkloadArm) and arm.untimed


def _detail(workload: Part, first: WorkloadFact) -> str:
    """Return the numbers of the arm that the sentence begins with. The end of a report says what
    would decide the rest."""
    if isinstance(first, facts.PairsFact):
        return ""  # the matrix has them
    if isinstance(first, facts.Between):
        if len(first.arms) > 3:
            return ""  # the table has them
        return "; ".join(
            f"{arm.arm} {value.full}"
            for arm in facts.contenders(workload)
            if arm.arm in first.arms
            and (value := fmt.metric(arm.metrics.get(workload.primary_metric))).state == "measured"
        )
    lead = facts.leader(workload)
    return "" if lead is None else _numbers(lead, workload.primary_metric)


def _numbers(arm: AnyArm, metric: str) -> str:
    value = fmt.metric(arm.metrics.get(metric))
    if value.state != "measured":
        return ""
    floor = fmt.ratio(arm.times_floor)
    over = " over readers that turned out unlike" if arm.spread and arm.spread.unlike else ""
    text = f"{arm.arm}: {value.full} {facts.title_of(metric)}{over}"
    return f"{text}, {floor.text} the floor." if floor.state == "measured" else f"{text}."
