"""The messages around an outage: a link that goes away and comes back, a node that restarts, a
process that is killed.

A reader has *recovered* with its first message that was published after the link or node was back.
Messages that were published during the outage and repeated afterwards count as repaired, not as
recovery; a link that carries heartbeats again but no new message has not recovered.
"""

import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rmwbench.analysis.metrics.glossary import MetricScope, names_of
from rmwbench.analysis.metrics.network.streams import StreamPair
from rmwbench.analysis.records.columns import Row, SteadyWindow
from rmwbench.analysis.records.frames import Frames
from rmwbench.analysis.stats.estimate import Measures

DOWN = ("blackhole", "carrier_loss", "admin_down")
ROAM, ROAMED = "roam ", "roamed "
"""How the text of a change of medium begins: the host leaves its medium, the host is on another."""
IN_IT = ("lost_in_outage", "repaired_after_outage")
DUE = "due_in_outage"
AFTER_IT = ("lost_before_recovery", "lost_after_recovery", "duplicates_after_outage")
OF_A_WORKER = "killed_s"
"""How the text of an event `killed` of a worker begins, whose nodes are outages; else the event is
of a daemon."""
SUCCESSOR = " again"
"""The end of the name of the process that takes a daemon's place."""
NONE = "nothing was interrupted in this trial"
NOT_BACK = "nothing came back within the window"
NONE_DUE_AFTER = "no message was due after an outage that its stream crosses"
NO_LOG = "the trial has no frame log: its hosts are not behind links"
NONE_DUE = (
    "no message was due in an interruption: its own node was away, or the interruption has no "
    "length"
)


@dataclass(frozen=True)
class Outage:
    """From `down_ns` until `up_ns` (inf: not within the trial); `who`: the host whose link, or the
    node or daemon, was away."""

    kind: str
    who: str
    what: str
    down_ns: float
    up_ns: float

    def touches(self, pair: StreamPair) -> bool:
        if self.kind == "network":
            return pair.hosts[0] != pair.hosts[1] and self.who in pair.hosts
        return self.kind == "daemon" or self.who in (
            pair.writer.node,
            pair.reader.node,
            *pair.servers,
        )


@dataclass(frozen=True)
class StreamRecovery:
    """One stream after one outage: ns from `up_ns` until its first new message, inf without one."""

    outage: Outage
    topic: str
    writer: str
    reader: str
    time_ns: float


def outages(
    events: Iterable[Row],
    endpoints: Sequence[Row],
    window: SteadyWindow,
    *,
    daemons_return: bool = False,
) -> list[Outage]:
    """The outages of a trial, by time. A new address while the link is up is an outage of no
    length, and so is the death of a daemon, unless daemons return (`daemons_return`): then the
    outage lasts until the daemon's successor serves, or to the end."""
    events = list(events)
    timed = sorted((e for e in events if e["time_ns"] is not None), key=lambda e: e["time_ns"])
    killed = {
        e["process"]
        for e in events
        if e["event"] == "killed" and (e["text"] or "").startswith(OF_A_WORKER)
    }
    return sorted(
        [
            *_of_daemons(timed, daemons_return=daemons_return),
            *_of_links(timed),
            *_restarts(endpoints, killed, window.begin_ns),
        ],
        key=lambda outage: (outage.down_ns, outage.who),
    )


def _of_daemons(timed: Iterable[Row], *, daemons_return: bool) -> Iterator[Outage]:
    """The outages of daemons. Where no daemon returns, there is no recovery to wait for."""
    dead: dict[str, float] = {}
    for row in timed:
        who, at = row["process"], float(row["time_ns"])
        if row["event"] == "killed" and not (row["text"] or "").startswith(OF_A_WORKER):
            dead.setdefault(who, at)
        elif row["event"] == "returned":
            who = who.removesuffix(SUCCESSOR)
            yield Outage("daemon", who, "killed", dead.pop(who, at), at)
    for who, at in dead.items():
        yield Outage("daemon", who, "killed", at, math.inf if daemons_return else at)


