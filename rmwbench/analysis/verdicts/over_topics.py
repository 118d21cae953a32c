"""The verdict of an arm over all topics of a workload that are judged one by one
(judged_topics.py)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from rmwbench.analysis.metrics.glossary import GLOSSARY, RATES
from rmwbench.analysis.metrics.judged_topics import PREPOSITION, Noun
from rmwbench.analysis.stats.estimate import complete
from rmwbench.analysis.verdicts.ranking_words import TIME, RankingWords
from rmwbench.analysis.verdicts.verdict import BlockRatio, By, Family, NoRatio, Verdict


@dataclass(frozen=True)
class Overall:
    """An arm's verdict over all topics of a workload, and the topic on which it rests: for a worse
    arm the worst topic, for an undecided arm the topic that is furthest from a decision; None where
    all topics have the same verdict."""

    verdict: Verdict
    topic: str | None


Lost = Mapping[str, Mapping[str, float]]
"""Topic -> arm -> the fraction of its messages that the arm did not deliver."""


def over_topics(
    verdicts: Mapping[str, Mapping[str, Verdict]],
    lost: Lost | None = None,
    order: RankingWords = TIME,
    families: Mapping[str, Family] = MappingProxyType({}),
    noun: Noun = "topic",
) -> dict[str, Overall]:
    """The verdicts of a workload (arm -> verdict) from those of its topics (topic -> arm ->
    verdict). An arm is worse where it is worse in any topic, because a robot needs all topics; it
    is undecided where any topic is open; else it is equivalent, or best where every other contender
    is worse in some topic. A workload's verdict makes no claim beyond those about its topics, so it
    needs no share of the error. `lost` only says which topic is the worst, `order` has the words
    for a smaller value; `families`: arm -> its family, by copy if not named; `noun`: the word for a
    topic."""
    arms = list(dict.fromkeys(arm for by_arm in verdicts.values() for arm in by_arm))
    by_topic = {arm: {t: by[arm] for t, by in verdicts.items() if arm in by} for arm in arms}
    contenders = [a for a in arms if any(v.verdict in _CONTENDS for v in by_topic[a].values())]
    worse = {a for a in contenders if any(v.verdict == "worse" for v in by_topic[a].values())}
    overall = {}
    for arm in arms:
        family = families.get(arm, Family.COPY)
        rivals = {a for a in contenders if a != arm and families.get(a, Family.COPY) is family}
        lost_by_topic = {t: by.get(arm, 0.0) for t, by in (lost or {}).items()}
        overall[arm] = _overall(by_topic[arm], rivals <= worse, lost_by_topic, order, noun)
    return overall


MOST_LOST = 0.1
"""An arm that does not deliver a larger share of its messages does not carry a topic: no limit that
is shipped (limits/) allows more."""


def is_rate(metric: str) -> bool:
    """Whether the metric is a rate: a workload that is judged by it has a publisher that sends as
    fast as it can, and does not ask for all messages to be delivered."""
    return metric in GLOSSARY and GLOSSARY[metric].group is RATES


def is_carried(undelivered: float, primary: str) -> bool:
    """Whether an arm that does not deliver this share of its messages still carries the topic."""
    return is_rate(primary) or undelivered <= MOST_LOST


def decisive(
    verdicts: Mapping[str, Mapping[str, Verdict]], lost: Lost, primary: str
) -> dict[str, dict[str, Verdict]]:
    """The `verdicts` for `over_topics`, without open verdicts in topics that no contender carries:
    no arm can be chosen for such a topic, so it leaves no arm open. All verdicts where no topic is
    carried."""
    not_carried = set()
    for topic, by in verdicts.items():
        shares = [lost[topic][arm] for arm, v in by.items() if v.verdict in _CONTENDS]
        if shares and not any(is_carried(share, primary) for share in shares):
            not_carried.add(topic)
    if len(not_carried) == len(verdicts):
        return {topic: dict(by) for topic, by in verdicts.items()}
    return {
        topic: {arm: v for arm, v in by.items() if topic not in not_carried or v.verdict == "worse"}
        for topic, by in verdicts.items()
    }


_CONTENDS = ("best", "equivalent", "worse", "undecided", "alone")


def _overall(
    by_topic: Mapping[str, Verdict],
    others_are_worse: bool,
    lost: Mapping[str, float],
    order: RankingWords,
    noun: Noun,
) -> Overall:
    verdicts = {v.verdict for v in by_topic.values()}
    first, within = next(iter(by_topic.values())), PREPOSITION[noun]
    if len(verdicts) == 1 and not first.ranks:
        return Overall(first, None)
    for verdict, over_some in (("worse", _worst), ("undecided", _furthest)):
        some = {t: v for t, v in by_topic.items() if v.verdict == verdict}
        if some:
            where = f"{within} {len(some)} of {len(by_topic)} {noun}s, most {within}"
            return over_some(some, where, lost)
    if "no data" in verdicts:
        topic = next(t for t, v in by_topic.items() if v.verdict == "no data")
        return Overall(Verdict("undecided", None, None, f"no data {within} {topic}"), topic)
    topic = max(by_topic, key=lambda t: _size(by_topic[t]))
    against, ratio = by_topic[topic].against, by_topic[topic].ratio
    if others_are_worse:
        reason = (
            f"worse {within} no {noun}, and every other contender is decided to be worse {within} "
            "one"
        )
        return Overall(Verdict("best", against, ratio, reason), topic)
    reason = (
        f"{within} none of {len(by_topic)} {noun}s "
        f"{order.behind_of('any other arm that delivers as much')} by more than the margin"
    )
    return Overall(Verdict("equivalent", against, ratio, reason), topic)


def _worst(by_topic: Mapping[str, Verdict], where: str, lost: Mapping[str, float]) -> Overall:
    """The topic with the most loss where loss made the arm worse, else the topic with the largest
    ratio."""
    by_loss = [t for t, v in by_topic.items() if v.by is By.DELIVERY]
    lost = lost if by_loss else {}
    topic = max(by_loss or by_topic, key=lambda t: (lost.get(t, 0.0), _size(by_topic[t])))
    verdict = by_topic[topic]
    reason = f"worse {where} {topic}: {verdict.reason}"
    return Overall(replace(verdict, reason=reason, minutes_to_decide=None), topic)


def _furthest(by_topic: Mapping[str, Verdict], where: str, lost: Mapping[str, float]) -> Overall:
    waits = complete(v.minutes_to_decide for v in by_topic.values())
    minutes = None if waits is None else max(waits)
    topic = max(by_topic, key=lambda t: (lost.get(t, 0.0), _size(by_topic[t])))
    verdict = by_topic[topic]
    reason = f"open {where} {topic}: {verdict.reason}"
    return Overall(replace(verdict, reason=reason, minutes_to_decide=minutes), topic)


def _size(v: Verdict) -> float:
    """How much slower an arm is; infinite without a ratio, since messages that did not arrive reach
    the quantile."""
    if isinstance(v.ratio, BlockRatio):
        return v.ratio.value
    return math.inf if isinstance(v.ratio, NoRatio) else 0.0
