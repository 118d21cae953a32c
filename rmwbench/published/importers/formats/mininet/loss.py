"""Mininet: the loss of a run after its first reception, from restored counts aligned by message
numbers.

Both logs have rates cut to whole numbers, so the counts are restored first. The two sides are then
aligned where the window begins: the number of the last message of the first second with a reception
is what came until then plus the gaps in numbers until then (the tool counts all before the first
message as a gap). All that was sent after that message is the window, and what came after that
second is what arrived of it. Aligned by times alone, messages under way at the border would count
as lost, or as more than was sent.
"""

from dataclasses import dataclass

import numpy as np

from rmwbench.published.importers.formats.perf_log import Log, restored_counts, whole_counts

UNSENT_ROW = 1
"""Messages that may be sent after the publisher's last row: the numbers in 14 of 150 runs without
loss go one beyond its rows."""
SHORTEST_S = 1.0
"""The length of the first interval, which no row has: the tool sleeps for a second between two
rows."""


@dataclass(frozen=True)
class Loss:
    """A share in percent, and between which two it must be by what the logs leave open."""

    percent: float
    least: float
    most: float


@dataclass(frozen=True)
class _Between:
    least: float
    most: float

    @property
    def middle(self) -> float:
        return (self.least + self.most) / 2


def sent_counts(rates: np.ndarray, loop_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(least, most) messages of each row, shape (rows,), from rates cut to whole numbers: a rate r
    over t seconds means a count in [r·t, (r+1)·t).
    """
    return np.ceil(rates * loop_s - 1e-9), np.ceil((rates + 1) * loop_s - 1e-9) - 1


def first_reception(subscriber: Log) -> int | None:
    """The row of the first reception, None where nothing came. Bytes tell: a rate below 1/s is
    printed as 0."""
    arrived = subscriber.columns["data_received"] > 0
    return int(np.argmax(arrived)) if arrived.any() else None


def after_first_reception(publisher: Log, subscriber: Log, size: int) -> Loss | None:
    """The share of what was sent after the first second with a reception that never came; `size` is
    sizeof the type in bytes. None where nothing came before the last row, or nothing was sent
    afterwards.
    """
    first = first_reception(subscriber)
    if first is None or first + 1 >= subscriber.rows:
        return None
    estimates = restored_counts(subscriber, size)
    whole = whole_counts(estimates)
    counts = np.where(np.isfinite(whole), whole, estimates)
    begin = _number_of_last(subscriber, first, counts, whole)
    after = float(counts[first + 1 :].sum())
    gaps = _gaps(subscriber)[0]
    least_sent, most_sent = (
        float(x.sum()) for x in sent_counts(publisher.columns["sent"], publisher.columns["T_loop"])
    )
    # What has a number was sent: a window is never smaller than the numbers in it.
    least = max(least_sent - begin.most, after + float(gaps[first + 1 :].sum()))
    most = max(most_sent + UNSENT_ROW - begin.least, least)
    window = min(max((least_sent + most_sent) / 2 - begin.middle, least), most)
    if window <= 0 or least <= 0:
        return None
    return Loss(*(100.0 * (1.0 - after / x) for x in (window, least, most)))


def _number_of_last(log: Log, first: int, counts: np.ndarray, whole: np.ndarray) -> _Between:
    """The number of the last message of row `first`, before which nothing came."""
    least_gap, most_gap = (float(x[first]) for x in _gaps(log))
    if np.isfinite(whole[first]):
        return _Between(counts[first] + least_gap, counts[first] + most_gap)
    length = float(log.columns["T_loop"][0])
    shortest = counts[first] * min(SHORTEST_S, length) / length if first == 0 else counts[first]
    return _Between(np.floor(shortest) + least_gap, np.ceil(counts[first]) + most_gap)


def _gaps(log: Log) -> tuple[np.ndarray, np.ndarray]:
    """(least, most) missing numbers of each row, 0 in rows without a message: a gap is seen when
    the next comes."""
    loop = log.columns["T_loop"]
    interval = np.concatenate((loop[:1], loop[:-1]))
    arrived = log.columns["data_received"] > 0
    least, most = sent_counts(log.columns["lost"], interval)
    return np.where(arrived, least, 0.0), np.where(arrived, most, 0.0)
