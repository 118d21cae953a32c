"""Verdicts: is an arm worse than the best, equivalent to it, the best itself, or not decided?

Multiple comparison with the best (Hsu, Ann. Stat. 9, 1981; Hsu, Multiple Comparisons, 1996, ch. 4) on paired block log-ratios: an arm is `worse` when some other
arm beats it, with Bonferroni over the k−1 others, so that the claim "the true best is worse" is the one that is controlled. Over the
whole report the arms' p values go through Holm's procedure (Scand. J. Stat. 6, 1979), valid under any dependence and also when arms tie. `equivalent` is an
intersection–union test (Berger, Technometrics 24, 1982): not slower than *any* other arm by more than the margin; its own Holm family.
Each of the two kinds of claim is thus wrong somewhere in a report with at most probability alpha.

Loss is judged first, by per-block differences, because a fast middleware that loses messages is not fast. An infinite quantile has no ratio: it is
compared by sign.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from rmwbench.analysis.metric import finite
from rmwbench.analysis.resolution import blocks_needed

HOPELESS_MINUTES = 10_000


@dataclass(frozen=True)
class Arm:
    """One arm in one workload. `primary`: block -> the trial's primary metric (> 0, +inf allowed; smaller is better).

    `undelivered`: block -> (messages that did not arrive sound and in time, messages wanted). Only done trials are listed.
    """

    name: str
    primary: Mapping[int, float]
    undelivered: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    floor: bool = False
    reliable: bool = True


@dataclass(frozen=True)
class Ratio:
    """Geometric mean of block ratios with its interval; `low` and `high` None where only the sign is known."""

    value: float
    low: float
    high: float
    blocks: int

    def document(self) -> dict[str, Any]:
        return {"value": finite(self.value), "low": finite(self.low), "high": finite(self.high), "blocks": self.blocks}


@dataclass(frozen=True)
class NoRatio:
    reason: str

    def document(self) -> dict[str, Any]:
        return {"no_data": self.reason}


@dataclass(frozen=True)
class Verdict:
    """`verdict`: best | equivalent | worse | undecided | reference | no data. `minutes_to_decide`: length of a campaign that would decide it."""

    verdict: str
    against: str | None
    ratio: Ratio | NoRatio | None
    reason: str
    minutes_to_decide: float | None = None

    def document(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict, "against": self.against, "ratio": None if self.ratio is None else self.ratio.document(),
            "reason": self.reason, "minutes_to_decide": None if self.minutes_to_decide is None else finite(self.minutes_to_decide),
        }  # fmt: skip


@dataclass(frozen=True)
class Rules:
    """`margin`: the ratio minus 1 within which arms count as equal (max of 5 % and the machine's A/A floor). `loss_margin`: the fraction of
    messages that a best-effort arm may lose more than another without being judged by it; reliable arms have none."""

    alpha: float = 0.05
    margin: float = 0.05
    min_blocks: int = 5
    minutes_per_block: float | None = None
    loss_margin: float = 0.01


@dataclass(frozen=True)
class _Pair:
    """Arm i against arm j over their common blocks, for one-sided claims."""

    blocks: int
    logs: np.ndarray | None  # None: too few blocks, or an infinite value among them
    p_slower: float  # of "i is not slower than j", by ratio or by sign
    p_beyond: float  # of "i is slower than j by more than the margin"; small means equivalent or faster
    p_lossier: float
    loss_difference: float
    by_sign: bool


@dataclass
class _Judged:
    """An arm on its way through the two Holm families."""

    workload: str
    arm: Arm
    pairs: dict[str, _Pair]
    fair: set[str]  # those it may be compared with by latency: not decided to lose more than this arm
    chances: int  # how many comparisons each p is multiplied by before Holm
    p_worse: float
    p_equivalent: float
    multiplier: int = 1
    worse: bool = False
    equivalent: bool = False

    def level(self, alpha: float) -> float:
        """The one-sided level at which this arm was tested: shown intervals use it, so that they agree with the verdict."""
        return alpha / (self.multiplier * self.chances)


def judge(workloads: Mapping[str, Sequence[Arm]], rules: Rules = Rules()) -> dict[str, dict[str, Verdict]]:  # noqa: B008
    """Verdicts of every arm of every workload of one report: workload -> arm name -> verdict."""
    judged = {w: _tests(w, [a for a in arms if not a.floor], rules) for w, arms in workloads.items()}
    everything = [j for arms in judged.values() for j in arms.values()]
    _judge_families(everything, rules.alpha)
    out: dict[str, dict[str, Verdict]] = {}
    for workload, arms in workloads.items():
        out[workload] = {}
        verdicts = _word(judged[workload], rules)
        for arm in arms:
            if arm.floor:
                out[workload][arm.name] = Verdict("reference", None, None, "a raw operating-system primitive: what any middleware is measured against")
            elif arm.name in verdicts:
                out[workload][arm.name] = verdicts[arm.name]
            else:
                out[workload][arm.name] = Verdict("no data", None, None, "no trial of this arm was completed with enough messages")
    return out


def ratio(i: Mapping[int, float], j: Mapping[int, float], *, level: float = 0.025, min_blocks: int = 2) -> Ratio | NoRatio:
    """Geometric mean of i/j over common blocks, with a t interval on the logarithms; each bound errs with probability `level`."""
    blocks = sorted(set(i) & set(j))
    if len(blocks) < min_blocks:
        return NoRatio(f"{len(blocks)} blocks have both, {min_blocks} are needed")
    a, b = (np.array([x[k] for k in blocks], float) for x in (i, j))
    infinite = int(np.count_nonzero(~np.isfinite(a) | ~np.isfinite(b)))
    if infinite:
        return NoRatio(f"in {infinite} of {len(blocks)} blocks lost messages reach the quantile: an infinite value has no ratio")
    logs = np.log(a / b)
    mean, half = float(logs.mean()), float(stats.t.isf(level, len(logs) - 1)) * _error(logs)
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half), len(logs))


def sign_flip(logs: np.ndarray, draws: int = 20_000) -> float | None:
    """Two-sided p of the sign-flip test of mean(logs) = 0, shape (n,): a check on the t interval that assumes symmetry only. None below n = 10.

    All 2^n flips up to n = 14, beyond that `draws` random ones of a fixed seed.
    """
    n = len(logs)
    if n < 10:
        return None
    if n <= 14:
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    else:
        signs = np.random.default_rng(20).choice([-1, 1], (draws, n))
    means = np.abs(signs @ logs) / n
    return float((np.count_nonzero(means >= abs(logs.mean()) - 1e-12) + (n > 14)) / (len(means) + (n > 14)))


def spread(workload: Sequence[Arm]) -> float | None:
    """The typical standard deviation of a block log-ratio between contenders: the median over their pairs. None without two arms and two blocks."""
    arms = [a for a in workload if not a.floor]
    found = []
    for n, i in enumerate(arms):
        for j in arms[n + 1 :]:
            logs = [math.log(i.primary[b] / j.primary[b]) for b in set(i.primary) & set(j.primary) if math.isfinite(i.primary[b]) and math.isfinite(j.primary[b])]
            if len(logs) > 1:
                found.append(float(np.std(logs, ddof=1)))
    return float(np.median(found)) if found else None


def _tests(workload: str, arms: Sequence[Arm], rules: Rules) -> dict[str, _Judged]:
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
        beyond = max([mine[n].p_beyond for n in fair] + [1.0 for x in mine.values() if _loses(i, x, rules)], default=1.0)
        out[i.name] = _Judged(workload, i, mine, fair, chances, min(1.0, chances * p), beyond)
    return out


def _pair(i: Arm, j: Arm, rules: Rules) -> _Pair:
    blocks = sorted(set(i.primary) & set(j.primary))
    n = len(blocks)
    p_lossier, difference = _loss_test(i, j, rules)
    if n < rules.min_blocks:
        return _Pair(n, None, 1.0, 1.0, p_lossier, difference, False)
    a, b = (np.array([x.primary[k] for k in blocks], float) for x in (i, j))
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        with np.errstate(invalid="ignore"):
            slower = int(np.count_nonzero(a > b))
        decided = slower + int(np.count_nonzero(a < b))
        p = float(stats.binom.sf(slower - 1, decided, 0.5)) if decided else 1.0
        return _Pair(n, None, p, 1.0, p_lossier, difference, True)
    logs = np.log(a / b)
    return _Pair(n, logs, _p_above(logs, 0.0), 1 - _p_above(logs, math.log1p(rules.margin)), p_lossier, difference, False)


def _p_above(logs: np.ndarray, threshold: float) -> float:
    """One-sided p against "the mean is not above the threshold"."""
    mean, error = float(logs.mean()) - threshold, _error(logs)
    if error == 0:
        return 0.0 if mean > 0 else 1.0
    return float(stats.t.sf(mean / error, len(logs) - 1))


def _error(logs: np.ndarray) -> float:
    return float(logs.std(ddof=1)) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf


def _loss_test(i: Arm, j: Arm, rules: Rules) -> tuple[float, float]:
    """(p, difference) for "i does not lose more than j": t on per-block differences of the undelivered fraction.

    The standard deviation is not taken below the binomial one (with one event and one non-event added), because a few equal
    small counts would otherwise look certain.
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
    return float(stats.t.sf(mean * math.sqrt(len(blocks)) / deviation, len(blocks) - 1)), float(differences.mean())


def _loses(i: Arm, pair: _Pair, rules: Rules) -> bool:
    """Whether i lost visibly more than the other, decided or not: then it cannot be called equivalent."""
    return pair.loss_difference > (0.0 if i.reliable else rules.loss_margin)


def _judge_families(everything: list[_Judged], alpha: float) -> None:
    """Holm over all arms of all workloads, once for `worse` and once for `equivalent`."""
    for j, rejected, multiplier in _holm(everything, lambda j: j.p_worse, alpha):
        j.worse, j.multiplier = rejected, multiplier
    for j, rejected, _ in _holm(everything, lambda j: j.p_equivalent, alpha):
        j.equivalent = rejected


def _holm(items: list[_Judged], p: Callable[[_Judged], float], alpha: float) -> Iterator[tuple[_Judged, bool, int]]:
    """Step-down: each item, whether it is rejected, and by how much its p was multiplied (those after the stop: as at the stop)."""
    stop = None
    for place, item in enumerate(sorted(items, key=lambda j: (p(j), j.workload, j.arm.name))):
        remaining = len(items) - place
        if stop is None and p(item) * remaining > alpha:
            stop = remaining
        yield item, stop is None, stop or remaining


def _word(judged: dict[str, _Judged], rules: Rules) -> dict[str, Verdict]:
    if not judged:
        return {}
    order = sorted(judged, key=lambda name: (_centre(judged[name].arm), name))
    verdicts = {name: _worse(judged[name], judged, order, rules) for name in order}
    standing = [name for name in order if verdicts[name] is None]
    # The leader is the fastest of those that are not decided worse (loss first, so the fastest of all may not be among them).
    leader = standing[0] if standing else order[0]
    for name in standing:
        if name != leader:
            verdicts[name] = _open(judged[name], judged[leader], rules)
    if leader in standing:
        verdicts[leader] = _lead(judged[leader], judged, verdicts, order, rules)
    return {name: v for name, v in verdicts.items() if v is not None}


def _worse(j: _Judged, judged: dict[str, _Judged], order: list[str], rules: Rules) -> Verdict | None:
    if not j.worse:
        return None
    level = j.level(rules.alpha)
    by_loss = [n for n in order if n in j.pairs and j.pairs[n].p_lossier <= level]
    if by_loss:
        against = by_loss[0]
        pair = j.pairs[against]
        lost = _percent(_fraction(j.arm))
        promise = "although it was asked to be reliable" if j.arm.reliable else "best effort, but more than the margin allows"
        return Verdict(
            "worse", against, ratio(j.arm.primary, judged[against].arm.primary, level=level, min_blocks=rules.min_blocks),
            f"did not deliver {lost} of its messages ({promise}), {_percent(pair.loss_difference)} more than {against}; loss is judged before latency",
        )  # fmt: skip
    by_latency = [n for n in order if n in j.fair and j.pairs[n].p_slower <= level]
    for against in by_latency:
        pair, other = j.pairs[against], judged[against].arm
        found = ratio(j.arm.primary, other.primary, level=level, min_blocks=rules.min_blocks)
        if isinstance(found, NoRatio):
            return Verdict("worse", against, found, f"slower than {against} in sign: its quantile is infinite, because lost messages reach it")
        if found.value > 1 + rules.margin:
            doubt = ""
            p = sign_flip(pair.logs) if pair.logs is not None else None
            if p is not None and p > 0.05:
                doubt = f"; the sign-flip check does not confirm it (p = {p:.2g})"
            return Verdict("worse", against, found, f"{found.value:.3g}× {against}, interval [{found.low:.3g}, {found.high:.3g}] over {found.blocks} blocks{doubt}")
    return None  # clear of 1, yet inside the margin: no difference is claimed


def _open(j: _Judged, leader: _Judged, rules: Rules) -> Verdict:
    """An arm that is not decided worse: equivalent, or undecided with the time that would decide it."""
    name = leader.arm.name
    pair = j.pairs[name]
    found = ratio(j.arm.primary, leader.arm.primary, level=j.level(rules.alpha), min_blocks=rules.min_blocks)
    if j.equivalent:
        return Verdict("equivalent", name, found, f"not slower than any other arm by more than the margin of {_percent(rules.margin)}")
    if pair.blocks < rules.min_blocks:
        minutes = None if rules.minutes_per_block is None else rules.min_blocks * rules.minutes_per_block
        return Verdict("undecided", name, found, f"only {pair.blocks} blocks have both this arm and {name}; {rules.min_blocks} are needed", minutes)
    if pair.by_sign:
        return Verdict("undecided", name, found, "in some blocks lost messages reach the quantile, in too few to decide by sign")
    minutes, how = _minutes(pair.logs, j, rules)
    loss = f"; it lost {_percent(pair.loss_difference)} more messages, in too few blocks to judge" if _loses(j.arm, pair, rules) else ""
    if isinstance(found, Ratio) and found.low > 1:
        text = f"slower than {name}, but by less than the margin of {_percent(rules.margin)} that this machine's noise allows to claim"
    else:
        text = f"{found.value:.3g}× {name}, interval [{found.low:.3g}, {found.high:.3g}]" if isinstance(found, Ratio) else found.reason
    return Verdict("undecided", name, found, f"{text}{loss}; {how}", minutes)


def _lead(j: _Judged, judged: dict[str, _Judged], verdicts: dict[str, Verdict | None], order: list[str], rules: Rules) -> Verdict:
    others = [n for n in order if n != j.arm.name]
    if not others:
        return Verdict("best", None, None, "the only contender with data: nothing to compare it with")
    second = next((n for n in others if verdicts[n].verdict != "worse"), others[0])
    if verdicts[second].against == j.arm.name:
        found = _inverse(verdicts[second].ratio)
    else:
        found = ratio(j.arm.primary, judged[second].arm.primary, level=j.level(rules.alpha), min_blocks=rules.min_blocks)
    if all(verdicts[n].verdict == "worse" for n in others):
        return Verdict("best", second, found, "every other contender is decided to be worse")
    if j.equivalent:
        return Verdict("equivalent", second, found, f"not slower than any other arm by more than the margin of {_percent(rules.margin)}")
    open_ones = [n for n in others if verdicts[n].verdict == "undecided"]
    waits = [verdicts[n].minutes_to_decide for n in open_ones]
    minutes = None if not waits or None in waits else max(waits)
    names = ", ".join(open_ones or [n for n in others if verdicts[n].verdict == "equivalent"])
    return Verdict("undecided", second, found, f"leads, but is not decided against {names}", minutes)


def _inverse(r: Ratio | NoRatio | None) -> Ratio | NoRatio | None:
    return Ratio(1 / r.value, 1 / r.high, 1 / r.low, r.blocks) if isinstance(r, Ratio) else r


def _minutes(logs: np.ndarray, j: _Judged, rules: Rules) -> tuple[float | None, str]:
    """How long a campaign must be to decide, were the ratio and its spread what they look like now."""
    mean, margin = float(logs.mean()), math.log1p(rules.margin)
    # Beyond the margin it would be decided as worse, within it as equivalent.
    distance, level = (mean, j.level(rules.alpha)) if mean > margin else (margin - mean, rules.alpha / j.multiplier)
    blocks = blocks_needed(distance, float(logs.std(ddof=1)), level)
    if blocks is None:
        return None, "no realistic number of blocks would decide it: it lies at the edge of the margin"
    blocks = max(blocks, len(logs) + 1)
    if rules.minutes_per_block is None:
        return None, f"about {blocks} blocks would decide it"
    minutes = blocks * rules.minutes_per_block
    if minutes > HOPELESS_MINUTES:
        return None, f"it would take about {blocks} blocks, more than {HOPELESS_MINUTES} minutes"
    return minutes, f"about {blocks} blocks would decide it"


def _centre(arm: Arm) -> float:
    values = list(arm.primary.values())
    return math.exp(float(np.mean(np.log(values)))) if all(math.isfinite(v) for v in values) else math.inf


def _fraction(arm: Arm) -> float:
    total = sum(n for _, n in arm.undelivered.values())
    return sum(k for k, _ in arm.undelivered.values()) / total if total else 0.0


def _percent(fraction: float) -> str:
    return f"{fraction * 100:.2g} %"


__all__ = ["Arm", "NoRatio", "Ratio", "Rules", "Verdict", "judge", "ratio", "sign_flip", "spread"]
