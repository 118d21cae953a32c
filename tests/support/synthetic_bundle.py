"""A test fixture: a small, complete bundle with invented numbers, for unit tests of query, summary
and report.

Nothing here was measured. Names say so (`fixture` everywhere); a report made from it must never be
shown as a result. It goes through BundleWriter, so that it is byte for byte what a campaign would
leave behind.

    .venv/bin/python -m tests.support.synthetic_bundle DIRECTORY [blocks]
"""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rmwbench.bundle import BundleWriter
from rmwbench.bundle.journal import CampaignFinished
from rmwbench.bundle.schema import table_from_rows
from tests.support import invented, kept

START_NS, WARMUP_NS, DRAIN_NS = 5_000_000_000, 150_000_000, 5_000_000_000


@dataclass(frozen=True)
class Arm:
    """An invented arm: median latency per workload = base + payload / speed, then lognormal
    noise."""

    arm: str
    middleware: str
    layer: str
    version: str
    release_date: str
    profile: str
    base_ns: float
    bytes_per_ns: float
    loss: float = 0.0
    publish_mode: str = "sync"
    path: str = "shm"
    fails: tuple[int, ...] = ()  # blocks in which the trial fails


def _native(
    name: str, version: str, released: str, base_ns: float, bytes_per_ns: float, **more: Any
) -> Arm:
    """An arm that is called by its middleware and its profile."""
    middleware, profile = name.split()
    version = f"{version}-fixture"
    return Arm(
        name, middleware, "native", version, released, profile, base_ns, bytes_per_ns, **more
    )


ARMS = (
    Arm("floor futex", "floor", "floor", "0.1.0", "2026-11-01", "futex", 12_000, 8.0),
    _native("iceoryx2 event", "0.10.0", "2026-07-01", 25_000, 7.0),
    _native("zenoh untouched", "1.10.2", "2026-08-03", 60_000, 1.0, path="lo"),
    _native("zenoh tuned", "1.10.2", "2026-08-03", 40_000, 4.0),
    _native("cyclonedds untouched", "11.0.1", "2026-02-02", 55_000, 0.8, loss=0.08, path="lo"),
    _native("cyclonedds tuned", "11.0.1", "2026-02-02", 52_000, 0.9, path="lo"),
    _native(
        "fastdds untouched", "2.9.1", "2022-12-20", 90_000, 1.5, publish_mode="async", fails=(2,)
    ),
    _native("fastdds tuned", "2.9.1", "2022-12-20", 80_000, 2.0),
)

WORKLOADS = {
    "imu": {
        "title": "IMU, 320 B at 1 kHz",
        "description": "small and frequent: an inertial unit",
        "type": "Array320",
        "payload_bytes": 320,
        "rate_hz": 1000.0,
        "steady_s": 1.1,
    },
    "camera": {
        "title": "1080p camera, 6.2 MB at 30 Hz",
        "description": "large and steady: an uncompressed camera",
        "type": "Image1080p",
        "payload_bytes": 6_220_800,
        "rate_hz": 30.0,
        "steady_s": 1.0,
    },
    "pointcloud": {
        "title": "point cloud, 512 KiB at 10 Hz",
        "description": "large and slow: a lidar",
        "type": "PointCloud512k",
        "payload_bytes": 524_288,
        "rate_hz": 10.0,
        "steady_s": 2.1,
    },
}

QOS = {"reliability": "reliable", "durability": "volatile", "history": "keep_last", "depth": 10}


def write(
    directory: Path | str,
    *,
    blocks: int = 6,
    arms: tuple[Arm, ...] = ARMS,
    workloads: tuple[str, ...] = tuple(WORKLOADS),
    levels: int = 1,
    slower: float = 1.0,
    seed: int = 7,
    sd: float = 0.12,
    finished: bool = True,
    merged: bool = False,
) -> Path:
    """Writes the bundle and returns its directory. `sd` is the log-scale spread of a trial's median
    from block to block. With `levels` above 1 every workload is compared at that many levels of a
    factor, each of which takes `slower` times as long as the one before. `merged`: with the small
    files of all trials copied into one per table, as a campaign leaves them that has ended.
    """
    asked = (blocks, arms, workloads, levels, slower, seed, sd, finished, merged)
    return kept.copy(directory, lambda path: _write(path, *asked), asked, WORKLOADS)


