"""The words of verdicts, from tests: each verdict has the reason that a reader needs in order to
disagree."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rmwbench.analysis.metrics.fates import Fates
from rmwbench.analysis.metrics.glossary import Fate
from rmwbench.analysis.stats.estimate import complete
from rmwbench.analysis.stats.resolution import (
    POWER,
    Threshold,
    blocks_for,
    blocks_for_equivalence,
    power_equivalent,
    power_worse,
)
from rmwbench.analysis.verdicts.pairs import Pairs
from rmwbench.analysis.verdicts.ratio import have_both, sign_flip
from rmwbench.analysis.verdicts.verdict import (
    BlockRatio,
    By,
    JudgedArm,
    NoRatio,
    Ratio,
    Rules,
    Verdict,
)
from rmwbench.words.numbers import percent, points, quantity

HOPELESS_MINUTES = 10_000


@dataclass
class TestedArm:
    """An arm with its tests in the two Holm families."""

    workload: str
    arm: JudgedArm
    at: int  # its place in the workload's matrices
    places: Mapping[str, int]
    pairs: Pairs
    # which arms it may be compared with by latency: those that are not decided to deliver less than
    # this arm; shape (arms,)
    fair: np.ndarray
    chances: int  # the number of comparisons by which each p is multiplied before Holm
    p_worse: float
    p_equivalent: float
    multiplier: int = 1  # the factor of its p in the family of `worse` …
    multiplier_equivalent: int = 1  # … and in the family of `equivalent`
    worse: bool = False
    equivalent: bool = False

    def level(self, alpha: float) -> float:
        """The one-sided level at which this arm was tested to be worse: printed intervals have it,
        so that they agree with the verdict."""
        return alpha / (self.multiplier * self.chances)

    def ratio(self, other: str, rules: Rules) -> BlockRatio | NoRatio:
        return self._ratio(other, self.level(rules.alpha), rules)

    def ratio_equivalent(self, other: str, rules: Rules) -> BlockRatio | NoRatio:
        """The ratio at the level at which the arm was tested to be equivalent: an arm that is
        equivalent has an upper bound within the margin."""
        return self._ratio(other, rules.alpha / self.multiplier_equivalent, rules)

    def _ratio(self, other: str, level: float, rules: Rules) -> BlockRatio | NoRatio:
        """The ratio of the primary metric itself: below 1 if it is worse and a larger value is
        better."""
        order, place = self.arm.order, self.places[other]
        ratio = self.pairs.ratio(self.at, place, level, rules.min_blocks, order)
        return self.cost(ratio) if isinstance(ratio, BlockRatio) else ratio

    def cost(self, ratio: BlockRatio) -> BlockRatio:
        """A ratio of the primary metric, turned so that a smaller one is better, and back."""
        return ratio.inverse() if self.arm.order.higher else ratio


def group_verdicts(
    judged: dict[str, TestedArm], rules: Rules, decided: Mapping[str, Verdict]
) -> dict[str, Verdict]:
    """Arm name -> verdict, for the judged contenders of one group. `decided`: as in `best.judge`."""
    if not judged:
        return {}
    order = sorted(judged, key=lambda name: (*_place(judged[name].arm), name))
    earlier = {
        n: v for n, v in decided.items() if n in judged and v.verdict in ("worse", "equivalent")
    }
    verdicts = {n: _worse_verdict(judged[n], order, rules) for n in order}
    # The earlier of two claims stands. A claim that is made again has the words of this look, which
    # has more blocks: the blocks that stopped an arm early exaggerate its ratio.
    not_repeated = {n: v for n, v in earlier.items() if not judged[n].equivalent}
    for n, v in earlier.items():
        verdicts[n] = (verdicts[n] or v) if v.verdict == "worse" else None
        judged[n].equivalent |= v.verdict == "equivalent"
    standing = [name for name in order if verdicts[name] is None]
    # The leader is the fastest arm that is not decided worse (loss is judged first, so the fastest
    # of all arms may be decided worse).
    leader = standing[0] if standing else order[0]
    for name in standing:
        if name != leader:
            verdicts[name] = not_repeated.get(name) or _open_verdict(
                judged[name], judged[leader], rules
            )
    settled = {name: v for name, v in verdicts.items() if v is not None}
    if leader in standing:
        settled[leader] = _leader_verdict(judged[leader], settled, not_repeated.get(leader), rules)
    return {name: settled[name] for name in order}


def _worse_verdict(j: TestedArm, order: list[str], rules: Rules) -> Verdict | None:
    if not j.worse:
        return None
    level, pairs = j.level(rules.alpha), j.pairs
    if (pairs.lossier[j.at] <= level).any():
        against = next(n for n in order if pairs.lossier[j.at, j.places[n]] <= level)
        fates, ratio = j.arm.fates_together(), j.ratio(against, rules)
        more = points(float(pairs.loss_difference[j.at, j.places[against]]))
        reason = (
            f"{_undelivered(j.arm, fates)}: {more} less delivered than by {against}; delivery is "
            f"judged before {j.arm.order.by}"
        )
        return Verdict("worse", against, ratio, reason, by=By.DELIVERY, fates=fates)
    by_latency = j.fair & (pairs.slower[j.at] <= level)
    for against in order if by_latency.any() else ():
        at = j.places[against]
        if not by_latency[at]:
            continue
        ratio = j.ratio(against, rules)
        if isinstance(ratio, NoRatio):
            reason = f"{j.arm.order.behind_of(against)} in sign: {_why_by_sign(j.arm, against)}"
            return Verdict("worse", against, ratio, reason, by=By.PRIMARY)
        cost = j.cost(ratio)
        if cost.value > 1 + rules.least():
            noise = rules.noise_at(ratio.blocks)
            doubt = f"; the calibration saw identical arms differ by up to {percent(noise)}"
            doubt = doubt if cost.value <= 1 + noise else ""
            p = sign_flip(pairs.differences(j.at, at))
            if p is not None and p > 0.05:
                doubt += f"; the sign-flip check does not confirm it (p = {p:.2g})"
            reason = (
                f"{times(ratio)} {against}, interval {interval(ratio)} over {ratio.blocks} blocks"
            )
            return Verdict("worse", against, ratio, reason + doubt, by=By.PRIMARY)
    return None  # clear of 1, yet inside the margin: no difference is claimed


def _undelivered(arm: JudgedArm, fates: Fates | None) -> str:
    """`loses 12 % of its messages, although it was asked to be reliable`."""
    loss = fates.verbs() if fates else ""
    loss = loss or f"does not deliver {percent(arm.undelivered_share)} of its messages"
    if fates is not None and fates.main is not Fate.LOST:
        return loss
    promise = (
        "although it was asked to be reliable"
        if arm.reliable
        else "best effort, but more than the margin allows"
    )
    return f"{loss}, {promise}"


def _open_verdict(j: TestedArm, leader: TestedArm, rules: Rules) -> Verdict:
    """The verdict of an arm that is not decided worse: equivalent, or undecided with the time that
    would decide it."""
    name, blocks = leader.arm.name, int(j.pairs.blocks[j.at, leader.at])
    if j.equivalent:
        reason = f"not {_any_other(j)} by more than the margin of {percent(rules.margin)}"
        return Verdict("equivalent", name, j.ratio_equivalent(name, rules), reason)
    ratio, per_block = j.ratio(name, rules), rules.minutes_per_block
    if blocks < rules.min_blocks:
        minutes = None if per_block is None else rules.min_blocks * per_block
        reason = f"only {have_both(blocks)} this arm and {name}; {rules.min_blocks} are needed"
        return Verdict("undecided", name, ratio, reason, minutes)
    if isinstance(ratio, NoRatio):
        return Verdict("undecided", name, ratio, _too_few_signs(j.arm, leader.arm))
    if too_close := _below_the_clocks(j, leader, ratio):
        return Verdict("undecided", name, ratio, too_close)
    minutes, how = _minutes(j, leader, rules)
    difference = float(j.pairs.loss_difference[j.at, leader.at])
    loss = (
        f"; it delivered {points(difference)} less of its messages, in too few blocks to judge"
        if difference > (0.0 if j.arm.reliable else rules.loss_margin)
        else ""
    )
    cost = j.cost(ratio)
    text, least = f"{times(ratio)} {name}, interval {interval(ratio)}", rules.least()
    if cost.low > 1 and cost.value <= 1 + least:
        noise = "what identical arms differ by between campaigns"
        text += f", but within {percent(least)}, {'the margin' if least == rules.margin else noise}"
    return Verdict("undecided", name, ratio, f"{text}{loss}; {how}", minutes)


def _any_other(j: TestedArm) -> str:
    """`slower than any other arm`: the arms with which an equivalent arm was compared. Arms that
    deliver less were left out of its test."""
    whole = np.count_nonzero(j.fair) == len(j.places) - 1
    return j.arm.order.behind_of(f"any other arm{'' if whole else ' that delivers as much'}")


def _below_the_clocks(j: TestedArm, leader: TestedArm, ratio: BlockRatio) -> str | None:
    """Why no number of blocks decides a verdict: the clocks of two hosts are not known well
    enough."""
    bound_ns = sum(max(arm.bounds.values(), default=0.0) for arm in (j.arm, leader.arm))
    if not bound_ns:
        return None
    blocks = sorted(j.arm.primary.keys() & leader.arm.primary.keys())
    apart_ns = abs(_centre(j.arm, blocks) - _centre(leader.arm, blocks))
    if apart_ns > bound_ns:
        return None
    apart, bound = quantity(apart_ns, "ns"), quantity(bound_ns, "ns")
    return (
        f"{times(ratio)} {leader.arm.name}, {apart} apart; the hosts' clocks are known to ±{bound} "
        "for the two together, and no difference below that is claimed"
    )


def _leader_verdict(
    j: TestedArm, others: Mapping[str, Verdict], earlier: Verdict | None, rules: Rules
) -> Verdict:
    """The verdict of the leader. `others`: the verdict of every other arm, in order; `earlier`: the
    leader's verdict of an earlier look, at which it was equivalent."""
    if not others:
        return Verdict("alone", None, None, "the only contender with data")
    second = next((n for n, v in others.items() if v.verdict != "worse"), next(iter(others)))
    ratio: Ratio | None = j.ratio(second, rules)
    if others[second].against == j.arm.name:
        ratio = others[second].ratio
        ratio = ratio.inverse() if isinstance(ratio, BlockRatio) else ratio
    if all(v.verdict == "worse" for v in others.values()):
        return Verdict("best", second, ratio, "every other contender is decided to be worse")
    undecided = [n for n, v in others.items() if v.verdict == "undecided"]
    waits = complete(others[n].minutes_to_decide for n in undecided)
    minutes = max(waits) if waits else None
    if j.equivalent:
        still = f"; {', '.join(undecided)} may be as {j.arm.order.good}" if undecided else ""
        reason = f"not {_any_other(j)} by more than the margin of {percent(rules.margin)}{still}"
        if earlier is not None:
            return Verdict("equivalent", earlier.against, earlier.ratio, reason, minutes)
        return Verdict("equivalent", second, j.ratio_equivalent(second, rules), reason, minutes)
    names = ", ".join(undecided or [n for n, v in others.items() if v.verdict == "equivalent"])
    reason = f"leads, but is not decided against {names}"
    return Verdict("undecided", second, ratio, reason, minutes)


