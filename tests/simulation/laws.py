"""Simulated campaigns with known truth: messages of trials of blocks, without a clock. Seeded,
vectorised over campaigns.

A message's latency is (mood of the block) · (level of the trial) · (the law's message). The mood,
log-normal with sd 0.5, is shared by the arms of a block, as on a real machine; the trial's level,
sd 0.1, is a fresh process's own luck.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

MOOD_SD = 0.5
TRIAL_SD = 0.1
SLOW = 2.0
CHUNK = 500
"""Campaigns made at a time, to stay in a few hundred megabytes."""

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Law:
    """`draw`: (generator, shape with messages last) -> latencies of a unit scale; +inf: never
    arrived. `at`: the quantile function, elementwise; None where messages are not independent of
    each other."""

    draw: Draw
    at: Callable[[np.ndarray], np.ndarray] | None = None


def _autocorrelated(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    x = rng.standard_normal(shape)
    x[..., 1:] *= np.sqrt(1 - 0.9**2)
    x = np.moveaxis(x, -1, 0).copy()
    for t in range(1, len(x)):
        x[t] += 0.9 * x[t - 1]
    return np.exp(0.5 * np.moveaxis(x, 0, -1))


lognormal = Law(
    lambda rng, shape: np.exp(0.5 * rng.standard_normal(shape)),
    lambda u: np.exp(0.5 * special.ndtri(u)),
)
autocorrelated = Law(_autocorrelated)
"""Log-normal AR(1) with a coefficient of 0.9: a message resembles its neighbour, 1000 are worth
about 50."""


def pareto(alpha: float) -> Law:
    """1 + Lomax: no variance at alpha ≤ 2."""
    return Law(
        lambda rng, shape: (1 - rng.random(shape)) ** (-1 / alpha),
        lambda u: (1 - u) ** (-1 / alpha),
    )


def losing(law: Law, fraction: float) -> Law:
    """That share of an independent law's messages never arrives."""
    of_arrived = law.at
    assert of_arrived is not None

    def draw(rng: np.random.Generator, shape: Shape) -> np.ndarray:
        return np.where(rng.random(shape) < fraction, np.inf, law.draw(rng, shape))

    def at(u: np.ndarray) -> np.ndarray:
        arrives = u < 1 - fraction
        return np.where(arrives, of_arrived(np.where(arrives, u / (1 - fraction), 0.5)), np.inf)

    return Law(draw, at)


@dataclass(frozen=True)
class Scene:
    """What two arms are like: their laws, how the machine drifts over the blocks (in logarithms,
    end to end), how many trials are slow as a whole, by SLOW (those that the scheduler placed
    badly), and how the blocks' moods scatter. `promised`: whether intervals hold it at five blocks;
    where they do not, the method page says so."""

    name: str
    a: Law
    b: Law
    drift: float = 0.0
    slow: float = 0.0
    mood_sd: float = MOOD_SD
    promised: bool = True


SCENES = (
    Scene("log-normal", lognormal, lognormal),
    Scene("Pareto 2.5", pareto(2.5), pareto(2.5)),
    Scene("Pareto 1.5", pareto(1.5), pareto(1.5)),
    Scene("log-normal against Pareto 1.5", lognormal, pareto(1.5)),
    Scene("AR(1) 0.9 in messages", autocorrelated, autocorrelated),
    Scene("drift by e over the blocks", lognormal, lognormal, drift=1.0),
    Scene("0.5 % never arrive", losing(lognormal, 0.005), losing(lognormal, 0.005)),
    Scene("1 % never arrive, heavy tails", losing(pareto(1.5), 0.01), losing(pareto(2.5), 0.01)),
    Scene("two states (×2 in 30 % of the trials)", lognormal, lognormal, slow=0.3),
    Scene(
        "two states, a calm machine", lognormal, lognormal, slow=0.3, mood_sd=0.05, promised=False
    ),
)


