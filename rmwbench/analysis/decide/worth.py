"""What more measuring is worth: how the decision would change, simulated from what is believed now.

The decision is which candidate to take: the one with the highest probability of meeting all limits.
Preposterior analysis (Raiffa & Schlaifer, Applied Statistical Decision Theory, 1961, ch. 4–5): draw
the truth from the belief, draw the blocks that an hour of measuring would bring, decide again. With
a right choice worth 1 and a wrong one 0, the gain of the hour is the mean of the best probability
after it minus the best one now; with perfect knowledge it is P(any candidate meets all) minus that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import special

from rmwbench.analysis.decide.answer import (
    Candidate,
    Joint,
    Limit,
    Outcome,
    decide,
    is_decided,
    normals,
    root_of,
)
from rmwbench.analysis.decide.posterior import observations, posterior
from rmwbench.analysis.verdicts.verdict import Rules

TRUTHS, JOINT = 400, 1000
"""Truths drawn, and draws of the joint belief within each."""


class NoWorth(StrEnum):
    """Why nothing is said: no candidate has enough blocks of every limit, or the time is too short
    for one more block."""

    TOO_FEW_BLOCKS = "too_few_blocks"
    TOO_SHORT = "too_short"


@dataclass(frozen=True)
class Worth:
    """`now`: P that the choice meets all limits. `after`: its mean after `blocks` more. `perfect`:
    were everything known. `changes`: P that another candidate is chosen. `decided`: P that the
    answer is then decided, yes or no; `decided_now` as it stands."""

    choice: str
    blocks: int
    now: float
    after: float
    perfect: float
    changes: float
    decided: float
    decided_now: bool


def worth(
    candidates: Sequence[Candidate],
    limits: Sequence[Limit],
    rules: Rules,
    more: int,
    seed: int = 0,
) -> Worth | NoWorth:
    """Of the candidates of one machine, after `more` blocks. Those that lack blocks of some limit
    are left as they are: nobody knows what they would say."""
    able = [one for one in candidates if _has_all(one, limits, rules)]
    if not able:
        return NoWorth.TOO_FEW_BLOCKS
    if more < 1:
        return NoWorth.TOO_SHORT
    answers = decide(candidates, limits, rules)
    rng = np.random.default_rng(seed)
    of = max(sum(one.not_supported is None for one in candidates), 1)
    now, then, truly, misses = [], [], [], []
    for one in able:
        found = _simulated(one, limits, more, rng)
        now.append(found.now)
        then.append(found.then)
        truly.append(found.truly)
        misses.append(found.least <= rules.alpha / of / max(len(limits), 1))
    best = int(np.argmax(now))
    after = np.array(then)  # (candidates, truths)
    chosen = after.argmax(axis=0)
    # Who has failed is never said to meet all limits, however many trials follow.
    whole = np.array([one.failed[0] == 0 for one in able])
    meets = (after[whole] >= 1 - rules.alpha / of).any(axis=0)
    others_miss = all(
        answer.outcome is Outcome.MISSES
        for one, answer in zip(candidates, answers, strict=True)
        if one not in able
    )
    decided = meets | (np.array(misses).all(axis=0) & others_miss)
    return Worth(
        able[best].name,
        more,
        float(now[best]),
        max(float(after.max(axis=0).mean()), float(now[best])),
        max(float(np.array(truly).any(axis=0).mean()), float(now[best])),
        float((chosen != best).mean()),
        float(decided.mean()),
        is_decided(answers),
    )


@dataclass(frozen=True)
class _Simulated:
    """`now`: P of all limits; per truth, shape (TRUTHS,): `then` after more blocks, `truly` whether
    all are met, `least` the smallest P of a single limit after them, of those that can be missed:
    not where the machine had no time left."""

    now: float
    then: np.ndarray
    truly: np.ndarray
    least: np.ndarray


def _simulated(
    one: Candidate, limits: Sequence[Limit], more: int, rng: np.random.Generator
) -> _Simulated:
    beliefs = {limit: posterior(one.blocks[limit]) for limit in limits}
    now = Joint.of(one.blocks, beliefs, limits).probability()
    root = root_of([one.blocks[limit] for limit in limits])
    u = special.ndtr(rng.standard_normal((TRUTHS, len(limits))) @ root.T)
    u = np.clip(u, 1e-9, 1 - 1e-9)
    z = rng.standard_normal((TRUTHS, len(limits))) @ root.T
    within = np.column_stack(
        [
            beliefs[limit].later(
                u[:, k],
                z[:, k],
                # However many blocks it has, it is one more campaign, and campaigns differ.
                1 if beliefs[limit].differ else more,
                limit.at_most - one.blocks[limit].spare,
                rng,
            )
            for k, limit in enumerate(limits)
        ]
    )
    met = [
        u[:, k] <= beliefs[x].within(x.at_most - one.blocks[x].spare) for k, x in enumerate(limits)
    ]
    truly: np.ndarray = np.all(np.column_stack(met), axis=1)
    can_be_missed = [limit.case not in one.machine_bound for limit in limits]
    least = within[:, can_be_missed].min(axis=1, initial=1.0)
    if len(limits) == 1:
        return _Simulated(now, within[:, 0], truly, least)
    common = normals(JOINT, len(limits)) @ root.T
    bars = special.ndtri(np.clip(within, 0.0, 1.0))
    joint = np.array([(common <= bar).all(axis=1).mean() for bar in bars])
    return _Simulated(now, np.minimum(joint, within.min(axis=1)), truly, least)


def _has_all(one: Candidate, limits: Sequence[Limit], rules: Rules) -> bool:
    return one.not_supported is None and all(
        limit in one.blocks and observations(one.blocks[limit]) >= rules.min_blocks
        for limit in limits
    )
