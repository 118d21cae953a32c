"""Was it discovery or delivery? The messages that a reader misses, split by their place in its
life: before its first message, between its first and its last, and after.

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
from rmwbench.analysis.stats.estimate import Measures

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
    counts = {name: [0, 0] for name in names_of(MetricScope.JOINERS)}
    for pair in late:
        arrivals = np.flatnonzero(pair.sent & pair.arrived)
        n, total = len(pair.sent), int(np.count_nonzero(pair.sent))
        first, last = (int(arrivals[0]), int(arrivals[-1])) if len(arrivals) else (n, n)
        before, middle, after = (
            int(np.count_nonzero(part)) for part in np.split(pair.lost, (first, last + 1))
        )
        for name, lost in ((DISCOVERY, before), (DELIVERY, middle), (TAIL, after)):
            counts[name][0] += lost
            counts[name][1] += total
        counts[AFTER_FIRST][0] += middle + after
        counts[AFTER_FIRST][1] += int(np.count_nonzero(pair.sent[first:]))
        if _reports_match(pair):
            unmatched = pair.lost & (pair.due_ns < matched.get(pair.reader.endpoint, np.inf))
            counts[UNMATCHED][0] += int(np.count_nonzero(unmatched[:first]))
            counts[UNMATCHED][1] += total
    measures: Measures = {name: (lost, total) for name, (lost, total) in counts.items()}
    return measures if any(map(_reports_match, late)) else measures | {UNMATCHED: NO_MATCH_SEEN}


def _reports_match(pair: StreamPair) -> bool:
    """Whether the pair's reader reports when it matched; late clients report no match time."""
    return pair.reader.late and not pair.is_of_a_client
