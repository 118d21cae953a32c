"""Checks of the network after a trial, on the document and the log that it wrote.

Late delivery is the fault of a busy machine. A loss that chance does not explain, and frames that a
device dropped or that are in no log, are faults of the network. Either voids the trial where the
results do not tolerate it.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rmwbench.lab import probe_row
from rmwbench.lab.network.host_network import ETHERNET_BYTES, QUEUE_FRAMES
from rmwbench.lab.network.network_probe import NetworkFinding, exposed_frames, loss_finding
from rmwbench.lab.network.switch import DELIVERED
from rmwbench.suite.network.network import KERNEL, Links, Port

LATE_P50_NS, LATE_P99_NS = 50_000, 250_000
VOID_FACTOR = 10
FEWEST_FOR_P50, FEWEST_FOR_P99 = 20, 1000


def lateness(frames: np.ndarray, begin_ns: int, end_ns: int) -> dict[str, float]:
    """Quantiles of the lateness of the frames that were delivered in the window, in ns: `p50`, and
    `p99` where ten frames lie beyond it; empty without frames."""
    inside = (
        (frames["verdict"] == DELIVERED)
        & (frames["in_ns"] >= begin_ns)
        & (frames["in_ns"] < end_ns)
    )
    late = (frames["out_ns"] - frames["due_ns"])[inside]
    if not len(late):
        return {}
    quantiles = {"p50": float(np.quantile(late, 0.5))}
    if len(late) >= FEWEST_FOR_P99:
        quantiles["p99"] = float(np.quantile(late, 0.99))
    return quantiles


def check_wake_ups(
    links: Links,
    document: Mapping[str, Any],
    begin_ns: int,
    end_ns: int,
    no_priority: str | None,
) -> tuple[list[dict[str, Any]], list[NetworkFinding]]:
    """Checks how late the link got its processor in the window, by its wake-ups at known times: the
    delay of a frame counts from when the link read it, so it does not show a late link. Returns
    rows of the table `probes`, and findings on late wake-ups and on those that were not recorded.
    `no_priority` tells why the link has no real-time priority; None where it has."""
    wakes = document.get("wakes")
    if wakes is None:
        return [], []
    delays_ns = sorted(ns for due_ns, ns in wakes["late"] if begin_ns <= due_ns < end_ns)
    count = (end_ns - begin_ns) // wakes["every_ns"]
    rows, findings = [], []
    for name, share, fewest, limit_ns in (
        ("p50", 0.5, FEWEST_FOR_P50, LATE_P50_NS),
        ("p99", 0.99, FEWEST_FOR_P99, LATE_P99_NS),
    ):
        above = count - math.ceil(share * count)  # wake-ups that lie beyond the quantile
        if count < fewest or len(delays_ns) <= above:
            continue
        delay_ns = delays_ns[len(delays_ns) - 1 - above]
        rows.append(probe_row(f"network.woke_{name}", float(delay_ns), "ns"))
        own_ns = delay_ns - links.quantum_ns  # the quantum is intended
        if own_ns > limit_ns:
            text = (
                f"the link woke up {own_ns / 1e3:.0f} us late in the {name} (limit: "
                f"{limit_ns / 1e3:.0f} us), and frames waited for it"
            )
            text += f"; it has no real-time priority: {no_priority}" if no_priority else ""
            findings.append(NetworkFinding(text, own_ns > VOID_FACTOR * limit_ns, machine=True))
    if wakes["unkept"]:
        text = f"the link woke up late {wakes['unkept']} times more than it kept account of"
        findings.append(NetworkFinding(text, False, machine=True))
    return rows, findings


def check(
    links: Links,
    document: Mapping[str, Any],
    unlogged: int,
    late: Mapping[str, float],
    dropped: Mapping[str, int | None],
) -> list[NetworkFinding]:
    """The findings on all but the wake-ups. `dropped` are the drops of the ports' devices."""
    findings = [
        *_lateness_findings(links, late, "p50", LATE_P50_NS),
        *_lateness_findings(links, late, "p99", LATE_P99_NS),
    ]
    if unlogged:
        findings.append(NetworkFinding(f"{unlogged} frames found no room in the log", True))
    for change in document.get("changes", []):
        if error := change.get("error"):
            text = f"the link of {change['link']} could not change: {error}"
            findings.append(NetworkFinding(text, True))
    for port in links.ports:
        device = document["devices"].get(port.name, {})
        findings += _device_findings(links, port, device, dropped.get(port.name))
        findings += _loss_findings(links, port, document)
    return findings


def _device_findings(
    links: Links, port: Port, device: Mapping[str, Any], dropped: int | None
) -> Iterator[NetworkFinding]:
    """Findings on frames that a device lost, and on frames larger than its MTU."""
    host, most = port.name, links.port_mtu_bytes(port) + ETHERNET_BYTES
    if errors := device.get("write_errors"):
        yield NetworkFinding(f"{errors} frames could not be written to the device of {host}", True)
    if device.get("read_errors"):
        yield NetworkFinding(
            f"the device of {host} could not be read, and what it sent then is lost", True
        )
    if (size := device.get("largest_frame_bytes") or 0) > most:
        yield NetworkFinding(f"a frame of {size} bytes left {host}, whose MTU allows {most}", True)
    if _is_switched_off(links, host):
        return
    if count := device.get("dropped"):
        text = f"the kernel's devices before {host} dropped {count} frames: its backlog was full"
        yield NetworkFinding(text, True, machine=True)
    if dropped:
        text = (
            f"the device of {host} dropped {dropped} frames: its queue of {QUEUE_FRAMES} was full"
        )
        yield NetworkFinding(text, True, machine=True)


def _loss_findings(
    links: Links, port: Port, document: Mapping[str, Any]
) -> Iterator[NetworkFinding]:
    """Findings on losses that differ from those that were asked for."""
    host, uncounted = port.name, document.get("backend") == KERNEL and _is_cut(links, port.name)
    for direction in ("up", "down"):
        if uncounted or _has_changes(links, host, direction):
            continue
        spec, counters = links.port_spec(port, direction), document["links"][host][direction]
        if (frames := exposed_frames(counters, spec)) > 0:
            finding = loss_finding(f"{host}.{direction}", spec, counters["lost"], frames)
            if finding is not None:
                yield finding


def _lateness_findings(
    links: Links, late: Mapping[str, float], name: str, limit_ns: int
) -> Iterator[NetworkFinding]:
    if name not in late or (own_ns := late[name] - links.quantum_ns) <= limit_ns:
        return  # the quantum is intended
    text = (
        f"frames were delivered {own_ns / 1e3:.0f} us late in the {name} (limit: "
        f"{limit_ns / 1e3:.0f} us)"
    )
    yield NetworkFinding(text, own_ns > VOID_FACTOR * limit_ns, machine=True)


def _is_switched_off(links: Links, host: str) -> bool:
    """Whether a change of the suite switches a host's device off."""
    off = ("carrier_loss", "admin_down")
    return any(change.host == host and change.change in off for change in links.network.changes)


def _is_cut(links: Links, host: str) -> bool:
    """Whether a change of the suite cuts a host's link, whose losses then do not count."""
    return any(
        change.host == host and change.change in ("blackhole", "carrier_loss")
        for change in links.network.changes
    )


def _has_changes(links: Links, host: str, direction: str) -> bool:
    """Whether the spec of a direction changes within the trial."""
    return any(
        change.host == host and change.spec(direction) is not None
        for change in links.network.changes
    )
