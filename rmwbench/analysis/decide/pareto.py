"""Which candidates are worth a choice at all: those that no other is as good as in everything and
better than in something, of latency, processor time, memory and loss.

One is as good where it is not more than 5 % larger (of a loss: not more than a tenth of a per cent
of all messages), and better where it is smaller by more than that. As every value is uncertain, so
is the front: a candidate's share of draws from all beliefs in which nobody dominates it. An arm
without a value in a dimension is neither dominated nor dominates by it: absent is never zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from rmwbench.analysis.decide.posterior import LEAST_BLOCKS, Blocks, observations, posterior

DRAWS = 2000
MARGIN = 0.05
LOSS_ALIKE = 0.001


class Standing(StrEnum):
    FRONT = "front"
    DOMINATED = "dominated"
    OPEN = "open"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Place:
    """A candidate's place: `front`: P that none dominates it; None where it is unknown. `by`: who
    dominates it most often. `values`: metric -> (value, low, high); None: no data."""

    candidate: str
    standing: Standing
    front: float | None
    by: str | None
    values: Mapping[str, tuple[float, float, float] | None]


def pareto(
    candidates: Mapping[str, Mapping[str, Blocks]],
    metrics: Sequence[str],
    *,
    min_blocks: int,
    alpha: float = 0.05,
    seed: int = 0,
) -> list[Place]:
    """`candidates`: name -> metric -> its blocks, `metrics` the dimensions. A candidate with fewer
    than `min_blocks` of a metric has no value there."""
    rng = np.random.default_rng(seed)
    names = list(candidates)
    drawn = np.full((len(names), len(metrics), DRAWS), np.nan)
    values: list[dict[str, tuple[float, float, float] | None]] = []
    for i, name in enumerate(names):
        own: dict[str, tuple[float, float, float] | None] = {}
        for k, metric in enumerate(metrics):
            blocks = candidates[name].get(metric)
            if blocks is None or observations(blocks) < max(min_blocks, LEAST_BLOCKS):
                own[metric] = None
                continue
            belief = posterior(blocks)
            own[metric] = belief.interval()
            drawn[i, k] = belief.draws(rng.uniform(1e-6, 1 - 1e-6, DRAWS))
        values.append(own)
    kinds = [_is_fraction(candidates, metric) for metric in metrics]
    dominated = np.zeros((len(names), len(names), DRAWS), bool)
    for i in range(len(names)):
        for j in range(len(names)):
            if i != j:
                dominated[i, j] = dominates(drawn[j], drawn[i], kinds)
    out = []
    for i, name in enumerate(names):
        by = dominated[i].mean(axis=1)
        known = any(found is not None for found in values[i].values())
        front = float(1 - dominated[i].any(axis=0).mean()) if known else None
        most = int(by.argmax()) if len(names) > 1 and by.max() > 0 else None
        standing = Standing.OPEN
        if front is None or (front > alpha and None in values[i].values()):
            standing, front = Standing.UNKNOWN, None
        elif front >= 1 - alpha:
            standing = Standing.FRONT
        elif front <= alpha:
            standing = Standing.DOMINATED
        by_whom = names[most] if most is not None and standing is not Standing.FRONT else None
        out.append(Place(name, standing, front, by_whom, values[i]))
    return out


def dominates(a: np.ndarray, b: np.ndarray, fractions: Sequence[bool]) -> np.ndarray:
    """Draw by draw, shape (metrics, draws): whether a is as good as b everywhere and better in
    something. Never where either lacks a value."""
    alike = [LOSS_ALIKE if fraction else 0.0 for fraction in fractions]
    factor = [1.0 if fraction else 1 + MARGIN for fraction in fractions]
    plus, times = np.array(alike)[:, None], np.array(factor)[:, None]
    with np.errstate(invalid="ignore"):
        as_good = (a <= b * times + plus).all(axis=0)
        better = (a * times + plus < b).any(axis=0)
    known = ~np.isnan(a).any(axis=0) & ~np.isnan(b).any(axis=0)
    found: np.ndarray = as_good & better & known
    return found


def _is_fraction(candidates: Mapping[str, Mapping[str, Blocks]], metric: str) -> bool:
    return any(found[metric].kind == "fraction" for found in candidates.values() if metric in found)
