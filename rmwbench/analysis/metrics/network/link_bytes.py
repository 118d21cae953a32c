"""The traffic on the links between hosts: bytes per payload byte by class and sender, repeats, and
the places where frames were lost.

All counts are of frames, with their Ethernet header, in the steady window. A frame that a host sent
counts once; a loss counts once per destination, since a multicast frame can be lost on the way to
one of two hosts.

The log says when a frame came to its sender's link, and not when it left that link. A link with a
constant rate sends one frame after the other, so the rate gives the time; on every other link a
frame counts at the moment at which it came.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rmwbench.analysis.metrics.network.outage import NO_LOG, Outage
from rmwbench.analysis.records.columns import Columns, Row, SteadyWindow
from rmwbench.analysis.records.frames import (
    CLASSES,
    DELIVERED,
    NOT_LOST,
    UNWANTED,
    EnteredFrames,
    FrameCounts,
    Frames,
    TextColumn,
    host_of,
    network_of,
)
from rmwbench.analysis.stats.estimate import Measures
from rmwbench.codes import CORRUPT, FOREIGN

BYTES = "link_bytes_per_payload_byte"
KERNELS = "the kernel backend of the network keeps no log of frames"
NO_CROSSING = "no payload was delivered from one host to another in the window"
NO_RATE = "no link has a rate"
NO_DATA_SENT = "no frame with data was sent in the window"

MIXED = (
    "the trial is older: its hosts are on two networks, and its frames do not say over which they "
    "went"
)

UP, DOWN = "up", "down"
ETH0 = "eth0"
NO_DESTINATION = "no_destination"
NOT_SENT = (
    *("queue_full_up", "queue_full_down", "policed_up", "policed_down"),
    *("blackhole", "no_carrier", "too_large"),
)
"""Verdicts of frames that took no time of the link that they ended on (nearly: a frame that waited
when an outage began may have taken some). Random loss is applied after the rate, so a frame lost at
random took its time."""

Link = tuple[str, str]
"""Port, and up or down."""


@dataclass(frozen=True)
class Wire:
    """The links of one trial. A port has the name of its host, and in a network beside that of its
    interface too: `robot wlan0`."""

    sent: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """(host, class) → (frames, bytes) that the host sent."""
    lost: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """(port, up or down, verdict) → frames lost there."""
    lost_data: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """As `lost`, frames with data alone."""
    entered: dict[Link, int] = field(default_factory=dict)
    """Frames that came to the link."""
    carried: dict[Link, int] = field(default_factory=dict)
    """Bytes that the link let through."""
    busy_ns: dict[Link, float] = field(default_factory=dict)
    """How long frames were on the wire, for links with a constant rate."""
    payload_bytes: int = 0
    """Payload that readers took from writers on another host."""
    window_ns: int = 0

    @property
    def bytes(self) -> int:
        """All bytes that hosts sent."""
        return sum(size for _, size in self.sent.values())


@dataclass(frozen=True, kw_only=True)
class _LinkFrames:
    """The frames that came to a link: their rows in the log, whether each `ended` there, how long
    it `takes`, and when it had `left`, in ns from the window's begin; arrays of shape (frames,)."""

    link: Link
    rows: np.ndarray
    ended: np.ndarray
    takes_ns: np.ndarray
    left_ns: np.ndarray


def wire_of(
    frames: Frames,
    outages: Sequence[Outage],
    window: SteadyWindow,
    payload_bytes: int,
    rates_bps: Mapping[Link, float],
) -> Wire:
    """The links of one trial in its window. `frames`: of the whole trial, since a frame that came
    before the window may leave within it. `payload_bytes`: from `crossing_bytes`. `rates_bps`:
    bit/s of the links that have a constant rate throughout."""
    wire = Wire(
        sent=_sent(frames.where(window.holds(frames.in_ns))),
        busy_ns=dict.fromkeys((link for link, rate in rates_bps.items() if rate), 0.0),
        payload_bytes=payload_bytes,
        window_ns=window.length_ns,
    )
    for on_link in _frames_by_link(frames, outages, window, rates_bps):
        _count(frames.where(on_link.rows), on_link, window, wire)
    return wire


