"""What crossed the links between hosts: bytes per payload byte by class and sender, repeats, where
frames were lost.

Everything is of the steady window and of frames, which have their Ethernet header in them. What
hosts sent is counted once per frame; losses are counted per destination, since a multicast frame
can be lost on the way to one of two hosts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rmwbench.analysis.metrics.network.outage import Outage
from rmwbench.analysis.records.columns import Columns, Window
from rmwbench.analysis.records.frames import CLASSES, DELIVERED, NOT_LOST, Frames, Names
from rmwbench.analysis.records.ledger import CORRUPT, FOREIGN

Row = Mapping[str, Any]
BYTES = "link_bytes_per_payload_byte"
RETRANSMITTED, RETRANSMITTED_BYTES = "retransmitted_frames", "retransmitted_bytes"
LOST, USED = "frames_lost", "link_utilisation"
METRICS = (
    BYTES,
    *(f"{BYTES}_{kind}" for kind in CLASSES),
    RETRANSMITTED,
    RETRANSMITTED_BYTES,
    LOST,
    USED,
)

NO_LOG = "the trial has no frame log: its hosts are not behind links"
KERNELS = "the kernel backend of the network keeps no log of frames"
NO_CROSSING = "no payload was delivered from one host to another in the window"
NO_RATE = "no link has a rate"

MIXED = "its hosts are on two networks, and its frames do not say over which they went: it is older"

UP, DOWN = "up", "down"
ETH0 = "eth0"


@dataclass(frozen=True)
class Wire:
    """One trial's links. `sent`: (host, class) → (frames, bytes) that the host sent; `lost`: (port,
    up or down, verdict) → frames lost there, `lost_data` those of them with data; `entered` and
    `carried`: (port, up or down) → frames that met the link, and bytes that it let through;
    `payload_bytes`: taken from another host; `window_ns`. A port is called as its host, in a
    network beside with the interface behind it: `robot wlan0`."""

    sent: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    lost: dict[tuple[str, str, str], int] = field(default_factory=dict)
    lost_data: dict[tuple[str, str, str], int] = field(default_factory=dict)
    entered: dict[tuple[str, str], int] = field(default_factory=dict)
    carried: dict[tuple[str, str], int] = field(default_factory=dict)
    payload_bytes: int = 0
    window_ns: int = 0

    @property
    def bytes(self) -> int:
        """All that hosts sent."""
        return sum(of for _, of in self.sent.values())


def wire_of(frames: Frames, outages: Sequence[Outage], window: Window, payload_bytes: int) -> Wire:
    """The links of one trial with a window, over it; `payload_bytes` as of `crossing_bytes`."""
    frames = frames.between(window.begin_ns, window.end_ns)
    lost, entered, carried = _met(frames, outages)
    with_data, _, _ = _met(frames.where(frames.kind.among("data")), outages)
    return Wire(_sent(frames), lost, with_data, entered, carried, payload_bytes, window.length_ns)


def crossing_bytes(columns: Columns, rows: Sequence[Row], window: Window) -> int:
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
    inside = (
        (taken >= window.begin_ns) & (taken < window.end_ns) & ((flags & (CORRUPT | FOREIGN)) == 0)
    )
    crossed = inside & (host[writer] >= 0) & (host[reader] != host[writer])
    return int(columns.received("bytes")[crossed].sum(dtype=np.int64))


def values(
    wire: Wire, frames: Frames, window: Window, rates_bps: Mapping[tuple[str, str], float]
) -> tuple[dict[str, float], dict[str, tuple[int, int]], dict[str, str]]:
    """(amounts, (events, of) of fractions, reasons) of METRICS. `rates_bps`: (port, up or down) →
    bit/s, of those links that have a rate of their own throughout."""
    amounts: dict[str, float] = {}
    reasons: dict[str, str] = {}
    if wire.payload_bytes:
        amounts[BYTES] = wire.bytes / wire.payload_bytes
        for kind in CLASSES:
            of = sum(count[1] for (_, name), count in wire.sent.items() if name == kind)
            amounts[f"{BYTES}_{kind}"] = of / wire.payload_bytes
    else:
        reasons |= dict.fromkeys(METRICS[: 1 + len(CLASSES)], NO_CROSSING)
    frames = frames.between(window.begin_ns, window.end_ns)
    data = frames.entered & frames.kind.among("data")
    again = data & frames.retransmission
    fractions = {RETRANSMITTED: (int(np.count_nonzero(again)), int(np.count_nonzero(data)))}
    data_bytes = int(frames.frame_bytes[data].sum())
    if data_bytes:
        amounts[RETRANSMITTED_BYTES] = int(frames.frame_bytes[again].sum()) / data_bytes
    else:
        reasons[RETRANSMITTED_BYTES] = "no frame with data was sent in the window"
    met = ~frames.verdict.among(*(name for name in NOT_LOST if name != DELIVERED))
    fractions[LOST] = (
        int(np.count_nonzero(met & ~frames.verdict.among(DELIVERED))),
        int(np.count_nonzero(met)),
    )
    used = [
        8e9 * wire.carried.get(link, 0) / (rate * wire.window_ns)
        for link, rate in rates_bps.items()
        if rate and wire.window_ns
    ]
    if used:
        amounts[USED] = max(used)
    else:
        reasons[USED] = NO_RATE
    return amounts, fractions, reasons


def _sent(frames: Frames) -> dict[tuple[str, str], tuple[int, int]]:
    """Every class of every host that sent anything, so that a class without a frame is 0 there and
    not absent."""
    out = {}
    for code, host in enumerate(frames.sender.names):
        own = frames.entered & (frames.sender.codes == code)
        if not own.any():
            continue
        for kind in CLASSES:
            rows = own & frames.kind.among(kind)
            out[host, kind] = (int(np.count_nonzero(rows)), int(frames.frame_bytes[rows].sum()))
    return out


def _met(
    frames: Frames, outages: Sequence[Outage]
) -> tuple[dict[tuple[str, str, str], int], dict[tuple[str, str], int], dict[tuple[str, str], int]]:
    """`lost`, `entered` and `carried` of Wire. A frame that was lost on its sender's link never met
    its receiver's."""
    lost: dict[tuple[str, str, str], int] = {}
    entered: dict[tuple[str, str], int] = {}
    carried: dict[tuple[str, str], int] = {}
    at_up = ended_up(frames, outages)
    gone = ~frames.verdict.among(*NOT_LOST)
    first = _first_rows(frames)
    senders, receivers = (_ports(of, frames.interface) for of in (frames.sender, frames.receiver))
    for code, port in enumerate(senders.names):
        mine = senders.codes == code
        _count(frames, (port, UP), mine & first, at_up, gone, lost, entered, carried)
    for code, port in enumerate(receivers.names):
        _count(
            frames,
            (port, DOWN),
            (receivers.codes == code) & ~at_up,
            gone & ~at_up,
            gone,
            lost,
            entered,
            carried,
        )
    return lost, entered, carried


