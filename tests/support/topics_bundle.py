"""A test fixture: a bundle of a robot with several topics, with invented numbers, for what is said
topic by topic.

.venv/bin/python -m tests.support.topics_bundle DIRECTORY
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rmwbench.bundle import BundleWriter
from rmwbench.bundle.journal import CampaignFinished
from rmwbench.bundle.schema import table_from_rows
from tests.support import invented, kept

FURTHER = 100
"""A further reader's endpoint has this and the number of those before it."""
BEGIN_NS, STEADY_NS, DRAIN_NS = 5_000_000_000, 2_100_000_000, 300_000_000


@dataclass(frozen=True)
class Flow:
    """A topic as every arm is asked to carry it."""

    message: str
    payload_bytes: int
    rate_hz: float
    reliability: str = "reliable"


@dataclass(frozen=True)
class Carrier:
    """An arm: topic -> (median latency in ns, fraction lost); `readers`: topic -> node -> the same of
    further readers; `definition`: what its cell's has besides."""

    middleware: str
    topics: Mapping[str, tuple[float, float]]
    fails: tuple[int, ...] = field(default=())
    definition: Mapping[str, Any] = field(default_factory=dict)
    readers: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)


FLOWS = {
    "imu": Flow("Bytes(320)", 320, 500.0, "best_effort"),
    "front": Flow("Bytes(921600)", 921_600, 30.0, "best_effort"),
    "commands": Flow("Bytes(64)", 64, 100.0),
}
CARRIERS = {
    # As in the review: the fastest in most messages stalls its camera and loses a ninth of it.
    "cyclonedds": Carrier(
        "cyclonedds", {"imu": (1.3e5, 0), "front": (1.75e8, 0.11), "commands": (1.3e5, 0)}
    ),
    "iceoryx2": Carrier("iceoryx2", {"imu": (1.9e5, 0), "front": (9e5, 0), "commands": (1.9e5, 0)}),
    "zenoh": Carrier("zenoh", {"imu": (6e5, 0), "front": (3e6, 0), "commands": (6.2e5, 0)}),
}


def write(
    directory: Path | str,
    *,
    flows: Mapping[str, Flow] = FLOWS,
    carriers: Mapping[str, Carrier] = CARRIERS,
    blocks: int = 8,
    sd: float = 0.04,
    seed: int = 3,
    plan: Mapping[str, Any] | None = None,
    primary: str = "response_latency_p50",
) -> Path:
    """Writes the bundle and returns its directory. `plan`: keys of the plan to add, such as
    `outcomes`."""
    asked = (flows, carriers, blocks, sd, seed, plan or {}, primary)
    return kept.copy(directory, lambda path: _write(path, *asked), asked)


def _write(
    directory: Path,
    flows: Mapping[str, Flow],
    carriers: Mapping[str, Carrier],
    blocks: int,
    sd: float,
    seed: int,
    plan: Mapping[str, Any],
    primary: str,
) -> None:
    rng = np.random.default_rng(seed)
    arms = list(carriers)
    with BundleWriter.create(directory, _campaign(blocks, carriers, seed, plan, primary)) as writer:
        cells = [_cell(n, name, carriers[name]) for n, name in enumerate(arms)]
        machine = [
            {k: "{}" for k in ("hardware", "kernel", "sysctls", "start", "end")},
        ]
        writer.write_whole_campaign(
            {
                "cells": table_from_rows("cells", cells),
                "machine": table_from_rows("machine", machine),
            }
        )
        trial = 0
        for block in range(blocks):
            for position, cell in enumerate(rng.permutation(len(arms))):
                carrier = carriers[arms[cell]]
                reason = "worker fixture died: invented" if block in carrier.fails else None
                place = trial, int(cell), block
                tables = _trial(*place, position, flows, carrier, sd, rng, reason)
                invented.finish(writer, *place, tables, reason)
                trial += 1
        writer.append(CampaignFinished())


def _campaign(
    blocks: int, carriers: Mapping[str, Carrier], seed: int, plan: Mapping[str, Any], primary: str
) -> dict[str, Any]:
    cells = list(range(len(carriers)))
    whole = {
        "comparison": "whole",
        "workload": "whole",
        "title": "all at once",
        "description": "three topics",
        "factors": {},
        "primary_metric": primary,
        "cells": cells,
    }
    return invented.campaign(
        "robot-20261121-101500",
        "an invented robot",
        [whole],
        cells,
        blocks,
        seed,
        description="Not measured.",
        plan={"block_s": 10.0, **plan},
        machine={"summary": "2 × Fixture CPU", "facts": [], "warnings": []},
    )


