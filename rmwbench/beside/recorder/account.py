"""What a trial's recorder left, as it was found: no judgement.

What rosbag2 prints of itself: which topics it subscribed to, what its cache lost, what the RMW
told it was lost on the way, and whether it ended in order.

It prints losses only where there are any: that a line is missing means zero where the recorder
ended in order, and nothing otherwise."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rmwbench.beside.recorder.bag import BagContents, Metadata
from rmwbench.beside.recorder.keys import NAME
from rmwbench.suite.workload.endpoints import Endpoint

_SUBSCRIBED = re.compile(r"Subscribed to topic '([^']+)'")
_CACHE = re.compile(
    r"Cache buffers lost messages per topic: ((?:\n\t\S+: \d+)*)\nTotal lost: (\d+)"
)
_OF_TOPIC = re.compile(r"\t(\S+): (\d+)")
_UNFLUSHED = re.compile(r"Cache buffers were unflushed with (\d+) remaining messages")
_TRANSPORT = re.compile(r"Number of messages lost on the transport layer: (\d+)")
_STOPPED = "Recording stopped"
TRANSPORT_SINCE = (0, 26, 10)
"""The version of rosbag2 in Jazzy from which on it counts the message-lost events of its RMW and
prints their sum."""


@dataclass(frozen=True)
class RecorderLog:
    """`cache_lost`: topic → messages; None where it did not end in order, which no count survives.
    `transport_lost`: of all topics together, None where this rosbag2 does not count them."""

    subscribed: frozenset[str]
    stopped: bool
    cache_lost: dict[str, int] | None
    unflushed: int
    transport_lost: int | None


def parse_log(text: str, version: tuple[int, ...] = ()) -> RecorderLog:
    """The account in what the recorder printed; `version` is rosbag2's."""
    stopped = _STOPPED in text
    cache_lost: dict[str, int] = {}
    # A bag that is split prints its cache's account once more, which then counts on from the one
    # before.
    for match in _CACHE.finditer(text):
        cache_lost |= {topic: int(count) for topic, count in _OF_TOPIC.findall(match[1])}
    transport = _TRANSPORT.search(text)
    counts = version[:2] == TRANSPORT_SINCE[:2] and version >= TRANSPORT_SINCE
    return RecorderLog(
        frozenset(_SUBSCRIBED.findall(text)),
        stopped,
        cache_lost if stopped else None,
        sum(int(count) for count in _UNFLUSHED.findall(text)),
        int(transport[1]) if transport else 0 if stopped and counts else None,
    )


@dataclass(frozen=True, kw_only=True)
class Recording:
    """`metadata` is None where rosbag2 did not come to write it, `exit_code` where it was killed;
    `stopped_s` is how long it took from SIGINT to its end. `publishers` are those whose
    messages it should have kept."""

    publishers: tuple[Endpoint, ...]
    contents: BagContents
    metadata: Metadata | None
    log: RecorderLog
    stopped_s: float | None
    exit_code: int | None

    @property
    def in_order(self) -> bool:
        """Whether it ended as it should, so that its counts are whole."""
        return self.exit_code == 0 and self.log.stopped and self.metadata is not None

    def problems(self) -> Iterator[str]:
        """The faults of the bag and of rosbag2's own account of it, in words."""
        if not self.in_order:
            ending = (
                "was killed" if self.exit_code is None else f"ended with exit code {self.exit_code}"
            )
            yield (
                f"the recorder {ending}: where messages were lost behind its subscriptions is not "
                "known"
            )
        if self.contents.damaged:
            yield f"the bag is damaged: {self.contents.damaged}"
        if self.log.unflushed:
            yield f"rosbag2's cache was left with {self.log.unflushed} messages"
        reached = self.metadata.reached if self.metadata else None
        if reached is not None and self.metadata and self.log.cache_lost is not None:
            counted = (
                sum(self.metadata.handed.values())
                + sum(self.log.cache_lost.values())
                + self.log.unflushed
            )
            if reached != counted:
                yield (
                    f"rosbag2 counts {reached} messages that reached it and {counted} that it "
                    "wrote or dropped"
                )

    def columns(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Columns of the table `recorded`: what is in the bag, in its order."""
        for writer, numbers in sorted(self.contents.messages.items()):
            rows = len(numbers)
            yield (
                "recorded",
                {
                    "process": np.full(rows, NAME, object),
                    "endpoint": np.full(rows, writer, np.uint32),
                    "seq": np.array(numbers, np.uint64),
                },
            )

    def counters(self) -> Iterator[dict[str, Any]]:
        """Rows of the table `counters`, without what is not known: of each topic at its first
        writer, of all at none."""
        firsts: dict[str, int] = {}
        for endpoint in self.publishers:
            firsts.setdefault(endpoint.topic, endpoint.endpoint)
            yield _row(
                "bag.probes", "count", self.contents.probes[endpoint.endpoint], endpoint.endpoint
            )
        for topic, writer in firsts.items():
            name = f"/{topic}"
            yield _row("bag.messages", "count", self.contents.in_bag[name], writer)
            if self.in_order and self.metadata is not None and self.log.cache_lost is not None:
                yield _row(
                    "rosbag2.handed_to_storage", "count", self.metadata.handed.get(name, 0), writer
                )
                yield _row(
                    "rosbag2.lost_in_cache", "count", self.log.cache_lost.get(name, 0), writer
                )
        yield _row("bag.size", "bytes", self.contents.file_bytes)
        yield _row("bag.foreign", "count", self.contents.foreign)
        if self.log.transport_lost is not None:
            yield _row("rosbag2.lost_in_transport", "count", self.log.transport_lost)
        if self.stopped_s is not None:
            yield _row("rosbag2.stop", "ns", 1e9 * self.stopped_s)


def _row(counter: str, unit: str, value: float, endpoint: int | None = None) -> dict[str, Any]:
    source = {"process": NAME, "role": NAME, "endpoint": endpoint}
    return source | {"counter": counter, "unit": unit, "at": "end", "value": float(value)}
