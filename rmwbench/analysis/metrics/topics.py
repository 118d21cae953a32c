"""Which topics of a workload are judged one by one; over_topics.py has what becomes of an arm over
all of them.

A robot's topics are not one number: the median over an IMU at 1 kHz and a camera at 30 Hz is that
of the IMU. So unlike topics are measured and judged apart. Topics that are alike (`scan_1` …
`scan_8`: one name with a number behind it, the same type, QoS and rate, as a graph of many nodes
has them) stay one sample: a verdict for each of a hundred would cost all of them their power.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rmwbench.analysis.metrics.comparisons import is_reliable, loads
from rmwbench.analysis.metrics.glossary import METRICS, Topics
from rmwbench.analysis.stats.missing import total

Row = Mapping[str, Any]

POOLED = frozenset(m.name for m in METRICS if m.topics is Topics.APART)
"""Metrics whose value over unlike topics together is the value of none of them."""
OF_TOPICS = tuple(m.name for m in METRICS if m.topics is not Topics.WHOLE)
"""What is measured of each topic."""
WHY_NOT_POOLED = "the workload has unlike topics: each has a value of its own"

_NUMBERED = re.compile(r"(.+?)_?\d+")
_SENDS = ("publisher", "client")


@dataclass(frozen=True)
class Topic:
    """A topic that is judged by itself, or several alike under one name (`scan_*`). `rate_hz`:
    messages due per second of each member over all its publishers; None where no rate is asked
    for."""

    name: str
    members: tuple[str, ...]
    message: str
    payload_bytes: int
    rate_hz: float | None
    reliable: bool


def judged_topics(endpoints: Sequence[Row], focus: Collection[str] = ()) -> list[Topic]:
    """The topics of a trial's `endpoints` rows in their order; empty where all are alike, because
    then the workload has one number. `focus`: the topics that latencies and losses are of, empty
    for all."""
    rows: dict[str, list[Row]] = {}
    for row in endpoints:
        if not focus or row["topic"] in focus:
            rows.setdefault(row["topic"], []).append(row)
    rates = _rates(endpoints)
    alike: dict[tuple[Any, ...], list[str]] = {}
    for topic, found in rows.items():
        first = found[0]
        key = (
            _stem(topic),
            first.get("type"),
            first.get("payload_bytes"),
            rates.get(topic),
            frozenset((r["kind"], *_promise(r)) for r in found),
        )
        alike.setdefault(key, []).append(topic)
    if len(alike) < 2:
        return []
    names = {key: found[0] if len(found) == 1 else f"{key[0]}_*" for key, found in alike.items()}
    return [
        Topic(
            names[key] if list(names.values()).count(names[key]) == 1 else ",".join(members),
            tuple(members),
            key[1],
            key[2],
            key[3],
            is_reliable(r for member in members for r in rows[member]),
        )
        for key, members in alike.items()
    ]


def _stem(topic: str) -> str:
    """`scan` of `scan_3`."""
    found = _NUMBERED.fullmatch(topic)
    return found.group(1) if found else topic


def _promise(row: Row) -> tuple[Any, Any, Any]:
    """(reliability, history, depth) as asked for: what is granted may differ between arms."""
    qos = loads(row.get("asked")).get("qos") or {}
    return qos.get("reliability"), qos.get("history"), qos.get("depth")


def _rates(endpoints: Sequence[Row]) -> dict[str, float | None]:
    """Topic -> messages due per second; of a relayed topic that of the one it is relayed from."""
    asked: dict[str, list[Mapping[str, Any]]] = {}
    for row in endpoints:
        if row["kind"] in _SENDS:
            asked.setdefault(row["topic"], []).append(loads(row.get("asked")).get("arrival") or {})
    reads = {row["endpoint"]: row["topic"] for row in endpoints}

    def rate(topic: str, seen: frozenset[str] = frozenset()) -> float | None:
        if topic in seen:
            return None
        whole = total(
            rate(reads.get(a.get("from"), ""), seen | {topic})
            if a.get("kind") == "relay"
            else _rate_hz(a)
            for a in asked.get(topic, ())
        )
        return None if topic not in asked or whole is None else round(whole, 6)

    return {topic: rate(topic) for topic in asked}


def _rate_hz(arrival: Mapping[str, Any]) -> float | None:
    if arrival.get("rate_hz"):
        return float(arrival["rate_hz"])
    if arrival.get("period_ns"):
        return float(1e9 / arrival["period_ns"] * arrival.get("count", 1))
    return None


UNIT = " · "


def unit(comparison: str, topic: str | None) -> str:
    """The name under which a topic of a comparison is judged: one error budget is for all of
    them."""
    return comparison if topic is None else f"{comparison}{UNIT}{topic}"
