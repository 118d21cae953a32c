"""The answer of a workload as a committee reads it: the headline of every report, except that
nobody is told to take what does not carry the traffic.

A verdict compares: where every candidate loses its messages one of them is still the best, and its
name in a summary would be taken for advice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rmwbench.analysis.metrics.fates import Fates
from rmwbench.analysis.verdicts.over_topics import MOST_LOST
from rmwbench.analysis.verdicts.ranking_words import words
from rmwbench.results.answer import facts
from rmwbench.results.answer.facts import WorkloadFact
from rmwbench.results.answer.headline import Headline, headline, together
from rmwbench.results.shown import AnyArm, LevelsOutcome, Part, WorkloadAnswer, WorkloadArm
from rmwbench.words import numbers as fmt


@dataclass(frozen=True)
class TopicFates:
    """What becomes of an arm's messages, in the topic in which it delivers least: their `fates`,
    and their name `of`. `endless`: its primary metric is infinite, in whichever topic."""

    arm: str
    of: str
    fates: Fates
    endless: bool

    @property
    def undelivered(self) -> float:
        return self.fates.undelivered

    @property
    def is_carried(self) -> bool:
        return self.undelivered <= MOST_LOST and not self.endless


def answer(workload: WorkloadAnswer, condition: LevelsOutcome | None = None) -> Headline:
    """The `headline`, where the arms that it names first carry the traffic. Where one of them does
    not, it says who is the best and not what to take; where no arm does, it says so, and who is the
    best in its `detail`. A sentence per family."""
    families = facts.families(workload)
    if len(families) > 1:
        joined = together([(opening, answer(part)) for opening, part in families])
        return replace(joined, limits=headline(workload, condition).limits)
    summary, workload = headline(workload, condition), facts.with_labels(workload)
    arms = [arm for arm in facts.contenders(workload) if facts.verdict_of(arm) != "no data"]
    fates = {arm.arm: _fate(arm, workload) for arm in arms}
    named = [fates[name] for name in _named(summary.facts) if name in fates]
    failing = [fate for fate in named if not fate.is_carried]
    if not failing:
        return summary
    order = words(workload.primary_metric)
    endless = order.why_infinite(f"the {facts.title_of(workload.primary_metric)}")
    verdicts = [fact for fact in summary.facts if not isinstance(fact, (*_ASIDE, facts.AtWorst))]
    plain = facts.sentence(verdicts, order)
    if any(fate.is_carried for fate in fates.values()):
        losses = f" Before choosing: {'; '.join(_losses(failing, endless))}."
        text = plain if _tells_losses(verdicts[0]) else plain + losses
        return replace(summary, answer=text, lead="", rest="")
    running = [fates[arm.arm] for arm in arms if not facts.is_by_failure(arm)]
    without = facts.DoesNotWork | facts.NoDataFact | facts.Unable
    others = [fact.clause(order) for fact in verdicts if isinstance(fact, without)]
    reasons = "; ".join([*_losses(running, endless), *others])
    text = f"{_nobody(arms)} carries this: {reasons}."
    return replace(summary, answer=text, detail=plain, lead="", rest="")


def _fate(arm: WorkloadArm, workload: WorkloadAnswer) -> TopicFates:
    parts: list[tuple[str, Part, AnyArm]] = [
        (topic.topic, topic, own)
        for topic in workload.topics
        if topic.judged
        for own in topic.arms
        if own.arm == arm.arm
    ]
    parts = parts or [("its messages", workload, arm)]
    of, part, worst = max(parts, key=lambda one: facts.fates_of(one[2], one[1]).undelivered)
    return TopicFates(
        arm.arm,
        of,
        facts.fates_of(worst, part),
        any(_is_endless(own, part) for _, part, own in parts),
    )


def _is_endless(arm: AnyArm, part: Part) -> bool:
    """As a table has it: `never`."""
    return fmt.metric(arm.metrics.get(part.primary_metric)).state == "never"


_ASIDE = (facts.LimitsFact, facts.NoneCarries)
"""What stands before the verdicts."""


def _named(facts: Sequence[WorkloadFact]) -> tuple[str, ...]:
    """The arms of which the first verdict says that they are the best, or may be."""
    first = next((fact for fact in facts if not isinstance(fact, _ASIDE)), None)
    return () if first is None else first.offered


def _tells_losses(fact: WorkloadFact) -> bool:
    """Whether its own words say what its arms do not deliver."""
    if isinstance(fact, facts.Equal | facts.Between):
        return bool(fact.fates)
    if isinstance(fact, facts.Best | facts.BestByDelivery | facts.OnlyOne):
        return fact.fates is not None
    return isinstance(fact, facts.DeliversMost | facts.DeliverAll | facts.TradeOff)


def _losses(fates: Sequence[TopicFates], endless: str) -> list[str]:
    """`a loses 28 % of its messages, b 82 %`, `c never sends 28 % of camera`; of those that deliver
    more, and whose metric is infinite all the same, why it is."""
    clauses: list[str] = []
    last = None
    for fate in fates:
        if fate.undelivered < facts.UNLIKE:
            continue
        of = fate.of if fate.fates.loses_only else None
        if of and of == last:
            clauses[-1] += f", {fate.arm} {fmt.percent(fate.fates.lost)}"
        else:
            clauses.append(f"{fate.arm} {fate.fates.verbs(fate.of)}")
        last = of
    if endless_arms := [
        fate.arm for fate in fates if fate.endless and fate.undelivered <= MOST_LOST
    ]:
        clauses.append(f"with {facts.names(endless_arms)} {endless}")
    return clauses


def _nobody(arms: Sequence[WorkloadArm]) -> str:
    """`No RMW as installed`."""
    kind = "RMW" if all(arm.layer == "rclcpp" for arm in arms) else "candidate"
    return f"No {kind} as installed" if all(arm.as_installed for arm in arms) else f"No {kind}"
