"""Simulated campaigns with known truth: messages of trials of blocks, without a clock. Seeded, vectorised over
campaigns.

A message's latency is (mood of the block) · (level of the trial) · (the law's message). The mood, log-normal with sd
0.5, is shared by the arms of a block, as on a real machine; the trial's level, sd 0.1, is a fresh process's own luck.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

MOOD_SD = 0.5
TRIAL_SD = 0.1
SLOW = 2.0
CHUNK = 500
"""Campaigns made at a time, to stay in a few hundred megabytes."""

Law = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
"""(generator, shape with messages last) -> latencies of a unit scale; +inf: never arrived."""


def lognormal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.exp(0.5 * rng.standard_normal(shape))


def pareto(alpha: float) -> Law:
    """1 + Lomax: no variance at alpha ≤ 2."""
    return lambda rng, shape: (1 - rng.random(shape)) ** (-1 / alpha)


def autocorrelated(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Log-normal AR(1) with a coefficient of 0.9: a message resembles its neighbour, 1000 are worth about 50."""
    x = rng.standard_normal(shape)
    x[..., 1:] *= np.sqrt(1 - 0.9**2)
    x = np.moveaxis(x, -1, 0).copy()
    for t in range(1, len(x)):
        x[t] += 0.9 * x[t - 1]
    return np.exp(0.5 * np.moveaxis(x, 0, -1))


def losing(law: Law, fraction: float) -> Law:
    def lossy(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return np.where(rng.random(shape) < fraction, np.inf, law(rng, shape))

    return lossy


@dataclass(frozen=True)
class Scene:
    """What two arms are like: their laws, how the machine drifts over the blocks (in logarithms, end to end), how many
    trials are slow as a whole, by SLOW (those that the scheduler placed badly), and how the blocks' moods scatter.
    `promised`: whether intervals hold it at five blocks; where they do not, the method page says so."""

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
    Scene("two states, a calm machine", lognormal, lognormal, slow=0.3, mood_sd=0.05, promised=False),
)


def trial_quantiles(
    scene: Scene, quantiles: tuple[float, ...], *, campaigns: int, blocks: int, messages: int, seed: int
) -> np.ndarray:
    """Order statistics x(⌈n·q⌉) of each trial, shape (campaigns, blocks, 2 arms, quantiles)."""
    parts = [
        _quantiles(m, quantiles)
        for m in trials(scene, campaigns=campaigns, blocks=blocks, messages=messages, seed=seed)
    ]
    return np.concatenate(parts)


def trials(scene: Scene, *, campaigns: int, blocks: int, messages: int, seed: int) -> Iterator[np.ndarray]:
    """Latencies, shape (up to CHUNK campaigns, blocks, 2 arms, messages). A drift moves within a block too: the arms
    follow each other in random order.
    """
    rng = np.random.default_rng(seed)
    for at in range(0, campaigns, CHUNK):
        count = min(CHUNK, campaigns - at)
        level = scene.mood_sd * rng.standard_normal((count, blocks, 1)) + TRIAL_SD * rng.standard_normal(
            (count, blocks, 2)
        )
        if scene.drift:
            first = rng.random((count, blocks, 1)) < 0.5
            place = np.concatenate([first, ~first], -1)  # 0 or 1: which arm came first
            level += scene.drift * ((np.arange(blocks)[:, None] + place / 2) / blocks - 0.5 + 0.25 / blocks)
        if scene.slow:
            level += math.log(SLOW) * (rng.random((count, blocks, 2)) < scene.slow)
        made = np.stack([law(rng, (count, blocks, messages)) for law in (scene.a, scene.b)], 2)
        made *= np.exp(level)[..., None]
        yield made


def true_log_quantiles(scene: Scene, quantiles: tuple[float, ...], *, messages: int, seed: int) -> np.ndarray:
    """E log of an arm's trial quantile over the finite ones, shape (2 arms, quantiles), within about 0.003."""
    rng = np.random.default_rng(seed)
    out = []
    for law in (scene.a, scene.b):
        found = np.concatenate([_quantiles(law(rng, (2000, messages)), quantiles) for _ in range(4)])
        logs = np.log(found)
        out.append(np.where(np.isfinite(logs), logs, np.nan))
    return np.nanmean(np.stack(out), axis=1) + scene.slow * math.log(SLOW)


def _quantiles(messages: np.ndarray, quantiles: tuple[float, ...]) -> np.ndarray:
    ranks = [max(int(np.ceil(messages.shape[-1] * q - 1e-9)), 1) - 1 for q in quantiles]
    messages.partition(ranks, axis=-1)
    return messages[..., ranks]
