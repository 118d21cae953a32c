"""The recording of a trial without judgement: its bag, and what rosbag2 printed about itself.

rosbag2 prints the topics that it subscribed to, the messages that its cache lost and that its RMW
reported as lost, and whether it ended in order. It prints losses only if there are any: a missing
line means zero if the recorder ended in order, and nothing otherwise."""

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
"""The first version of rosbag2 in Jazzy that counts the message-lost events of its RMW and prints
their sum."""


@dataclass(frozen=True)
class RecorderLog:
    """rosbag2's own account. `cache_lost`: topic → messages that the cache lost, None if rosbag2
    did not end in order. `transport_lost`: the lost messages of all topics together by its RMW,
    None if this rosbag2 does not count them."""

    subscribed: frozenset[str]
    stopped: bool
    cache_lost: dict[str, int] | None
    unflushed: int
    transport_lost: int | None


def parse_log(text: str, version: tuple[int, ...] = ()) -> RecorderLog:
    """Parse the text that the recorder printed; `version` is rosbag2's."""
    stopped = _STOPPED in text
    cache_lost: dict[str, int] = {}
    # A bag that is split prints its cache's account again; the later one includes the earlier one.
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
    """A bag and the end of its recorder. `publishers`: those whose messages it should have kept;
    `metadata`: None if rosbag2 did not write it; `stopped_s`: the time from SIGINT to its end;
    `exit_code`: None if it was killed."""

    publishers: tuple[Endpoint, ...]
    contents: BagContents
    metadata: Metadata | None
    log: RecorderLog
    stopped_s: float | None
    exit_code: int | None

    @property
    def in_order(self) -> bool:
        """Whether the recorder ended as it should, so that its counts are complete."""
        return self.exit_code == 0 and self.log.stopped and self.metadata is not None

    def problems(self) -> Iterator[str]:
        """Yield the faults of the bag and of rosbag2's own account, in words."""
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
        metadata, log = self.metadata, self.log
        if metadata is not None and metadata.reached is not None and log.cache_lost is not None:
            total = sum(metadata.handed.values()) + sum(log.cache_lost.values()) + log.unflushed
            if metadata.reached != total:
                yield (
                    f"rosbag2 counts {metadata.reached} messages that reached it and {total} that "
                    "it wrote or dropped"
                )

    def columns(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the columns of the table `recorded`: the messages in the bag, in their order."""
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
        """Yield the rows of the table `counters` that are known: for a topic at its first writer,
        for all topics together at no endpoint."""
        contents, metadata, log = self.contents, self.metadata, self.log
        first_writers: dict[str, int] = {}
        for publisher in self.publishers:
            first_writers.setdefault(publisher.topic, publisher.endpoint)
            yield _row("bag.probes", contents.probes[publisher.endpoint], publisher.endpoint)
        for topic, writer in first_writers.items():
            name = f"/{topic}"
            yield _row("bag.messages", contents.in_bag[name], writer)
            if self.in_order and metadata is not None and log.cache_lost is not None:
                yield _row("rosbag2.handed_to_storage", metadata.handed.get(name, 0), writer)
                yield _row("rosbag2.lost_in_cache", log.cache_lost.get(name, 0), writer)
        yield _row("bag.size", contents.file_bytes, unit="bytes")
        yield _row("bag.foreign", contents.foreign)
        if log.transport_lost is not None:
            yield _row("rosbag2.lost_in_transport", log.transport_lost)
        if self.stopped_s is not None:
            yield _row("rosbag2.stop", 1e9 * self.stopped_s, unit="ns")


def _row(
    counter: str, value: float, endpoint: int | None = None, unit: str = "count"
) -> dict[str, Any]:
    source = {"process": NAME, "role": NAME, "endpoint": endpoint}
    return source | {"counter": counter, "unit": unit, "at": "end", "value": float(value)}
