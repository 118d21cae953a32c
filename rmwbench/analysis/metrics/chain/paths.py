"""The paths of messages through relays and services, from their first writer to their last reader.

A path is a list of links, each from a writer to a reader. From a reader it goes on to every
publisher of the reader's node that relays it, or, from a service, back to the client that asked.
Where chains fork, every last subscription ends a path of its own, so a message counts once per
path. Where chains join (two inputs of one node, two relays on one topic), each input begins a path
of its own, since a relayed message names its cause."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rmwbench.analysis.metrics.comparisons import arrival_of, relays
from rmwbench.analysis.records.columns import Row

MOST_PATHS = 1_000
"""Each diamond in a row doubles the paths; nobody reads more paths than this."""


class ChainLink(NamedTuple):
    """A writer's messages on their way to one reader; both are numbers of endpoints."""

    writer: int
    reader: int


Path = tuple[ChainLink, ...]


def paths(rows: Sequence[Row], *, least: int = 2) -> list[Path]:
    """All paths with at least this number of links; `rows` are the bundle's `endpoints`. Raises
    ValueError beyond MOST_PATHS."""
    graph = _Graph(rows)
    complete: list[Path] = []
    for start in graph.starts:
        for path in graph.walk((), start):
            if len(path) >= least:
                complete.append(path)
            if len(complete) > MOST_PATHS:
                raise ValueError(
                    f"there are more than {MOST_PATHS} ways from a source to a last subscription"
                )
    return complete


class _Graph:
    def __init__(self, rows: Sequence[Row]):
        self._subscriptions: dict[str, list[int]] = defaultdict(list)
        self._services: dict[str, list[int]] = defaultdict(list)
        self._relays: dict[int, list[int]] = defaultdict(list)
        self._topics = {row["endpoint"]: row["topic"] for row in rows}
        self._kinds = {row["endpoint"]: row["kind"] for row in rows}
        self.starts: list[int] = []
        for row in rows:
            number, kind = row["endpoint"], row["kind"]
            source = _relayed(row)
            if kind == "subscription":
                self._subscriptions[row["topic"]].append(number)
            elif kind == "service":
                self._services[row["topic"]].append(number)
            elif source is not None:
                self._relays[source].append(number)
            else:
                self.starts.append(number)

    def walk(self, before: Path, writer: int) -> Iterator[Path]:
        topic = self._topics[writer]
        if self._kinds[writer] == "client":
            for service in self._services[topic]:
                yield (*before, ChainLink(writer, service), ChainLink(service, writer))
            return
        for reader in self._subscriptions[topic]:
            path = (*before, ChainLink(writer, reader))
            onward = self._relays[reader]
            if not onward:
                yield path
            for relay in onward:
                yield from self.walk(path, relay)


def _relayed(row: Row) -> int | None:
    """The subscription that a publisher relays."""
    return arrival_of(row).get("from") if relays(row) else None
