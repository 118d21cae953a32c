"""The share of the payload on every path, from the kernel's counters and the middleware's evidence.

There are three kinds of knowledge, best first: the middleware's own evidence per message, the
kernel's counters over the steady window, and, for the remainder that no interface saw, an inference
from the connections of writer and reader (segments that both map, Unix sockets, one process). Each
row says its kind. Counted bytes include headers, acknowledgements and discovery; with small
messages they can exceed the payload, so a fraction is capped at 1 and the surplus shows in `bytes`.
If the counters leave no room for the evidence, it is dropped and the note says so.

Each host counts for itself. Bytes are counted as they left the senders' devices, with Ethernet
headers and with lost frames.

A trial that asked for one path and took another is void: its numbers would have the wrong name. The
reason comes from the worker, which says at creation why its middleware does not use a path (a note
that begins with `path:`), or from the attestation's own note.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rmwbench.analysis.records.frames import counts_of, host_of, network_of
from rmwbench.campaign.plan.profile import setups
from rmwbench.campaign.plan.unsupported_cells import few
from rmwbench.campaign.trial.attest.window_counts import (
    CarriedBytes,
    Snapshot,
    carried_bytes,
    growth,
    tcp_payload,
    trial_edges,
    unix_peers,
    window,
    window_edges,
)
from rmwbench.campaign.trial.outcome import TrialOutcome
from rmwbench.codes import FOREIGN
from rmwbench.lab.process.records import RECEIVED, RecordSection
from rmwbench.words.numbers import concise

DEVICE = "eth0"
ETHERNET_TCP_HEADER_BYTES = 66
"""Ethernet 14, IPv4 20, TCP 32 with time stamps."""


def carried_between(outcome: TrialOutcome) -> list[CarriedBytes]:
    """Return the bytes that hosts sent to other hosts in the window, by transport and interface;
    the transport is `network` if no sampler tells transports apart."""
    totals: Counter[tuple[str, str]] = Counter()
    devices = _devices(outcome)
    main = " + ".join(dict.fromkeys(devices.values())) or DEVICE
    for host, document in outcome.sampling.sampled_at.items():
        if edges := window_edges(document["snapshots"]):
            leading = (devices.get(host, DEVICE), *outcome.order.cell.devices_beside.get(host, ()))
            edges = trial_edges(outcome, host, *edges)
            for transport, used_devices, size in _of_host(edges, leading):
                key = (
                    transport,
                    " + ".join(
                        main if device_name == leading[0] else device_name
                        for device_name in used_devices
                    ),
                )
                totals[key] += size
    own_hosts = outcome.order.cell.hosts
    if not totals and (counts := counts_of(outcome.network.counters)) is not None:
        for (link, _), sent in counts.entered.items():
            if host_of(link) in own_hosts:
                key = "network", network_of(link) or main
                totals[key] += sent.bytes
    elif not totals and outcome.network.frames is not None and outcome.times.window is not None:
        begun = outcome.network.frames["in_ns"]
        inside = (begun >= outcome.times.window.steady_ns) & (begun < outcome.times.window.end_ns)
        # the log has a row per destination
        _, first = np.unique(outcome.network.frames["index"][inside], return_index=True)
        once, cell = outcome.network.frames[inside][first], outcome.order.cell
        for port, (host, device) in enumerate(
            zip(cell.port_hosts, cell.port_interfaces, strict=True)
        ):
            if host in own_hosts:  # other hosts carry cross traffic only
                key = "network", main if device == DEVICE else device
                size = int(once["frame_bytes"][once["from_port"] == port].sum(dtype=np.int64))
                totals[key] += size
    return [
        CarriedBytes(transport, device, size)
        for (transport, device), size in sorted(totals.items())
        if size > 0
    ]


def crossing_fraction(outcome: TrialOutcome) -> float:
    """Return the share of payload bytes from another host among all that readers took in the
    window."""
    assert outcome.times.window is not None
    host = {e.endpoint: e.host for e in outcome.order.cell.endpoints}
    process = {e.endpoint: e.process for e in outcome.order.cell.endpoints}
    total = across = 0
    for section in outcome.sections:
        if section.kind == RECEIVED:
            own_window = outcome.times.windows.get(process[section.endpoint], outcome.times.window)
            rows = _rows_taken(section, *own_window.steady)
            same_host = [number for number, name in host.items() if name == host[section.endpoint]]
            total += _bytes(rows)
            across += _bytes(rows[~np.isin(rows["writer"], same_host)])
    return across / total if total else 1.0


def _rows_taken(section: RecordSection, begin_ns: int, end_ns: int) -> np.ndarray:
    """Return the records of the trial's own messages that were taken between two times."""
    taken_ns, flags = section.rows["taken_ns"], section.rows["flags"]
    inside = (taken_ns >= begin_ns) & (taken_ns < end_ns)
    return np.asarray(section.rows[inside & (flags & FOREIGN == 0)])