def _ports(hosts: Names, interfaces: Names) -> Names:
    """The port of each row's host: one with `eth0`, and one for each network beside."""
    names, codes = list(hosts.names), hosts.codes
    for code, interface in enumerate(interfaces.names):
        if interface != ETH0:
            there = (interfaces.codes == code) & (hosts.codes >= 0)
            codes = np.where(there, hosts.codes + len(names), codes)
            names += [f"{host} {interface}" for host in hosts.names]
    return Names(codes, tuple(names))


def _count(
    frames: Frames,
    link: tuple[str, str],
    rows: np.ndarray,
    here: np.ndarray,
    gone: np.ndarray,
    lost: dict[tuple[str, str, str], int],
    entered: dict[tuple[str, str], int],
    carried: dict[tuple[str, str], int],
) -> None:
    if not rows.any():
        return
    entered[link] = int(np.count_nonzero(rows))
    dropped = rows & here & gone
    carried[link] = int(frames.frame_bytes[rows & ~dropped].sum())
    for code, verdict in enumerate(frames.verdict.names):
        if count := int(np.count_nonzero(dropped & (frames.verdict.codes == code))):
            lost[*link, verdict] = count


def ended_up(frames: Frames, outages: Sequence[Outage]) -> np.ndarray:
    """Whether a frame ended on its sender's link and never met its receiver's: bool of shape
    (rows,). The log says so; of a log that does not it is a guess."""
    told, untold = frames.ended.among(UP), frames.ended.codes < 0
    return np.where(untold, _guessed_up(frames, outages), told) if untold.any() else told


def _guessed_up(frames: Frames, outages: Sequence[Outage]) -> np.ndarray:
    """From the verdict; where that does not tell, it is the sender's link that was away then, or
    there was no destination yet. What was given up, or waited when an outage began, is told of the
    receiver's link, which may be wrong."""
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
    found: np.ndarray = up | (out_of_range & away) | (either & (frames.receiver.codes < 0))
    return found


def _first_rows(frames: Frames) -> np.ndarray:
    """One row per frame, whatever number of destinations it had."""
    first = np.zeros(len(frames), bool)
    first[np.unique(frames.index, return_index=True)[1]] = True
    return first


def why_no_log(definition: Mapping[str, Any]) -> str:
    """Of a trial without frames, from its cell's definition."""
    return KERNELS if (definition.get("network") or {}).get("backend") == "kernel" else NO_LOG


def is_mixed(frames: Frames, definition: Mapping[str, Any]) -> bool:
    """Whether frames of several networks are together and cannot be told apart."""
    beside = (definition.get("network") or {}).get("beside")
    return bool(beside) and bool((frames.interface.codes < 0).any())


def rates_of(definition: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """(port, up or down) → bit/s, from a cell's definition: of links with a constant rate that no
    change touches. Those of networks beside never change."""
    network = definition.get("network") or {}
    changed = {row.get("host") for row in network.get("changes") or () if "change" not in row}
    links = {
        host: link for host, link in (network.get("links") or {}).items() if host not in changed
    }
    out = {}
    for port, link in (links | (network.get("beside") or {})).items():
        for way, spec in (link or {}).items():
            rate = spec.get("rate_bps") or (spec.get("nic") or {}).get("rate_bps")
            if rate and "trace" not in spec:
                out[port, way] = float(rate)
    return out
