"""Campaigns that are planned by the clock: looks, arms that leave when they are decided, and an end
when time is over. `python -m tests.simulation.raced [--campaigns N]` prints what docs/formulas.md
quotes.

The laws are those of procedures.py, with another seed than the one by which that procedure was
chosen. Time is counted in blocks of all arms: a block of those that are left costs their share of
it.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rmwbench.analysis.verdicts import interim, sequential
from rmwbench.analysis.verdicts.verdict import JudgedArm, Rules
from tests.simulation.procedures import LAWS, RATIOS, Law, drawn

SEED = 20261123


@dataclass(frozen=True)
class Design:
    """Looks from `minimum` to `maximum` blocks within the time of `within` whole ones; fixed where
    both are equal."""

    name: str
    minimum: int
    maximum: int
    within: float

    @property
    def looks(self) -> tuple[int, ...]:
        return sequential.planned_looks(self.minimum, self.maximum)


@dataclass(frozen=True)
class Outcome:
    """`false`: reports with a false `worse` where all tie, and where they do not; `found`: of the
    arms that are truly slower those that are called worse; `time`: what was taken, in whole
    blocks."""

    false: tuple[float, float]
    found: float
    time: float
    blocks: float

    def __str__(self) -> str:
        return (
            f"false {self.false[0]:.1%} and {self.false[1]:.1%}, found {self.found:.1%}, "
            f"{self.time:.1f} blocks of time, {self.blocks:.1f} blocks"
        )


def simulate(
    design: Design,
    law: str,
    *,
    ratios: Sequence[float] = RATIOS,
    workloads: int = 3,
    campaigns: int,
) -> Outcome:
    rng = np.random.default_rng(SEED)
    truths = ((1.0,) * len(ratios), tuple(map(float, ratios)))
    false, share_found, time, blocks = [0, 0], 0.0, 0.0, 0.0
    slower = np.array(ratios) > min(ratios)
    for at, truth in enumerate(truths):
        best = np.array(truth) == min(truth)
        for _ in range(campaigns):
            worse, took, ran = campaign(design, LAWS[law], truth, workloads, rng)
            false[at] += bool(worse[:, best].any())
            if at:
                share_found += float(worse[:, slower].mean()) if slower.any() else 0.0
                time, blocks = time + took, blocks + ran
    n = campaigns
    return Outcome((false[0] / n, false[1] / n), share_found / n, time / n, blocks / n)


def campaign(
    design: Design, law: Law, ratios: Sequence[float], workloads: int, rng: np.random.Generator
) -> tuple[np.ndarray, float, int]:
    """(which arms are called worse, shape (workloads, arms), the time that it took, its blocks): as
    a campaign runs."""
    values = drawn(law, ratios, workloads, design.maximum, rng)
    lasts = np.full(values.shape[:2], design.maximum)
    names = [f"{i:02}" for i in range(len(ratios))]
    cells = {
        (f"w{w}", name): w * len(ratios) + i
        for w in range(workloads)
        for i, name in enumerate(names)
    }
    took, block, ended = 0.0, 0, False
    verdicts = {}
    while True:
        running = float((lasts > block).mean())
        ended = not running or (block >= design.minimum and took + running > design.within + 1e-9)
        if block in design.looks or ended:
            arms = {
                f"w{w}": [
                    JudgedArm(
                        name, dict(enumerate(values[w, i, : min(block, lasts[w, i])].tolist()))
                    )
                    for i, name in enumerate(names)
                ]
                for w in range(workloads)
            }
            over = ended and block not in design.looks
            verdicts = sequential.judge(arms, Rules(), design.looks, blocks=block, ended=over)
            for cell in interim.leaving(verdicts, cells):
                place = divmod(cell, len(ratios))
                lasts[place] = min(lasts[place], block)
        if ended or block == design.maximum or (not sequential.needs_more(verdicts) and verdicts):
            break
        took, block = took + float((lasts > block).mean()), block + 1
    worse = np.array(
        [[verdicts[f"w{w}"][name].verdict == "worse" for name in names] for w in range(workloads)]
    )
    return worse, took, block


DESIGNS = (
    Design("6 blocks, whatever they show", 6, 6, 6.0),
    Design("7 blocks of shorter windows", 7, 7, 7.5),
    Design("looks from 5, at most 8", 5, 8, 7.5),
    Design("looks from 5, at most 10", 5, 10, 7.5),
    Design("looks from 5, at most 12", 5, 12, 7.5),
    Design("looks from 6, at most 8", 6, 8, 7.5),
    Design("looks from 6, at most 10", 6, 10, 7.5),
    Design("looks from 6, at most 12", 6, 12, 7.5),
)
"""Of equal time: without the messages that no quantile needs, a block of `quick` takes four fifths
of the time."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.raced", description=__doc__)
    parser.add_argument("--campaigns", type=int, default=200)
    parser.add_argument("--laws", nargs="*", default=list(LAWS))
    parser.add_argument("--designs", type=int, nargs="*", default=list(range(len(DESIGNS))))
    asked = parser.parse_args()
    for law in asked.laws:
        for number in asked.designs:
            design = DESIGNS[number]
            error = math.sqrt(0.05 * 0.95 / asked.campaigns)
            said = simulate(design, law, campaigns=asked.campaigns)
            print(f"{law:30} {design.name:30} {said} (± {error:.1%})", flush=True)


if __name__ == "__main__":
    main()
