"""Where the time of a typical message goes: before the publish call, in it, on the way, in the
reader's take, and in its consumer. Means over the messages around the median, which add up to their
latency; medians of parts do not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from rmwbench.analysis.causes.tail import PairMessages
from rmwbench.analysis.metrics.chain.chain import TYPICAL
from rmwbench.analysis.records.ledger import ABSENT
from rmwbench.analysis.stats.estimate import rank


class Phase(StrEnum):
    """The phases of a message. `BEFORE`: from the intended time to the publish call; our own
    waiting and writing. `PUBLISH`: the publish call; it ends earlier where the reader was woken
    before the call returned. `WAY`: from the call's return until the reader was woken or called.
    `TAKE`: from then until the reader has taken the message. `READ` comes after the response
    latency, which the others add up to."""

    BEFORE = "before"
    PUBLISH = "publish"
    WAY = "way"
    TAKE = "take"
    READ = "read"


NEAR = 0.5
"""A message is typical within this share of the median; further away it is not, even if its rank is
near."""


@dataclass(frozen=True)
class TypicalMessage:
    """The means of the phases over `messages` messages, ns; without `READ` where the consumer was
    not stamped."""

    messages: int
    response_ns: float
    phases_ns: Mapping[Phase, float]


def typical_message(pairs: Sequence[PairMessages]) -> TypicalMessage | None:
    """The typical message of several writers and readers together. The median is over all messages
    that should have come; a message that did not come counts as infinite. None where the median is
    infinite, or where no message near it has all stamps."""
    if not pairs:
        return None
    stamps = np.concatenate([_stamps(pair) for pair in pairs], axis=1)
    arrived = stamps[_TAKEN] != ABSENT
    response = np.where(arrived, stamps[_TAKEN] - stamps[0], np.inf)
    if not arrived.any():
        return None
    ordered = np.sort(response)
    low, median, high = (ordered[rank(len(response), q)] for q in (TYPICAL[0], 0.5, TYPICAL[1]))
    near = np.abs(response - median) <= NEAR * median if np.isfinite(median) else arrived & False
    whole = np.all(stamps[: _TAKEN + 1] != ABSENT, axis=0)
    chosen = stamps[:, whole & near & (response >= low) & (response <= high)].astype(np.float64)
    if not chosen.shape[1]:
        return None
    intended, call, returned, notified, taken, consumed = chosen
    until = np.clip(returned, call, np.maximum(notified, call))
    ends = (
        (Phase.BEFORE, intended, call),
        (Phase.PUBLISH, call, until),
        (Phase.WAY, until, np.maximum(notified, until)),
        (Phase.TAKE, np.maximum(notified, until), taken),
    )
    phases = {phase: float(np.mean(end - begin)) for phase, begin, end in ends}
    read = consumed != ABSENT
    if read.any():
        phases[Phase.READ] = float(np.mean((consumed - taken)[read]))
    return TypicalMessage(chosen.shape[1], float(np.mean(taken - intended)), phases)


_TAKEN = 4
"""The row of `_stamps` that says whether a message arrived."""


def _stamps(pair: PairMessages) -> np.ndarray:
    """(intended, call, return, notified, taken, consumed) of the steady messages, shape (6, n)."""
    consumed = pair.consumed_ns
    if consumed is None:
        consumed = np.full(len(pair.intended_ns), ABSENT)
    rows = (pair.intended_ns, pair.call_ns, pair.return_ns, pair.notified_ns, pair.taken_ns)
    return np.array([column[pair.steady] for column in (*rows, consumed)])
