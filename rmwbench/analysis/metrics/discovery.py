"""How endpoints find each other: the time of each endpoint, the time of the whole graph, and the
cost on the wire.

The event `created` is the time when a process had created all endpoints of one command, and
discovery already runs before it. So the times of the graph and of late readers begin with the
command: if they began with `created`, a middleware that takes long to create would hide its
discovery in a time that is not counted. The time of one endpoint begins with `created`, in its own
worker's clock; a process that was slow to start does not count against an endpoint that existed
already."""

from collections.abc import Iterable, Mapping

import numpy as np

from rmwbench.analysis.records.columns import Row
from rmwbench.analysis.stats.estimate import Measures

BEFORE, COMPLETE = "before_open", "complete"
STEPS = frozenset({"step.open", "step.create", "step.match"})
DAEMON_STEP = "step.daemon."
NO_DAEMON = "no daemon ran"
NOT_TIMED = "the trial did not time its opening, creation and match"
NOT_READ = (
    "the interfaces' counters were not read before the first session opened and after the "
    "graph was complete"
)


def endpoint_matches_ns(events: Iterable[Row]) -> np.ndarray:
    """The time from `created` to `matched` for every endpoint that was created, float64 of shape
    (n,), ns; +inf where it never matched, 0 where the answer to `create` came after the match."""
    created, matched = times(events, "created"), times(events, "matched")
    return np.array([max(matched.get(e, np.inf) - t, 0.0) for e, t in created.items()], float)


def late_match(events: Iterable[Row], joined: Mapping[int, str]) -> Measures:
    """`late_match_time` in ns: the longest time from the command that lets a reader join to its
    `matched`, over the readers that joined within the window; +inf where one never matched or never
    came up; empty without such a reader. `events` are those of the window; `joined`: reader -> its
    node."""
    rows = list(events)
    since_ns, matched = _joined_ns(rows, joined), times(rows, "matched")
    waits = [max(matched.get(e, np.inf) - since_ns.get(e, 0.0), 0.0) for e in joined]
    return {"late_match_time": max(waits)} if waits else {}


def _joined_ns(rows: Iterable[Row], nodes: Mapping[int, str]) -> dict[int, float]:
    """Endpoint -> the time of the command that lets its node join (`joining`), ns; without that
    event, the time when the endpoint was created."""
    joined_ns: dict[int, float] = {}
    joining: dict[tuple[str, str], float] = {}
    timed = (row for row in rows if row["time_ns"] is not None)
    for row in sorted(timed, key=lambda row: row["time_ns"]):
        if row["event"] == "joining":
            joining[row["process"], row["text"]] = float(row["time_ns"])
        elif row["event"] == "created" and row["endpoint"] in nodes:
            node = row["process"], nodes[row["endpoint"]]
            joined_ns.setdefault(row["endpoint"], joining.get(node, float(row["time_ns"])))
    return joined_ns


def graph(events: Iterable[Row], counters: Iterable[Row]) -> Measures:
    """`graph_time`, `ready_time` and `daemon_time` in ns, `discovery_bytes`, `discovery_packets`.
    `events` are those before the window."""
    rows, counters = list(events), list(counters)
    steps = {row["counter"]: row["value"] for row in counters if row["counter"] in STEPS}
    created, matched = times(rows, "created"), times(rows, "matched")
    lack = never_matched(created, matched) if created else "the trial created no endpoint"
    took_ns = 0.0
    if lack is None:
        # The step ended with the last answer. Bundles without it begin with the first answer.
        commanded_ns = max(created.values()) - steps.get("step.create", 0.0)
        took_ns = max(max(matched.values()) - min(commanded_ns, *created.values()), 0.0)
    daemons = [row["value"] for row in counters if row["counter"].startswith(DAEMON_STEP)]
    why_none = NO_DAEMON if steps else "the trial did not time its steps"
    grown = _grown(counters)
    return {
        "graph_time": lack or took_ns,
        "ready_time": (lack or sum(steps.values())) if steps.keys() == STEPS else NOT_TIMED,
        "daemon_time": sum(daemons) if daemons else why_none,
        "discovery_bytes": grown.get("tx_bytes", NOT_READ),
        "discovery_packets": grown.get("tx_packets", NOT_READ),
    }


def never_matched(created: Iterable[int], matched: Iterable[int]) -> str | None:
    """Why the graph of the endpoints is not complete; None where all created endpoints matched."""
    missing = set(created) - set(matched)
    return f"endpoint {min(missing)} never matched" if missing else None


def times(events: Iterable[Row], name: str) -> dict[int, float]:
    """Endpoint -> the first time of its event `name`, ns."""
    first: dict[int, float] = {}
    for row in events:
        if row["event"] == name and row["endpoint"] is not None and row["time_ns"] is not None:
            first[row["endpoint"]] = min(first.get(row["endpoint"], np.inf), float(row["time_ns"]))
    return first


def _grown(counters: Iterable[Row]) -> dict[str, float]:
    """tx_bytes and tx_packets -> how much all interfaces of all hosts together sent between the two
    readings. A counter is left out where a reading lacks an interface."""
    at: dict[str, dict[str, dict[tuple[str, str], float]]] = {BEFORE: {}, COMPLETE: {}}
    for row in counters:
        if row["at"] in at and row["counter"].startswith("interface.") and row["value"] is not None:
            interface, _, counter = row["counter"].rpartition(".")
            at[row["at"]].setdefault(counter, {})[row["process"], interface] = row["value"]
    before, after = at[BEFORE], at[COMPLETE]
    return {
        counter: sum(after[counter].values()) - sum(sent.values())
        for counter, sent in before.items()
        if sent.keys() == after.get(counter, {}).keys()
    }
