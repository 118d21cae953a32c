"""From what was counted and what the middleware says to the share of the payload on every path.

Three kinds of knowledge, best first: the middleware's own evidence per message, the kernel's
counters over the steady window, and, for the remainder that no interface saw, an inference from
what connects writer and reader (segments that both map, Unix sockets, one process). Each row says
which it is. Counted bytes include headers, acknowledgements and discovery; with small messages they
can exceed the payload, so a fraction is capped at 1 and the surplus shows in `bytes`. Evidence is a
claim: where the counters leave no room for it, it is dropped and the note says so.

Each host counts for itself; bytes are as they left the senders' devices, Ethernet headers included,
lost ones too.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rmwbench.analysis.records.frames import counts_of, host_of, network_of
from rmwbench.campaign.plan.profile import setups
from rmwbench.campaign.plan.unsupported import few
from rmwbench.campaign.trial.attest.counted import (
    Carried,
    Snapshot,
    carried,
    grown,
    of_the_trial,
    tcp_payload,
    unix_peers,
    window,
)
from rmwbench.campaign.trial.outcome import TrialOutcome
from rmwbench.codes import FOREIGN
from rmwbench.lab.process.records import RECEIVED

DEVICE = "eth0"
TCP_HEADER_BYTES = 66
"""Ethernet 14, IPv4 20, TCP 32 with time stamps."""


def carried_between(outcome: TrialOutcome) -> list[Carried]:
    """What all hosts sent to others in the window, by transport and interface; `network` where no
    sampler tells transports apart."""
    totals: dict[tuple[str, str], int] = {}
    devices = _devices(outcome)
    main = " + ".join(dict.fromkeys(devices.values())) or DEVICE
    for host, document in outcome.sampling.sampled_at.items():
        at = {snapshot["at"]: snapshot for snapshot in document["snapshots"]}
        if "steady_begin" in at and "steady_end" in at:
            leading = (devices.get(host, DEVICE), *outcome.order.cell.beside.get(host, ()))
            edges = of_the_trial(outcome, host, at["steady_begin"], at["steady_end"])
            for transport, used, size in _of_host(edges, leading):
                key = (
                    transport,
                    " + ".join(
                        main if device_name == leading[0] else device_name for device_name in used
                    ),
                )
                totals[key] = totals.get(key, 0) + size
    own_hosts = outcome.order.cell.hosts
    if not totals and (counts := counts_of(outcome.network.counters)) is not None:
        for (link, _), of in counts.entered.items():
            if host_of(link) in own_hosts:
                key = "network", network_of(link) or main
                totals[key] = totals.get(key, 0) + of.bytes
    elif not totals and outcome.network.frames is not None and outcome.times.window is not None:
        begun = outcome.network.frames["in_ns"]
        inside = (begun >= outcome.times.window.steady_ns) & (begun < outcome.times.window.end_ns)
        # a row per destination
        _, first = np.unique(outcome.network.frames["index"][inside], return_index=True)
        once, cell = outcome.network.frames[inside][first], outcome.order.cell
        for port, (host, device) in enumerate(
            zip(cell.port_hosts, cell.port_interfaces, strict=True)
        ):
            if host in own_hosts:  # and not one that only cross traffic has
                key = "network", main if device == DEVICE else device
                size = int(once["frame_bytes"][once["from_port"] == port].sum(dtype=np.int64))
                totals[key] = totals.get(key, 0) + size
    return [
        Carried(transport, device, size)
        for (transport, device), size in sorted(totals.items())
        if size > 0
    ]


def crossing_fraction(outcome: TrialOutcome) -> float:
    """The share of the payload bytes that readers took in the window whose writer was on another
    host."""
    assert outcome.times.window is not None
    host = {e.endpoint: e.host for e in outcome.order.cell.endpoints}
    process = {e.endpoint: e.process for e in outcome.order.cell.endpoints}
    total = across = 0
    for section in outcome.sections:
        if section.kind == RECEIVED:
            rows, own_window = (
                section.rows,
                outcome.times.windows.get(process[section.endpoint], outcome.times.window),
            )
            inside = (rows["taken_ns"] >= own_window.steady_ns) & (
                rows["taken_ns"] < own_window.end_ns
            )
            inside &= rows["flags"] & FOREIGN == 0
            same_host = [number for number, name in host.items() if name == host[section.endpoint]]
            total += int(rows["bytes"][inside].sum(dtype=np.int64))
            across += int(
                rows["bytes"][inside & ~np.isin(rows["writer"], same_host)].sum(dtype=np.int64)
            )
    return across / total if total else 1.0


def _devices(outcome: TrialOutcome) -> dict[str, str]:
    """Host → the interface with its address, where hosts are machines, and everything that it
    sends is counted then, or where a profile's file names it."""
    real = outcome.order.cell.real
    cards = real.gang.cards if real is not None and real.gang is not None else {}
    device_of_host = {host: setup.device for host, setup in setups(outcome.order.cell).items()}
    return device_of_host | {
        host: card["device"] for host, card in cards.items() if card.get("device")
    }


