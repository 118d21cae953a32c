"""Was it discovery or delivery? The messages that a reader misses, split by where in its life they
are: before its first message, between its first and its last, and after.

Without this split a loss figure calls a middleware lossy that was only slow to find its peer. The
split exists for nodes that join within the window: a trial does not wait for them, while all other
nodes have matched and exchanged a message before the window begins. Messages that were still under
way when the trial ended are in no part.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rmwbench.analysis.metrics.discovery import times
from rmwbench.analysis.metrics.glossary import MetricScope, names_of
from rmwbench.analysis.metrics.network.streams import StreamPair
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
    """Name -> (messages lost in that part, messages sent for the late readers). `lost_after_first`
    counts both from each reader's first delivered message on."""
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
    """Whether the pair's reader reports when it matched; late clients report no match time."""
    return pair.reader.late and not pair.is_of_a_client
