"""Whole reports under the laws of noise that decided how variances are shared: false `worse` among
arms that tie, and the power where they do not. `python -m tests.simulation.procedures [--campaigns
N]` prints what docs/formulas.md quotes.

A law gives the deviations of every trial, shape (workloads, arms, blocks), besides the block's own
mood. Unequal spreads are drawn anew for each campaign.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from unittest import mock

import numpy as np

from rmwbench.analysis.verdicts import best as compare
from rmwbench.analysis.verdicts import variances
from rmwbench.analysis.verdicts.verdict import JudgedArm

SD = 0.15
"""Of an arm's log values from block to block; √2 of it is the spread of a log-ratio."""
RATIOS = (1, 1, 1.3, 1.5, 1.7, 2, 3)
TIES = (1,) * 7

Law = Callable[[np.random.Generator, tuple[int, int, int]], np.ndarray]


def normal(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    return SD * rng.standard_normal(shape)


def unequal(scatter: float) -> Law:
    """Spreads of arms that are log-normal with this standard deviation of their logarithm."""

    def law(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
        spread = np.exp(scatter * rng.standard_normal((*shape[:2], 1)))
        return 0.8 * normal(rng, shape) * spread

    return law


def noisy(arms: int, times: float) -> Law:
    """The first arms scatter `times` times as much as the others."""

    def law(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
        values = normal(rng, shape)
        values[:, :arms] *= times
        return values

    return law


def noisy_workload(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    values = normal(rng, shape)
    values[0] *= 5
    return values


def student(freedom: int) -> Law:
    return lambda rng, shape: (
        SD * rng.standard_t(freedom, shape) / (math.sqrt(3) if freedom > 2 else 1.2)
    )


def two_states(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    """A trial is twice as slow with probability 0.3."""
    return math.log(2) * (rng.random(shape) < 0.3) + 0.2 * normal(rng, shape)


def two_states_in_half(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    """Of every second arm a trial is twice as slow with probability 0.3, of the others never; the
    means of all are equal, so that arms tie which are seen in one state only."""
    values = 0.2 * normal(rng, shape)
    values[:, ::2] += math.log(2) * ((rng.random(shape) < 0.3) - 0.3)[:, ::2]
    return values


def rarely_slow(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    return math.log(2) * (rng.random(shape) < 0.15) + 0.2 * normal(rng, shape)


def skewed(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    return SD * (rng.standard_exponential(shape) - 1)


def against_each_other(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    """What slows the first arm in a block speeds the second."""
    values, shared_part = normal(rng, shape), SD * rng.standard_normal((shape[0], shape[2]))
    values[:, 0] += shared_part
    values[:, 1] -= shared_part
    return values


def autoregressive(correlation: float) -> Law:
    """An arm's deviation resembles its own of the block before."""

    def law(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
        values = rng.standard_normal(shape)
        for block in range(1, shape[2]):
            fresh = math.sqrt(1 - correlation**2) * values[..., block]
            values[..., block] = correlation * values[..., block - 1] + fresh
        return SD * values

    return law


def drifting(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    """All arms become slower by a factor of e over the blocks, within a block too, in random order
    of the arms."""
    order = rng.permuted(np.broadcast_to(np.arange(shape[1])[:, None], shape), axis=1)
    return normal(rng, shape) + (np.arange(shape[2]) + order / shape[1]) / shape[2]


def rounded(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    """Values of about 20 in whole units; such a report has no mood."""
    return np.log(np.maximum(np.rint(20 * np.exp(SD / 3 * rng.standard_normal(shape))), 1))


LAWS: dict[str, Law] = {
    "normal": normal,
    "spreads log-normal, sd 0.6": unequal(0.6),
    "spreads log-normal, sd 1": unequal(1.0),
    "one arm 3 times as wide": noisy(1, 3),
    "one arm 8 times as wide": noisy(1, 8),
    "two arms 5 times as wide": noisy(2, 5),
    "one workload 5 times as wide": noisy_workload,
    "t, 3 degrees of freedom": student(3),
    "t, 2 degrees of freedom": student(2),
    "two states (×2 in 30 %)": two_states,
    "rarely slow (×2 in 15 %)": rarely_slow,
    "skewed (exponential)": skewed,
    "two arms against each other": against_each_other,
    "all drift by a factor e": drifting,
    "rounded values": rounded,
}
BEYOND: dict[str, Law] = {f"AR(1) {r} over blocks": autoregressive(r) for r in (0.3, 0.5, 0.8)} | {
    "two states in half of the arms": two_states_in_half
}
"""Declared as not kept: docs/formulas.md says what happens then."""


@dataclass(frozen=True)
class Row:
    law: str
    false: float
    power: float
    campaigns: int

    def __str__(self) -> str:
        return f"{self.law:34} false {self.false:6.1%}, found {self.power:6.1%} of {self.campaigns}"


def simulate(
    law: str,
    *,
    ratios: Sequence[float] = RATIOS,
    workloads: int = 3,
    blocks: int = 5,
    campaigns: int = 500,
    seed: int = 1,
    plain: bool = False,
) -> Row:
    """`false`: the larger share of reports with a false `worse`, of those where all arms tie and
    those where they have `ratios`. `power`: the share of truly slower arms that are called worse.
    `plain`: without shared variances."""
    made = {**LAWS, **BEYOND}[law]
    rng = np.random.default_rng(seed)
    false, share_found = [0, 0], 0.0
    slower = np.array(ratios) > min(ratios)
    with _alone() if plain else nullcontext():
        for at, truth in enumerate(((1,) * len(ratios), tuple(ratios))):
            for _ in range(campaigns):
                worse = _worse(made, truth, workloads, blocks, rng)
                best = np.array(truth) == min(truth)
                false[at] += bool(worse[:, best].any())
                share_found += float(worse[:, slower].mean()) if at and slower.any() else 0.0
    return Row(law, max(false) / campaigns, share_found / campaigns, campaigns)


def _alone():
    """Every variance by itself, and blocks taken as independent: the procedure that this one
    replaced."""
    return mock.patch.multiple(
        "rmwbench.analysis.verdicts.pairs",
        likeness=lambda _: variances.NO_LIKENESS,
        likenesses=lambda workloads, _: [variances.NO_LIKENESS] * len(workloads),
        variances=mock.Mock(
            Prior=variances.Prior,
            Variances=variances.Variances,
            priors=lambda w: [variances.NO_PRIOR] * len(w),
        ),
    )


def drawn(
    law: Law, ratios: Sequence[float], workloads: int, blocks: int, rng: np.random.Generator
) -> np.ndarray:
    """A campaign's values, shape (workloads, arms, blocks)."""
    mood = 0.0 if law is rounded else 0.5 * rng.standard_normal((workloads, 1, blocks))
    logs = law(rng, (workloads, len(ratios), blocks)) + np.log(np.array(ratios))[:, None]
    return np.exp(logs + mood)


def _worse(
    law: Law, ratios: Sequence[float], workloads: int, blocks: int, rng: np.random.Generator
) -> np.ndarray:
    """Which arms are called worse, shape (workloads, arms)."""
    values = drawn(law, ratios, workloads, blocks, rng)
    arms = {
        f"w{w}": [
            JudgedArm(f"{i:02}", dict(enumerate(values[w, i].tolist()))) for i in range(len(ratios))
        ]
        for w in range(workloads)
    }
    verdicts = compare.judge(arms)
    return np.array(
        [[v.verdict == "worse" for v in of_workload.values()] for of_workload in verdicts.values()]
    )


def table(
    campaigns: int, blocks: Sequence[int] = (5, 6, 10), laws: Sequence[str] = (*LAWS, *BEYOND)
) -> Iterator[tuple[int, Row, Row]]:
    """(blocks, as it is, with every variance by itself) of the report of 7 arms in 3 workloads."""
    for n in blocks:
        for law in laws:
            yield (
                n,
                *(
                    simulate(law, blocks=n, campaigns=campaigns, plain=plain)
                    for plain in (False, True)
                ),
            )


def shapes(campaigns: int) -> Iterator[tuple[str, Row]]:
    """Other sizes of a report, under the laws that are worst for it."""
    for arms, workloads in (
        (2, 1),
        (2, 8),
        (3, 1),
        (3, 3),
        (4, 4),
        (5, 1),
        (7, 1),
        (8, 3),
        (12, 1),
    ):
        ratios = (1, 1, 1.5, 2, 2, 2, 2, 2, 2, 2, 2, 2)[:arms] if arms > 2 else (1, 1.5)
        for law in (
            "normal",
            "spreads log-normal, sd 0.6",
            "one arm 3 times as wide",
            "one workload 5 times as wide",
        ):
            yield (
                f"{arms} × {workloads}",
                simulate(law, ratios=ratios, workloads=workloads, campaigns=campaigns),
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation.procedures", description=__doc__
    )
    parser.add_argument("--campaigns", type=int, default=1000)
    parser.add_argument("--blocks", type=int, nargs="*", default=[5, 6, 10])
    asked = parser.parse_args()
    for n, shared_, plain in table(asked.campaigns, asked.blocks):
        print(n, shared_, "| plain:", f"{plain.false:.1%}", f"{plain.power:.1%}", flush=True)
    for name, row in shapes(asked.campaigns):
        print(name, row, flush=True)
    eight = simulate("normal", ratios=(1,) * 8, campaigns=asked.campaigns)
    drift = simulate("all drift by a factor e", ratios=(1,) * 8, campaigns=asked.campaigns)
    print("one arm under eight names, 3 workloads, 5 blocks:", eight, "|", drift)


if __name__ == "__main__":
    main()
