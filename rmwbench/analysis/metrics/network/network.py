"""What a trial says about links, outages and late nodes: for trials that have any of them, and
reasons for the others.

Messages are read a second time for it, stream by stream, so a trial of one host without an
interruption skips it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rmwbench.analysis.metrics.glossary import Of, names_of
from rmwbench.analysis.metrics.network import cross_traffic, delivery, outage
from rmwbench.analysis.metrics.network import link_bytes as wire
from rmwbench.analysis.metrics.network.link_bytes import Wire
from rmwbench.analysis.metrics.network.outage import Outage, Recovery
from rmwbench.analysis.metrics.network.streams import Pair, pairs_of
from rmwbench.analysis.records.columns import Columns, Endpoint, Window
from rmwbench.analysis.records.frame_counts import WHY, FrameCounts
from rmwbench.analysis.records.frames import Frames
from rmwbench.analysis.records.joining import Life

Row = Mapping[str, Any]
NO_WINDOW = "the trial recorded no steady window"


@dataclass(frozen=True)
class Network:
    """`wire` is None without a frame log. `bin_ns`, `wanted`, `sent` and `arrived`: messages due,
    published and taken in each bin of the window, once per reader, shape (bins,), empty where it
    was not asked for. Times of outages in the workers' clock."""

    wire: Wire | None = None
    outages: tuple[Outage, ...] = ()
    recoveries: tuple[Recovery, ...] = ()
    begin_ns: int = 0
    length_ns: int = 0
    bin_ns: int = 0
    wanted: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    sent: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    arrived: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))


Found = tuple[dict[str, float], dict[str, tuple[int, int]], dict[str, str], Network]


def network(
    columns: Columns,
    rows: Sequence[Row],
    endpoints: Sequence[Endpoint],
    events: Iterable[Row],
    window: Window | None,
    frames: Frames | None,
    definition: Mapping[str, Any],
    known: Mapping[int, Life],
    focus: Sequence[str] = (),
    counts: FrameCounts | None = None,
) -> Found:
    """(amounts, (events, of) of fractions, reasons, the rest) of one trial. `rows` are the bundle's
    `endpoints`, `definition` is its cell's, and `known` as `joining.lives` has it. With `focus`
    messages are those of its topics; frames are everybody's but those of cross traffic. `counts`:
    of a trial whose log lacks frames, in the place of `frames`. Raises as `latency.measure`."""
    events = list(events)
    others = cross_traffic.asked(definition)
    if counts is not None:
        frames, counts = None, counts.without(others)
    elif frames is not None and others:
        frames = frames.where(~frames.sender.among(*others))
    no_log = wire.why_no_log(definition) if counts is None else WHY
    if window is None or not window.length_ns:
        return {}, {}, dict.fromkeys(OF_NETWORKS, NO_WINDOW), Network()
    asked = definition.get("workload")
    returns = isinstance(asked, Mapping) and asked.get("daemons_return_s") is not None
    interruptions = outage.outages(events, rows, window, daemons_return=returns)
    late = any(row.get("joins_ns") is not None for row in rows)
    if frames is None and counts is None and not interruptions and not late:
        reasons = dict.fromkeys(names_of(Of.LINKS), no_log)
        reasons |= dict.fromkeys(names_of(Of.OUTAGES), outage.NONE)
        reasons |= dict.fromkeys(names_of(Of.JOINERS), delivery.WAITED)
        reasons["stall_outside_outages"] = "nothing was interrupted: it is the longest stall"
        return {}, {}, reasons, Network()
    judged = [e for e in endpoints if not focus or e.topic in focus]
    pairs = pairs_of(columns, rows, judged, window, known)
    created = {row["endpoint"] for row in events if row["event"] == "created"}
    recovered = outage.recoveries(pairs, interruptions, created)
    fractions, reasons = delivery.split(pairs, events)
    values, why = outage.around(pairs, interruptions, recovered, frames, window)
    reasons |= why
    seen = None
    if frames is None and interruptions and "recovery_bytes" in why:
        reasons["recovery_bytes"] = no_log
    payload_bytes = wire.crossing_bytes(columns, rows, window)
    rates_bps = wire.rates_of(definition)
    sums = None
    if counts is not None:
        seen = wire.wire_of_counts(counts, window, payload_bytes, rates_bps)
        sums = wire.sums_of_counts(counts)
    elif frames is not None:
        seen = wire.wire_of(frames, interruptions, window, payload_bytes, rates_bps)
        sums = wire.sums_of(frames, window)
    if seen is None or sums is None:
        reasons |= dict.fromkeys(names_of(Of.LINKS), no_log)
    else:
        more, shares, why = wire.values(seen, sums)
        if frames is not None and wire.is_mixed(frames, definition):
            more.pop("link_utilisation", None)
            why["link_utilisation"] = wire.MIXED
        values |= more
        fractions |= shares
        reasons |= why
    return values, fractions, reasons, _over_time(pairs, window, seen, interruptions, recovered)


def _over_time(
    pairs: Sequence[Pair],
    window: Window,
    seen: Wire | None,
    interruptions: Sequence[Outage],
    recovered: Sequence[Recovery],
) -> Network:
    due = [pair.due_ns for pair in pairs]
    bin_ns = delivery.bin_of(window.length_ns, sum(map(len, due)))
    edges = delivery.edges_ns(window, bin_ns)
    return Network(
        seen,
        tuple(interruptions),
        tuple(recovered),
        window.begin_ns,
        window.length_ns,
        bin_ns,
        delivery.per_bin(due, edges),
        delivery.per_bin([pair.call_ns[pair.sent] for pair in pairs], edges),
        delivery.per_bin([pair.taken_ns[pair.arrived] for pair in pairs], edges),
    )


OF_NETWORKS = (
    *(name for of in (Of.LINKS, Of.OUTAGES, Of.JOINERS) for name in names_of(of)),
    "stall_outside_outages",
)
