"""Was it discovery or delivery? What a reader misses, split by where in its life: before its first
message, between its first and its last, and after.

A loss figure that does not split this calls a middleware lossy that was slow to find its peer. Only
nodes that join within the window can be split: nobody waits for them, while all others have matched
and exchanged a message before the window begins. What was still under way when the trial ended is
in no part.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rmwbench.analysis.metrics.discovery import times
from rmwbench.analysis.metrics.glossary import MetricScope, names_of
from rmwbench.analysis.metrics.network.streams import StreamPair
from rmwbench.analysis.records.columns import SteadyWindow
from rmwbench.analysis.stats.missing import Measures

DISCOVERY, UNMATCHED, DELIVERY, TAIL = (
    "lost_in_discovery",
    "lost_unmatched",
    "lost_in_delivery",
    "lost_in_tail",
)
AFTER_FIRST = "lost_after_first"
WAITED = (
    "no node joined within the window: the trial waited until all had matched and had a message"
)
NO_MATCH_SEEN = "the late nodes have no reader: only readers are asked when they matched"


def split(pairs: Sequence[StreamPair], events: Iterable[Mapping[str, Any]]) -> Measures:
    """Name -> (messages lost there, messages sent for those readers); of `lost_after_first`
    messages from the first delivered one on."""
    late = [pair for pair in pairs if pair.writer.late or pair.reader.late]
    if not late:
        return dict.fromkeys(names_of(MetricScope.JOINERS), WAITED)
    matched = times(events, "matched")
    of = {name: [0, 0] for name in names_of(MetricScope.JOINERS)}
    for pair in late:
        wanted, arrived = pair.sent, pair.sent & pair.arrived
        total = int(np.count_nonzero(wanted))
        if arrived.any():
            first, last = int(arrived.argmax()), len(arrived) - 1 - int(arrived[::-1].argmax())
        else:
            first, last = len(arrived), len(arrived)
        missing = pair.lost
        before, middle, after = (
            int(np.count_nonzero(part)) for part in np.split(missing, (first, last + 1))
        )
        for name, lost in ((DISCOVERY, before), (DELIVERY, middle), (TAIL, after)):
            of[name][0] += lost
            of[name][1] += total
        of[AFTER_FIRST][0] += middle + after
        of[AFTER_FIRST][1] += int(np.count_nonzero(wanted[first:]))
        if _is_asked(pair):
            unmatched = missing & (pair.due_ns < matched.get(pair.reader.endpoint, np.inf))
            of[UNMATCHED][0] += int(np.count_nonzero(unmatched[:first]))
            of[UNMATCHED][1] += total
    measures: Measures = {name: (lost, total) for name, (lost, total) in of.items()}
    return measures if any(map(_is_asked, late)) else measures | {UNMATCHED: NO_MATCH_SEEN}


def _is_asked(pair: StreamPair) -> bool:
    """Whether its reader says when it matched; of a late client nobody asks it."""
    return pair.reader.late and not pair.is_of_a_client


def edges_ns(window: SteadyWindow, bin_ns: int) -> np.ndarray:
    """The edges of a window's bins: int64 of shape (bins + 1,); the last bin may be shorter."""
    return np.append(np.arange(window.begin_ns, window.end_ns, bin_ns), window.end_ns)


def per_bin(times_ns: Iterable[np.ndarray], edges: np.ndarray) -> np.ndarray:
    """How many of all these times are in each bin: int64 of shape (bins,)."""
    out = np.zeros(len(edges) - 1, np.int64)
    for of_one in times_ns:
        places = np.searchsorted(edges, of_one, side="right") - 1
        inside = (places >= 0) & (places < len(out))
        out += np.bincount(places[inside], minlength=len(out))
    return out


def bin_of(length_ns: int, messages: int) -> int:
    """Length of a bin in ns: the shortest of a round series with at most 60 bins and on average at
    least four wanted messages in each, so that a missing message is not a dip to zero."""
    for exponent in range(6, 12):
        for mantissa in (1, 2, 5):
            bin_ns: int = mantissa * 10**exponent
            bins = length_ns / bin_ns
            if bins <= 60 and messages >= 4 * bins:
                return bin_ns
    return length_ns