def _of_links(timed: Iterable[Row]) -> Iterator[Outage]:
    down: dict[str, tuple[str, float]] = {}
    roaming: dict[str, tuple[str, float]] = {}
    for row in (row for row in timed if row["event"] == "network"):
        who, change, at = row["process"], row["text"] or "", float(row["time_ns"])
        if change in DOWN:
            down.setdefault(who, (change, at))
        elif change.startswith(ROAM):
            # the host is on no medium since the first roaming
            roaming[who] = change, roaming.get(who, (change, at))[1]
        elif change.startswith(ROAMED) and who in roaming:
            yield Outage("network", who, *roaming.pop(who), at)
        elif change == "up" and who in down:
            yield Outage("network", who, *down.pop(who), at)
        elif change == "new_address" and who in down:
            down[who] = (f"{down[who][0]}, new address", down[who][1])
        elif change == "new_address":
            yield Outage("network", who, "new address", at, at)
    for who, (change, at) in [*down.items(), *roaming.items()]:
        yield Outage("network", who, change, at, math.inf)


def _restarts(endpoints: Sequence[Row], killed: Container[str], begin_ns: int) -> list[Outage]:
    """Outages of nodes that left and came back, and of nodes that were killed, whether they came
    back or not."""
    leaving = {row["node"]: row for row in endpoints if row.get("leaves_ns") is not None}
    joins = {row["node"]: row["joins_ns"] for row in endpoints if row.get("joins_ns") is not None}
    restarts = []
    for node, row in leaving.items():
        down, up, dead = row["leaves_ns"], joins.get(node), row.get("process") in killed
        up_ns = math.inf if up is None or up < down else begin_ns + up
        if dead or up_ns < math.inf:
            cause = "killed" if dead else "restart"
            restarts.append(Outage("restart", node, cause, begin_ns + down, up_ns))
    return restarts


def recoveries(
    pairs: Sequence[StreamPair], interruptions: Sequence[Outage], created: Container[int] = ()
) -> list[StreamRecovery]:
    """An entry per outage and stream that it touches, if a message of the stream was due after the
    outage, the daemon should have come back and never served, or the stream's writer should have
    come back and is not among the `created` endpoints."""
    recoveries_of_readers = []
    for outage in interruptions:
        never_served = outage.kind == "daemon" and math.isinf(outage.up_ns)
        if math.isinf(outage.up_ns) and not never_served:
            continue
        for name in dict.fromkeys(pair.name for pair in pairs if outage.touches(pair)):
            parts = [pair for pair in pairs if pair.name == name]
            due = sum(int(np.count_nonzero(p.due_ns >= outage.up_ns)) for p in parts)
            new = [p.taken_ns[p.arrived & p.sent & (p.call_ns >= outage.up_ns)] for p in parts]
            first = min((int(taken.min()) for taken in new if len(taken)), default=None)
            if due or never_served or _never_came_up(outage, parts, created):
                time_ns = math.inf if first is None else first - outage.up_ns
                recoveries_of_readers.append(StreamRecovery(outage, *name, time_ns))
    return recoveries_of_readers


def _never_came_up(outage: Outage, parts: Sequence[StreamPair], created: Container[int]) -> bool:
    """Whether the stream's writer restarts and was not created again: then it has no message that
    could be due, and did not recover."""
    return outage.kind == "restart" and any(
        pair.writer.node == outage.who
        and pair.writer.begin_ns >= outage.up_ns
        and pair.writer.endpoint not in created
        for pair in parts
    )


def outage_measures(
    pairs: Sequence[StreamPair],
    interruptions: Sequence[Outage],
    recovered: Sequence[StreamRecovery],
    frames: Frames | None,
    window: SteadyWindow,
) -> Measures:
    """The metrics of outages and `stall_outside_outages`. Counts are messages, once per reader,
    over all outages of the trial: a message that several outages touch counts once."""
    values: Measures = {}
    inside, outside = _stalls(pairs, interruptions, window)
    if outside is not None:
        values["stall_outside_outages"] = outside
    if not interruptions:
        return values | dict.fromkeys(names_of(MetricScope.OUTAGES), NONE)
    if inside is not None:
        values["outage_stall"] = inside
    counted = sum(
        (_counted(pair, interruptions, recovered) for pair in pairs), start=Counter[str]()
    )
    values |= {name: float(counted[name]) if counted[DUE] else NONE_DUE for name in IN_IT}
    if not recovered:
        ended = any(math.isfinite(outage.up_ns) for outage in interruptions)
        lack = NONE_DUE_AFTER if ended else NOT_BACK
        return dict.fromkeys(names_of(MetricScope.OUTAGES), lack) | values
    longest_ns = max(recovery.time_ns for recovery in recovered)
    values |= {name: float(counted[name]) for name in AFTER_IT} | {"recovery_time": longest_ns}
    if frames is None:
        values["recovery_bytes"] = NO_LOG
    elif math.isinf(longest_ns):
        values["recovery_bytes"] = "a stream did not recover within the trial"
    else:
        values["recovery_bytes"] = float(_bytes(recovered, frames))
    return values