def _write(
    directory: Path,
    blocks: int,
    arms: tuple[Arm, ...],
    workloads: tuple[str, ...],
    levels: int,
    slower: float,
    seed: int,
    sd: float,
    finished: bool,
    merged: bool,
) -> None:
    rng = np.random.default_rng(seed)
    cells = [
        {
            "cell": i,
            "workload": w,
            "arm": replace(
                a, base_ns=a.base_ns * slower**n, bytes_per_ns=a.bytes_per_ns / slower**n
            ),
            "factors": {"level": n} if levels > 1 else {},
        }
        for i, (w, n, a) in enumerate(
            (w, n, a) for w in workloads for n in range(levels) for a in arms
        )
    ]
    with BundleWriter.create(directory, _campaign(blocks, cells, arms, workloads, seed)) as writer:
        configuration = writer.add_file(b"{mode: 'peer'}")
        writer.write_whole_campaign(
            {
                "cells": table_from_rows("cells", [_cell_row(c) for c in cells]),
                "machine": table_from_rows("machine", [_machine_row()]),
            }
        )
        trial = 0
        for block in range(blocks):
            for position, index in enumerate(rng.permutation(len(cells))):
                cell = cells[index]
                failed = block in cell["arm"].fails and cell["workload"] == "camera"
                tables = (
                    _failed(trial, cell, block, position, seed)
                    if failed
                    else _trial(trial, cell, block, position, seed, sd, rng, configuration)
                )
                reason = _REASON if failed else None
                invented.finish(writer, trial, cell["cell"], block, tables, reason)
                trial += 1
        if merged:
            writer.merge()
        if finished:
            writer.append(CampaignFinished())


_REASON = (
    "worker fixture-fastdds died of signal 11 (SIGSEGV); last line of its log: 'invented "
    "for the fixture'"
)


def _campaign(
    blocks: int, cells: list, arms: tuple[Arm, ...], workloads: tuple[str, ...], seed: int
) -> dict:
    of_levels = [json.loads(t) for t in dict.fromkeys(json.dumps(c["factors"]) for c in cells)]
    comparisons = [
        {
            "comparison": f"{w} [level={factors['level']}]" if factors else w,
            "workload": w,
            "title": WORKLOADS[w]["title"],
            "description": WORKLOADS[w]["description"],
            "factors": factors,
            "primary_metric": "response_latency_p50",
            "cells": [c["cell"] for c in cells if (c["workload"], c["factors"]) == (w, factors)],
        }
        for w in workloads
        for factors in of_levels
    ]
    machine = {
        "summary": "2 × Fixture CPU, Linux 6.18, 24 GB",
        "facts": [
            {"name": "cores", "value": "2", "note": None},
            {"name": "governor", "value": "unknown", "note": "a virtual machine hides it"},
        ],
        "warnings": ["fixture: not a machine"],
    }
    return invented.campaign(
        "fixture-20261121-101500",
        "invented numbers",
        comparisons,
        [c["cell"] for c in cells],
        blocks,
        seed,
        description="Nothing here was measured.",
        plan={"budget_s": None, "block_s": 50.0, "estimated_s": 50.0 * blocks},
        machine=machine,
        middlewares=[_described(m, arms) for m in dict.fromkeys(a.middleware for a in arms)],
    )


def _described(middleware: str, arms: tuple[Arm, ...]) -> dict:
    own = [a for a in arms if a.middleware == middleware]
    return {
        "protocol": 1,
        "middleware": middleware,
        "layer": own[0].layer,
        "version": own[0].version,
        "release_date": own[0].release_date,
        "build": {},
        "capabilities": {},
        "profiles": [
            {
                "name": a.profile,
                "format": "json5",
                "text": f"{{fixture: '{a.profile}'}}",
                "summary": "invented",
            }
            for a in own
        ],
    }