def _minutes(j: TestedArm, leader: TestedArm, rules: Rules) -> tuple[float | None, str]:
    """How long a campaign must be to decide a verdict with 95 % power, if the ratio and its spread
    are as they look now: up to a later look of this campaign, or, where no look suffices, a
    campaign of its own."""
    n, mean = int(j.pairs.blocks[j.at, leader.at]), float(j.pairs.mean[j.at, leader.at])
    sd = float(j.pairs.error[j.at, leader.at]) * math.sqrt(n)
    # A ratio beyond the margin would be decided as worse, a ratio within it as equivalent.
    if mean > math.log1p(rules.margin):
        tests, power, smallest = j.multiplier * j.chances, power_worse, blocks_for
    else:
        tests, power, smallest = j.multiplier_equivalent, power_equivalent, blocks_for_equivalence
    ratio = math.exp(mean)

    def threshold(alpha: float) -> Threshold:
        return Threshold(
            alpha=alpha,
            margin=rules.margin,
            aa_floor=rules.aa_floor,
            shared_freedom=j.pairs.prior.freedom,
        )

    blocks = next(
        (b for b, alpha in rules.ahead if power(ratio, b, sd, tests, threshold(alpha)) >= POWER),
        None,
    )
    if blocks is None:
        alpha = rules.alpha if rules.campaign_alpha is None else rules.campaign_alpha
        blocks = smallest(ratio, sd, tests, threshold(alpha), least=n + 1)
    if blocks is None:
        how = "no realistic number of blocks would decide it: it lies at the edge of the margin"
        return None, how
    how = f"about {blocks} blocks would decide it"
    if rules.ahead and blocks > rules.ahead[-1][0]:
        how = f"a campaign of {how}, longer than this one may become"
    if rules.minutes_per_block is None:
        return None, how
    minutes = blocks * rules.minutes_per_block
    if minutes > HOPELESS_MINUTES:
        return None, f"it would take about {blocks} blocks, more than {HOPELESS_MINUTES} minutes"
    return minutes, how


