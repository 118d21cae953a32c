"""The answer of a workload for a committee: the headline of every report, but it names no
middleware as the best that does not carry the traffic.

A verdict compares. If every candidate loses messages, one of them is still the best, and readers of
a summary would take its name for a recommendation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rmwbench.analysis.metrics.fates import Fates
from rmwbench.analysis.verdicts.best import MOST_LOST
from rmwbench.analysis.verdicts.ranking_words import words
from rmwbench.results.answer import facts
from rmwbench.results.answer.facts import WorkloadFact
from rmwbench.results.answer.headline import Headline, headline, together
from rmwbench.results.show_model import AnyArm, LevelsOutcome, Part, WorkloadAnswer, WorkloadArm
from rmwbench.words import numbers as fmt


@dataclass(frozen=True)
class TopicFates:
    """What becomes of an arm's `messages` (named by their topic), in the topic in which it delivers
    the smallest share. `is_infinite`: its primary metric is infinite in some topic."""

    arm: str
    messages: str
    fates: Fates
    is_infinite: bool

    @property
    def is_carried(self) -> bool:
        return self.fates.undelivered <= MOST_LOST and not self.is_infinite


def answer(workload: WorkloadAnswer, condition: LevelsOutcome | None = None) -> Headline:
    """Return the headline if the arms that it names first carry the traffic. If one of them does
    not, the answer names the best arm and adds its losses; if no arm does, the answer says so, and
    its `detail` names the best arm. Each family has a sentence of its own."""
    families = facts.families(workload)
    if len(families) > 1:
        joined = together([(opening, answer(part)) for opening, part in families])
        return replace(joined, limits=headline(workload, condition).limits)
    summary, workload = headline(workload, condition), facts.with_labels(workload)
    arms = [arm for arm in facts.contenders(workload) if facts.verdict_of(arm) != "no data"]
    fates = {arm.arm: _fate(arm, workload) for arm in arms}
    first = next((fact for fact in summary.facts if not isinstance(fact, _LEADING_FACTS)), None)
    best = [fates[name] for name in (first.offered if first else ()) if name in fates]
    failing = [fate for fate in best if not fate.is_carried]
    if not failing:
        return summary
    ranking = words(workload.primary_metric)
    why_infinite = ranking.why_infinite(f"the {facts.title_of(workload.primary_metric)}")
    verdicts = [
        fact for fact in summary.facts if not isinstance(fact, (*_LEADING_FACTS, facts.AtWorst))
    ]
    comparison = facts.sentence(verdicts, ranking)
    if any(fate.is_carried for fate in fates.values()):
        losses = f" Before choosing: {'; '.join(_losses(failing, why_infinite))}."
        text = comparison if _says_losses(verdicts[0]) else comparison + losses
        return replace(summary, answer=text, lead="", rest="")
    running = [fates[arm.arm] for arm in arms if not facts.is_by_failure(arm)]
    failures = facts.DoesNotWork | facts.NoDataFact | facts.Unable
    others = [fact.clause(ranking) for fact in verdicts if isinstance(fact, failures)]
    reasons = "; ".join([*_losses(running, why_infinite), *others])
    text = f"{_no_arm(arms)} carries this: {reasons}."
    return replace(summary, answer=text, detail=comparison, lead="", rest="")


def _fate(arm: WorkloadArm, workload: WorkloadAnswer) -> TopicFates:
    parts: list[tuple[str, Part, AnyArm]] = [
        (topic.topic, topic, own)
        for topic in workload.topics
        if topic.judged
        for own in topic.arms
        if own.arm == arm.arm
    ]
    parts = parts or [("its messages", workload, arm)]
    fates = [(messages, facts.fates_of(own, part)) for messages, part, own in parts]
    messages, worst = max(fates, key=lambda pair: pair[1].undelivered)
    values = [fmt.metric(own.metrics.get(part.primary_metric)) for _, part, own in parts]
    return TopicFates(arm.arm, messages, worst, any(value.state == "never" for value in values))


_LEADING_FACTS = (facts.LimitsFact, facts.NoneCarries)
"""Facts that stand before the verdicts."""


def _says_losses(fact: WorkloadFact) -> bool:
    """Whether the fact's own clause says what its arms do not deliver."""
    if isinstance(fact, facts.Equal | facts.Between):
        return bool(fact.fates)
    if isinstance(fact, facts.Best | facts.BestByDelivery | facts.OnlyOne):
        return fact.fates is not None
    return isinstance(fact, facts.DeliversMost | facts.DeliverAll | facts.TradeOff)


def _losses(fates: Sequence[TopicFates], why_infinite: str) -> list[str]:
    """Return clauses such as `a loses 28 % of its messages, b 82 %` and `c never sends 28 % of
    camera`, and, for arms that deliver enough and whose metric is infinite all the same, the
    reason."""
    clauses: list[str] = []
    last = None
    for fate in fates:
        if fate.fates.undelivered < facts.UNLIKE:
            continue
        messages = fate.messages if fate.fates.loses_only else None
        if messages and messages == last:
            clauses[-1] += f", {fate.arm} {fmt.percent(fate.fates.lost)}"
        else:
            clauses.append(f"{fate.arm} {fate.fates.verbs(fate.messages)}")
        last = messages
    if infinite_arms := [
        fate.arm for fate in fates if fate.is_infinite and fate.fates.undelivered <= MOST_LOST
    ]:
        clauses.append(f"with {facts.names(infinite_arms)} {why_infinite}")
    return clauses


def _no_arm(arms: Sequence[WorkloadArm]) -> str:
    """Return `No RMW as installed` or the like."""
    kind = "RMW" if all(arm.layer == "rclcpp" for arm in arms) else "candidate"
    return f"No {kind} as installed" if all(arm.as_installed for arm in arms) else f"No {kind}"