def trial_quantiles(
    scene: Scene,
    quantiles: tuple[float, ...],
    *,
    campaigns: int,
    blocks: int,
    messages: int,
    seed: int,
) -> np.ndarray:
    """Order statistics x(⌈n·q⌉) of each trial, shape (campaigns, blocks, 2 arms, quantiles)."""
    rng = np.random.default_rng(seed)
    parts = []
    for count in _chunks(campaigns):
        level = _levels(scene, rng, count, blocks)
        both = [
            order_statistics(law, rng, (count, blocks), messages, quantiles)
            for law in (scene.a, scene.b)
        ]
        parts.append(np.stack(both, 2) * np.exp(level)[..., None])
    return np.concatenate(parts)


def first_arm(
    scene: Scene, *, campaigns: int, blocks: int, messages: int, seed: int
) -> Iterator[np.ndarray]:
    """The latencies of the scene's first arm, shape (up to CHUNK campaigns, blocks, messages)."""
    rng = np.random.default_rng(seed)
    for count in _chunks(campaigns):
        level = _levels(scene, rng, count, blocks)[..., 0]
        yield scene.a.draw(rng, (count, blocks, messages)) * np.exp(level)[..., None]


def order_statistics(
    law: Law, rng: np.random.Generator, shape: Shape, messages: int, quantiles: tuple[float, ...]
) -> np.ndarray:
    """x(⌈n·q⌉) of n messages, shape (*shape, quantiles), for ascending q.

    Of independent messages without drawing them: the law's quantile function at the order
    statistics of n uniform values. These are a Markov chain: above u, which is the i-th, the j-th
    is that share Beta(j − i, n − j + 1) of the way to 1 (David & Nagaraja, Order Statistics, 3rd
    ed., §2.5).
    """
    ranks = [max(int(np.ceil(messages * q - 1e-9)), 1) for q in quantiles]
    if law.at is None:
        drawn = law.draw(rng, (*shape, messages))
        drawn.partition([rank - 1 for rank in ranks], axis=-1)
        return drawn[..., [rank - 1 for rank in ranks]]
    uniform, below, statistics = np.zeros(shape), 0, []
    for rank in ranks:
        uniform = uniform + (1 - uniform) * rng.beta(rank - below, messages - rank + 1, shape)
        statistics.append(uniform)
        below = rank
    return law.at(np.stack(statistics, -1))


def true_log_quantiles(
    scene: Scene, quantiles: tuple[float, ...], *, messages: int, seed: int
) -> np.ndarray:
    """E log of an arm's trial quantile over the finite ones, shape (2 arms, quantiles), within
    about 0.003."""
    rng = np.random.default_rng(seed)
    out = []
    for law in (scene.a, scene.b):
        drawn = np.concatenate(
            [order_statistics(law, rng, (2000,), messages, quantiles) for _ in range(4)]
        )
        logs = np.log(drawn)
        out.append(np.where(np.isfinite(logs), logs, np.nan))
    return np.nanmean(np.stack(out), axis=1) + scene.slow * math.log(SLOW)


def _chunks(campaigns: int) -> Iterator[int]:
    for at in range(0, campaigns, CHUNK):
        yield min(CHUNK, campaigns - at)


def _levels(scene: Scene, rng: np.random.Generator, count: int, blocks: int) -> np.ndarray:
    """Of each trial, in logarithms, shape (campaigns, blocks, 2 arms). A drift moves within a block
    too: the arms follow each other in random order."""
    level = scene.mood_sd * rng.standard_normal(
        (count, blocks, 1)
    ) + TRIAL_SD * rng.standard_normal((count, blocks, 2))
    if scene.drift:
        first = rng.random((count, blocks, 1)) < 0.5
        place = np.concatenate([first, ~first], -1)  # 0 or 1: which arm came first
        level += scene.drift * (
            (np.arange(blocks)[:, None] + place / 2) / blocks - 0.5 + 0.25 / blocks
        )
    if scene.slow:
        level += math.log(SLOW) * (rng.random((count, blocks, 2)) < scene.slow)
    return level
