"""How many of `quick`'s verdicts three minutes decide, design by design. `python -m
tests.simulation.quick` prints what docs/method.md quotes.

Seven arms and the floor in the three workloads of `quick`. What a trial takes is its timeline and a
quarter of a second; log values scatter by 0.2 within their block with the IMU (what this machine
showed of a window of 250 ms) and by 0.15 otherwise. The two fastest arms of the IMU tie, as Zenoh's
two profiles do: no campaign of minutes tells them apart, so 19 of 21 is the most that can be
decided.
"""

import argparse
from dataclasses import dataclass

import numpy as np

from rmwbench.analysis.verdicts import interim, sequential
from rmwbench.analysis.verdicts.verdict import Arm, Rules

SEED = 20261124
ARMS = 7
RATIOS = (
    (1, 1, 1.5, 1.6, 1.8, 2.0, 2.5),
    (1, 2, 2.5, 4, 5, 10, 100),
    (1, 1.5, 1.8, 2.5, 3, 4, 8),
)
"""Of the IMU, the camera and the point cloud."""
SPREAD = (0.2, 0.15, 0.15)
AROUND_S = 0.4
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
    they are decided."""
    spread = np.array(SPREAD)[:, None, None]
    noise = spread * rng.standard_normal((3, ARMS, design.maximum))
    mood = 0.3 * rng.standard_normal((3, 1, design.maximum))
    values = np.exp(noise + mood + np.log(np.array(RATIOS))[..., None])
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
        costs_s = (AROUND_S + np.array(design.windows_s)) * (running + 1) * runs
        over = block >= design.minimum and took_s + costs_s.sum() > design.within_s
        if block in design.looks or over:
            arms = {
                f"w{w}": [
                    Arm(
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
CLOCK = Design("point cloud at 20 Hz, looks at 5, 8 and 10, by the clock", AT_20_HZ_S, 10)
OFTENER = Design(
    "10 Hz, the IMU twice as often, by the clock",
    WINDOWS_S,
    20,
    within_s=200,
    minimum=10,
    every=(1, 2, 2),
)
BOTH = Design(
    "20 Hz, the IMU twice as often, by the clock", AT_20_HZ_S, 20, minimum=10, every=(1, 2, 2)
)
DESIGNS = (TEN_HZ, FIXED, CLOCK, OFTENER, BOTH)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.quick", description=__doc__)
    parser.add_argument("--campaigns", type=int, default=300)
    campaigns = parser.parse_args().campaigns
    for design in DESIGNS:
        print(f"{design.name:60} {simulate(design, campaigns)}", flush=True)


if __name__ == "__main__":
    main()
