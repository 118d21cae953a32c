"""Verdicts: is an arm worse than the best, equivalent to it, the best itself, or not decided?

Multiple comparison with the best (Hsu, Ann. Stat. 9, 1981; Hsu, Multiple Comparisons, 1996, ch. 4)
on paired block log-ratios, with variances that the report's comparisons share (variances.py): an
arm is `worse` when some other arm of its family (by copy, by loan) beats it, with Bonferroni over
the k−1 others, so that the claim "the true best is worse" is the one that is controlled. Over the
whole report the arms' p values go through Holm's procedure (Scand. J. Stat. 6, 1979), valid under
any dependence and also when arms tie. `equivalent` is an intersection–union test (Berger,
Technometrics 24, 1982): not slower than *any* other arm of its family by more than the margin; its
own Holm family. Each of the two kinds of claim is thus wrong somewhere in a report with at most
probability alpha.

Loss is judged first, by per-block differences, because a fast middleware that loses messages is not
fast. An infinite quantile has no ratio: it is compared by sign.

The verdict of an arm over all topics of a workload that are judged one by one (judged_topics.py)
rests on those of its topics.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from rmwbench.analysis.metrics.glossary import GLOSSARY, RATES
from rmwbench.analysis.metrics.judged_topics import PREPOSITION, Noun
from rmwbench.analysis.stats.estimate import complete
from rmwbench.analysis.verdicts.pairs import Group, GroupPriors, Pairs, group_priors, pairs
from rmwbench.analysis.verdicts.ranking_words import TIME, RankingWords
from rmwbench.analysis.verdicts.statements import holm
from rmwbench.analysis.verdicts.verdict import (
    BlockRatio,
    By,
    Family,
    JudgedArm,
    NoRatio,
    Rules,
    Verdict,
    Verdicts,
    never_works,
    with_failed_blocks,
)
from rmwbench.analysis.verdicts.wording import TestedArm, failed_arm_verdict, group_verdicts


def groups(workloads: Mapping[str, Sequence[JudgedArm]]) -> dict[Group, list[JudgedArm]]:
    """The groups of arms that are compared with each other, in the order of the workloads, by copy
    before by loan. A family without arms is left out."""
    return {
        (workload, family): members
        for workload, arms in workloads.items()
        for family in Family
        if (members := [arm for arm in arms if arm.family is family])
    }


def judge(
    workloads: Mapping[str, Sequence[JudgedArm]],
    rules: Rules = Rules(),
    decided: Verdicts | None = None,
) -> dict[str, dict[str, Verdict]]:
    """Verdicts of every arm of every workload of one report: workload -> arm name -> verdict.

    `decided`: the verdicts of an earlier look (sequential.py). An arm that was worse or equivalent
    then stays so, with the earlier reason where this look does not claim the same; which arm is
    best follows from these."""
    decided = decided or {}
    contenders = _contenders(workloads)
    judged = _judged(contenders, pairs(contenders, rules), rules)
    verdicts: dict[str, dict[str, Verdict]] = {w: {} for w in workloads}
    for group, tests in judged.items():
        verdicts[group[0]] |= group_verdicts(tests, rules, decided.get(group[0], {}))
    return {
        w: {arm.name: _verdict(arm, arms, verdicts[w], rules, decided.get(w, {})) for arm in arms}
        for w, arms in workloads.items()
    }


def _verdict(
    arm: JudgedArm,
    arms: Sequence[JudgedArm],
    verdicts: Mapping[str, Verdict],
    rules: Rules,
    earlier: Mapping[str, Verdict],
) -> Verdict:
    """The verdict of one arm. `verdicts`: the verdicts of the tested arms of the workload;
    `earlier`: the verdicts of an earlier look."""
    if arm.floor:
        why = "a raw operating-system primitive: what any middleware is measured against"
        return Verdict("reference", None, None, why)
    if arm.name in verdicts:
        return verdicts[arm.name]
    if arm.name in earlier and earlier[arm.name].verdict in ("worse", "equivalent"):
        return earlier[arm.name]  # its blocks are left out by now
    if never_works(arm):
        return failed_arm_verdict(arm, _leader(arms, verdicts), rules)
    without_value = f"its completed trials give no {arm.order.by}" if arm.busy else ""
    why = arm.barred or without_value or "no trial of this arm was completed"
    return Verdict("no data", None, None, why)


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


def evidence(workloads: Mapping[str, Sequence[JudgedArm]]) -> GroupPriors:
    """The priors that the verdicts use."""
    return group_priors(_contenders(workloads))


def _contenders(workloads: Mapping[str, Sequence[JudgedArm]]) -> dict[Group, list[JudgedArm]]:
    running = {
        group: [a for a in arms if not a.floor and not never_works(a)]
        for group, arms in groups(workloads).items()
    }
    return {
        group: [a for a in with_failed_blocks(arms) if a.primary] for group, arms in running.items()
    }


def _leader(arms: Sequence[JudgedArm], verdicts: Mapping[str, Verdict]) -> str | None:
    """An arm that works and against which nothing is decided."""
    standing = [
        a.name
        for a in arms
        if a.name in verdicts and verdicts[a.name].verdict in ("best", "equivalent")
    ]
    working = [a.name for a in arms if not a.floor and a.primary]
    return next(iter(standing or working), None)


def _judged(
    contenders: Mapping[Group, Sequence[JudgedArm]], pairs_of: Mapping[Group, Pairs], rules: Rules
) -> dict[Group, dict[str, TestedArm]]:
    """The tests of all arms. An arm that is decided to lose more than another arm is left out of
    the other's tests: no arm is slower than it, or has to be as fast. Which arms lose more is
    decided over the whole report, first by Bonferroni and then by the result of Holm's
    procedure."""
    count = sum(map(len, contenders.values()))
    lossier = {
        w: pairs_of[w].lossier * _chances(arms) * count <= rules.alpha
        for w, arms in contenders.items()
    }
    judged = _with_families(contenders, pairs_of, rules, lossier)
    decided = {w: _decided_lossier(arms, pairs_of[w], rules) for w, arms in judged.items()}
    if all(np.array_equal(decided[w], lossier[w]) for w in lossier):
        return judged
    return _with_families(contenders, pairs_of, rules, decided)


def _with_families(
    contenders: Mapping[Group, Sequence[JudgedArm]],
    pairs_of: Mapping[Group, Pairs],
    rules: Rules,
    lossier: Mapping[Group, np.ndarray],
) -> dict[Group, dict[str, TestedArm]]:
    """The tests of all arms, with the results of the two Holm families of the report."""
    judged = {
        group: _tests(group[0], arms, pairs_of[group], rules, lossier[group])
        for group, arms in contenders.items()
    }
    _judge_families([j for arms in judged.values() for j in arms.values()], rules.alpha)
    return judged


def _decided_lossier(judged: Mapping[str, TestedArm], of_group: Pairs, rules: Rules) -> np.ndarray:
    """Whether arm i is decided to lose more than arm j, [i, j]."""
    rows = [j.worse & (of_group.lossier[j.at] <= j.level(rules.alpha)) for j in judged.values()]
    return np.array(rows) if rows else np.zeros((0, 0), bool)


def _chances(arms: Sequence[JudgedArm]) -> int:
    """In how many ways an arm may be called worse: two for each other arm where any arm has losses,
    else one."""
    lossy = any(lost for arm in arms for lost, _ in arm.undelivered.values())
    return max(len(arms) - 1, 1) * (2 if lossy else 1)


def _tests(
    workload: str, arms: Sequence[JudgedArm], of_group: Pairs, rules: Rules, lossier: np.ndarray
) -> dict[str, TestedArm]:
    """The tests of the arms of one group. `lossier`: whether arm i is decided to lose more than arm
    j, [i, j]."""
    if not arms:
        return {}
    chances = _chances(arms)
    fair = ~lossier.T  # [i, j]: i may be held against j
    np.fill_diagonal(fair, False)
    slowest = np.minimum(np.where(fair, of_group.slower, 1.0).min(1), of_group.lossier.min(1))
    allowed = np.array([0.0 if a.reliable else rules.loss_margin for a in arms])
    beyond = np.where(fair, of_group.beyond, 0.0).max(1)
    beyond = np.where((of_group.loss_difference > allowed[:, None]).any(1), 1.0, beyond)
    beyond = np.where(fair.any(1), beyond, 1.0)
    places = {a.name: at for at, a in enumerate(arms)}
    p_worse, p_equivalent = np.minimum(1.0, chances * slowest).tolist(), beyond.tolist()
    return {
        a.name: TestedArm(
            workload, a, at, places, of_group, fair[at], chances, p_worse[at], p_equivalent[at]
        )
        for at, a in enumerate(arms)
    }


def _judge_families(arms: list[TestedArm], alpha: float) -> None:
    """Holm over all arms of all workloads, once for `worse` and once for `equivalent`."""
    by_key = {(j.workload, j.arm.name): j for j in arms}
    for key, slower in holm({k: j.p_worse for k, j in by_key.items()}, alpha).items():
        by_key[key].worse, by_key[key].multiplier = slower.rejected, slower.multiplier
    for key, equal in holm({k: j.p_equivalent for k, j in by_key.items()}, alpha).items():
        by_key[key].equivalent, by_key[key].multiplier_equivalent = equal.rejected, equal.multiplier


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