def _of_host(
    edges: tuple[Snapshot, Snapshot], devices: Sequence[str]
) -> Iterator[tuple[str, list[str], int]]:
    """Transport, which of the `devices` it went over, and bytes; the devices lead to other hosts.
    Where both transports were used on several devices nobody knows which was on which."""
    by_device = {device: grown(edges, "interfaces", device, "tx_bytes") or 0 for device in devices}
    sent, used = sum(by_device.values()), [device for device, size in by_device.items() if size]
    packets = sum(grown(edges, "interfaces", device, "tx_packets") or 0 for device in devices)
    segments = min(packets, grown(edges, "tcp", "out_segments") or 0)
    tcp = min(sent, tcp_payload(edges) + TCP_HEADER_BYTES * segments)
    if segments and not (grown(edges, "udp", "out_datagrams") or 0):
        tcp = sent
    for transport, size in (("tcp", tcp), ("udp", sent - tcp)):
        if size == sent:
            yield from ((transport, [device], by_device[device]) for device in used)
        elif size:
            yield transport, used, size


ON_INTERFACES = ("udp", "tcp")
"""Evidence for these needs no row of its own: the interface counts their bytes."""

_NAMES = {"intra_process": "process", "unknown": "other"}
"""Workers' words for paths that have another name in a bundle."""

UNSEEN = "no interface saw them"
CONTROL_SUFFICES = (
    "the messages are so few and small that discovery alone may be what interfaces sent"
)

EDGE = 0.05
"""Counters and stamps are not read at the same instant: messages in flight at the window's edges
may be this share."""

MAJORITY = 0.5
SEGMENTS_NAMED = 2
CONTROL_BYTES_PER_MESSAGE = 1024
"""What a message that went through memory may still send over an interface: a descriptor, headers,
acknowledgements."""
CONTROL_BYTES_PER_SECOND = 4096
"""What a process sends for discovery and heartbeats, whatever its messages do: 1.6 to 1.8 kB/s
measured of Fast DDS as installed in its first seconds, more than some payloads."""


def delivered_bytes(outcome: TrialOutcome, edges: tuple[Snapshot, Snapshot] | None = None) -> int:
    """Payload bytes that readers took in the steady window, each reader's copy counted; between two
    snapshots of one host, where they are given and tell their time. On a busy machine these are
    taken some ms after the window's edges, and what they counted is held against what arrived
    between them."""
    if outcome.times.window is None:
        return 0
    read_ns = None if edges is None else [edge.get("time_ns") for edge in edges]
    total = 0
    places = {endpoint.endpoint: endpoint.process for endpoint in outcome.order.cell.endpoints}
    for section in outcome.sections:
        if section.kind == RECEIVED:
            rows = section.rows
            own_window = outcome.times.windows.get(places[section.endpoint], outcome.times.window)
            begin_ns, end_ns = own_window.steady if not read_ns or None in read_ns else read_ns
            inside = (rows["taken_ns"] >= begin_ns) & (rows["taken_ns"] < end_ns)
            total += int(rows["bytes"][inside & (rows["flags"] & FOREIGN == 0)].sum(dtype=np.int64))
    return total