def _bytes(rows: np.ndarray) -> int:
    return int(rows["bytes"].sum(dtype=np.int64))


def _devices(outcome: TrialOutcome) -> dict[str, str]:
    """Return host → its interface, for hosts that are machines (all that such an interface sends is
    counted) and for hosts whose interface a profile's file names."""
    real = outcome.order.cell.real
    interfaces = real.gang.interfaces if real is not None and real.gang is not None else {}
    device_of_host = {host: setup.device for host, setup in setups(outcome.order.cell).items()}
    return device_of_host | {
        host: interface["device"]
        for host, interface in interfaces.items()
        if interface.get("device")
    }


def _of_host(
    edges: tuple[Snapshot, Snapshot], devices: Sequence[str]
) -> Iterator[tuple[str, list[str], int]]:
    """Yield each transport with its devices and bytes. `devices` lead to other hosts. If both
    transports were used on several devices, it is unknown which of them carried which transport."""
    by_device = {device: growth(edges, "interfaces", device, "tx_bytes") or 0 for device in devices}
    sent_bytes = sum(by_device.values())
    used_devices = [device for device, size in by_device.items() if size]
    packets = sum(growth(edges, "interfaces", device, "tx_packets") or 0 for device in devices)
    segments = min(packets, growth(edges, "tcp", "out_segments") or 0)
    tcp = min(sent_bytes, tcp_payload(edges) + ETHERNET_TCP_HEADER_BYTES * segments)
    if segments and not (growth(edges, "udp", "out_datagrams") or 0):
        tcp = sent_bytes
    for transport, size in (("tcp", tcp), ("udp", sent_bytes - tcp)):
        if size == sent_bytes:
            yield from ((transport, [device], by_device[device]) for device in used_devices)
        elif size:
            yield transport, used_devices, size


ON_INTERFACES = ("udp", "tcp")
"""Evidence for these paths needs no row: the interface counts their bytes."""

_NAMES = {"intra_process": "process", "unknown": "other"}
"""A worker's name of a path → its name in a bundle, for the paths whose names differ."""

UNSEEN = "no interface saw them"
CONTROL_SUFFICES = (
    "the messages are so few and small that discovery alone may be what interfaces sent"
)

EDGE = 0.05
"""The largest share of messages in flight at the window's edges, since counters and stamps are not
read at the same instant."""

MAJORITY = 0.5
SEGMENTS_NAMED = 2
CONTROL_BYTES_PER_MESSAGE = 1024
"""The most that a message through memory still sends over an interface: a descriptor, headers,
acknowledgements."""
CONTROL_BYTES_PER_SECOND = 4096
"""The most that a process sends for discovery and heartbeats: Fast DDS as installed sent 1.6 to
1.8 kB/s in its first seconds, more than some payloads."""


def delivered_bytes(outcome: TrialOutcome, edges: tuple[Snapshot, Snapshot] | None = None) -> int:
    """Return the payload bytes that readers took in the steady window, each reader's copy counted.
    If `edges` are given and have times, those bound the window: on a busy machine snapshots are
    taken some ms after the window's edges, and their counts are compared with the messages between
    them."""
    if outcome.times.window is None:
        return 0
    read_ns = [edge["time_ns"] for edge in edges or () if edge.get("time_ns") is not None]
    total = 0
    process = {endpoint.endpoint: endpoint.process for endpoint in outcome.order.cell.endpoints}
    for section in outcome.sections:
        if section.kind == RECEIVED:
            own_window = outcome.times.windows.get(process[section.endpoint], outcome.times.window)
            begin_ns, end_ns = read_ns if len(read_ns) == 2 else own_window.steady
            total += _bytes(_rows_taken(section, begin_ns, end_ns))
    return total


