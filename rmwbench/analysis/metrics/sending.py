"""How a trial sends: whether the rate of its publishers is steady, how many multicast frames its
hosts send, and how many replies reach clients that had not asked.

Published sources make statements about these, and costs and latencies do not show them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rmwbench.analysis.records.columns import Columns, Row, SteadyWindow
from rmwbench.analysis.records.frames import frames_of
from rmwbench.analysis.records.ledger import ABSENT
from rmwbench.analysis.stats.estimate import Measures

VARIATION, EARLY = "sent_rate_variation", "sent_rate_early"
MULTICAST, OTHERS = "multicast_frames", "other_replies"
LEAST_S = 6
"""The fewest whole seconds that have a spread, a beginning and an end."""
OF_MIDDLEWARE = ("data", "acknowledgement", "discovery")
"""Classes of frames that a middleware sends; the other classes are the network's own."""
NONE_LATE = "nothing was published in the last third of the window"
PUBLISHES = "publisher"
_COUNTER = "own.other_clients_replies"


def sending(
    columns: Columns,
    endpoints: Sequence[Row],
    counters: Iterable[Row],
    log: Mapping[str, Any] | None,
    window: SteadyWindow | None,
) -> Measures:
    """The metrics of sending. `log`: the bundle's `frames`."""
    return {
        **_paces(columns, endpoints, window),
        MULTICAST: _to_everybody(log),
        OTHERS: _to_others(columns, endpoints, counters),
    }


def _paces(columns: Columns, endpoints: Sequence[Row], window: SteadyWindow | None) -> Measures:
    """How steady the number of messages published in each whole second of the window is: its
    standard deviation ÷ mean, and the mean of the second and third second ÷ that of the last
    third."""
    publishers = [row["endpoint"] for row in endpoints if row["kind"] == PUBLISHES]
    seconds = 0 if window is None else int(window.length_ns // 1_000_000_000)
    if window is None or seconds < LEAST_S:
        return dict.fromkeys(
            (VARIATION, EARLY), f"the window has fewer than {LEAST_S} whole seconds"
        )
    called = columns.sent("call_ns")
    by_publisher = np.isin(columns.sent("endpoint"), publishers) & (called != ABSENT)
    at = (called[by_publisher] - window.begin_ns) // 1_000_000_000
    each = np.bincount(at[(at >= 0) & (at < seconds)].astype(int), minlength=seconds)
    late = each[-(seconds // 3) :].mean()
    if not each.any():
        return dict.fromkeys((VARIATION, EARLY), "nothing was published in the window")
    return {
        VARIATION: float(each.std(ddof=1) / each.mean()),
        EARLY: float(each[1:3].mean() / late) if late else NONE_LATE,
    }


def _to_everybody(log: Mapping[str, Any] | None) -> float | str:
    if log is None:
        return "the trial has no whole log of frames"
    frames = frames_of(log)
    own = frames.entered & frames.kind.among(*OF_MIDDLEWARE)
    return float(np.count_nonzero(own & np.asarray(log["multicast"], bool)))


def _to_others(columns: Columns, endpoints: Sequence[Row], counters: Iterable[Row]) -> float | str:
    """Replies that reached clients that had not asked, over the whole trial, as the counter has
    them, per reply that reached the client that had asked."""
    clients = [row["endpoint"] for row in endpoints if row["kind"] == "client"]
    if not clients:
        return "the workload has no client"
    replies = [row["value"] for row in counters if row["counter"] == _COUNTER]
    if not replies:
        return "its worker does not count replies to clients that had not asked"
    own = int(np.count_nonzero(np.isin(columns.received("endpoint"), clients)))
    return float(sum(replies)) / own if own else "no client got a reply"
