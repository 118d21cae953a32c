"""Which topics of a workload, and which readers of a topic, are judged one by one. The verdict of
an arm over all of them is in best.py.

The topics of a robot have no common latency: the median over an IMU at 1 kHz and a camera at 30 Hz
is the median of the IMU. So topics that differ are measured and judged one by one. Topics that are
alike (`scan_1` … `scan_8`: the same name but for a number at its end, the same type, QoS and rate,
as in a graph of many nodes) stay one sample: separate verdicts for a hundred topics would have too
little power.

The same holds for the readers of one topic: where they differ (`readers.alike_readers`), each group
of alike readers is judged with its writers as a topic is, under the name of its node (`control`).
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from rmwbench.analysis.metrics.comparisons import (
    arrival_of,
    in_focus,
    is_reliable,
    json_column,
    relays,
)
from rmwbench.analysis.metrics.glossary import METRICS, TopicScope
from rmwbench.analysis.records import readers
from rmwbench.analysis.records.columns import Row
from rmwbench.analysis.records.readers import AlikeReaders
from rmwbench.analysis.stats.estimate import total
from rmwbench.codes import SENDERS
from rmwbench.words.numbered_names import common_names, stem

NOTHING: Mapping[str, Any] = MappingProxyType({})

POOLED = frozenset(m.name for m in METRICS if m.topics is TopicScope.APART)
"""Metrics that a workload of unlike topics or readers does not have: a value over all messages
together would be true of no topic and of no reader."""
_OF_SENDERS = frozenset(
    m.name for m in METRICS if m.source in ("publish_call", "writing", "publisher_period")
)
"""Metrics of writers, which are the same for all readers of a topic."""
OF_TOPICS = tuple(m.name for m in METRICS if m.topics is not TopicScope.WHOLE)
"""Metrics that each topic has."""

READER_ARROW = " → "
"""Between the name of a topic and that of its reader."""


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A part of a workload that is judged by itself: a topic, several alike topics under one name
    (`scan_*`), or some readers of a topic, which differ from its other readers."""

    name: str
    members: tuple[str, ...]
    """The names of its topics."""
    message: str
    payload_bytes: int
    rate_hz: float | None
    """Messages due per second of each member over all its publishers; None without a rate."""
    reliable: bool
    readers: AlikeReaders | None = None
    """None where all readers of the topic are judged together."""
    endpoints: frozenset[int]
    """The numbers of the endpoints on which it is measured."""
    nodes: tuple[str, ...]
    """The nodes of its readers."""

    @property
    def limit_names(self) -> tuple[str, ...]:
        """The names under which a suite may limit it; the limit under a later name counts."""
        called = (self.name, *self.members) if self.readers is None else (*self.members, self.name)
        return (*common_names(self.members), *called, *_of_readers(self.members, self.nodes))


def workload_limit_names(
    endpoints: Sequence[Row], definition: Mapping[str, Any]
) -> tuple[str, ...]:
    """The names under which a suite may limit a workload whose topics are judged together: the
    names of its topics and of their readers."""
    judged = in_focus(endpoints, definition)
    topics = tuple(dict.fromkeys(row["topic"] for row in judged))
    return (*common_names(topics), *topics, *_of_readers(topics, _nodes(judged)))


def _of_readers(topics: Sequence[str], nodes: Sequence[str]) -> tuple[str, ...]:
    called = (*common_names(nodes), *nodes)
    return (*called, *(f"{topic}{READER_ARROW}{node}" for topic in topics for node in called))


def _nodes(rows: Iterable[Row]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(r["node"] for r in rows if r["kind"] == "subscription"))


def judged_topics(endpoints: Sequence[Row], definition: Mapping[str, Any] = NOTHING) -> list[Topic]:
    """The topics of a trial's `endpoints` rows that are judged one by one, in their order, with
    groups of readers in the place of a topic whose readers differ. Empty where all are alike,
    because the workload is then judged as a whole. `definition`: the cell's, which has the
    `focus`."""
    rows: dict[str, list[Row]] = {}
    for row in in_focus(endpoints, definition):
        rows.setdefault(row["topic"], []).append(row)
    rates = _rates(endpoints)
    alike: dict[tuple[Any, ...], list[str]] = {}
    for topic, own in rows.items():
        first = own[0]
        key = (
            stem(topic or ""),
            first.get("type"),
            first.get("payload_bytes"),
            rates.get(topic),
            frozenset((r["kind"], *_promise(r)) for r in own),
        )
        alike.setdefault(key, []).append(topic)
    names = _names(alike.values())
    parts: list[Topic] = []
    for name, (traits, members) in zip(names, alike.items(), strict=True):
        of_members = [row for member in members for row in rows[member]]
        whole = Topic(
            name=name,
            members=tuple(members),
            message=traits[1],
            payload_bytes=traits[2],
            rate_hz=traits[3],
            reliable=is_reliable(of_members),
            endpoints=frozenset(row["endpoint"] for row in of_members),
            nodes=_nodes(of_members),
        )
        parts += _parts(whole, of_members, definition, alone=len(alike) == 1)
    return parts if len(parts) > 1 else []


def planned_endpoints(definition: Mapping[str, Any]) -> list[Row]:
    """The `endpoints` rows that trials of a cell with this definition will have, without grants:
    enough for `judged_topics`."""
    return [
        {
            **endpoint,
            "type": endpoint["type"]["name"],
            "payload_bytes": endpoint["type"]["payload_bytes"],
            "asked": json.dumps(endpoint),
            "granted": None,
            "joins_ns": None if endpoint.get("joins_s") is None else endpoint["joins_s"] * 1e9,
        }
        for endpoint in definition.get("endpoints") or ()
    ]


