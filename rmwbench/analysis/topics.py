"""Which topics of a workload are judged one by one, and what became of an arm over all of them.

A robot's topics are not one number: the median over an IMU at 1 kHz and a camera at 30 Hz is that of
the IMU. So unlike topics are measured and judged apart. Topics that are alike (`scan_1` … `scan_8`:
one name with a number behind it, the same type, QoS and rate, as a graph of many nodes has them)
stay one sample: a verdict for each of a hundred would cost all of them their power.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rmwbench.analysis.comparisons import is_reliable, loads
from rmwbench.analysis.glossary import GLOSSARY
from rmwbench.analysis.verdict import By, NoRatio, Ratio, Verdict

Row = Mapping[str, Any]

MESSAGE_SAMPLES = frozenset(
    ("response_latency", "consumed_latency", "service_latency", "publish_call", "arrival_jitter")
)
POOLED = frozenset(name for name, e in GLOSSARY.items() if e.kind == "quantile" and e.source in MESSAGE_SAMPLES)
"""Metrics whose value over unlike topics together is the value of none of them."""
OF_TOPICS = tuple(name for name in GLOSSARY if name in POOLED or name in ("undelivered", "loss"))
"""What is measured of each topic."""
WHY_NOT_POOLED = "the workload has unlike topics: each has a value of its own"

_NUMBERED = re.compile(r"(.+?)_?\d+")
_SENDS = ("publisher", "client")


@dataclass(frozen=True)
class Topic:
    """A topic that is judged by itself, or several alike under one name (`scan_*`). `rate_hz`: messages
    due per second of each member over all its publishers; None where no rate is asked for."""

    name: str
    members: tuple[str, ...]
    message: str
    payload_bytes: int
    rate_hz: float | None
    reliable: bool


def judged_topics(endpoints: Sequence[Row], focus: Collection[str] = ()) -> list[Topic]:
    """The topics of a trial's `endpoints` rows in their order; empty where all are alike, because then
    the workload has one number. `focus`: the topics that latencies and losses are of, empty for all."""
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
        found = [
            rate(reads.get(a.get("from"), ""), seen | {topic}) if a.get("kind") == "relay" else _rate_hz(a)
            for a in asked.get(topic, ())
        ]
        return None if not found or None in found else round(sum(found), 6)

    return {topic: rate(topic) for topic in asked}


def _rate_hz(arrival: Mapping[str, Any]) -> float | None:
    if arrival.get("rate_hz"):
        return float(arrival["rate_hz"])
    if arrival.get("period_ns"):
        return 1e9 / arrival["period_ns"] * arrival.get("count", 1)
    return None


@dataclass(frozen=True)
class Overall:
    """An arm's verdict over all topics of a workload, and the topic that it rests on: the worst of a
    worse arm, the one that is furthest from a decision of an undecided one; None where all say the
    same."""

    verdict: Verdict
    topic: str | None


Lost = Mapping[str, Mapping[str, float]]
"""Topic -> arm -> the fraction of its messages that it did not deliver."""


def over_topics(found: Mapping[str, Mapping[str, Verdict]], lost: Lost | None = None) -> dict[str, Overall]:
    """Topic -> arm -> verdict, to arm -> verdict of the workload. Worse where an arm is worse in any
    topic, because a robot needs all of them; undecided where any is open; else equivalent, or best
    where every other contender is worse in some topic. It claims nothing that is not claimed of a
    topic, so it costs no error of its own. `lost` only says which topic is the worst."""
    arms = list(dict.fromkeys(arm for by_arm in found.values() for arm in by_arm))
    per = {arm: {t: by[arm] for t, by in found.items() if arm in by} for arm in arms}
    contenders = [a for a in arms if any(v.verdict in _CONTENDS for v in per[a].values())]
    worse = {a for a in contenders if any(v.verdict == "worse" for v in per[a].values())}
    gone = {arm: {t: by.get(arm, 0.0) for t, by in (lost or {}).items()} for arm in arms}
    return {arm: _overall(per[arm], worse >= set(contenders) - {arm}, gone[arm]) for arm in arms}


_CONTENDS = ("best", "equivalent", "worse", "undecided", "alone")


def _overall(per: Mapping[str, Verdict], others_are_worse: bool, lost: Mapping[str, float]) -> Overall:
    kinds = {v.verdict for v in per.values()}
    if len(kinds) == 1 and kinds & {"reference", "no data", "alone"}:
        return Overall(next(iter(per.values())), None)
    for kind, pick in (("worse", _worst), ("undecided", _furthest)):
        if kind in kinds:
            return pick({t: v for t, v in per.items() if v.verdict == kind}, len(per), lost)
    if "no data" in kinds:
        topic = next(t for t, v in per.items() if v.verdict == "no data")
        return Overall(Verdict("undecided", None, None, f"no data in {topic}"), topic)
    topic = max(per, key=lambda t: _size(per[t]))
    known = per[topic]
    if others_are_worse:
        reason = "worse in no topic, and every other contender is decided to be worse in one"
        return Overall(Verdict("best", known.against, known.ratio, reason), topic)
    reason = f"in none of {len(per)} topics slower than any other arm by more than the margin"
    return Overall(Verdict("equivalent", known.against, known.ratio, reason), topic)


def _worst(per: Mapping[str, Verdict], of: int, lost: Mapping[str, float]) -> Overall:
    """Loss is judged first; then the largest ratio."""
    by_loss = {t: v for t, v in per.items() if v.by is By.LOSS}
    topic = max(by_loss or per, key=lambda t: (lost.get(t, 0.0) if by_loss else 0.0, _size(per[t])))
    v = per[topic]
    reason = f"worse in {len(per)} of {of} topics, most in {topic}: {v.reason}"
    return Overall(Verdict("worse", v.against, v.ratio, reason, by=v.by), topic)


def _furthest(per: Mapping[str, Verdict], of: int, lost: Mapping[str, float]) -> Overall:
    waits = [v.minutes_to_decide for v in per.values()]
    minutes = None if None in waits else max(waits)
    topic = max(per, key=lambda t: (lost.get(t, 0.0), _size(per[t])))
    v = per[topic]
    reason = f"open in {len(per)} of {of} topics, most in {topic}: {v.reason}"
    return Overall(Verdict("undecided", v.against, v.ratio, reason, minutes), topic)


def _size(v: Verdict) -> float:
    """How much slower; without a ratio (lost messages reach the quantile) it is the largest."""
    if isinstance(v.ratio, Ratio):
        return v.ratio.value
    return math.inf if isinstance(v.ratio, NoRatio) else 0.0


UNIT = " · "


def unit(comparison: str, topic: str | None) -> str:
    """The name under which a topic of a comparison is judged: one error budget is for all of them."""
    return comparison if topic is None else f"{comparison}{UNIT}{topic}"
