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
from rmwbench.analysis.stats.quantile import rank


class Phase(StrEnum):
    """`BEFORE`: from the intended time to the publish call, which is ours: waiting and writing.
    `WAY`: from the call's return until the reader was woken or called; `TAKE`: from then until the
    message is in its hands. A reader that was woken before the call returned ends `PUBLISH`. `READ`
    comes behind the response latency, which the others add up to."""

    BEFORE = "before"
    PUBLISH = "publish"
    WAY = "way"
    TAKE = "take"
    READ = "read"


@dataclass(frozen=True)
class TypicalMessage:
    """Means over so many `messages`, ns; `READ` is not there where nobody stamped it."""

    messages: int
    response_ns: float
    phases_ns: Mapping[Phase, float]


def typical_message(found: Sequence[PairMessages]) -> TypicalMessage | None:
    """Of several writers and readers together; None where no message has all stamps."""
    parts = [part for part in map(_stamped, found) if part.shape[1]]
    if not parts:
        return None
    stamps = np.concatenate(parts, axis=1)
    response = stamps[4] - stamps[0]
    low, high = (np.sort(response)[rank(len(response), q)] for q in TYPICAL)
    chosen = stamps[:, (response >= low) & (response <= high)].astype(np.float64)
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


def _stamped(pair: PairMessages) -> np.ndarray:
    """(intended, call, return, notified, taken, consumed) of the messages that arrived and have all
    but the last, shape (6, n)."""
    consumed = pair.consumed_ns
    if consumed is None:
        consumed = np.full(len(pair.intended_ns), ABSENT)
    needed = (pair.call_ns, pair.return_ns, pair.notified_ns, pair.taken_ns)
    whole = pair.steady & np.all([one != ABSENT for one in needed], axis=0)
    return np.array([one[whole] for one in (pair.intended_ns, *needed, consumed)])