def _parts(
    topic: Topic, rows: Sequence[Row], definition: Mapping[str, Any], *, alone: bool
) -> Iterator[Topic]:
    """The topic, or, where its readers differ, each group of alike readers with its writers.
    `alone`: the workload has no other topic, so the name of a reader is enough."""
    groups = readers.alike_readers(rows, definition)
    if len(groups) < 2 or any(relays(r) for r in rows):  # the hops of a chain stay together
        yield topic
        return
    names = _names([group.nodes for group in groups])
    short = alone and not {*names} & {*topic.members, topic.name}
    for name, group in zip(names, groups, strict=True):
        heard = {r["topic"] for r in group.rows}
        writing = [r for r in rows if r["kind"] in SENDERS and r["topic"] in heard]
        own = [*writing, *group.rows]
        yield replace(
            topic,
            name=name if short else f"{topic.name}{READER_ARROW}{name}",
            members=tuple(member for member in topic.members if member in heard),
            reliable=is_reliable(own),
            readers=group,
            endpoints=frozenset(r["endpoint"] for r in own),
            nodes=group.nodes,
        )


def same_readers(
    topic: Topic, endpoints: Sequence[Row], definition: Mapping[str, Any] = NOTHING
) -> frozenset[int]:
    """The endpoints that match `topic.readers` of another cell, with their writers, for a trial in
    which all readers of a topic are alike. Empty where this trial does not have these readers, or
    has no others."""
    rows = in_focus(endpoints, definition)
    here = {r["topic"] for r in rows}
    # A workload's one topic is called after it, and so has another name in another workload.
    members = here & {*topic.members} or (here if len(here) == 1 else set())
    of_topic = [r for r in rows if r["topic"] in members]
    every = [r for r in of_topic if r["kind"] == "subscription"]
    own = [r for r in every if r["node"] in topic.nodes]
    if {r["node"] for r in own} != {*topic.nodes} or len(own) == len(every):
        return frozenset()
    heard = {r["topic"] for r in own}
    writing = [r for r in of_topic if r["kind"] in SENDERS and r["topic"] in heard]
    return frozenset(r["endpoint"] for r in (*writing, *own))


def _names(groups: Iterable[Sequence[str]]) -> list[str]:
    """A name for each group: its one name, or `scan_*`; all its names where two groups would
    otherwise be called the same, and a number where these are the same as well: a node may
    subscribe to a topic twice."""
    listed = list(groups)
    short = [_called(group) for group in listed]
    again = Counter(short)
    names: Counter[str] = Counter()
    numbered = []
    for name, group in zip(short, listed, strict=True):
        whole = name if again[name] == 1 else ",".join(group)
        names[whole] += 1
        numbered.append(whole if names[whole] == 1 else f"{whole}#{names[whole]}")
    return numbered


def _called(names: Sequence[str]) -> str:
    stems = {stem(name) for name in names}
    if len(names) == 1:
        return names[0]
    return f"{stems.pop()}_*" if len(stems) == 1 else ",".join(names)


def _promise(row: Row) -> tuple[Any, Any, Any]:
    """(reliability, history, depth) as asked for, since grants may differ between arms."""
    qos = json_column(row.get("asked")).get("qos") or {}
    return qos.get("reliability"), qos.get("history"), qos.get("depth")


def _rates(endpoints: Sequence[Row]) -> dict[str, float | None]:
    """Topic -> messages due per second; a relayed topic has the rate of its source."""
    arrivals: dict[str, list[Mapping[str, Any]]] = {}
    for row in endpoints:
        if row["kind"] in SENDERS:
            arrivals.setdefault(row["topic"], []).append(arrival_of(row))
    reads = {row["endpoint"]: row["topic"] for row in endpoints}

    def rate(topic: str, seen: frozenset[str] = frozenset()) -> float | None:
        if topic in seen:
            return None
        whole = total(
            rate(reads.get(a.get("from"), ""), seen | {topic})
            if a.get("kind") == "relay"
            else _rate_hz(a)
            for a in arrivals.get(topic, ())
        )
        return None if topic not in arrivals or whole is None else round(whole, 6)

    return {topic: rate(topic) for topic in arrivals}


def _rate_hz(arrival: Mapping[str, Any]) -> float | None:
    if arrival.get("rate_hz"):
        return float(arrival["rate_hz"])
    if arrival.get("period_ns"):
        return float(1e9 / arrival["period_ns"] * arrival.get("count", 1))
    return None


Noun = Literal["topic", "reader"]


def noun(parts: Sequence[Any]) -> Noun:
    """The noun for these parts of a workload: reader where each part is a group of `readers`, else
    topic."""
    return "reader" if parts and all(part.readers for part in parts) else "topic"


def not_pooled(parts: Sequence[Topic]) -> frozenset[str]:
    """Metrics that these parts have and the workload as a whole does not."""
    if not parts:
        return frozenset()
    one_topic = noun(parts) == "reader" and len({part.members for part in parts}) == 1
    return POOLED - _OF_SENDERS if one_topic else POOLED


def why_not_pooled(parts: Sequence[Any]) -> str:
    """Why the workload as a whole has no value of the metrics that `not_pooled` gives."""
    return f"the workload has unlike {noun(parts)}s: each has a value of its own"


PREPOSITION: Mapping[Noun, str] = {"topic": "in", "reader": "for"}
"""The word before such a part: *in* a topic, *for* a reader."""
SEPARATOR = " · "


def judged_name(comparison: str, topic: str | None) -> str:
    """The name under which a topic of a comparison is judged; all topics of a comparison share one
    error budget."""
    return comparison if topic is None else f"{comparison}{SEPARATOR}{topic}"
