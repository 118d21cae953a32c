"""Which readers of a topic are alike: those with the same settings at the same place.

A planner beside the camera and a viewer at the end of a slow link have no common median, nor have a
reader that holds each message for 50 ms and a reader that does not. Settings are known beforehand
and are the same in every arm and every trial, so settings, and not results, decide which readers
are judged by themselves."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from rmwbench.analysis.records.columns import Row

Shared = Literal["all", "some", "none"]
Joins = Literal["start", "late", "again"]
DiffersIn = Literal["qos", "taking", "hold_ns", "joins", "process", "host", "link"]
"""The fields of `NamedReader`."""
_TAKING = ("touch", "wait", "take")
"""Settings of each reader besides its QoS."""


@dataclass(frozen=True)
class NamedReader:
    """The settings in which readers of one topic may differ. `qos` and `taking` (the way of
    waiting, the part of the payload that is read, and the memory into which messages are taken) as
    JSON; `hold_ns`: how long each message is kept; `joins`: whether the node comes late, or comes
    again; `host` and `process`: with how many of its writers the reader shares them; `link`: the
    links between its host and the others, as JSON."""

    qos: str
    taking: str
    hold_ns: int
    joins: Joins
    process: Shared
    host: Shared
    link: str


@dataclass(frozen=True)
class AlikeReaders:
    """Readers that are alike. `differ`: the fields of `asked` in which they differ from the other
    readers; empty without other readers."""

    rows: tuple[Row, ...]
    asked: NamedReader
    differ: tuple[DiffersIn, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row["node"] for row in self.rows))

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row["host"] for row in self.rows))


def alike_readers(rows: Sequence[Row], definition: Mapping[str, Any]) -> list[AlikeReaders]:
    """The subscriptions among these `endpoints` rows, which are of one topic or of several alike
    topics, in groups of alike readers, in their order. `definition`: the cell's, which has the
    links and how long each reader holds a message."""
    endpoints = definition.get("endpoints") or ()
    hold_ns = {endpoint.get("endpoint"): endpoint.get("hold_ns", 0) for endpoint in endpoints}
    lives: dict[tuple[str, str], list[bool]] = {}
    for row in rows:
        lives.setdefault((row["topic"], row["node"]), []).append(row.get("joins_ns") is not None)
    writing: dict[str, list[Row]] = {}
    for row in (r for r in rows if r["kind"] == "publisher"):
        writing.setdefault(row["topic"], []).append(row)
    groups: dict[NamedReader, list[Row]] = {}
    for row in (r for r in rows if r["kind"] == "subscription"):
        writers = writing.get(row["topic"], [])
        request = json.loads(row.get("asked") or "{}")
        host = _shared("host", row, writers)
        settings = NamedReader(
            qos=_text(request.get("qos")),
            taking=_text([request.get(name) for name in _TAKING]),
            hold_ns=hold_ns.get(row["endpoint"], 0),
            joins=_joins(lives[row["topic"], row["node"]]),
            process=_shared("process", row, writers),
            host=host,
            link="" if host == "all" else _link(row["host"], definition.get("network") or {}),
        )
        groups.setdefault(settings, []).append(row)
    differ = tuple(
        name for name in get_args(DiffersIn) if len({getattr(group, name) for group in groups}) > 1
    )
    return [AlikeReaders(tuple(members), settings, differ) for settings, members in groups.items()]


def _joins(late: Collection[bool]) -> Joins:
    """When a node joins: at the start, late, or again, by whether its lives begin within the steady
    state."""
    return "late" if all(late) else "again" if any(late) else "start"


def _shared(key: str, row: Row, writers: Collection[Row]) -> Shared:
    count = sum(writer[key] == row[key] for writer in writers)
    return "none" if not count else "all" if count == len(writers) else "some"


def _link(host: str, network: Mapping[str, Any]) -> str:
    """The host's link as the cell's network resolves it: equal for two hosts with equal links, on
    the network and on those beside it."""
    return _text(
        [
            (network.get("links") or {}).get(host),
            [nic.get("name") for nic in (network.get("interfaces") or {}).get(host) or ()],
            {
                port.removeprefix(f"{host} "): link
                for port, link in (network.get("beside") or {}).items()
                if port.startswith(f"{host} ")
            },
            [
                {name: value for name, value in change.items() if name != "host"}
                for change in network.get("changes") or ()
                if change.get("host") == host
            ],
        ]
    )


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