def attestations(outcome: TrialOutcome) -> list[dict[str, Any]]:
    """Rows of the table `attestations` without `trial`; none where nothing was delivered or no
    counters came."""
    if len(outcome.order.cell.hosts) > 1:
        return _over_hosts(outcome, delivered_bytes(outcome))
    edges = window(outcome)
    delivered = delivered_bytes(outcome, edges)
    if not delivered or edges is None:
        return []
    counted = list(carried(edges))
    note = "sent during the window, headers included"
    if outcome.network.shared_host:
        note += "; on the shared host that of other programs too"
    claimed = _evidence(outcome, delivered)
    off_interfaces = {path: size for path, size in claimed.items() if path not in ON_INTERFACES}
    if _is_disproved(outcome, sum(off_interfaces.values()), delivered, counted):
        note += f"; the middleware's own word was {', '.join(off_interfaces)}, for which these leave no room"
        off_interfaces = {}
    segments = shared_segments(outcome)
    path, why, known_segments = _remainder(outcome, segments, bool(claimed), edges[1])
    if not claimed and path != "other" and _is_control(outcome, delivered, counted):
        text = f"{CONTROL_SUFFICES}; {why.removeprefix(UNSEEN + ', and ')}"
        silent = [_row(c.transport, c.interface, "counted", c.bytes, 0.0, note) for c in counted]
        return [*silent, _row("other", None, "inferred", delivered, 1.0, text, known_segments)]
    rows, rest = _claimed_rows(off_interfaces, delivered, segments)
    for c, fraction in _shares(counted, delivered, rest, claimed):
        rest -= fraction
        share_note = (
            note if c.copies < 1.05 else f"{note}; each datagram was received {c.copies:.3g} times"
        )
        rows.append(_row(c.transport, c.interface, "counted", c.bytes, fraction, share_note))
    if rest * delivered >= 1 and not _absorbed(outcome, rows, rest, path):
        rows.append(
            _row(path, None, "inferred", round(rest * delivered), rest, why, known_segments)
        )
    return rows


def _claimed_rows(
    claimed: Mapping[str, int], delivered: int, segments: list[str]
) -> tuple[list[dict[str, Any]], float]:
    """A row for each path that the middleware names, and the fraction that is left."""
    rows, rest = [], 1.0
    for path, size in claimed.items():
        fraction = min(rest, size / delivered)
        rest -= fraction
        note = f"the middleware's own word: {path}"
        mapped = segments if path == "shm" else []
        rows.append(
            _row(path, None, "evidence", round(fraction * delivered), fraction, note, mapped)
        )
    return rows, rest


def _absorbed(outcome: TrialOutcome, rows: list[dict[str, Any]], rest: float, path: str) -> bool:
    """Whether the rest belongs to what the interface with most of it counted, and is added there:
    it is the window's edge, or what compression saved."""
    counted = [row for row in rows if row["label"] == "counted"]
    if not counted:
        return False
    most = max(counted, key=lambda row: row["fraction"])
    edge = rest <= EDGE and most["fraction"] > MAJORITY
    if not edge and (path == "shm" or not _is_compressed(outcome)):
        return False
    most["fraction"] += rest
    if not edge:
        most["note"] += "; compressed, so that fewer bytes than the payload's are all of it"
    return True


def _over_hosts(outcome: TrialOutcome, delivered: int) -> list[dict[str, Any]]:
    """The attestations of a trial over several hosts. Between hosts there is the network alone; its
    transports have a share each by what they sent, but where the middleware names one, the others
    carried none of its messages."""
    if not delivered:
        return []
    across = crossing_fraction(outcome)
    counted = carried_between(outcome)
    named_transports = _evidence(outcome, delivered).keys() & {c.transport for c in counted}
    carriers = [c for c in counted if not named_transports or c.transport in named_transports]
    sent = sum(c.bytes for c in carriers)
    note = "sent by all hosts during the window, headers and lost frames included"
    rows = []
    for c in counted:
        fraction = across * c.bytes / sent if c in carriers and sent else 0.0
        rows.append(_row(c.transport, c.interface, "counted", c.bytes, fraction, note))
    rest = 1.0 - sum(row["fraction"] for row in rows)
    if rest * delivered >= 1:
        why = (
            "between processes of one host, in a trial over several" if sent else "no counters came"
        )
        rows.append(_row("other", None, "inferred", round(rest * delivered), rest, why))
    return rows


def _is_compressed(outcome: TrialOutcome) -> bool:
    return any(side.modes.get("compression") is True for side in outcome.order.cell.sides.values())


def _is_control(outcome: TrialOutcome, delivered: int, counted: list[Carried]) -> bool:
    """Whether what interfaces sent could be most of the payload, and could as well be nothing of
    it."""
    assert outcome.times.window is not None
    seconds = (outcome.times.window.end_ns - outcome.times.window.steady_ns) / 1e9
    sent = sum(c.bytes for c in counted)
    most = sum(c.bytes * c.copies for c in counted)
    beyond = sent - CONTROL_BYTES_PER_SECOND * seconds * len(outcome.sampling.collected)
    return beyond < MAJORITY * delivered <= most