def crossing_bytes(columns: Columns, rows: Sequence[Row], window: SteadyWindow) -> int:
    """Payload that readers took in the window from writers on another host, whenever it was sent;
    `rows` are the bundle's `endpoints`."""
    reader, writer, taken, flags = (
        columns.received(c) for c in ("endpoint", "writer", "taken_ns", "flags")
    )
    if not len(reader):
        return 0
    hosts = list(dict.fromkeys(row["host"] for row in rows))
    host = np.full(
        max(int(reader.max()), int(writer.max()), *(row["endpoint"] for row in rows)) + 1, -1
    )
    for row in rows:
        host[row["endpoint"]] = hosts.index(row["host"])
    inside = window.holds(taken) & ((flags & (CORRUPT | FOREIGN)) == 0)
    crossed = inside & (host[writer] >= 0) & (host[reader] != host[writer])
    return int(columns.received("bytes")[crossed].sum(dtype=np.int64))


def wire_of_counts(
    counts: FrameCounts, window: SteadyWindow, payload_bytes: int, rates_bps: Mapping[Link, float]
) -> Wire:
    """The links of one trial from counts of frames. How long a link with a rate was busy follows
    from the bytes that took its time; a frame at the window's edge counts where it ended."""
    wire = Wire(payload_bytes=payload_bytes, window_ns=window.length_ns)
    for port in dict.fromkeys(link for link, _ in counts.entered):
        for kind in CLASSES:
            entered = counts.entered.get((port, kind), EnteredFrames())
            frames, size = wire.sent.get((host_of(port), kind), (0, 0))
            wire.sent[host_of(port), kind] = frames + entered.frames, size + entered.bytes
            wire.entered[port, UP] = wire.entered.get((port, UP), 0) + entered.frames
    for (port, way, verdict, kind, _), count in counts.ended.items():
        if way == DOWN and verdict != UNWANTED:
            wire.entered[port, DOWN] = wire.entered.get((port, DOWN), 0) + count
        if verdict not in NOT_LOST:
            for lost in (wire.lost, *([wire.lost_data] if kind == "data" else [])):
                lost[port, way, verdict] = lost.get((port, way, verdict), 0) + count
    for link, (sent_bytes, carried_bytes) in counts.crossed.items():
        wire.carried[link] = carried_bytes
        if rate_bps := rates_bps.get(link):
            wire.busy_ns[link] = min(sent_bytes * 8e9 / rate_bps, window.length_ns)
    return wire


@dataclass(frozen=True, kw_only=True)
class Sums:
    """Counts over the window. Frames with data count once each: all, and those that were sent
    again. The frames `lost`, of the frames `sent_to_hosts`, count once per destination."""

    data_frames: int
    data_bytes: int
    repeated_frames: int
    repeated_bytes: int
    lost: int
    sent_to_hosts: int


def sums_of(frames: Frames, window: SteadyWindow) -> Sums:
    """The counts of a log of frames, which may be of the whole trial."""
    inside = window.holds(frames.in_ns)
    copies, frames = _copies(frames)[inside], frames.where(inside)
    data = frames.entered & frames.kind.among("data")
    repeated = data & frames.retransmission
    sent = ~frames.verdict.among(*(name for name in NOT_LOST if name != DELIVERED))
    lost = sent & ~frames.verdict.among(DELIVERED)
    return Sums(
        data_frames=int(np.count_nonzero(data)),
        data_bytes=int(frames.frame_bytes[data].sum()),
        repeated_frames=int(np.count_nonzero(repeated)),
        repeated_bytes=int(frames.frame_bytes[repeated].sum()),
        lost=int(copies[lost].sum()),
        sent_to_hosts=int(copies[sent].sum()),
    )


def sums_of_counts(counts: FrameCounts) -> Sums:
    """The sums of counts of frames."""
    data = [entered for (_, kind), entered in counts.entered.items() if kind == "data"]
    links = {key[0] for key in counts.ended} | {key[0] for key in counts.entered}
    sent = lost = 0
    for (link, _, verdict, _, to_all), count in counts.ended.items():
        if verdict in NOT_LOST and verdict != DELIVERED:
            continue
        others = sum(network_of(other) == network_of(link) for other in links) - 1
        copies = max(1, others) if to_all and verdict != NO_DESTINATION else 1
        sent += copies * count
        lost += copies * count if verdict != DELIVERED else 0
    return Sums(
        data_frames=sum(entered.frames for entered in data),
        data_bytes=sum(entered.bytes for entered in data),
        repeated_frames=sum(entered.repeated for entered in data),
        repeated_bytes=sum(entered.repeated_bytes for entered in data),
        lost=lost,
        sent_to_hosts=sent,
    )


