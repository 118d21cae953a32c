"""Slow or unstable, one value or a moment of a ramp? A stationary queue makes messages late by a
constant time; with a growing queue each message is later than the one before. The latency of a
growing queue depends on the end of the measurement, so it is no property of the system and must
never be quoted as such.

*Stability* counts the queue itself, at an overload: at eleven instants from the beginning to the
end of the steady window, the messages that were due and that the reader did not have yet. Lost
messages are left out (they are in no queue, and loss has its own limit); messages that were never
sent count, since they wait at the publisher for good. A queue is unstable if it rises at most of
the instants (Kendall's tau of at least 0.6 over eleven, which a series without trend reaches in
about 1 % of cases: Kendall, Biometrika 30, 1938) and if its rise over the window, by the median of
the pairwise slopes (Theil–Sen), is at least 1 % of the messages that were due and at least three.

*Drift* asks the same question of the latency, in any campaign, and a falling latency is a drift
too. The messages of a pair that arrived are taken in the order of sending and divided into ten
parts of equal size, or into fewer parts of two messages each; the latency of a part is its median.
A trial drifts where the parts rise, or fall, at most of the steps, and the last two parts differ
from the first two by at least half of the median of all parts. Required is a Kendall's tau of at
least ±0.6 with ten parts, more with fewer. Without a trend, at most 3 % of series reach it. An arm
drifts where at least half of its trials, and at least three, drift in the same direction: by chance
in one of several thousand arms.

One stall, wherever it is, is neither."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rmwbench.analysis.records.calls import match_replies, writers_with_readers
from rmwbench.analysis.records.columns import Columns, EndpointRow, SteadyWindow
from rmwbench.analysis.records.ledger import ABSENT, is_sound

INSTANTS = 11
TREND = 0.6
SHARE, FEWEST = 0.01, 3.0


@dataclass(frozen=True)
class Stability:
    """Whether the queue of a trial grows. `growth_hz`: by how many messages per second it grows, 0
    where it does not grow steadily; `publisher_growth_hz`: the part of the growth that waits for
    the publish call. `never_sent`, `due`: messages of the steady window, once per reader; 0 without
    a window."""

    growth_hz: float
    publisher_growth_hz: float
    never_sent: int
    due: int
    window_s: float

    @property
    def unstable(self) -> bool:
        return self.growth_hz > 0 or self.never_sent > 0

    @property
    def text(self) -> str:
        """In which way the trial is unstable; empty for a stable trial."""
        grew = f"queue grew by {_count(self.growth_hz)} messages/s"
        if self.never_sent or self.publisher_growth_hz > self.growth_hz / 2:
            how = (
                f"its {grew}"
                if self.growth_hz
                else f"{self.never_sent} of {self.due} messages were never sent"
            )
            return f"unstable: the publisher could not keep the schedule, {how}"
        return f"unstable: the {grew}" if self.growth_hz else ""


def _count(value: float) -> str:
    """Three digits without an exponent: 8.25, 82.5, 38 900."""
    return f"{float(f'{value:.3g}'):,.10g}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def stability(
    columns: Columns, endpoints: Sequence[EndpointRow], window: SteadyWindow | None
) -> Stability:
    """The stability of a trial, from its records. Each reader counts each writer's messages."""
    if window is None or window.length_ns <= 0:
        return Stability(0.0, 0.0, 0, 0, 0.0)
    columns = match_replies(columns, endpoints)
    instants = np.linspace(window.begin_ns, window.end_ns, INSTANTS)
    queue, unsent = np.zeros(INSTANTS), np.zeros(INSTANTS)
    due = never_sent = 0
    sent_by, seq, intended, called = (
        columns.sent(c) for c in ("endpoint", "seq", "intended_ns", "call_ns")
    )
    reader, writer, number, taken, flags = (
        columns.received(c) for c in ("endpoint", "writer", "seq", "taken_ns", "flags")
    )
    sound = is_sound(flags) & (taken != ABSENT)
    for publisher, readers in writers_with_readers(endpoints):
        rows = np.flatnonzero(sent_by == publisher.endpoint)
        if not len(rows):
            continue
        first, last = int(seq[rows].min()), int(seq[rows].max())
        due_ns, call_ns = intended[rows], called[rows]
        inside = window.holds(due_ns)
        place = (seq[rows] - first).astype(np.int64)
        for subscription in readers:
            of_stream = sound & (reader == subscription.endpoint) & (writer == publisher.endpoint)
            of_stream &= (number >= first) & (number <= last)
            arrival = np.full(last - first + 1, np.inf)
            np.minimum.at(
                arrival,
                (number[of_stream] - first).astype(np.int64),
                taken[of_stream].astype(float),
            )
            arrival = arrival[place]
            waiting = call_ns == ABSENT
            queued = np.isfinite(arrival) | waiting
            queue += _queue(due_ns[queued], np.where(waiting, np.inf, arrival)[queued], instants)
            unsent += _queue(due_ns[queued], np.where(waiting, np.inf, call_ns)[queued], instants)
            due += int(np.count_nonzero(inside))
            never_sent += int(np.count_nonzero(inside & waiting))
    seconds = window.length_ns / 1e9
    growth = _growth(queue, seconds, due)
    publisher_growth = min(_growth(unsent, seconds, due), growth)
    return Stability(growth, publisher_growth, never_sent, due, seconds)


