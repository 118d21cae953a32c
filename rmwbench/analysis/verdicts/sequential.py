"""Group-sequential campaigns: when to look at the verdicts, and with which share of the error.

A campaign that looks after every block and stops at the first claim is wrong far more often than
5 %. So the looks are fixed before the first block, and each has its own share of alpha. The
shares add up to alpha and a whole report is judged at each look with that look's share. Hence by
the union bound no more than alpha of campaigns ever make a false claim: whatever the dependence
between looks, arms, workloads and metrics is, with Holm inside a look, with t at five blocks, and
without the joint normality that classical boundaries need. For the same reason a claim once made
stays made, and the interval shown with it (at the level of the last look that made it: a repeated
confidence interval, Jennison & Turnbull, J. R. Stat. Soc. B 51, 1989) holds however the campaign
stopped.

The shares follow the power family alpha·t² (Kim & DeMets, Biometrika 74, 1987), between Pocock's
constant boundary and O'Brien & Fleming's, whose start no t at five blocks could pass: early looks
decide overwhelming differences, most of alpha is left for the last look. The exponent was chosen by
simulation; docs/formulas.md has the cost and the savings of looks.

How a campaign uses it:

    planned = sequential.planned_looks(minimum=5, maximum=20)  # (5, 8, 12, 20), kept in the plan
    ... run blocks until `blocks in planned` ...
    verdicts = sequential.judge(workloads, rules, planned)  # every look so far, decisions kept
    if not sequential.needs_more(verdicts): stop            # else, until time is over, go on
    # time is over between two looks: see alpha_at
    verdicts = sequential.judge(workloads, rules, planned, ended=True)
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rmwbench.analysis.verdicts import best
from rmwbench.analysis.verdicts.disturbances import without_machine_bound
from rmwbench.analysis.verdicts.verdict import JudgedArm, Rules, Verdict, Verdicts

SPENDING_EXPONENT = 2
GROWTH = 1.5
"""Each look has half as many blocks again as the one before: closer looks would see almost the same
data and cost as much."""
LEAST_GROWTH = 1.25
RESERVE = 0.2
"""The share of the remaining error that is kept for the resumed campaign when time ends a
campaign."""


def planned_looks(minimum: int, maximum: int) -> tuple[int, ...]:
    """The numbers of complete blocks at which verdicts may be looked at, ascending; the last is
    always `maximum`.

    From `minimum` on, each look has half as many blocks again as the one before. A look to which
    the maximum adds less than a quarter is left out: planned_looks(5, 6) is (6,), a campaign of
    fixed length. ValueError where 2 ≤ minimum ≤ maximum does not hold."""
    if not 2 <= minimum <= maximum:
        raise ValueError(f"looks need 2 ≤ minimum ≤ maximum, not {minimum}, {maximum}")
    numbers, at = [], minimum
    while at * LEAST_GROWTH <= maximum:
        numbers.append(at)
        at = math.ceil(at * GROWTH)
    return (*numbers, maximum)


def alpha_at(
    looks: Sequence[int],
    blocks: int,
    *,
    alpha: float = 0.05,
    ended: bool = False,
    endings: Sequence[int] = (),
) -> float:
    """The share of `alpha` for judging after `blocks` complete blocks: give it to `Rules(alpha=…)`.

    At a look it is the share of the look. Between looks, and before the first, it is 0: nothing may
    be decided. With `ended` it is the error that earlier looks left, without the RESERVE that a
    resumed campaign has for its later looks; `ended` means that the campaign is over at this block
    for a reason other than its results, such as time or an interruption. This is valid because the
    place of such a look does not depend on the measurements; where a campaign stops because
    everything is decided, `ended` must stay False. `endings`: the blocks after which the campaign
    ended before it was resumed. After the last look the share is 0."""
    return shares(looks, {*endings, blocks} if ended else endings, alpha).get(blocks, 0.0)


def shares(
    looks: Sequence[int], endings: Iterable[int] = (), alpha: float = 0.05
) -> dict[int, float]:
    """Blocks -> share of alpha, for every planned look and for every block at which a campaign
    ended because time was over. The shares add up to no more than alpha whatever the endings
    are."""
    if not looks or any(b <= a for a, b in itertools.pairwise(looks)) or looks[0] < 1:
        raise ValueError(f"looks are ascending numbers of blocks, not {tuple(looks)}")
    last = looks[-1]
    stops = {end for end in endings if end <= last}
    shares_of_looks: dict[int, float] = {}
    left, before, left_then, then = alpha, 0, alpha, 0
    for n in sorted({*looks, *stops}):
        if n in stops:
            share = left if n == last else left * (1 - RESERVE)
            left_then, then = left - share, n
        else:  # by the spending function, of what was left at the last ending
            share = left_then * (_spent(n, last) - _spent(before, last)) / (1 - _spent(then, last))
        shares_of_looks[n] = share
        left, before = left - share, n
    return shares_of_looks


def judge(
    workloads: Mapping[str, Sequence[JudgedArm]],
    rules: Rules,
    looks: Sequence[int],
    *,
    blocks: int | None = None,
    ended: bool = False,
    endings: Sequence[int] = (),
) -> dict[str, dict[str, Verdict]]:
    """Verdicts after `blocks` complete blocks (default: as many as the arms have), with
    `rules.alpha` for the whole campaign: judged at every look that was passed, from its blocks
    only, as the campaign itself did; the first decision about an arm stays. `ended` and `endings`
    as in `alpha_at`.

    Pure: the same arms, rules and looks give the same verdicts, so a report needs only the plan's
    looks and the journal's last block. Blocks count from 0 in `JudgedArm.primary`; those beyond the
    last look are not used.
    """
    last = blocks if blocks is not None else blocks_of(workloads)
    last = min(last, looks[-1])
    stops = {end for end in endings if end < last} | ({last} if ended else set())
    spent = shares(looks, stops, rules.alpha)
    ahead = () if ended else tuple((n, share) for n, share in spent.items() if n > last)
    decided: dict[str, dict[str, Verdict]] = {}
    for n in [n for n in spent if n <= last] or [last]:
        now = replace(rules, alpha=spent.get(n, 0.0), ahead=ahead, campaign_alpha=rules.alpha)
        then = {workload: arms_after(arms, n) for workload, arms in workloads.items()}
        decided = best.judge(then, now, decided)
    return decided


def arms_after(arms: Sequence[JudgedArm], blocks: int) -> list[JudgedArm]:
    """The arms of one comparison as they are judged after that many blocks. Later blocks have no
    influence on which blocks count as spoilt by a busy machine; otherwise a report could not repeat
    the decisions of its looks."""
    return without_machine_bound([_arm_after(arm, blocks) for arm in arms])


def _arm_after(arm: JudgedArm, blocks: int) -> JudgedArm:
    """The arm with its first `blocks` blocks, without blocks that the machine spoilt and that ran
    again later."""

    def counts(block: int) -> bool:
        return block < blocks and arm.since.get(block, 0) <= blocks

    busy = {b: bound for b, bound in arm.busy.items() if counts(b)}
    return replace(arm.in_blocks(counts), busy=busy)


def needs_more(verdicts: Verdicts) -> bool:
    """Whether a comparison is still undecided. Arms without data and floors need no more blocks."""
    return any(
        verdict.verdict == "undecided" for arms in verdicts.values() for verdict in arms.values()
    )


def _spent(blocks: int, maximum: int) -> float:
    return (blocks / maximum) ** SPENDING_EXPONENT


def blocks_of(workloads: Mapping[str, Sequence[JudgedArm]]) -> int:
    """The number of blocks, up to the last one in which an arm has a result."""
    return max(
        (
            block + 1
            for arms in workloads.values()
            for arm in arms
            for block in (*arm.primary, *arm.undelivered, *arm.failed)
        ),
        default=0,
    )