def values(wire: Wire, sums: Sums) -> Measures:
    """The metrics of the links."""
    payload, data = wire.payload_bytes, sums.data_bytes
    busiest_ns = max(wire.busy_ns.values(), default=None) if wire.window_ns else None
    measures: Measures = {
        "retransmitted_frames": (sums.repeated_frames, sums.data_frames),
        "frames_lost": (sums.lost, sums.sent_to_hosts),
        "retransmitted_bytes": sums.repeated_bytes / data if data else NO_DATA_SENT,
        "link_utilisation": NO_RATE if busiest_ns is None else busiest_ns / wire.window_ns,
        BYTES: wire.bytes / payload if payload else NO_CROSSING,
    }
    for kind in CLASSES:
        sent_bytes = sum(size for (_, name), (_, size) in wire.sent.items() if name == kind)
        measures[f"{BYTES}_{kind}"] = sent_bytes / payload if payload else NO_CROSSING
    return measures


def _sent(frames: Frames) -> dict[tuple[str, str], tuple[int, int]]:
    """`Wire.sent`, with all classes of each host that sent a frame: a class without a frame is 0,
    and not absent."""
    sent = {}
    for code, host in enumerate(frames.sender.names):
        of_host = frames.entered & (frames.sender.codes == code)
        if not of_host.any():
            continue
        for kind in CLASSES:
            rows = of_host & frames.kind.among(kind)
            sent[host, kind] = (int(np.count_nonzero(rows)), int(frames.frame_bytes[rows].sum()))
    return sent


def _copies(frames: Frames) -> np.ndarray:
    """The number of destinations that each row stands for: int64 of shape (rows,). A multicast
    frame that was lost on its way up has one row without a destination; it would have gone to all
    other hosts of its network that the log knows. A frame for which the network had no destination
    counts once."""
    copies = np.ones(len(frames), np.int64)
    nowhere = (frames.receiver.codes < 0) & ~frames.verdict.among(*NOT_LOST, NO_DESTINATION)
    for code in np.unique(frames.interface.codes):
        on_it = frames.interface.codes == code
        hosts = _names(frames.sender, on_it) | _names(frames.receiver, on_it)
        copies[on_it & nowhere] = max(1, len(hosts) - 1)
    return copies


def _names(texts: TextColumn, rows: np.ndarray) -> set[str]:
    return {texts.names[code] for code in np.unique(texts.codes[rows]) if code >= 0}


def _frames_by_link(
    frames: Frames, outages: Sequence[Outage], window: SteadyWindow, rates_bps: Mapping[Link, float]
) -> Iterator[_LinkFrames]:
    """Each link with the frames that came to it. A frame that was lost on its sender's link never
    came to its receiver's link, nor did a multicast frame that its receiver had not asked for."""
    at_up = ended_up(frames, outages)
    senders, receivers = (_ports(of, frames.interface) for of in (frames.sender, frames.receiver))
    _, first, frame = np.unique(frames.index, return_index=True, return_inverse=True)
    left_ns = (frames.in_ns[first] - window.begin_ns).astype(float)
    for code, port in enumerate(senders.names):
        of_sender = np.flatnonzero(senders.codes[first] == code)
        rows = first[of_sender]
        on_link = _link_frames(frames, (port, UP), rows, at_up[rows], left_ns[of_sender], rates_bps)
        left_ns[of_sender] = on_link.left_ns
        yield on_link
    came_ns, came_down = left_ns[frame], ~at_up & ~frames.verdict.among(UNWANTED)
    for code, port in enumerate(receivers.names):
        rows = np.flatnonzero((receivers.codes == code) & came_down)
        rows = rows[np.argsort(came_ns[rows], kind="stable")]
        ended = ~frames.verdict.where(rows).among(DELIVERED)
        yield _link_frames(frames, (port, DOWN), rows, ended, came_ns[rows], rates_bps)


def _link_frames(
    frames: Frames,
    link: Link,
    rows: np.ndarray,
    ended: np.ndarray,
    came_ns: np.ndarray,
    rates_bps: Mapping[Link, float],
) -> _LinkFrames:
    """A link's frames, given in the order in which they came; with a rate, they leave one after the
    other."""
    takes_ns, left_ns = np.zeros(len(rows)), came_ns.copy()
    if rate_bps := rates_bps.get(link):
        sent = ~(ended & frames.verdict.where(rows).among(*NOT_SENT))
        takes_ns[sent] = frames.frame_bytes[rows[sent]] * (8e9 / rate_bps)
        busy_ns = np.cumsum(takes_ns[sent])
        idle_ns = np.maximum.accumulate(came_ns[sent] - (busy_ns - takes_ns[sent]))
        left_ns[sent] = idle_ns + busy_ns
    return _LinkFrames(link=link, rows=rows, ended=ended, takes_ns=takes_ns, left_ns=left_ns)


