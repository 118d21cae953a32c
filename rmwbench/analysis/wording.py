"""From tests to verdicts in words, each with the reason that a reader needs to disagree with it."""

import math
from dataclasses import dataclass

import numpy as np

from rmwbench.analysis.ratio import ratio, sign_flip
from rmwbench.analysis.resolution import blocks_needed
from rmwbench.analysis.verdict import Arm, NoRatio, Ratio, Rules, Verdict

HOPELESS_MINUTES = 10_000


@dataclass(frozen=True)
class Pair:
    """Arm i against arm j over their common blocks, for one-sided claims."""

    blocks: int
    logs: np.ndarray | None  # None: too few blocks, or an infinite value among them
    p_slower: float  # of "i is not slower than j", by ratio or by sign
    p_beyond: float  # of "i is slower than j by more than the margin"; small means equivalent or faster
    p_lossier: float
    loss_difference: float
    by_sign: bool


@dataclass
class Judged:
    """An arm on its way through the two Holm families."""

    workload: str
    arm: Arm
    pairs: dict[str, Pair]
    fair: set[str]  # those it may be compared with by latency: not decided to lose more than this arm
    chances: int  # how many comparisons each p is multiplied by before Holm
    p_worse: float
    p_equivalent: float
    multiplier: int = 1
    worse: bool = False
    equivalent: bool = False

    def level(self, alpha: float) -> float:
        """The one-sided level at which this arm was tested: shown intervals use it, so that they agree with the
        verdict.
        """
        return alpha / (self.multiplier * self.chances)


def loses(i: Arm, pair: Pair, rules: Rules) -> bool:
    """Whether i lost visibly more than the other, decided or not: then it cannot be called equivalent."""
    return pair.loss_difference > (0.0 if i.reliable else rules.loss_margin)


def word(judged: dict[str, Judged], rules: Rules) -> dict[str, Verdict]:
    """Arm name -> verdict, for the judged contenders of one workload."""
    if not judged:
        return {}
    order = sorted(judged, key=lambda name: (_centre(judged[name].arm), name))
    verdicts = {name: _worse(judged[name], judged, order, rules) for name in order}
    standing = [name for name in order if verdicts[name] is None]
    # The leader is the fastest of those that are not decided worse (loss first, so the fastest of all may not be among
    # them).
    leader = standing[0] if standing else order[0]
    for name in standing:
        if name != leader:
            verdicts[name] = _open(judged[name], judged[leader], rules)
    if leader in standing:
        verdicts[leader] = _lead(judged[leader], judged, verdicts, order, rules)
    return {name: v for name, v in verdicts.items() if v is not None}


def _worse(j: Judged, judged: dict[str, Judged], order: list[str], rules: Rules) -> Verdict | None:
    if not j.worse:
        return None
    level = j.level(rules.alpha)
    by_loss = [n for n in order if n in j.pairs and j.pairs[n].p_lossier <= level]
    if by_loss:
        against = by_loss[0]
        pair = j.pairs[against]
        lost = _percent(_fraction(j.arm))
        promise = (
            "although it was asked to be reliable" if j.arm.reliable else "best effort, but more than the margin allows"
        )
        return Verdict(
            "worse",
            against,
            ratio(j.arm.primary, judged[against].arm.primary, level=level, min_blocks=rules.min_blocks),
            f"did not deliver {lost} of its messages ({promise}), {_percent(pair.loss_difference)} more than "
            f"{against}; loss is judged before latency",
        )
    by_latency = [n for n in order if n in j.fair and j.pairs[n].p_slower <= level]
    for against in by_latency:
        pair, other = j.pairs[against], judged[against].arm
        found = ratio(j.arm.primary, other.primary, level=level, min_blocks=rules.min_blocks)
        if isinstance(found, NoRatio):
            return Verdict(
                "worse",
                against,
                found,
                f"slower than {against} in sign: its quantile is infinite, because lost messages reach it",
            )
        if found.value > 1 + rules.margin:
            doubt = ""
            p = sign_flip(pair.logs) if pair.logs is not None else None
            if p is not None and p > 0.05:
                doubt = f"; the sign-flip check does not confirm it (p = {p:.2g})"
            return Verdict(
                "worse",
                against,
                found,
                f"{found.value:.3g}× {against}, interval [{found.low:.3g}, {found.high:.3g}] over "
                f"{found.blocks} blocks{doubt}",
            )
    return None  # clear of 1, yet inside the margin: no difference is claimed