def _counted(
    pair: StreamPair, interruptions: Sequence[Outage], recovered: Sequence[StreamRecovery]
) -> Counter[str]:
    """The messages of a pair by metric, each lost message in one metric: in the outage if it was
    due in any outage, else before the recovery if it was due before any recovery. No message of a
    pair is due while its own node is away."""
    during, repaired, early, later = np.zeros((4, len(pair.due_ns)), bool)
    for outage in (o for o in interruptions if o.touches(pair)):
        away = (pair.due_ns >= outage.down_ns) & (pair.due_ns < outage.up_ns)
        during |= away
        repaired |= away & pair.sent & pair.arrived & (pair.taken_ns >= outage.up_ns)
    again = np.zeros(len(pair.again_ns), bool)
    for recovery in (r for r in recovered if pair.name == (r.topic, r.writer, r.reader)):
        up = recovery.outage.up_ns
        later |= pair.due_ns >= up
        early |= (pair.due_ns >= up) & (pair.due_ns < up + recovery.time_ns)
        again |= pair.again_ns >= up
    masks = {
        DUE: during,
        "lost_in_outage": pair.lost & during,
        "repaired_after_outage": repaired,
        "lost_before_recovery": pair.lost & early & ~during,
        "lost_after_recovery": pair.lost & later & ~early & ~during,
        "duplicates_after_outage": again,
    }
    return Counter({name: int(np.count_nonzero(mask)) for name, mask in masks.items()})


def _bytes(recovered: Sequence[StreamRecovery], frames: Frames) -> int:
    """The bytes besides new data that hosts sent after the end of an outage, while a stream had not
    recovered yet."""
    spent = np.zeros(len(frames), bool)
    for recovery in recovered:
        up = recovery.outage.up_ns
        spent |= (frames.in_ns >= up) & (frames.in_ns < up + recovery.time_ns)
    besides = spent & frames.entered & (~frames.kind.among("data") | frames.retransmission)
    return int(frames.frame_bytes[besides].sum())


def _stalls(
    pairs: Sequence[StreamPair], interruptions: Sequence[Outage], window: SteadyWindow
) -> tuple[float | None, float | None]:
    """The longest gaps between arrivals of a stream: one with an outage in it, one without."""
    inside, outside = [], []
    for name in dict.fromkeys(pair.name for pair in pairs):
        parts = [pair for pair in pairs if pair.name == name]
        begin = max(window.begin_ns, min(max(p.writer.begin_ns, p.reader.begin_ns) for p in parts))
        end = min(window.end_ns, max(min(p.writer.end_ns, p.reader.end_ns) for p in parts))
        if end <= begin:  # its reader had left before its writer came
            continue
        taken = np.sort(np.concatenate([p.taken_ns[p.arrived] for p in parts]))
        taken = taken[(taken >= begin) & (taken < end)]
        edges = np.concatenate([[begin], taken, [end]]).astype(float)
        hit = np.zeros(len(edges) - 1, bool)
        for outage in (o for o in interruptions if any(o.touches(p) for p in parts)):
            hit |= (edges[:-1] <= outage.up_ns) & (edges[1:] >= outage.down_ns)
        gaps = np.diff(edges)
        inside += [float(gaps[hit].max())] if hit.any() else []
        outside += [float(gaps[~hit].max())] if (~hit).any() else []
    return max(inside, default=None), max(outside, default=None)