def attestations(outcome: TrialOutcome) -> list[dict[str, Any]]:
    """Return the rows of the table `attestations` without `trial`; none if nothing was delivered or
    there are no counters."""
    if len(outcome.order.cell.hosts) > 1:
        return _over_hosts(outcome, delivered_bytes(outcome))
    edges = window(outcome)
    delivered = delivered_bytes(outcome, edges)
    if not delivered or edges is None:
        return []
    transports = list(carried_bytes(edges))
    note = "sent during the window, headers included"
    if outcome.network.shared_host:
        note += "; on the shared host, bytes of other programs included"
    claimed = _evidence(outcome, delivered)
    off_interfaces = {path: size for path, size in claimed.items() if path not in ON_INTERFACES}
    if _is_disproved(outcome, sum(off_interfaces.values()), delivered, transports):
        note += f"; the middleware's own word was {', '.join(off_interfaces)}, for which these leave no room"
        off_interfaces = {}
    segments = shared_segments(outcome)
    path, why, known_segments = _remainder(outcome, segments, bool(claimed), edges[1])
    if not claimed and path != "other" and _is_control(outcome, delivered, transports):
        text = f"{CONTROL_SUFFICES}; {why.removeprefix(UNSEEN + ', and ')}"
        silent = [_row(c.transport, c.interface, "counted", c.bytes, 0.0, note) for c in transports]
        return [*silent, _row("other", None, "inferred", delivered, 1.0, text, known_segments)]
    rows, rest = _claimed_rows(off_interfaces, delivered, segments)
    for c, fraction in _shares(transports, delivered, rest, claimed):
        rest -= fraction
        share_note = (
            note
            if c.copies < 1.05
            else f"{note}; each datagram was received {concise(c.copies)} times"
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
    """Return a row for each path that the middleware names, and the fraction that is left."""
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
    """Whether the rest was added to the interface with most of the bytes: as messages of the
    window's edge, or as bytes that compression saved."""
    counted_rows = [row for row in rows if row["label"] == "counted"]
    if not counted_rows:
        return False
    most = max(counted_rows, key=lambda row: row["fraction"])
    edge = rest <= EDGE and most["fraction"] > MAJORITY
    sides = outcome.order.cell.sides.values()
    compressed = any(side.modes.get("compression") is True for side in sides)
    if not edge and (path == "shm" or not compressed):
        return False
    most["fraction"] += rest
    if not edge:
        most["note"] += "; compressed, so that fewer bytes than the payload's are all of it"
    return True


def _over_hosts(outcome: TrialOutcome, delivered: int) -> list[dict[str, Any]]:
    """Return the attestations of a trial over several hosts. Only the network connects them. Each
    transport has a share by its bytes; if the middleware names a transport, the others carried none
    of its messages."""
    if not delivered:
        return []
    across = crossing_fraction(outcome)
    transports = carried_between(outcome)
    named_transports = _evidence(outcome, delivered).keys() & {c.transport for c in transports}
    carriers = [c for c in transports if not named_transports or c.transport in named_transports]
    sent_bytes = sum(c.bytes for c in carriers)
    note = "sent by all hosts during the window, headers and lost frames included"
    documents = outcome.sampling.sampled_at
    if documents and (silent := [h for h in outcome.order.cell.hosts if h not in documents]):
        note += f"; not those of host {', '.join(silent)}, whose sampler did not answer"
    rows = []
    for c in transports:
        fraction = across * c.bytes / sent_bytes if c in carriers and sent_bytes else 0.0
        rows.append(_row(c.transport, c.interface, "counted", c.bytes, fraction, note))
    rest = 1.0 - sum(row["fraction"] for row in rows)
    if rest * delivered >= 1:
        why = (
            "between processes of one host, in a trial over several"
            if sent_bytes
            else "no counters came"
        )
        rows.append(_row("other", None, "inferred", round(rest * delivered), rest, why))
    return rows


def _is_control(outcome: TrialOutcome, delivered: int, transports: list[CarriedBytes]) -> bool:
    """Whether the bytes that interfaces sent may be most of the payload or only control traffic."""
    assert outcome.times.window is not None
    seconds = (outcome.times.window.end_ns - outcome.times.window.steady_ns) / 1e9
    sent_bytes = sum(c.bytes for c in transports)
    most = sum(c.bytes * c.copies for c in transports)
    beyond = sent_bytes - CONTROL_BYTES_PER_SECOND * seconds * len(outcome.sampling.collected)
    return beyond < MAJORITY * delivered <= most


def _shares(
    transports: list[CarriedBytes], delivered: int, room: float, claimed: Mapping[str, int]
) -> list[tuple[CarriedBytes, float]]:
    """Return each transport with its fraction of the payload. If their sum exceeds `room`, the
    fractions are reduced in proportion, because headers and control traffic belong to all
    transports. If the middleware names a transport that carried bytes, the others carried none of
    its messages."""
    named_transports = claimed.keys() & {c.transport for c in transports if c.bytes}
    fractions = [
        c.bytes * c.copies / delivered
        if not named_transports or c.transport in named_transports
        else 0.0
        for c in transports
    ]
    scale = min(1.0, room / sum(fractions)) if sum(fractions) else 0.0
    return [(c, share * scale) for c, share in zip(transports, fractions, strict=True)]


def _remainder(
    outcome: TrialOutcome, segments: list[str], has_evidence: bool, end: Mapping[str, Any]
) -> tuple[str, str, list[str]]:
    """Return the path, the note and the segments of the bytes that no interface saw. A middleware
    whose evidence does not name shared memory did not use it, even if segments are mapped."""
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
    """Return the names of the segments that at least two processes map and at least one of them
    may write to; all segments if all nodes share one process. A segment that is read-only for all
    carries no message."""
    maps = [
        {
            segment["name"]: segment.get("writable", True)  # an older worker does not say
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
    """Whether a mapping is a shared segment (the rule of `is_segment` in
    native/harness/src/usage.rs): some workers list every shared mapping."""
    return name.startswith(_SEGMENTS) or name.endswith(" (deleted)")


def _is_disproved(
    outcome: TrialOutcome, claimed: int, delivered: int, transports: list[CarriedBytes]
) -> bool:
    """Whether the interfaces carried at least half of the bytes claimed for other paths."""
    messages = sum(len(section.rows) for section in outcome.sections if section.kind == RECEIVED)
    sent_bytes = sum(c.bytes for c in transports)
    room = max(0, delivered - claimed) + CONTROL_BYTES_PER_MESSAGE * messages
    return claimed > 0 and sent_bytes - room > MAJORITY * claimed


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
    """Return path → the payload bytes that readers' evidence names, scaled from the whole trial to
    the bytes delivered in the steady window."""
    size = {e.endpoint: e.read_bytes for e in outcome.order.cell.endpoints if e.reads}
    received = {s.endpoint: len(s.rows) for s in outcome.sections if s.kind == RECEIVED}
    total = sum(received[e] * size[e] for e in received if e in size)
    named_bytes: Counter[str] = Counter()
    for reply in outcome.sampling.collected.values():
        for endpoint, account in reply.get("endpoints", {}).items():
            if int(endpoint) in size:
                for evidence in account.get("evidence", []):
                    path = _NAMES.get(evidence["path"], evidence["path"])
                    named_bytes[path] += evidence["messages"] * size[int(endpoint)]
    return {
        path: round(value * delivered / total) if total else 0
        for path, value in named_bytes.items()
    }


PATH_NOTE = "path:"
"""The prefix of a worker's note on the path (docs/formats/worker-protocol.md)."""

# The path that an arm may ask for → the paths or interfaces of an attestation that grant it.
ASKED: Mapping[str, frozenset[str]] = {
    "shm": frozenset({"shm"}),
    "udp": frozenset({"udp", "network"}),
    "tcp": frozenset({"tcp", "network"}),
    "lo": frozenset({"lo"}),
    "eth0": frozenset({"eth0"}),
    # if the kernel does not report Unix sockets, an unknown remainder does not contradict this path
    "unix": frozenset({"unix", "other"}),
    "process": frozenset({"process"}),
}


def contradiction(
    asked_path: str | None, rows: Sequence[Mapping[str, Any]], reasons: Sequence[str] = ()
) -> str | None:
    """Return why the attested path is not the one that the arm asked for, with the `reasons`; None
    if it is."""
    if asked_path is None or not rows:
        return None
    granted_fraction = sum(row["fraction"] for row in rows if _grants(asked_path, row))
    if granted_fraction >= MAJORITY:
        return None
    text = ", ".join(
        f"{row['path']}{' on ' + row['interface'] if row['interface'] else ''} "
        f"{100 * row['fraction']:.0f} % ({row['label']})"
        for row in rows
        if row["fraction"] >= 0.005
    )
    notes = [row["note"] for row in rows if row["path"] == "other" and row["fraction"] >= MAJORITY]
    why = (
        f"; {'; '.join(reasons or notes)}"
        if reasons or notes
        else "; the middleware gave no reason"
    )
    return f"path: asked for {asked_path}, but only {100 * granted_fraction:.0f} % of the bytes took it: {text}{why}"


def _grants(asked_path: str, row: Mapping[str, Any]) -> bool:
    if row["path"] in ASKED[asked_path] or row["interface"] in ASKED[asked_path]:
        return True
    return asked_path == "unix" and row["path"] == "shm" and row["label"] == "inferred"


def path_reasons(outcome: TrialOutcome) -> list[str]:
    """Return the workers' reasons why bytes do not take a path, each once, in the order of
    endpoints."""
    granted = outcome.endpoints.granted
    notes = (note for endpoint in sorted(granted) for note in granted[endpoint].get("notes") or [])
    path_notes = [
        note.removeprefix(PATH_NOTE).strip() for note in notes if note.startswith(PATH_NOTE)
    ]
    return list(dict.fromkeys(path_notes))
