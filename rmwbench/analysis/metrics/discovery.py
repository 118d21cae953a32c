"""How endpoints find each other: how long each took, how long the whole graph, and what it cost on
the wire.

An endpoint's time runs from its creation to the moment when it sees all its peers, in its own
worker's clock; a process that was slow to start does not count against one that was there already,
except in the time of the whole graph.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

Row = Mapping[str, Any]
BEFORE, COMPLETE = "before_open", "complete"
STEPS = frozenset({"step.open", "step.create", "step.match"})
NOT_READ = (
    "the interfaces' counters were not read before the first session opened and after the "
    "graph was complete"
)


def endpoint_matches_ns(events: Iterable[Row]) -> np.ndarray:
    """From `created` to `matched` of every endpoint that has both, float64 of shape (n,), ns, +inf
    for one that was created and never matched. An answer to `create` may come after the match: that
    is 0."""
    created, matched = _times(events, "created"), _times(events, "matched")
    return np.array([max(matched.get(e, np.inf) - t, 0.0) for e, t in created.items()], float)


def late_match(events: Iterable[Row], joined: Iterable[int]) -> dict[str, float]:
    """`late_match_time` in ns: the longest time from `created` to `matched` of the readers that
    joined within the window (`joined`), +inf where one never matched or never came up; empty
    without such a reader. `events` are those of the window."""
    rows, joined = list(events), set(joined)
    created, matched = _times(rows, "created"), _times(rows, "matched")
    waits = [max(matched.get(e, np.inf) - created.get(e, 0.0), 0.0) for e in joined]
    return {"late_match_time": max(waits)} if waits else {}


def graph(
    events: Iterable[Row], counters: Iterable[Row]
) -> tuple[dict[str, float], dict[str, str]]:
    """`graph_time` and `ready_time` in ns, `discovery_bytes`, `discovery_packets`: values, and
    reasons for what is missing. `events` are those before the window."""
    values: dict[str, float] = {}
    reasons: dict[str, str] = {}
    rows = list(events)
    created, matched = _times(rows, "created"), _times(rows, "matched")
    if created and created.keys() <= matched.keys():
        values["graph_time"] = max(max(matched.values()) - min(created.values()), 0.0)
    else:
        missing = sorted(created.keys() - matched.keys())
        reasons["graph_time"] = (
            f"endpoint {missing[0]} never matched" if missing else "the trial created no endpoint"
        )
    counters = list(counters)
    steps = {row["counter"]: row["value"] for row in counters if row["counter"] in STEPS}
    if steps.keys() == STEPS and "graph_time" in values:
        values["ready_time"] = sum(steps.values())
    else:
        reasons["ready_time"] = "the trial did not time its opening, creation and match"
    grown = _grown(counters)
    for metric, what in (("discovery_bytes", "tx_bytes"), ("discovery_packets", "tx_packets")):
        if what in grown:
            values[metric] = grown[what]
        else:
            reasons[metric] = NOT_READ
    return values, reasons


def _times(events: Iterable[Row], name: str) -> dict[int, float]:
    """Endpoint -> the first time of that event, ns."""
    found: dict[int, float] = {}
    for row in events:
        if row["event"] == name and row["endpoint"] is not None and row["time_ns"] is not None:
            found[row["endpoint"]] = min(found.get(row["endpoint"], np.inf), float(row["time_ns"]))
    return found


def _grown(counters: Iterable[Row]) -> dict[str, float]:
    """tx_bytes and tx_packets -> what all interfaces together sent in between. Empty where one end
    was not read."""
    at: dict[str, dict[str, float]] = {BEFORE: {}, COMPLETE: {}}
    for row in counters:
        if row["at"] in at and row["counter"].startswith("interface.") and row["value"] is not None:
            what = row["counter"].rpartition(".")[2]
            at[row["at"]][what] = at[row["at"]].get(what, 0.0) + row["value"]
    return {
        what: at[COMPLETE][what] - value
        for what, value in at[BEFORE].items()
        if what in at[COMPLETE]
    }
