"""A test fixture: a small bundle of two hosts behind links, with invented numbers: an outage, late
nodes, lost frames.

Every number follows from a few that the arms carry, so that tests can ask for exactly these.
Nothing was measured.

    .venv/bin/python -m tests.support.network_bundle DIRECTORY [blocks]
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rmwbench.bundle import BundleWriter
from rmwbench.bundle.journal import CampaignFinished
from rmwbench.bundle.schema import table_from_rows
from tests.support import invented, kept

CREATED_UTC = "2026-11-21T11:15:00Z"
MS = 1_000_000
BEGIN_NS = 5_000_000_000
LENGTH_NS = 4_000 * MS
PERIOD_NS = 20 * MS
DOWN_NS, UP_NS = 1_000 * MS, 2_000 * MS
"""Of the outage, from the beginning of the steady state."""
PAYLOAD_BYTES, DATA_BYTES, ACKNOWLEDGEMENT_BYTES, DISCOVERY_BYTES = 1000, 1100, 90, 300
REPAIRED = 10
"""Messages of the outage that are delivered after it: the depth of the history."""
QOS = {
    "reliability": "reliable",
    "durability": "volatile",
    "history": "keep_last",
    "depth": REPAIRED,
}


@dataclass(frozen=True)
class Arm:
    """`recovery_ns`: from the link's return until the first new message is taken; `discovery_ns`:
    from joining until the first message comes through."""

    arm: str
    middleware: str
    recovery_ns: int
    discovery_ns: int


ARMS = (
    Arm("cyclonedds", "cyclonedds", 300 * MS, 200 * MS),
    Arm("fastdds", "fastdds", 900 * MS, 700 * MS),
    Arm("zenoh", "zenoh", 60 * MS, 100 * MS),
)
WORKLOADS = {
    "range": "a robot leaves the range of its base and returns",
    "lossy": "two nodes meet over a lossy link",
}
LOSS = 0.1
"""Of each link's frames, per direction, in `lossy`."""


def write(directory: Path | str, *, blocks: int = 5, seed: int = 3) -> Path:
    """Writes the bundle and returns its directory."""
    return kept.copy(directory, lambda path: _write(path, blocks, seed), blocks, seed)