def _cell(number: int, name: str, carrier: Carrier) -> dict[str, Any]:
    arm = {
        "name": name,
        "middleware": carrier.middleware,
        "role": "contender",
        "profile": {"name": "untouched"},
    }
    definition = {"arm": arm, "flags": [], "workload": {"name": "whole"}, **carrier.definition}
    of_version = {"version": "1.0.0-fixture", "release_date": "2026-07-01"}
    return invented.cell_row(number, "whole", name, carrier.middleware, definition, **of_version)


def _trial(
    trial: int,
    cell: int,
    block: int,
    position: int,
    flows: Mapping[str, Flow],
    carrier: Carrier,
    sd: float,
    rng: np.random.Generator,
    reason: str | None,
) -> dict[str, Any]:
    times = {"begin_ns": BEGIN_NS, "steady_ns": STEADY_NS, "drain_ns": DRAIN_NS}
    row = invented.trial_row(trial, cell, block, position, **times, reason=reason)
    if reason:
        return {"trials": table_from_rows("trials", [row])}
    endpoints, sent, received = [], [], []
    for place, (topic, flow) in enumerate(flows.items()):
        writer, reader = 2 * place + 1, 2 * place + 2
        endpoints += [
            _endpoint(trial, writer, "publisher", topic, flow),
            _endpoint(trial, reader, "subscription", topic, flow),
        ]
        median, lost = carrier.topics[topic]
        one_sent, one_received = _messages(trial, writer, reader, flow, median, lost, sd, rng)
        sent.append(one_sent)
        received.append(one_received)
        for node, (median, lost) in carrier.readers.get(topic, {}).items():
            reader = FURTHER + len(endpoints)
            endpoints.append(_endpoint(trial, reader, "subscription", topic, flow, node))
            _, one_received = _messages(trial, writer, reader, flow, median, lost, sd, rng)
            received.append(one_received)
    return {
        "trials": table_from_rows("trials", [row]),
        "endpoints": table_from_rows("endpoints", endpoints),
        "sent": _joined(trial, sent),
        "received": _joined(trial, received),
    }


def _messages(
    trial: int,
    writer: int,
    reader: int,
    flow: Flow,
    median: float,
    lost: float,
    sd: float,
    rng: np.random.Generator,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    intended = np.arange(BEGIN_NS, BEGIN_NS + STEADY_NS, int(1e9 / flow.rate_hz), dtype=np.int64)
    n = len(intended)
    level = median * np.exp(sd * rng.standard_normal())
    latency = np.maximum(level * np.exp(0.1 * rng.standard_normal(n)), 3_000).astype(np.int64)
    call, got = intended + 900, rng.random(n) >= lost
    order = np.argsort((intended + latency)[got], kind="stable")
    seq = np.arange(n, dtype=np.uint64)
    sent = {
        "endpoint": np.full(n, writer, np.uint32),
        "seq": seq,
        "intended_ns": intended,
        "begun_ns": intended + 500,
        "call_ns": call,
        "return_ns": call + 2_000,
        "bytes": np.full(n, flow.payload_bytes, np.uint32),
        "flags": np.zeros(n, np.uint32),
    }
    taken = (intended + latency)[got][order]
    received = {
        "endpoint": np.full(len(taken), reader, np.uint32),
        "writer": np.full(len(taken), writer, np.uint32),
        "seq": seq[got][order],
        "notified_ns": taken - 500,
        "taken_ns": taken,
        "callback_ns": taken + 50,
        "consumed_ns": taken + 10_000,
        "intended_ns": intended[got][order],
        "bytes": np.full(len(taken), flow.payload_bytes, np.uint32),
        "flags": np.zeros(len(taken), np.uint32),
    }
    return sent, received


def _joined(trial: int, parts: list[dict[str, np.ndarray]]) -> dict[str, Any]:
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    causes = {"cause_endpoint": None, "cause_seq": None} if "return_ns" in joined else {}
    return {"trial": trial, **joined, **causes}


def _endpoint(
    trial: int, endpoint: int, kind: str, topic: str, flow: Flow, reader: str = "navigation"
) -> dict[str, Any]:
    qos = {
        "reliability": flow.reliability,
        "durability": "volatile",
        "history": "keep_last",
        "depth": 10,
    }
    arrival = {"kind": "periodic", "period_ns": int(1e9 / flow.rate_hz), "phase_ns": 1000 * trial}
    sends = kind == "publisher"
    return {
        "trial": trial,
        "endpoint": endpoint,
        "kind": kind,
        "node": topic if sends else reader,
        "process": topic if sends else reader,
        "host": "local",
        "topic": topic,
        "type": flow.message,
        "payload_bytes": flow.payload_bytes,
        "asked": json.dumps(
            {"qos": qos, "touch": "all", **({"arrival": arrival} if sends else {})}
        ),
        "granted": json.dumps({"qos": qos, "notes": []}),
        "matches": 1,
    }


if __name__ == "__main__":
    print(write(sys.argv[1]))
