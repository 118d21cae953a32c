"""Times until an event. Items whose event has not happened yet are censored: they are neither left
out nor given an invented time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special


@dataclass(frozen=True)
class Curve:
    """The share still waiting after the time of each event; all arrays of shape (times,). `low` and
    `high` are the point-wise interval."""

    time: np.ndarray
    share: np.ndarray
    low: np.ndarray
    high: np.ndarray
    count: int
    happened: int

    def at(self, time: float) -> tuple[float, float, float]:
        """(share, low, high) still waiting after `time`; (1, 1, 1) before the first event."""
        place = int(np.searchsorted(self.time, time, side="right")) - 1
        if place < 0:
            return 1.0, 1.0, 1.0
        return float(self.share[place]), float(self.low[place]), float(self.high[place])

    def median(self) -> tuple[float, float, float]:
        """(median, low, high); inf where the curve, or an end of its band, does not come down to
        one half.

        The interval holds every time at which one half is inside the band (Brookmeyer and Crowley,
        Biometrics 38, 1982).
        """
        return self._first(self.share), self._first(self.low), self._first(self.high)

    def _first(self, band: np.ndarray) -> float:
        below = np.flatnonzero(band <= 0.5 + 1e-12)
        return float(self.time[below[0]]) if len(below) else math.inf


def kaplan_meier(times: Sequence[float], happened: Sequence[bool]) -> Curve:
    """Kaplan and Meier's curve (J. Am. Stat. Assoc. 53, 1958) of times ≥ 0, shape (items,); where
    `happened` is false the item was still waiting at its time.

    The band, of 95 %, is Greenwood's variance on the scale log(−log S), which stays inside 0 and 1
    (Kalbfleisch and Prentice, The Statistical Analysis of Failure Time Data, 2002, §1.4).
    """
    time, cause = np.asarray(times, float), np.asarray(happened, bool)
    at, risk, events = _table(time, cause.astype(int), 1)
    died = events[0]
    share = np.cumprod(1 - died / risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        greenwood = np.cumsum(died / (risk * (risk - died)))
        half = float(special.ndtri(0.975)) * np.sqrt(greenwood) / np.abs(np.log(share))
        low, high = share ** np.exp(half), share ** np.exp(-half)
    # Where nobody is left the variance is not defined: the band ends at zero and keeps its last
    # upper end.
    ended = share <= 0
    low = np.where(ended, 0.0, low)
    if ended.any():
        first = int(np.flatnonzero(ended)[0])
        high[first:] = high[first - 1] if first else 1.0
    return Curve(at, share, low, high, len(time), int(cause.sum()))


def cumulative_incidence(
    times: Sequence[float], causes: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """(times, shares of shape (causes, times)) of the items that ended by each cause 1, 2, …; cause
    0 is censored.

    Aalen and Johansen's estimate (Scand. J. Stat. 5, 1978): an end by one cause is not a censoring
    of the other, which would make both look more frequent than they can be together.
    """
    time, cause = np.asarray(times, float), np.asarray(causes, int)
    at, risk, events = _table(time, cause, max(1, int(cause.max(initial=0))))
    share = np.cumprod(1 - events.sum(axis=0) / risk)
    before = np.concatenate([[1.0], share[:-1]])
    return at, np.cumsum(before * events / risk, axis=1)


def _table(
    time: np.ndarray, cause: np.ndarray, causes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(event times, at risk, events of shape (causes, times))."""
    at = np.unique(time[cause > 0])
    ordered = np.sort(time)
    risk = len(time) - np.searchsorted(ordered, at, side="left")
    events = np.zeros((causes, len(at)))
    for number in range(1, causes + 1):
        np.add.at(events[number - 1], np.searchsorted(at, time[cause == number]), 1)
    return at, risk.astype(float), events