def _write(directory: Path, blocks: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = [
        {"cell": i, "workload": w, "arm": a}
        for i, (w, a) in enumerate((w, a) for w in WORKLOADS for a in ARMS)
    ]
    with BundleWriter.create(directory, _campaign(blocks, cells, seed)) as writer:
        writer.write_whole_campaign({"cells": table_from_rows("cells", [_cell(c) for c in cells])})
        trial = 0
        for block in range(blocks):
            for cell in cells:
                tables = _trial(trial, cell, block, rng)
                invented.finish(writer, trial, cell["cell"], block, tables)
                trial += 1
        writer.append(CampaignFinished())


def _campaign(blocks: int, cells: list[dict], seed: int) -> dict:
    comparisons = [
        {
            "comparison": w,
            "workload": w,
            "title": title,
            "description": "Invented.",
            "factors": {},
            "primary_metric": "recovery_time" if w == "range" else "response_latency_p50",
            "cells": [c["cell"] for c in cells if c["workload"] == w],
        }
        for w, title in WORKLOADS.items()
    ]
    machine = {"summary": "2 × Fixture CPU, Linux 6.18, 24 GB", "facts": []}
    return invented.campaign(
        "fixture-20261121-111500",
        "invented networks",
        comparisons,
        [c["cell"] for c in cells],
        blocks,
        seed,
        plan={},
        created_utc=CREATED_UTC,
        machine={**machine, "warnings": ["fixture: no machine"]},
    )


def _cell(cell: dict) -> dict:
    arm = cell["arm"]
    links = {
        host: {way: {"rate_bps": 10_000_000} for way in ("up", "down")}
        for host in ("robot", "base")
    }
    of_arm = {"name": arm.arm, "middleware": arm.middleware, "profile": {"name": "untouched"}}
    against = {"lossy": "range"}.get(cell["workload"])
    definition = {
        "arm": of_arm,
        "flags": [],
        "workload": {"name": cell["workload"], "against": against},
        "network": {"links": links, "changes": []},
    }
    named = (cell["cell"], cell["workload"], arm.arm, arm.middleware)
    of_version = {"version": "1-fixture", "release_date": "2026-01-01"}
    return invented.cell_row(*named, definition, **of_version)


class _Log:
    """Rows of `frames`."""

    def __init__(self, trial: int):
        self.trial, self.rows = trial, []

    def frame(
        self, at_ns: int, sender: str, kind: str, size: int, verdict: str, again: bool = False
    ) -> None:
        delivered = verdict == "delivered"
        self.rows.append(
            {
                "trial": self.trial,
                "index": len(self.rows),
                "in_ns": at_ns,
                "due_ns": at_ns + 2 * MS if delivered else None,
                "out_ns": at_ns + 2 * MS if delivered else None,
                "frame_bytes": size,
                "payload_bytes": PAYLOAD_BYTES if kind == "data" else 0,
                "from_host": sender,
                "to_host": "base" if sender == "robot" else "robot",
                "verdict": verdict,
                "class": kind,
                "retransmission": again,
                "multicast": kind == "discovery",
                "duplicate": False,
                "corrupted": False,
                "fragment": False,
                "attempts": 1,
            }
        )


def _trial(trial: int, cell: dict, block: int, rng: np.random.Generator) -> dict:
    arm: Arm = cell["arm"]
    ranged = cell["workload"] == "range"
    due = np.arange(BEGIN_NS, BEGIN_NS + LENGTH_NS, PERIOD_NS)
    call = due + 20_000
    log = _Log(trial)
    taken: dict[int, int] = {}
    down, up = (BEGIN_NS + DOWN_NS, BEGIN_NS + UP_NS) if ranged else (0, 0)
    back = up + arm.recovery_ns
    missed = [k for k, t in enumerate(due) if down <= t < up] if ranged else []
    for k, at in enumerate(call.tolist()):
        if ranged and down <= at < back:
            log.frame(at, "robot", "data", DATA_BYTES, "blackhole" if at < up else "lost_down")
            continue
        if not ranged and at < BEGIN_NS + arm.discovery_ns:
            continue  # published to nobody: no frame
        for attempt in range(3):
            begun = at + attempt * 5 * MS
            verdict = "delivered"
            if not ranged and rng.random() < LOSS:
                verdict = "lost_up"
            elif not ranged and rng.random() < LOSS:
                verdict = "lost_down"
            log.frame(begun, "robot", "data", DATA_BYTES, verdict, attempt > 0)
            if verdict == "delivered":
                taken[k] = begun + 2 * MS + 100_000
                log.frame(taken[k], "base", "acknowledgement", ACKNOWLEDGEMENT_BYTES, "delivered")
                break
    for k in missed[-REPAIRED:]:
        log.frame(back - MS, "robot", "data", DATA_BYTES, "delivered", True)
        taken[k] = back + k
    if ranged:  # the first new message is taken exactly then
        first = next(k for k, t in enumerate(call) if t >= up)
        taken[first] = back
    for at in range(BEGIN_NS, BEGIN_NS + LENGTH_NS, 100 * MS):
        for host in ("robot", "base"):
            log.frame(
                at + 7,
                host,
                "discovery",
                DISCOVERY_BYTES,
                "blackhole" if down <= at < up else "delivered",
            )
    return _tables(trial, cell, block, due, call, taken, log)


def _tables(
    trial: int,
    cell: dict,
    block: int,
    due: np.ndarray,
    call: np.ndarray,
    taken: dict[int, int],
    log: _Log,
) -> dict:
    n = len(due)
    times = {"begin_ns": BEGIN_NS, "steady_ns": LENGTH_NS, "drain_ns": 500 * MS}
    row = invented.trial_row(trial, cell["cell"], block, 0, **times)
    row |= {"started_utc": CREATED_UTC, "setup_ns": MS, "duration_ns": LENGTH_NS + 600 * MS}
    order = sorted(taken, key=taken.__getitem__)
    received = np.array([taken[k] for k in order], np.int64)
    sent = {
        "trial": trial,
        "endpoint": 1,
        "seq": np.arange(n, dtype=np.uint64),
        "intended_ns": due,
        "begun_ns": due + 1000,
        "call_ns": call,
        "return_ns": call + 5000,
        "bytes": PAYLOAD_BYTES,
        "flags": 0,
    }
    got = {
        "trial": trial,
        "endpoint": 2,
        "writer": 1,
        "seq": np.array(order, np.uint64),
        "taken_ns": received,
        "notified_ns": received - 500,
        "callback_ns": received + 50,
        "consumed_ns": received + 900,
        "intended_ns": due[order],
        "bytes": PAYLOAD_BYTES,
        "flags": np.zeros(len(order), np.uint32),
    }
    return {
        "trials": table_from_rows("trials", [row]),
        "endpoints": table_from_rows("endpoints", [_endpoint(trial, cell, e) for e in (1, 2)]),
        "sent": sent,
        "received": got,
        "events": table_from_rows("events", _events(trial, cell)),
        "frames": table_from_rows("frames", log.rows),
    }


def _endpoint(trial: int, cell: dict, endpoint: int) -> dict:
    writes = endpoint == 1
    node = "talker" if writes else "listener"
    row = {
        "trial": trial,
        "endpoint": endpoint,
        "kind": "publisher" if writes else "subscription",
        "matches": 1,
        "node": node,
        "host": "robot" if writes else "base",
        "process": node,
        "topic": "state",
        "type": "Bytes(1000)",
        "payload_bytes": PAYLOAD_BYTES,
        "asked": json.dumps({"qos": QOS}),
        "granted": json.dumps({"qos": QOS, "notes": []}),
    }
    return row | ({"joins_ns": 0} if cell["workload"] == "lossy" else {})


def _events(trial: int, cell: dict) -> list[dict]:
    arm: Arm = cell["arm"]

    def event(at_ns: int, process: str, name: str, **more: object) -> dict:
        row = {"trial": trial, "time_ns": BEGIN_NS + at_ns, "process": process, "event": name}
        return row | more

    if cell["workload"] == "range":
        return [
            event(DOWN_NS, "robot", "network", text="blackhole"),
            event(UP_NS, "robot", "network", text="up"),
        ]
    return [
        event(1, "listener", "created", endpoint=2),
        event(arm.discovery_ns // 2, "listener", "matched", endpoint=2, value=1),
    ]


if __name__ == "__main__":
    print(write(sys.argv[1], blocks=int(sys.argv[2]) if len(sys.argv) > 2 else 5))
