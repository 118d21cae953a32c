"""The path in a trial over several hosts: between two of them there is the network and nothing
else, so only its transport is open. What stays on one host is told apart by who wrote and who read
it, and no further.

Each host counts for itself; bytes are as they left the senders' devices, Ethernet headers included,
lost ones too.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from rmwbench.analysis.records.frame_counts import counts_of, host_of
from rmwbench.campaign.trial.attest.counted import (
    Carried,
    Snapshot,
    grown,
    of_the_trial,
    tcp_payload,
)
from rmwbench.campaign.trial.outcome import TrialOutcome
from rmwbench.lab.process.records import FOREIGN, RECEIVED

DEVICE = "eth0"
TCP_HEADER_BYTES = 66
"""Ethernet 14, IPv4 20, TCP 32 with time stamps."""


def carried_between(outcome: TrialOutcome) -> list[Carried]:
    """What all hosts sent to others in the window, by transport; `network` where no sampler tells
    them apart."""
    totals: dict[str, int] = {}
    devices = _devices(outcome)
    for host, document in outcome.sampling.sampled_at.items():
        at = {snapshot["at"]: snapshot for snapshot in document["snapshots"]}
        if "steady_begin" in at and "steady_end" in at:
            leading = (devices.get(host, DEVICE), *outcome.order.cell.beside.get(host, ()))
            edges = of_the_trial(outcome, host, at["steady_begin"], at["steady_end"])
            for transport, size in _of_host(edges, leading):
                totals[transport] = totals.get(transport, 0) + size
    own_hosts = outcome.order.cell.hosts
    if not totals and (counts := counts_of(outcome.network.counters)) is not None:
        sent = (of for (link, _), of in counts.entered.items() if host_of(link) in own_hosts)
        totals["network"] = sum(of.bytes for of in sent)
    elif not totals and outcome.network.frames is not None and outcome.times.window is not None:
        begun = outcome.network.frames["in_ns"]
        inside = (begun >= outcome.times.window.steady_ns) & (begun < outcome.times.window.end_ns)
        # Not of those that only cross traffic has.
        cell = outcome.order.cell
        own = [port for port, host in enumerate(cell.port_hosts) if host in own_hosts]
        inside &= np.isin(outcome.network.frames["from_port"], own)
        # a row per destination
        _, first = np.unique(outcome.network.frames["index"][inside], return_index=True)
        totals["network"] = int(
            outcome.network.frames["frame_bytes"][inside][first].sum(dtype=np.int64)
        )
    device = " + ".join(dict.fromkeys(devices.values())) or DEVICE
    return [
        Carried(transport, device, size) for transport, size in sorted(totals.items()) if size > 0
    ]


def crossing_fraction(outcome: TrialOutcome) -> float:
    """Of the payload bytes that readers took in the window, the share whose writer was on another
    host."""
    assert outcome.times.window is not None
    host = {e.endpoint: e.host for e in outcome.order.cell.endpoints}
    process = {e.endpoint: e.process for e in outcome.order.cell.endpoints}
    total = across = 0
    for section in outcome.sections:
        if section.kind == RECEIVED:
            rows, told = (
                section.rows,
                outcome.times.windows.get(process[section.endpoint], outcome.times.window),
            )
            inside = (rows["taken_ns"] >= told.steady_ns) & (rows["taken_ns"] < told.end_ns)
            inside &= rows["flags"] & FOREIGN == 0
            here = [number for number, name in host.items() if name == host[section.endpoint]]
            total += int(rows["bytes"][inside].sum(dtype=np.int64))
            across += int(
                rows["bytes"][inside & ~np.isin(rows["writer"], here)].sum(dtype=np.int64)
            )
    return across / total if total else 1.0


def _devices(outcome: TrialOutcome) -> dict[str, str]:
    """Host → the interface with its address, where hosts are machines; everything that it sends is
    counted then."""
    real = outcome.order.cell.real
    cards = real.gang.cards if real is not None and real.gang is not None else {}
    return {host: card["device"] for host, card in cards.items() if card.get("device")}


def _of_host(edges: tuple[Snapshot, Snapshot], devices: Sequence[str]) -> Iterator[tuple[str, int]]:
    """`devices` lead to other hosts."""
    sent = sum(grown(edges, "interfaces", device, "tx_bytes") or 0 for device in devices)
    packets = sum(grown(edges, "interfaces", device, "tx_packets") or 0 for device in devices)
    segments = min(packets, grown(edges, "tcp", "out_segments") or 0)
    tcp = min(sent, tcp_payload(edges) + TCP_HEADER_BYTES * segments)
    if segments and not (grown(edges, "udp", "out_datagrams") or 0):
        tcp = sent
    yield "tcp", tcp
    yield "udp", sent - tcp
