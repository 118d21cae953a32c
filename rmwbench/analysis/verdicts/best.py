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
"""

from collections.abc import Mapping, Sequence

import numpy as np

from rmwbench.analysis.verdicts.pairs import Group, GroupPriors, Pairs, group_priors, pairs
from rmwbench.analysis.verdicts.statements import holm
from rmwbench.analysis.verdicts.verdict import (
    Family,
    JudgedArm,
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