def _queue(begin_ns: np.ndarray, end_ns: np.ndarray, instants: np.ndarray) -> np.ndarray:
    """How many of the spans [begin, end) contain each instant."""
    return np.searchsorted(np.sort(begin_ns), instants, "right") - np.searchsorted(
        np.sort(end_ns), instants, "right"
    )


def _growth(queue: np.ndarray, seconds: float, due: int) -> float:
    """The rise of a queue in messages per second; 0 where it does not rise steadily, or by too
    little to matter."""
    i, j = np.triu_indices(len(queue), 1)
    rises = queue[j] - queue[i]
    trend = float(np.sign(rises).mean())
    slope = float(np.median(rises / (j - i))) * (len(queue) - 1)
    return slope / seconds if trend >= TREND and slope >= max(FEWEST, SHARE * due) else 0.0


PART_TREND = {7: 0.71, 8: 0.64, 9: 0.61, 10: 0.6}
"""Number of parts -> the Kendall's tau that they must reach."""
FEWEST_ARRIVED = 2 * min(PART_TREND)
"""The fewest messages of a pair that must have arrived: each part has two."""
RISE = 0.5
FEWEST_TRIALS = 3


@dataclass(frozen=True)
class Drift:
    """`begin_ns`, `end_ns`: the latency of the first and of the last fifth of the messages. For an
    arm they are medians over the `trials` trials that drift, out of `of`."""

    begin_ns: float
    end_ns: float
    trials: int = 1
    of: int = 1

    @property
    def rises(self) -> bool:
        return self.end_ns > self.begin_ns


def drift(latencies: Sequence[np.ndarray]) -> Drift | None:
    """The drift of the pair whose latency changes by the largest factor; None where no pair drifts.
    `latencies`: for each pair, in ns, in the order of sending, shape (n,), +inf for messages that
    never arrived."""
    drifts = [of_pair for pair in latencies if (of_pair := _drift_of(pair)) is not None]
    return max(drifts, key=lambda d: abs(np.log(d.end_ns / d.begin_ns)), default=None)


def _drift_of(latency_ns: np.ndarray) -> Drift | None:
    arrived = latency_ns[np.isfinite(latency_ns)]
    if len(arrived) < FEWEST_ARRIVED:
        return None
    parts = min(len(arrived) // 2, max(PART_TREND))
    medians = np.array([np.median(part) for part in np.array_split(arrived, parts)])
    i, j = np.triu_indices(parts, 1)
    trend = float(np.sign(medians[j] - medians[i]).mean())
    begin, end = float(np.median(medians[:2])), float(np.median(medians[-2:]))
    if abs(trend) < PART_TREND[parts] or (end > begin) != (trend > 0) or min(begin, end) <= 0:
        return None
    return Drift(begin, end) if abs(end - begin) >= RISE * float(np.median(medians)) else None


def drift_of_arm(trials: Sequence[Drift | None]) -> Drift | None:
    """The drift of an arm, from the drifts of its done trials; None where the arm is stationary or
    too few trials drift in the same direction."""
    for rises in (True, False):
        alike = [trial for trial in trials if trial is not None and trial.rises is rises]
        if len(alike) >= FEWEST_TRIALS and 2 * len(alike) >= len(trials):
            begin = float(np.median([trial.begin_ns for trial in alike]))
            end = float(np.median([trial.end_ns for trial in alike]))
            return Drift(begin, end, len(alike), len(trials))
    return None