def _cell_row(cell: dict) -> dict:
    arm: Arm = cell["arm"]
    spec = WORKLOADS[cell["workload"]]
    definition = {
        "arm": {
            "name": arm.arm,
            "middleware": arm.middleware,
            "role": "floor" if arm.layer == "floor" else "contender",
            "profile": {"name": arm.profile},
            "options": {"transport": "shm_ring"} if arm.layer == "floor" else {},
        },
        "flags": ["untouched*: isolation forces a route for multicast (fixture)"]
        if arm.profile == "untouched" and arm.middleware == "zenoh"
        else [],
        "workload": spec,
    }
    named = (cell["cell"], cell["workload"], arm.arm, arm.middleware)
    of_arm = {name: getattr(arm, name) for name in ("layer", "version", "release_date", "profile")}
    return invented.cell_row(*named, definition, factors=json.dumps(cell["factors"]), **of_arm)


def _machine_row() -> dict:
    return {
        name: json.dumps({"fixture": True})
        for name in ("hardware", "kernel", "sysctls", "start", "end")
    }


def _trial_row(
    trial: int, cell: dict, block: int, position: int, seed: int, reason: str | None = None
) -> dict:
    steady = int(WORKLOADS[cell["workload"]]["steady_s"] * 1e9)
    times = {"begin_ns": START_NS + WARMUP_NS, "steady_ns": steady, "drain_ns": DRAIN_NS}
    row = invented.trial_row(trial, cell["cell"], block, position, **times, reason=reason)
    begun = {"seed": seed * 1000 + trial, "start_ns": START_NS}
    return row | begun | {"duration_ns": steady + 600_000_000}


def _failed(trial: int, cell: dict, block: int, position: int, seed: int) -> dict:
    row = _trial_row(trial, cell, block, position, seed, _REASON)
    return {"trials": table_from_rows("trials", [row])}


def _trial(
    trial: int,
    cell: dict,
    block: int,
    position: int,
    seed: int,
    sd: float,
    rng: np.random.Generator,
    configuration: str,
) -> dict:
    arm, spec = cell["arm"], WORKLOADS[cell["workload"]]
    row = _trial_row(trial, cell, block, position, seed)
    period = int(1e9 / spec["rate_hz"])
    intended = np.arange(START_NS, row["steady_end_ns"], period, dtype=np.int64)
    n = len(intended)
    warm = (intended < row["steady_begin_ns"]).astype(np.uint32) * 4
    median = (arm.base_ns + spec["payload_bytes"] / arm.bytes_per_ns) * np.exp(
        sd * rng.standard_normal()
    )
    latency = np.maximum(median * np.exp(0.15 * rng.standard_normal(n)), 3_000).astype(np.int64)
    latency[rng.random(n) < 0.01] *= 8
    begun = intended + rng.integers(500, 3000, n)
    call = begun + int(spec["payload_bytes"] / 12) + 200
    back = call + (latency * (0.2 if arm.publish_mode == "async" else 0.5)).astype(np.int64)
    lost = (rng.random(n) < (arm.loss if cell["workload"] == "camera" else 0.0)) & (warm == 0)
    taken = np.maximum(intended + latency, call + 1000)
    consumed = taken + int(spec["payload_bytes"] / 10) + 300
    got = ~lost
    order = np.argsort(taken[got], kind="stable")
    sent = {
        "trial": trial,
        "endpoint": 1,
        "seq": np.arange(n, dtype=np.uint64),
        "intended_ns": intended,
        "begun_ns": begun,
        "call_ns": call,
        "return_ns": back,
        "bytes": spec["payload_bytes"],
        "flags": warm,
        "cause_endpoint": None,
        "cause_seq": None,
    }
    received = {
        "trial": trial,
        "endpoint": 2,
        "writer": 1,
        "seq": np.flatnonzero(got).astype(np.uint64)[order],
        "notified_ns": (taken[got] - 800)[order],
        "taken_ns": taken[got][order],
        "callback_ns": (taken[got] + 50)[order],
        "consumed_ns": consumed[got][order],
        "intended_ns": intended[got][order],
        "bytes": spec["payload_bytes"],
        "flags": warm[got][order],
    }
    return {
        "trials": table_from_rows("trials", [row]),
        "endpoints": table_from_rows(
            "endpoints",
            [_endpoint(trial, 1, "publisher", cell), _endpoint(trial, 2, "subscription", cell)],
        ),
        "sent": sent,
        "received": received,
        "events": table_from_rows("events", _events(trial)),
        "counters": table_from_rows("counters", list(_counters(trial, cell, n, rng))),
        "attestations": table_from_rows("attestations", _attestations(trial, arm, spec, n)),
        "probes": table_from_rows(
            "probes",
            [{"trial": trial, "probe": "steal", "unit": "fraction", "at": "trial", "value": 0.001}],
        ),
        "files": table_from_rows(
            "files",
            [{"trial": trial, "name": "publisher.config", "sha256": configuration, "bytes": 14}],
        ),
    }