def _shares(
    counted: list[Carried], delivered: int, room: float, claimed: Mapping[str, int]
) -> list[tuple[Carried, float]]:
    """The transports, each with its fraction of the payload. Together at most `room`: beyond it
    they are cut in proportion, because headers and control traffic belong to all of them. Where the
    middleware names a transport that did carry bytes, the others carried none of its messages."""
    named_transports = claimed.keys() & {c.transport for c in counted if c.bytes}
    fractions = [
        c.bytes * c.copies / delivered
        if not named_transports or c.transport in named_transports
        else 0.0
        for c in counted
    ]
    scale = min(1.0, room / sum(fractions)) if sum(fractions) else 0.0
    return [(c, share * scale) for c, share in zip(counted, fractions, strict=True)]


def _remainder(
    outcome: TrialOutcome, segments: list[str], has_evidence: bool, end: Mapping[str, Any]
) -> tuple[str, str, list[str]]:
    """Path, note and segments of what no interface saw. A middleware that gives evidence and does
    not name shared memory for these did not use it, whatever is mapped."""
    if len(outcome.sampling.collected) == 1:
        return "process", f"{UNSEEN}, and all nodes share one process", []
    sockets = bool(unix_peers(end))
    if segments and not has_evidence:
        socket_note = ", and so does a Unix socket between them" if sockets else ""
        return (
            "shm",
            f"{UNSEEN}, and writer and reader map the same segments ({few(segments, SEGMENTS_NAMED)}){socket_note}",
            segments,
        )
    if sockets:
        return "unix", f"{UNSEEN}, and a Unix socket connects writer and reader", []
    return "other", UNSEEN, []


def shared_segments(outcome: TrialOutcome) -> list[str]:
    """Names of segments that at least two processes map and at least one of them may write to; any
    segment where all nodes share one process. What nobody may write to carries no message."""
    maps = [
        {
            segment["name"]: segment.get("writable", True)  # a worker from before does not say
            for segment in reply.get("memory", {}).get("shared_segments", [])
            if _is_segment(segment["name"])
        }
        for reply in outcome.sampling.collected.values()
    ]
    if len(maps) == 1:
        return sorted(maps[0])
    mapped: dict[str, list[bool]] = {}
    for segments in maps:
        for name, writable in segments.items():
            mapped.setdefault(name, []).append(writable)
    return sorted(name for name, writable in mapped.items() if len(writable) >= 2 and any(writable))


_SEGMENTS = ("/dev/shm/", "/memfd:", "/SYSV", "/dev/zero (deleted)")


def _is_segment(name: str) -> bool:
    """Whether a mapping is a shared segment, by the rule of `is_segment` in
    native/harness/src/usage.rs, for workers that list every shared mapping."""
    return name.startswith(_SEGMENTS) or name.endswith(" (deleted)")


def _is_disproved(
    outcome: TrialOutcome, claimed: int, delivered: int, counted: list[Carried]
) -> bool:
    """Whether the interfaces carried so much that at least half of what is claimed for other paths
    went there."""
    messages = sum(len(section.rows) for section in outcome.sections if section.kind == RECEIVED)
    sent = sum(c.bytes for c in counted)
    room = max(0, delivered - claimed) + CONTROL_BYTES_PER_MESSAGE * messages
    return claimed > 0 and sent - room > MAJORITY * claimed


def _row(
    path: str,
    interface: str | None,
    label: str,
    size: int,
    fraction: float,
    note: str,
    segments: list[str] | None = None,
) -> dict[str, Any]:
    return {
        "path": path,
        "interface": interface,
        "label": label,
        "bytes": size,
        "fraction": fraction,
        "segments": json.dumps(segments or []),
        "note": note,
    }


def _evidence(outcome: TrialOutcome, delivered: int) -> dict[str, int]:
    """Path → payload bytes that readers' evidence vouches for, scaled from the whole trial to what
    was delivered in the steady window."""
    size = {e.endpoint: e.read_bytes for e in outcome.order.cell.endpoints if e.reads}
    received = {s.endpoint: len(s.rows) for s in outcome.sections if s.kind == RECEIVED}
    total = sum(received[e] * size[e] for e in received if e in size)
    vouched_bytes: dict[str, int] = {}
    for reply in outcome.sampling.collected.values():
        for endpoint, account in reply.get("endpoints", {}).items():
            if int(endpoint) in size:
                for evidence in account.get("evidence", []):
                    path = _NAMES.get(evidence["path"], evidence["path"])
                    vouched_bytes[path] = (
                        vouched_bytes.get(path, 0) + evidence["messages"] * size[int(endpoint)]
                    )
    return {
        path: round(value * delivered / total) if total else 0
        for path, value in vouched_bytes.items()
    }
