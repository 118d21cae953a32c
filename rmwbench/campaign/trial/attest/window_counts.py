"""The kernel's counts over the steady window, by transport and interface.

Interfaces count bytes without knowing the transport; TCP sockets count their payload; UDP counts
datagrams only. So TCP has the payload of its sockets plus headers, and UDP the rest of the
interface. A multicast datagram passes the interface once for any number of receiving sockets, so
UDP's bytes count once per datagram received.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rmwbench.campaign.trial.outcome import TrialOutcome
from rmwbench.lab.sampling.loads import LoadFlow

LOOPBACK = "lo"
LOOPBACK_TCP_HEADER_BYTES = 52
"""The headers of a segment on the loopback, which has no Ethernet: IPv4 20, TCP 32 with time
stamps."""

Snapshot = Mapping[str, Any]


@dataclass(frozen=True)
class CarriedBytes:
    """Bytes over one interface in the window. `transport` is `tcp`, `udp`, or `network` if they
    cannot be distinguished. `copies` is how often a datagram was received on average: 1 without
    multicast."""

    transport: str
    interface: str
    bytes: int
    copies: float = 1.0


def window_edges(snapshots: Iterable[Snapshot]) -> tuple[Snapshot, Snapshot] | None:
    """Return the snapshots at both ends of the steady window; None unless there are both."""
    by_name = {snapshot["at"]: snapshot for snapshot in snapshots}
    if "steady_begin" in by_name and "steady_end" in by_name:
        return by_name["steady_begin"], by_name["steady_end"]
    return None


def window(outcome: TrialOutcome) -> tuple[Snapshot, Snapshot] | None:
    """Return the first host's snapshots at both ends of the steady window: the sampler's, or those
    of a worker, which lack sockets. Every process of a host sees the same interfaces. None if
    nothing was read."""
    readings = [(outcome.sampling.sampled or {}).get("snapshots", [])]
    readings += [reply.get("usage", []) for reply in outcome.sampling.collected.values()]
    edges = next(filter(None, map(window_edges, readings)), None)
    return None if edges is None else trial_edges(outcome, outcome.order.cell.hosts[0], *edges)


def trial_edges(
    outcome: TrialOutcome, host: str, begin: Snapshot, end: Snapshot
) -> tuple[Snapshot, Snapshot]:
    """Return a host's snapshots at both ends of the window without the counts of others: of our own
    background load, and of the shared host's other interfaces."""
    flow = outcome.network.background.get(host)
    last = end if flow is None else _without(flow, begin, end)
    return own_interfaces(outcome, begin), own_interfaces(outcome, last)


def own_interfaces(outcome: TrialOutcome, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with the trial's own interfaces. On the shared host that is the loopback
    alone: a trial uses no other there."""
    if not outcome.network.shared_host:
        return snapshot
    interfaces = snapshot.get("interfaces", {})
    loopback = {name: values for name, values in interfaces.items() if name == LOOPBACK}
    return {**snapshot, "interfaces": loopback}


def _without(flow: LoadFlow, begin: Snapshot, end: Snapshot) -> Snapshot:
    """Return the snapshot `end` without what our own background load sent over the loopback since
    `begin`."""
    if not flow.bursts:
        return end
    sent = flow.datagrams(begin["time_ns"], end["time_ns"])
    interfaces = dict(end.get("interfaces", {}))
    if LOOPBACK in interfaces:
        size = sent * flow.datagram_bytes
        before = begin.get("interfaces", {}).get(LOOPBACK, {})
        less = {"tx_bytes": size, "rx_bytes": size, "tx_packets": sent, "rx_packets": sent}
        interfaces[LOOPBACK] = _less(interfaces[LOOPBACK], before, less)
    udp = _less(
        end.get("udp") or {}, begin.get("udp") or {}, {"in_datagrams": sent, "out_datagrams": sent}
    )
    return {**end, "interfaces": interfaces, "udp": udp}


def _less(
    counters: Mapping[str, int], before: Mapping[str, int], amounts: Mapping[str, int]
) -> dict[str, int]:
    """Return the counters less these amounts, and not less than before: a burst under way at an
    edge must not make a negative count."""
    return {
        name: max(before.get(name, 0), value - amounts[name]) if name in amounts else value
        for name, value in counters.items()
    }


def carried_bytes(edges: tuple[Snapshot, Snapshot]) -> Iterator[CarriedBytes]:
    """Yield the bytes that each interface transmitted: the loopback first and always, another one
    only if it carried something."""
    interfaces = edges[0].get("interfaces", {}).keys() & edges[1].get("interfaces", {}).keys()
    for name in sorted(interfaces, key=lambda name: (name != LOOPBACK, name)):
        sent_bytes = growth(edges, "interfaces", name, "tx_bytes") or 0
        if sent_bytes > 0 or name == LOOPBACK:
            yield from _by_transport(edges, name, sent_bytes)


def _by_transport(
    edges: tuple[Snapshot, Snapshot], name: str, sent_bytes: int
) -> Iterator[CarriedBytes]:
    datagrams = growth(edges, "udp", "out_datagrams")
    if datagrams is None or "sockets" not in edges[1]:
        yield CarriedBytes("network", name, sent_bytes)
        return
    tcp = _tcp(edges, sent_bytes, datagrams) if name == LOOPBACK else 0
    if name != LOOPBACK and not datagrams:
        return  # from the kernel itself: an interface that comes up reports its groups
    if tcp:
        yield CarriedBytes("tcp", name, tcp)
    if sent_bytes > tcp or not tcp:
        received = growth(edges, "udp", "in_datagrams") or 0
        yield CarriedBytes(
            "udp", name, sent_bytes - tcp, max(1.0, received / datagrams) if datagrams else 1.0
        )


def _tcp(edges: tuple[Snapshot, Snapshot], sent_bytes: int, datagrams: int) -> int:
    """Return the bytes of TCP among those that the loopback sent. The sockets of one host meet
    there; only datagrams to a group leave by another interface."""
    segments = growth(edges, "tcp", "out_segments") or 0
    if segments and not datagrams:
        return sent_bytes
    payload = tcp_payload(edges)
    packets = growth(edges, "interfaces", LOOPBACK, "tx_packets") or 0
    return (
        min(sent_bytes, payload + LOOPBACK_TCP_HEADER_BYTES * min(segments, packets))
        if payload
        else 0
    )


def tcp_payload(edges: tuple[Snapshot, Snapshot]) -> int:
    """Return the bytes that TCP sockets sent in the window. A socket that was closed before its end
    is counted as UDP."""
    before = {socket["inode"]: socket.get("sent_bytes", 0) for socket in _sockets(edges[0], "tcp")}
    return sum(
        socket.get("sent_bytes", 0) - before.get(socket["inode"], 0)
        for socket in _sockets(edges[1], "tcp")
    )


def unix_peers(snapshot: Snapshot) -> set[frozenset[str]]:
    """Return the pairs of processes that a Unix socket connects."""
    return {
        frozenset((socket["process"], socket["peer_process"]))
        for socket in _sockets(snapshot, "unix")
        if socket.get("process")
        and socket.get("peer_process")
        and socket["process"] != socket["peer_process"]
    }


def _sockets(snapshot: Snapshot, kind: str) -> list[Mapping[str, Any]]:
    return [socket for socket in snapshot.get("sockets", []) if socket["kind"] == kind]


def growth(edges: tuple[Snapshot, Snapshot], *path: str) -> int | None:
    """Return how much a counter grew; None if either end lacks it."""
    ends = []
    for snapshot in edges:
        value: Any = snapshot
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        ends.append(value)
    return None if None in ends else ends[1] - ends[0]