def _endpoint(trial: int, endpoint: int, kind: str, cell: dict) -> dict:
    arm, spec = cell["arm"], WORKLOADS[cell["workload"]]
    publisher = kind == "publisher"
    mode = {"publish_mode": arm.publish_mode} if publisher else {"wait": "block"}
    asked = {
        "qos": QOS,
        "touch": "all",
        "loan": False,
        **({"publish_mode": "default"} if publisher else {"wait": "block"}),
    }
    return {
        "trial": trial,
        "endpoint": endpoint,
        "kind": kind,
        "node": "talker" if publisher else "listener",
        "process": "publisher" if publisher else "subscription",
        "host": "local",
        "topic": cell["workload"],
        "type": spec["type"],
        "payload_bytes": spec["payload_bytes"],
        "asked": json.dumps(asked),
        "granted": json.dumps({"qos": QOS, "notes": [], **mode}),
        "matches": 1,
    }


def _events(trial: int) -> list[dict]:
    def event(after_ms: int, process: str, name: str, endpoint: int, **more: int) -> dict:
        time_ns = START_NS + (after_ms - 120) * 1_000_000
        row = {"trial": trial, "time_ns": time_ns, "process": process}
        return row | {"event": name, "endpoint": endpoint, **more}

    return [
        event(0, "publisher", "created", 1),
        event(1, "subscription", "created", 2),
        event(21, "publisher", "matched", 1, value=1),
        event(22, "subscription", "matched", 2, value=1),
        event(30, "subscription", "first_message", 2, writer=1),
    ]


def _counters(trial: int, cell: dict, n: int, rng: np.random.Generator):
    arm, spec = cell["arm"], WORKLOADS[cell["workload"]]
    for role in ("publisher", "subscription"):
        own = 8_000 if arm.middleware != "floor" else 0
        per_message = 6_000 + spec["payload_bytes"] / 9 + own
        spread = np.exp(0.05 * rng.standard_normal())
        cpu = per_message * spec["rate_hz"] * spec["steady_s"] * spread
        base = {"trial": trial, "process": role, "role": role}
        for counter, unit, begin, end in (
            ("cpu", "ns", 30e6, 30e6 + cpu),
            ("voluntary_switches", "count", 100, 100 + 2.0 * n),
            ("involuntary_switches", "count", 3, 9),
            ("minor_faults", "count", 2000, 2001),
            ("major_faults", "count", 0, 0),
        ):
            for at, value in (("steady_begin", begin), ("steady_end", end)):
                yield base | {"counter": counter, "unit": unit, "at": at, "value": float(value)}
        rss = 6e6 if arm.middleware == "floor" else 22e6
        for counter, value in (
            ("rss", rss),
            ("pss", rss * 0.8),
            ("peak_rss", rss * 1.1),
            ("records_rss", 4e5),
            ("shared_rss", float(spec["payload_bytes"])),
            ("shared_pss", spec["payload_bytes"] / 2),
        ):
            yield base | {"counter": counter, "unit": "bytes", "at": "end", "value": value}
        yield base | {"counter": "threads", "unit": "count", "at": "end", "value": 9.0}


def _attestations(trial: int, arm: Arm, spec: dict, n: int) -> list[dict]:
    def row(path: str, label: str, share: float, segments: str = "[]") -> dict:
        size = int(spec["payload_bytes"] * n * share)
        counted = {"bytes": size, "fraction": min(share, 1.0), "segments": segments}
        return {"trial": trial, "path": path, "label": label, "note": None, **counted}

    if arm.path == "lo":
        return [row("lo", "counted", 1.01)]
    shared = row("shm", "inferred", 0.97, '["/dev/shm/fixture"]')
    return [shared, row("lo", "counted", 0.03)]


if __name__ == "__main__":
    print(write(sys.argv[1], blocks=int(sys.argv[2]) if len(sys.argv) > 2 else 6))
