"""What a trial's recorder left, as it was found: no judgement."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rmwbench.beside.recorder.bag import Kept, Metadata
from rmwbench.beside.recorder.keys import NAME
from rmwbench.beside.recorder.log import RecorderLog
from rmwbench.suite.workload.endpoints import Endpoint


@dataclass(frozen=True, kw_only=True)
class Recording:
    """`metadata` is None where rosbag2 did not come to write it, `exit_code` where it was killed;
    `stopped_s` is how long it took from SIGINT to its end. `recorded` are the publishers whose
    messages it should have kept."""

    version: str
    recorded: tuple[Endpoint, ...]
    kept: Kept
    metadata: Metadata | None
    said: RecorderLog
    stopped_s: float | None
    exit_code: int | None

    @property
    def in_order(self) -> bool:
        """Whether it ended as it should, so that its counts are whole."""
        return self.exit_code == 0 and self.said.stopped and self.metadata is not None

    def problems(self) -> Iterator[str]:
        """What is wrong with the bag or with rosbag2's own account of it."""
        if not self.in_order:
            how = (
                "was killed" if self.exit_code is None else f"ended with exit code {self.exit_code}"
            )
            yield (
                f"the recorder {how}: where messages were lost behind its subscriptions is not "
                "known"
            )
        if self.kept.damaged:
            yield f"the bag is damaged: {self.kept.damaged}"
        if self.said.unflushed:
            yield f"rosbag2's cache was left with {self.said.unflushed} messages"
        reached = self.metadata.reached if self.metadata else None
        if reached is not None and self.metadata and self.said.cache_lost is not None:
            counted = (
                sum(self.metadata.handed.values())
                + sum(self.said.cache_lost.values())
                + self.said.unflushed
            )
            if reached != counted:
                yield (
                    f"rosbag2 counts {reached} messages that reached it and {counted} that it "
                    "wrote or dropped"
                )

    def columns(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Columns of the table `recorded`: what is in the bag, in its order."""
        for writer, numbers in sorted(self.kept.messages.items()):
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
        for endpoint in self.recorded:
            firsts.setdefault(endpoint.topic, endpoint.endpoint)
            yield _row(
                "bag.probes", "count", self.kept.probes[endpoint.endpoint], endpoint.endpoint
            )
        for topic, writer in firsts.items():
            name = f"/{topic}"
            yield _row("bag.messages", "count", self.kept.in_bag[name], writer)
            if self.in_order and self.metadata is not None and self.said.cache_lost is not None:
                yield _row(
                    "rosbag2.handed_to_storage", "count", self.metadata.handed.get(name, 0), writer
                )
                yield _row(
                    "rosbag2.lost_in_cache", "count", self.said.cache_lost.get(name, 0), writer
                )
        yield _row("bag.size", "bytes", self.kept.file_bytes)
        yield _row("bag.foreign", "count", self.kept.foreign)
        if self.said.transport_lost is not None:
            yield _row("rosbag2.lost_in_transport", "count", self.said.transport_lost)
        if self.stopped_s is not None:
            yield _row("rosbag2.stop", "ns", 1e9 * self.stopped_s)


def _row(counter: str, unit: str, value: float, endpoint: int | None = None) -> dict[str, Any]:
    base = {"process": NAME, "role": NAME, "endpoint": endpoint}
    return base | {"counter": counter, "unit": unit, "at": "end", "value": float(value)}
