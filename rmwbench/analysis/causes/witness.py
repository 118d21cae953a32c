"""The witnesses of a trial's tail, from its rows of `events`, `samples` and `schedule`
(docs/formats/bundle.md)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from rmwbench.analysis.causes.tail import Bins, Witnesses
from rmwbench.analysis.metrics.network.outage import Outage
from rmwbench.analysis.records.columns import Row
from rmwbench.analysis.records.frames import NOT_LOST, Frames

_COUNTS = {
    "udp.rcvbuf_errors": "socket buffer full",
    "ip.reasm_fails": "IP reassembly",
    "tcp.retransmitted_segments": "TCP retransmission",
}
_MACHINE, _PROCESSOR = "machine", "processor."


def witnesses(
    events: Iterable[Row],
    samples: Iterable[Row],
    schedule: Iterable[Row],
    *,
    publisher: str,
    receiver: str,
    hosts: tuple[str, str],
) -> Witnesses:
    """The witnesses of one trial; None, and not empty, for evidence that was not recorded.
    `publisher`, `receiver`: names of the two processes, on these `hosts`."""
    waits, rows = _waits(schedule), list(samples)
    machine = _bins(row for row in rows if row["process"] == _MACHINE)
    sender, bins = (_of_host(rows, host, machine) for host in hosts)
    return Witnesses(
        _canary(events),
        waits.get(publisher),
        waits.get(receiver),
        bins,
        sender=sender,
        machine=machine,
    )


def between(
    witnesses: Witnesses,
    frames: Frames | None,
    interruptions: Sequence[Outage],
    *,
    writer: str,
    reader: str,
) -> Witnesses:
    """The witnesses with the outages and losses of the network between the hosts `writer` and
    `reader`; unchanged where both are the same host."""
    if frames is None or writer == reader:
        return witnesses
    away = [
        (int(o.down_ns), int(min(o.up_ns, _EVER)))
        for o in interruptions
        if o.kind == "network" and o.who in (writer, reader)
    ]
    # On its way up a multicast frame has no destination yet.
    towards_reader = frames.receiver.among(reader) | (frames.receiver.codes < 0)
    lost = ~frames.verdict.among(*NOT_LOST) & frames.kind.among("data")
    lost_ns = np.sort(frames.in_ns[frames.sender.among(writer) & towards_reader & lost])
    return replace(witnesses, away=_stretches(away), lost_ns=lost_ns)


_EVER = 2**62
"""The end of a link's outage that had no end, ns."""


def _canary(events: Iterable[Row]) -> np.ndarray | None:
    """The spans [due, woken) of late wake-ups; None without a canary."""
    watched, late = False, []
    for row in events:
        watched |= row["event"] == "canary"
        if row["event"] == "canary_late":
            late.append((row["time_ns"], row["time_ns"] + row["value"]))
    return _stretches(late) if watched else None


def _waits(schedule: Iterable[Row]) -> dict[str, np.ndarray]:
    """Process → the spans in which one of its threads was ready and did not run: from `woken` or
    `out_runnable` to `in`."""
    since: dict[tuple[str, int], int] = {}
    waits_of: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in sorted(schedule, key=lambda row: row["time_ns"]):
        thread, time_ns = (row["process"], row["thread"]), row["time_ns"]
        waits_of[row["process"]]  # it was watched, whether it waited or not
        if row["event"] in ("woken", "out_runnable"):
            since.setdefault(thread, time_ns)
        elif (begun := since.pop(thread, None)) is not None and row["event"] == "in":
            waits_of[row["process"]].append((begun, time_ns))
    return {process: _stretches(waits) for process, waits in waits_of.items()}


def _of_host(samples: Sequence[Row], host: str, machine: Bins | None) -> Bins | None:
    """The time series of a host's kernel. With several hosts each has a sampler with times of its
    own; the series of a single sampler has the machine's name."""
    own = [row for row in samples if row["process"] == host and row["counter"] in _COUNTS]
    return _bins(own) if own else machine


def _bins(samples: Iterable[Row]) -> Bins | None:
    """How much each counter grew from sample to sample; None without a time series."""
    series: dict[str, dict[int, float]] = defaultdict(dict)
    for row in samples:
        series[row["counter"]][row["time_ns"]] = row["value"]
    times = sorted(set().union(*series.values())) if series else []
    if len(times) < 2:
        return None

    def grown(counter: str) -> np.ndarray | None:
        values = series.get(counter, {})
        return np.diff([values[t] for t in times]) if len(values) == len(times) else None

    parts = {
        name: change
        for name in series
        if name.startswith(_PROCESSOR) and (change := grown(name)) is not None
    }
    steal = parts.get(_PROCESSOR + "steal")
    if steal is not None:
        total = np.sum(list(parts.values()), axis=0)
        steal = np.divide(steal, total, out=np.zeros(len(total)), where=total > 0)
    counts = {
        cause: change for name, cause in _COUNTS.items() if (change := grown(name)) is not None
    }
    return Bins(np.array(times, np.int64), steal, counts)


def _stretches(pairs: list[tuple[int, int]]) -> np.ndarray:
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)