def _open(j: Judged, leader: Judged, rules: Rules) -> Verdict:
    """An arm that is not decided worse: equivalent, or undecided with the time that would decide it."""
    name = leader.arm.name
    pair = j.pairs[name]
    found = ratio(j.arm.primary, leader.arm.primary, level=j.level(rules.alpha), min_blocks=rules.min_blocks)
    if j.equivalent:
        return Verdict(
            "equivalent",
            name,
            found,
            f"not slower than any other arm by more than the margin of {_percent(rules.margin)}",
        )
    if pair.blocks < rules.min_blocks:
        minutes = None if rules.minutes_per_block is None else rules.min_blocks * rules.minutes_per_block
        return Verdict(
            "undecided",
            name,
            found,
            f"only {pair.blocks} blocks have both this arm and {name}; {rules.min_blocks} are needed",
            minutes,
        )
    if pair.by_sign:
        return Verdict(
            "undecided", name, found, "in some blocks lost messages reach the quantile, in too few to decide by sign"
        )
    minutes, how = _minutes(pair.logs, j, rules)
    loss = (
        f"; it lost {_percent(pair.loss_difference)} more messages, in too few blocks to judge"
        if loses(j.arm, pair, rules)
        else ""
    )
    if isinstance(found, Ratio) and found.low > 1:
        text = (
            f"slower than {name}, but by less than the margin of {_percent(rules.margin)} that this machine's "
            "noise allows to claim"
        )
    else:
        text = (
            f"{found.value:.3g}× {name}, interval [{found.low:.3g}, {found.high:.3g}]"
            if isinstance(found, Ratio)
            else found.reason
        )
    return Verdict("undecided", name, found, f"{text}{loss}; {how}", minutes)


def _lead(
    j: Judged, judged: dict[str, Judged], verdicts: dict[str, Verdict | None], order: list[str], rules: Rules
) -> Verdict:
    others = [n for n in order if n != j.arm.name]
    if not others:
        return Verdict("best", None, None, "the only contender with data: nothing to compare it with")
    second = next((n for n in others if verdicts[n].verdict != "worse"), others[0])
    if verdicts[second].against == j.arm.name:
        found = _inverse(verdicts[second].ratio)
    else:
        found = ratio(
            j.arm.primary, judged[second].arm.primary, level=j.level(rules.alpha), min_blocks=rules.min_blocks
        )
    if all(verdicts[n].verdict == "worse" for n in others):
        return Verdict("best", second, found, "every other contender is decided to be worse")
    open_ones = [n for n in others if verdicts[n].verdict == "undecided"]
    waits = [verdicts[n].minutes_to_decide for n in open_ones]
    minutes = None if not waits or None in waits else max(waits)
    if j.equivalent:
        still = f"; {', '.join(open_ones)} may be as fast" if open_ones else ""
        return Verdict(
            "equivalent",
            second,
            found,
            f"not slower than any other arm by more than the margin of {_percent(rules.margin)}{still}",
            minutes,
        )
    names = ", ".join(open_ones or [n for n in others if verdicts[n].verdict == "equivalent"])
    return Verdict("undecided", second, found, f"leads, but is not decided against {names}", minutes)


def _inverse(r: Ratio | NoRatio | None) -> Ratio | NoRatio | None:
    return Ratio(1 / r.value, 1 / r.high, 1 / r.low, r.blocks) if isinstance(r, Ratio) else r


def _minutes(logs: np.ndarray, j: Judged, rules: Rules) -> tuple[float | None, str]:
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
