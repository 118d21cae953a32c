"""Verdicts: is an arm worse than the best, equivalent to it, the best itself, or not decided?

Multiple comparison with the best (Hsu, Ann. Stat. 9, 1981; Hsu, Multiple Comparisons, 1996, ch. 4) on paired block
log-ratios: an arm is `worse` when some other arm beats it, with Bonferroni over the k−1 others, so that the claim "the
true best is worse" is the one that is controlled. Over the whole report the arms' p values go through Holm's procedure
(Scand. J. Stat. 6, 1979), valid under any dependence and also when arms tie. `equivalent` is an intersection–union test
(Berger, Technometrics 24, 1982): not slower than *any* other arm by more than the margin; its own Holm family. Each of
the two kinds of claim is thus wrong somewhere in a report with at most probability alpha.

Loss is judged first, by per-block differences, because a fast middleware that loses messages is not fast. An infinite
quantile has no ratio: it is compared by sign.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from scipy import special

from rmwbench.analysis.ratio import ratio, sign_flip, spread, standard_error
from rmwbench.analysis.verdict import Arm, NoRatio, Ratio, Rules, Verdict
from rmwbench.analysis.wording import Judged, Pair, loses, word


def judge(workloads: Mapping[str, Sequence[Arm]], rules: Rules = Rules()) -> dict[str, dict[str, Verdict]]:
    """Verdicts of every arm of every workload of one report: workload -> arm name -> verdict."""
    judged = {w: _tests(w, [a for a in arms if not a.floor], rules) for w, arms in workloads.items()}
    everything = [j for arms in judged.values() for j in arms.values()]
    _judge_families(everything, rules.alpha)
    out: dict[str, dict[str, Verdict]] = {}
    for workload, arms in workloads.items():
        out[workload] = {}
        verdicts = word(judged[workload], rules)
        for arm in arms:
            if arm.floor:
                out[workload][arm.name] = Verdict(
                    "reference", None, None, "a raw operating-system primitive: what any middleware is measured against"
                )
            elif arm.name in verdicts:
                out[workload][arm.name] = verdicts[arm.name]
            else:
                out[workload][arm.name] = Verdict(
                    "no data", None, None, "no trial of this arm was completed with enough messages"
                )
    return out


def _tests(workload: str, arms: Sequence[Arm], rules: Rules) -> dict[str, Judged]:
    arms = [a for a in arms if a.primary]
    lossy = any(k for a in arms for k, _ in a.undelivered.values())
    pairs = {(i.name, j.name): _pair(i, j, rules) for i in arms for j in arms if i is not j}
    # With loss somewhere an arm has two ways to be called worse, so each costs twice.
    chances = max(len(arms) - 1, 1) * (2 if lossy else 1)
    out = {}
    for i in arms:
        mine = {j.name: pairs[i.name, j.name] for j in arms if j is not i}
        # Nobody is slower than, or has to keep up with, one that drops messages to be fast.
        fair = {name for name in mine if pairs[name, i.name].p_lossier * chances > rules.alpha}
        p = min([mine[n].p_slower for n in fair] + [x.p_lossier for x in mine.values()], default=1.0)
        beyond = max([mine[n].p_beyond for n in fair] + [1.0 for x in mine.values() if loses(i, x, rules)], default=1.0)
        out[i.name] = Judged(workload, i, mine, fair, chances, min(1.0, chances * p), beyond)
    return out


def _pair(i: Arm, j: Arm, rules: Rules) -> Pair:
    blocks = sorted(set(i.primary) & set(j.primary))
    n = len(blocks)
    p_lossier, difference = _loss_test(i, j, rules)
    if n < rules.min_blocks:
        return Pair(n, None, 1.0, 1.0, p_lossier, difference, False)
    a, b = (np.array([x.primary[k] for k in blocks], float) for x in (i, j))
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        with np.errstate(invalid="ignore"):
            slower = int(np.count_nonzero(a > b))
        decided = slower + int(np.count_nonzero(a < b))
        p = float(special.bdtrc(slower - 1, decided, 0.5)) if decided else 1.0
        return Pair(n, None, p, 1.0, p_lossier, difference, True)
    logs = np.log(a / b)
    return Pair(
        n, logs, _p_above(logs, 0.0), 1 - _p_above(logs, math.log1p(rules.margin)), p_lossier, difference, False
    )


def _p_above(logs: np.ndarray, threshold: float) -> float:
    """One-sided p against "the mean is not above the threshold"."""
    mean, error = float(logs.mean()) - threshold, standard_error(logs)
    if error == 0:
        return 0.0 if mean > 0 else 1.0
    return float(special.stdtr(len(logs) - 1, -mean / error))


def _loss_test(i: Arm, j: Arm, rules: Rules) -> tuple[float, float]:
    """(p, difference) for "i does not lose more than j": t on per-block differences of the undelivered fraction.

    The standard deviation is not taken below the binomial one (with one event and one non-event added), because a few
    equal small counts would otherwise look certain.
    """
    blocks = sorted(set(i.undelivered) & set(j.undelivered))
    if len(blocks) < rules.min_blocks:
        return 1.0, 0.0
    (ki, ni), (kj, nj) = (np.array([x.undelivered[b] for b in blocks], float).T for x in (i, j))
    differences = ki / ni - kj / nj
    allowed = 0.0 if i.reliable else rules.loss_margin
    mean = float(differences.mean()) - allowed
    if mean <= 0:
        return 1.0, float(differences.mean())
    least = sum(float((p * (1 - p) / n).mean()) for p, n in (((k + 1) / (n + 2), n) for k, n in ((ki, ni), (kj, nj))))
    deviation = max(float(differences.std(ddof=1)), math.sqrt(least))
    return float(special.stdtr(len(blocks) - 1, -mean * math.sqrt(len(blocks)) / deviation)), float(differences.mean())


def _judge_families(everything: list[Judged], alpha: float) -> None:
    """Holm over all arms of all workloads, once for `worse` and once for `equivalent`."""
    for j, rejected, multiplier in _holm(everything, lambda j: j.p_worse, alpha):
        j.worse, j.multiplier = rejected, multiplier
    for j, rejected, _ in _holm(everything, lambda j: j.p_equivalent, alpha):
        j.equivalent = rejected


def _holm(items: list[Judged], p: Callable[[Judged], float], alpha: float) -> Iterator[tuple[Judged, bool, int]]:
    """Step-down: each item, whether it is rejected, and by how much its p was multiplied (those after the stop: as at
    the stop).
    """
    stop = None
    for place, item in enumerate(sorted(items, key=lambda j: (p(j), j.workload, j.arm.name))):
        remaining = len(items) - place
        if stop is None and p(item) * remaining > alpha:
            stop = remaining
        yield item, stop is None, stop or remaining


__all__ = ["Arm", "NoRatio", "Ratio", "Rules", "Verdict", "judge", "ratio", "sign_flip", "spread"]
