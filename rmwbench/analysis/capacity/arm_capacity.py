"""The capacity of one arm, in the axis's own unit. Campaign and report compute the capacity here
from the same trials in the same order, so that they cannot disagree."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rmwbench.analysis.capacity.level_search import Search

State = Literal["bracketed", "at least", "below", "no data"]
Unit = Literal["hz", "bytes", ""]
"""The unit of an axis; empty for an axis that counts things."""
INTERVAL = "95 % interval of the level that half of the trials hold"


@dataclass(frozen=True)
class Capacity:
    """`bracketed`: value and interval. `at least`: `low` holds, and too few trials failed, or none,
    to say where the limit breaks. `below`: no level held, not even `high`. Numbers are in the
    axis's `unit`, None where the state gives none. `trials`: how many trials were judged."""

    state: State
    value: float | None
    low: float | None
    high: float | None
    trials: int
    unit: Unit = ""
    interval: str = INTERVAL


class ArmSearch:
    """A search over `levels` in order of hardness, in the axis's unit, that begins at the level
    `start`. `whole`: the axis has whole numbers only."""

    def __init__(self, levels: Sequence[float], start: float, *, whole: bool = False):
        self.levels, self.whole = tuple(levels), whole
        # less is harder on an axis whose levels fall
        sign = 1.0 if len(levels) < 2 or levels[0] < levels[-1] else -1.0
        self._search = Search(sign * np.log(np.array(levels, float)), self.levels.index(start))

    @property
    def trials(self) -> int:
        return int(self._search.trials[0])

    @property
    def resolved(self) -> bool:
        """Whether the interval is as narrow as the levels."""
        return bool(self._search.resolved[0])

    @property
    def held(self) -> int:
        """How many trials held, at any level."""
        return int(self._search.held.sum())

    def next(self) -> float:
        return self.levels[int(self._search.next()[0])]

    def record(self, level: float, held: bool) -> None:
        self._search.record(np.array([self.levels.index(level)]), np.array([held]))

    def trials_at(self, level: float) -> int:
        place = self.levels.index(level)
        return int(self._search.held[0, place] + self._search.failed[0, place])

    def capacity(self) -> Capacity:
        if not self.trials:
            return Capacity("no data", None, None, None, 0)
        bounds = self._search.bounds
        low, high, boundary = int(bounds.low[0]), int(bounds.high[0]), float(bounds.estimate[0])
        last = len(self.levels) - 1
        if low < 0 and (not self.held or boundary < 0):
            return Capacity("below", None, None, self.levels[min(high, last)], self.trials)
        failed = int(self._search.failed.sum())
        if low >= 0 and high > last and (not failed or boundary >= last):
            return Capacity("at least", self.levels[low], self.levels[low], None, self.trials)
        # where some trial held, the interval may be open below, but there is an estimate
        least = self.levels[low] if low >= 0 else 0.0
        return Capacity("bracketed", self._at(boundary), least, self._end(high), self.trials)

    def _end(self, high: int) -> float:
        """The upper end of the interval: on an axis of whole numbers the last level that may hold,
        else the first level that fails."""
        if high >= len(self.levels):
            return math.inf
        if not self.whole:
            return self.levels[high]
        return max(self.levels[high] - 1, self.levels[max(high - 1, 0)])

    def _at(self, boundary: float) -> float:
        """The level at a place between levels, on a straight line in logarithms; on an axis of
        whole numbers the next whole number below."""
        below = min(max(math.floor(boundary), 0), len(self.levels) - 1)
        above = min(below + 1, len(self.levels) - 1)
        step = self.levels[above] / self.levels[below]
        level = float(self.levels[below] * step ** (boundary - below))
        return float(math.floor(level + 1e-9)) if self.whole else level