def _count(frames: Frames, on_link: _LinkFrames, window: SteadyWindow, wire: Wire) -> None:
    """Add a link to `wire`: the frames that came to it, and those that left it, within the window.
    `own`: the link's rows of the log."""
    left_ns = on_link.left_ns
    if on_link.link in wire.busy_ns:
        began_ns = left_ns - on_link.takes_ns
        begin, end = (np.clip(at, 0, window.length_ns) for at in (began_ns, left_ns))
        # Frames follow one another, so a sum above the window is a rounding error.
        wire.busy_ns[on_link.link] = min(float((end - begin).sum()), window.length_ns)
    came = window.holds(frames.in_ns)
    left = (left_ns >= 0) & (left_ns < window.length_ns)
    if not (came | left).any():
        return
    through = left & (~on_link.ended | frames.verdict.among(UNWANTED))
    wire.entered[on_link.link] = int(np.count_nonzero(came))
    wire.carried[on_link.link] = int(frames.frame_bytes[through].sum())
    lost = came & on_link.ended & ~frames.verdict.among(*NOT_LOST)
    data = frames.kind.among("data")
    for code, verdict in enumerate(frames.verdict.names):
        lost_here = lost & (frames.verdict.codes == code)
        for counts, rows in ((wire.lost, lost_here), (wire.lost_data, lost_here & data)):
            if count := int(np.count_nonzero(rows)):
                counts[*on_link.link, verdict] = count


def _ports(hosts: TextColumn, interfaces: TextColumn) -> TextColumn:
    """The port of each row: its host on `eth0`, or its host and the interface of a network
    beside."""
    names, codes = list(hosts.names), hosts.codes
    for code, interface in enumerate(interfaces.names):
        if interface != ETH0:
            on_it = (interfaces.codes == code) & (hosts.codes >= 0)
            codes = np.where(on_it, hosts.codes + len(names), codes)
            names += [f"{host} {interface}" for host in hosts.names]
    return TextColumn(codes, tuple(names))


def ended_up(frames: Frames, outages: Sequence[Outage]) -> np.ndarray:
    """Whether a frame ended on its sender's link and never came to its receiver's: bool of shape
    (rows,). Where the log does not say so, it is guessed."""
    logged, unlogged = frames.ended.among(UP), frames.ended.codes < 0
    return np.where(unlogged, _guessed_up(frames, outages), logged) if unlogged.any() else logged


def _guessed_up(frames: Frames, outages: Sequence[Outage]) -> np.ndarray:
    """A guess of `ended_up` from the verdict. Where the verdict names no link, the frame ended on
    its sender's link if that link was down then, or if the frame has no destination yet. A frame
    that was given up, or that waited when an outage began, counts on its receiver's link, which may
    be wrong."""
    up = frames.verdict.among("lost_up", "queue_full_up", "policed_up", "no_destination")
    away = np.zeros(len(frames), bool)
    for outage in (o for o in outages if o.kind == "network"):
        away |= (
            frames.sender.among(outage.who)
            & (frames.in_ns >= outage.down_ns)
            & (frames.in_ns < outage.up_ns)
        )
    out_of_range = frames.verdict.among("blackhole", "no_carrier")
    either = frames.verdict.among("too_large", "given_up") | out_of_range
    guessed: np.ndarray = up | (out_of_range & away) | (either & (frames.receiver.codes < 0))
    return guessed


def why_no_log(definition: Mapping[str, Any]) -> str:
    """Why a trial has no frames, from its cell's definition."""
    return KERNELS if (definition.get("network") or {}).get("backend") == "kernel" else NO_LOG


def is_mixed(frames: Frames, definition: Mapping[str, Any]) -> bool:
    """Whether frames of several networks are together and cannot be told apart."""
    beside = (definition.get("network") or {}).get("beside")
    return bool(beside) and bool((frames.interface.codes < 0).any())


def rates_of(definition: Mapping[str, Any]) -> dict[Link, float]:
    """(port, up or down) → bit/s, from a cell's definition, for links with a constant rate that no
    change touches. Links of networks beside never change."""
    network = definition.get("network") or {}
    changed = {row.get("host") for row in network.get("changes") or () if "change" not in row}
    links = {
        host: link for host, link in (network.get("links") or {}).items() if host not in changed
    }
    rates = {}
    for port, link in (links | (network.get("beside") or {})).items():
        for way, spec in (link or {}).items():
            rate = spec.get("rate_bps") or (spec.get("nic") or {}).get("rate_bps")
            if rate and "trace" not in spec:
                rates[port, way] = float(rate)
    return rates
