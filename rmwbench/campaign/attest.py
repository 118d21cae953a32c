"""Which path the bytes took, attested: never believed from a configuration.

Three kinds of knowledge, best first: the middleware's own evidence per message, the kernel's interface counters over
the steady window, and, for the remainder that no interface saw, an inference from the segments of shared memory that
writer and reader both map. Each row says which it is. Interface bytes include headers, acknowledgements and discovery;
with small messages they can exceed the payload, so a fraction of a counted path is capped at 1 and the surplus shows in
`bytes`. Evidence is a claim: where the counters leave no room for it, it is dropped and the note says so.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from rmwbench.campaign.outcome import Outcome
from rmwbench.lab.records import RECEIVED

INTERFACES = ("lo", "eth0")
FOREIGN = 16

# The option `path` of an arm asks for one of these; the right side is where its bytes must show.
NETWORK, MEMORY, KERNEL = "an interface", "shared memory", "neither an interface nor shared memory"
ASKED = {"shm": MEMORY, "udp": NETWORK, "tcp": NETWORK, "lo": NETWORK, "eth0": NETWORK, "unix": KERNEL}
ON_INTERFACES = ("udp", "tcp")
"""Evidence for these needs no row of its own: the interface counts their bytes."""

MAJORITY = 0.5
CONTROL_BYTES_PER_MESSAGE = 1024
"""What a message that went through memory may still send over an interface: a descriptor, headers, acknowledgements."""


def delivered_bytes(outcome: Outcome) -> int:
    """Payload bytes that readers took in the steady window, each reader's copy counted."""
    if outcome.window is None:
        return 0
    total = 0
    for section in outcome.sections:
        if section.kind == RECEIVED:
            rows = section.rows
            inside = (rows["taken_ns"] >= outcome.window.steady_ns) & (rows["taken_ns"] < outcome.window.end_ns)
            total += int(rows["bytes"][inside & (rows["flags"] & FOREIGN == 0)].sum(dtype=np.int64))
    return total


def attestations(outcome: Outcome) -> list[dict[str, Any]]:
    """Rows of the table `attestations` without `trial`; none where nothing was delivered or no counters came."""
    delivered = delivered_bytes(outcome)
    usage = _window_usage(outcome)
    if not delivered or usage is None:
        return []
    rows = []
    rest = 1.0
    segments = shared_segments(outcome)
    evidence = _evidence(outcome)
    claimed = {path: size for path, size in evidence.items() if path not in ON_INTERFACES}
    note = "sent over {} during the window, headers included"
    if _is_disproved(outcome, sum(claimed.values()), delivered, usage):
        note += f"; the middleware's own word was {', '.join(claimed)}, for which these leave no room"
        claimed = {}
    for path, size in claimed.items():
        fraction = min(rest, size / delivered)
        rest -= fraction
        known = ("shm", segments) if path == "shm" else ("other", [])
        said = f"the middleware's own word: {path}"
        rows.append(_row(known[0], "evidence", round(fraction * delivered), fraction, said, known[1]))
    for name in INTERFACES:
        sent = _transmitted(usage, name)
        if sent is None or (sent == 0 and name != "lo"):
            continue
        fraction = min(rest, sent / delivered)
        rest -= fraction
        rows.append(_row(name, "counted", sent, fraction, note.format(name)))
    if rest * delivered >= 1:
        # A middleware that gives evidence and does not name shared memory for these did not use it, whatever is mapped.
        in_memory = bool(segments) and not evidence
        note = "no interface saw them" + (", and writer and reader map the same segments" if in_memory else "")
        path = "shm" if in_memory else "other"
        rows.append(_row(path, "inferred", round(rest * delivered), rest, note, segments if in_memory else []))
    return rows


def contradiction(asked: str | None, rows: list[dict[str, Any]]) -> str | None:
    """Why the attested path is not the one that the arm asked for, or None."""
    if asked is None or not rows:
        return None
    shares = {NETWORK: 0.0, MEMORY: 0.0, KERNEL: 0.0}
    for row in rows:
        kind = NETWORK if row["path"] in INTERFACES else MEMORY if row["path"] == "shm" else KERNEL
        shares[kind] += row["fraction"]
    wanted = ASKED[asked]
    found = shares[wanted]
    if wanted == KERNEL:  # mapped segments do not prove that they were used, so they do not contradict a socket
        found += sum(row["fraction"] for row in rows if row["path"] == "shm" and row["label"] == "inferred")
    if found >= MAJORITY:
        return None
    text = ", ".join(
        f"{row['path']} {row['fraction']:.0%} ({row['label']})" for row in rows if row["fraction"] >= 0.005
    )
    return f"path: asked for {asked}, but only {found:.0%} of the bytes went through {wanted}: {text}"


def shared_segments(outcome: Outcome) -> list[str]:
    """Names of segments that at least two processes map, or any segment where all nodes share one process."""
    maps = [
        {segment["name"] for segment in reply.get("memory", {}).get("shared_segments", [])}
        for reply in outcome.collected.values()
    ]
    if len(maps) == 1:
        return sorted(maps[0])
    names = set().union(*maps)
    return sorted(name for name in names if sum(name in found for found in maps) >= 2)


def _is_disproved(outcome: Outcome, claimed: int, delivered: int, usage: tuple[Mapping, Mapping]) -> bool:
    """Whether the interfaces carried so much that at least half of what is claimed for other paths went there."""
    messages = sum(len(section.rows) for section in outcome.sections if section.kind == RECEIVED)
    sent = sum(_transmitted(usage, name) or 0 for name in INTERFACES)
    room = max(0, delivered - claimed) + CONTROL_BYTES_PER_MESSAGE * messages
    return claimed > 0 and sent - room > MAJORITY * claimed


def _row(
    path: str, label: str, size: int, fraction: float, note: str, segments: list[str] | None = None
) -> dict[str, Any]:
    return {
        "path": path,
        "label": label,
        "bytes": size,
        "fraction": fraction,
        "segments": json.dumps(segments or []),
        "note": note,
    }


def _window_usage(outcome: Outcome) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """Usage at both ends of the window from one worker: interfaces belong to the host, and every worker of it sees the
    same."""
    for reply in outcome.collected.values():
        at = {usage["at"]: usage for usage in reply.get("usage", [])}
        if "steady_begin" in at and "steady_end" in at:
            return at["steady_begin"], at["steady_end"]
    return None


def _transmitted(usage: tuple[Mapping[str, Any], Mapping[str, Any]], name: str) -> int | None:
    begin, end = (snapshot.get("interfaces", {}).get(name) for snapshot in usage)
    return None if begin is None or end is None else end["tx_bytes"] - begin["tx_bytes"]


def _evidence(outcome: Outcome) -> dict[str, int]:
    """Path → payload bytes that subscriptions' evidence vouches for, scaled from the whole trial to the steady
    window."""
    size = {e.endpoint: e.type.payload_bytes for e in outcome.order.cell.endpoints if e.kind == "subscription"}
    received = {s.endpoint: len(s.rows) for s in outcome.sections if s.kind == RECEIVED}
    total, window = sum(received[e] * size[e] for e in received if e in size), delivered_bytes(outcome)
    found: dict[str, int] = {}
    for reply in outcome.collected.values():
        for endpoint, account in reply.get("endpoints", {}).items():
            if int(endpoint) in size:
                for evidence in account.get("evidence", []):
                    path = evidence["path"]
                    found[path] = found.get(path, 0) + evidence["messages"] * size[int(endpoint)]
    return {path: round(value * window / total) if total else 0 for path, value in found.items()}
