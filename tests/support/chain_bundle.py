"""A test fixture: the synthetic bundle with a relay between talker and listener, for what is said of a
chain. Invented as that is.

What the first hop has is the synthetic bundle's; the second takes as long again. `zenoh tuned` loses
a tenth on it, and of `cyclonedds tuned` the last sixth comes there behind the drain.
"""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from rmwbench.bundle.schema import table_from_rows
from rmwbench.codes import LATE, WARMUP
from tests.support import synthetic_bundle

ARMS = ("iceoryx2 event", "zenoh tuned", "cyclonedds tuned")
PRIMARY = "end_to_end_latency_p50"
RELAY_NS, TOO_LATE_NS = 2_000, 8_000_000_000


ALIKE, UNLIKE = ("hop_1", "hop_2"), ("imu", "pose")
"""Topics of the two links that are measured as one, and each by itself."""


def write(path: Path, reliability: str, topics: tuple[str, str] = ALIKE) -> Path:
    """With the links granted that reliability."""
    campaign, trial = synthetic_bundle._campaign, synthetic_bundle._trial

    def judged(*asked: Any) -> dict:
        made = campaign(*asked)
        for comparison in made["plan"]["comparisons"]:
            comparison["primary_metric"] = PRIMARY
        return made

    def relayed(number: int, cell: dict, *asked: Any) -> dict:
        return _relayed(trial(number, cell, *asked), cell["arm"].arm, topics)

    arms = tuple(arm for arm in synthetic_bundle.ARMS if arm.arm in ARMS)
    qos = synthetic_bundle.QOS | {"reliability": reliability}
    with (
        patch.object(synthetic_bundle, "_campaign", judged),
        patch.object(synthetic_bundle, "_trial", relayed),
        patch.object(synthetic_bundle, "QOS", qos),
    ):
        synthetic_bundle._write(path, 8, arms, ("imu",), 1, 1.0, 7, 0.01, True, False)
    return path


def _relayed(tables: dict, arm: str, topics: tuple[str, str]) -> dict:
    """A trial's tables with the second hop: endpoint 3 relays what endpoint 2 took, for 4."""
    sent, received = tables["sent"], tables["received"]
    n = len(sent["seq"])
    order = np.argsort(received["seq"])
    took = received["taken_ns"][order]
    call = took + RELAY_NS
    steady = (sent["flags"] & WARMUP) == 0
    late = steady & (np.arange(n) >= n - n // 6) & (arm == "cyclonedds tuned")
    there = ~(steady & (np.arange(n) % 10 == 0) & (arm == "zenoh tuned"))
    taken = call + (took - sent["intended_ns"]) + late * TOO_LATE_NS
    second = {
        "endpoint": np.full(n, 3),
        "intended_ns": took,
        "begun_ns": call,
        "call_ns": call,
        "return_ns": call,
        "cause_endpoint": np.ones(n, np.int64),
        "cause_seq": sent["seq"].astype(np.int64),
    }
    first = {"endpoint": np.ones(n), "cause_endpoint": np.zeros(n), "cause_seq": np.zeros(n)}
    at_listener = {
        "endpoint": np.full(n, 4),
        "writer": np.full(n, 3),
        "flags": sent["flags"] | (late * LATE).astype(np.uint32),
        **{name: taken for name in ("notified_ns", "taken_ns", "callback_ns", "consumed_ns")},
    }
    at_relay = {name: column[order] for name, column in received.items() if _is_column(column)}
    at_relay |= {"endpoint": np.full(n, 2), "writer": np.ones(n)}
    both = {name: _both(sent | first, second, name, n, np.ones(n, bool)) for name in sent}
    for name in ("cause_endpoint", "cause_seq"):
        both[name] = np.ma.masked_array(both[name], mask=np.arange(2 * n) < n)
    tables["sent"] = both
    tables["received"] = {
        name: _both(received | at_relay, at_listener, name, n, there) for name in received
    }
    talker, relay = tables["endpoints"].to_pylist()
    relay |= {"node": "relay", "process": "relay", "topic": topics[0]}
    asked = json.loads(talker["asked"]) | {"arrival": {"kind": "relay", "from": 2}}
    talker["topic"] = topics[0]
    onward = relay | {"topic": topics[1]}
    tables["endpoints"] = table_from_rows(
        "endpoints",
        [
            talker,
            relay,
            onward | {"endpoint": 3, "kind": "publisher", "asked": json.dumps(asked)},
            onward | {"endpoint": 4, "node": "listener", "process": "subscription"},
        ],
    )
    return tables


def _is_column(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _both(first: dict, second: dict, name: str, n: int, there: np.ndarray) -> Any:
    """The rows of the first hop, and those of the second that are there."""
    if not _is_column(first[name]):
        return first[name]
    return np.concatenate([first[name], second.get(name, first[name])[there]])
