"""How many of `quick`'s verdicts three minutes decide, design by design. `python -m
tests.simulation.quick` prints what docs/formulas.md quotes.

Seven arms and the floor in the three workloads of `quick`, with the ratios, the scatter and the
seconds per trial that three campaigns of `quick --without "cyclonedds shm" --without "iceoryx2
loan"` had on a quiet machine of two processors (2026-11-24, seeds 101 to 103).
"""

import argparse
from dataclasses import dataclass

import numpy as np

from rmwbench.analysis.verdicts import interim, sequential
from rmwbench.analysis.verdicts.verdict import JudgedArm, Rules

SEED = 20261124
ARMS = 7
RATIOS = (
    (1, 1.39, 1.41, 1.95, 1.95, 2.09, 2.17),
    (1, 1.79, 1.86, 3.96, 4.38, 86, 375),
    (1, 1.81, 1.88, 2.15, 2.54, 3.6, 40),
)
"""Of the IMU, the camera and the point cloud."""
SPREAD = (
    (0.20, 0.22, 0.18, 0.14, 0.16, 0.15, 0.14),
    (0.13, 0.17, 0.20, 0.17, 0.13, 0.31, 0.68),
    (0.09, 0.07, 0.05, 0.08, 0.08, 0.12, 0.07),
)
"""Of an arm's log values within their block."""
BLOCK_SPREAD = (0.15, 0.13, 0.08)
"""Of what all arms of a block have in common."""
SLOW_STATE = (1, 2, 0.05, 1.2)
"""Workload, arm, share of trials and log factor: Zenoh as installed is sometimes much slower with
the camera."""
AROUND_S = (0.25, 0.42, 0.26)
"""Warm-up, start and end of a trial."""
WINDOWS_S = (0.25, 0.7, 2.1)
AT_20_HZ_S = (0.25, 0.7, 1.05)
GOAL = 19


@dataclass(frozen=True)
class Design:
    """Looks from 5 blocks to `maximum` within `within_s` seconds; a workload runs in every block
    whose number is divisible by its `every`, so that another runs more often."""

    name: str
    windows_s: tuple[float, ...]
    maximum: int
    within_s: float = 180
    minimum: int = 5
    every: tuple[int, ...] = (1, 1, 1)

    @property
    def looks(self) -> tuple[int, ...]:
        return sequential.looks(self.minimum, self.maximum)


def campaign(design: Design, rng: np.random.Generator) -> tuple[tuple[int, ...], float]:
    """(decided verdicts of each workload, seconds): as a campaign runs, with arms that leave when
    they are decided, and a floor that leaves at the first look."""
    noise = np.array(SPREAD)[..., None] * rng.standard_normal((3, ARMS, design.maximum))
    shared = np.array(BLOCK_SPREAD)[:, None, None] * rng.standard_normal((3, 1, design.maximum))
    workload, arm, share, slower = SLOW_STATE
    noise[workload, arm] += slower * (rng.random(design.maximum) < share)
    values = np.exp(noise + shared + np.log(np.array(RATIOS))[..., None])
    lasts = np.full((3, ARMS), design.maximum)
    names = [f"{i}" for i in range(ARMS)]
    cells = {(f"w{w}", name): w * ARMS + i for w in range(3) for i, name in enumerate(names)}
    took_s, block = 0.0, 0
    while True:
        running = (lasts > block).sum(1)
        runs = [
            block % every == 0 and count > 0
            for every, count in zip(design.every, running, strict=True)
        ]
        costs_s = (
            (np.array(AROUND_S) + design.windows_s) * (running + (block < design.minimum)) * runs
        )
        over = block >= design.minimum and took_s + costs_s.sum() > design.within_s
        if block in design.looks or over:
            arms = {
                f"w{w}": [
                    JudgedArm(
                        name,
                        {
                            b: float(values[w, i, b])
                            for b in range(0, min(block, lasts[w, i]), design.every[w])
                        },
                    )
                    for i, name in enumerate(names)
                ]
                for w in range(3)
            }
            ended = over and block < design.maximum
            verdicts = sequential.judge(arms, Rules(), design.looks, blocks=block, ended=ended)
            if over or block == design.maximum or not sequential.needs_more(verdicts):
                decided = tuple(
                    sum(v.verdict != "undecided" for v in verdicts[f"w{w}"].values())
                    for w in range(3)
                )
                return decided, took_s
            for cell in interim.leaving(verdicts, cells):
                w, i = divmod(cell, ARMS)
                lasts[w, i] = min(lasts[w, i], block)
        took_s, block = took_s + float(costs_s.sum()), block + 1


@dataclass(frozen=True)
class Found:
    """Mean decided verdicts of each workload and of all, and the share of campaigns that reach the
    goal."""

    decided: tuple[float, ...]
    reached: float
    took_s: float

    @property
    def total(self) -> float:
        return sum(self.decided)

    def __str__(self) -> str:
        each = " + ".join(f"{one:.1f}" for one in self.decided)
        return (
            f"{each} = {self.total:.1f}, {GOAL} and more in {self.reached:.0%}, {self.took_s:.0f} s"
        )


def simulate(design: Design, campaigns: int) -> Found:
    rng = np.random.default_rng(SEED)
    found = [campaign(design, rng) for _ in range(campaigns)]
    decided = np.array([one for one, _ in found])
    reached = float((decided.sum(1) >= GOAL).mean())
    return Found(tuple(decided.mean(0)), reached, float(np.mean([took for _, took in found])))


TEN_HZ = Design("point cloud at 10 Hz, 5 blocks", WINDOWS_S, 5)
FIXED = Design("point cloud at 20 Hz, 7 blocks", AT_20_HZ_S, 7)
TEN = Design("the same, by the clock, at most 10 blocks", AT_20_HZ_S, 10)
CLOCK = Design("the same, at most 20", AT_20_HZ_S, 20)
OFTENER = Design(
    "the same, the IMU twice as often, at most 10 blocks of the others",
    AT_20_HZ_S,
    20,
    minimum=10,
    every=(1, 2, 2),
)
TEN_IN_FIVE_MINUTES = Design("five minutes, at most 10 blocks", AT_20_HZ_S, 10, within_s=290)
FIVE_MINUTES = Design("five minutes, at most 20", AT_20_HZ_S, 20, within_s=290)
DESIGNS = (TEN_HZ, FIXED, TEN, CLOCK, OFTENER, TEN_IN_FIVE_MINUTES, FIVE_MINUTES)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.quick", description=__doc__)
    parser.add_argument("--campaigns", type=int, default=300)
    campaigns = parser.parse_args().campaigns
    for design in DESIGNS:
        print(f"{design.name:66} {simulate(design, campaigns)}", flush=True)


if __name__ == "__main__":
    main()