def failed_arm_verdict(arm: JudgedArm, against: str | None, rules: Rules) -> Verdict:
    """The verdict on an arm that failed in every block: no comparison is needed where another
    works."""
    count = len(arm.failed)
    reason = f"failed in each of {count} trials" if count > 1 else "failed in its only trial"
    if against is None:
        return Verdict("no data", None, None, f"{reason}, and no other arm works here")
    if count < rules.min_blocks:
        needed = f"{rules.min_blocks} are needed to call it worse"
        return Verdict("undecided", against, None, f"{reason} so far; {needed}")
    if not rules.alpha > 0:
        return Verdict("undecided", against, None, f"{reason} so far")
    return Verdict("worse", against, None, f"{reason}: it does not work here", by=By.FAILURE)


def _why_by_sign(arm: JudgedArm, other: str) -> str:
    if arm.failed:
        return f"{len(arm.failed)} of its trials failed, and a failed trial has no ratio"
    values = arm.values().values()
    if math.inf in values:
        return f"it is infinite, because {arm.order.why_infinite('its quantile')}"
    return f"{'it' if 0 in values else other} is 0 in some blocks, and there is no ratio to 0"


def _too_few_signs(arm: JudgedArm, leader: JudgedArm) -> str:
    failed = [
        f"{a.name} failed in {len(a.failed)} of {len(a.primary)} blocks"
        for a in (arm, leader)
        if a.failed
    ]
    if failed:
        return f"{' and '.join(failed)}: too few blocks to decide it"
    zero = [a.name for a in (arm, leader) if 0 in a.values().values()]
    if zero:
        verb = "is" if len(zero) == 1 else "are"
        return f"{' and '.join(zero)} {verb} 0 in some blocks, in too few to decide by sign"
    return f"in some blocks {arm.order.why_infinite('the quantile')}, in too few to decide by sign"


def _place(arm: JudgedArm) -> tuple[float, float, float]:
    """The order in which arms lead: by the share of infinite blocks, then by the share of blocks
    that are not 0, then by the geometric mean of the other blocks."""
    values = list(arm.primary.values())
    finite = [v for v in values if math.isfinite(v)]
    logs = [math.log(v) for v in finite if v > 0]
    mean = float(np.mean(logs)) if logs else math.inf
    return 1 - len(finite) / len(values), 1 - values.count(0) / len(values), mean


def _centre(arm: JudgedArm, blocks: Sequence[int]) -> float:
    """The geometric mean over these blocks, in all of which it is finite."""
    return math.exp(float(np.mean(np.log([arm.primary[block] for block in blocks]))))


def times(ratio: BlockRatio) -> str:
    return f"{_digits(ratio.value)}×"


def interval(ratio: BlockRatio) -> str:
    return f"[{_digits(ratio.low)}, {_digits(ratio.high)}]"


def _digits(value: float) -> str:
    """Three significant digits; large numbers are whole, because people do not read exponents."""
    if 999.5 <= value < math.inf:
        return f"{value:.0f}"
    return np.format_float_positional(value, precision=3, unique=False, fractional=False, trim="-")
