"""The messages of one writer to one reader, over all lives of both nodes, with the hosts at either
end.

Outages, restarts and late discovery are told by streams: a node that comes back has new endpoints,
but what its peers miss is one stream with a hole in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rmwbench.analysis.metrics.latency import paired
from rmwbench.analysis.records.columns import Columns, Endpoint, Window
from rmwbench.analysis.records.ledger import ABSENT, CORRUPT, FOREIGN, LATE

Row = Mapping[str, Any]


@dataclass(frozen=True)
class End:
    """One end of a stream: its node, the node's host, and the endpoint's life in the workers' clock
    (−inf and inf where it was there before and after)."""

    endpoint: int
    node: str
    host: str
    begin_ns: float
    end_ns: float

    @property
    def late(self) -> bool:
        return self.begin_ns > -np.inf


@dataclass(frozen=True)
class Pair:
    """One writer's messages for one reader, of one life of each: arrays of shape (n,) in the order
    of sequence numbers, of the steady state, due while both were there. `taken_ns` is ABSENT for
    what did not arrive sound and in time.

    `sent`: the publish call was made and returned no error. `again_ns`: when further sound copies
    came, shape (k,). `servers`: of a client, the nodes of its service.
    """

    topic: str
    writer: End
    reader: End
    due_ns: np.ndarray
    call_ns: np.ndarray
    taken_ns: np.ndarray
    sent: np.ndarray
    again_ns: np.ndarray
    servers: tuple[str, ...] = ()

    @property
    def arrived(self) -> np.ndarray:
        found: np.ndarray = self.taken_ns != ABSENT
        return found

    @property
    def name(self) -> tuple[str, str, str]:
        """The stream that it is a part of: topic, writer's node, reader's node."""
        return self.topic, self.writer.node, self.reader.node

    @property
    def hosts(self) -> tuple[str, str]:
        return self.writer.host, self.reader.host


def pairs_of(
    columns: Columns, rows: Sequence[Row], endpoints: Sequence[Endpoint], window: Window
) -> list[Pair]:
    """All pairs of a trial; `rows` are the bundle's `endpoints`. A service's client
    is a pair with itself, whose hosts are its own and its service's. Raises as
    `latency.measure`."""
    ends = {row["endpoint"]: _end(row, window) for row in rows}
    service_host = {row["topic"]: row["host"] for row in rows if row["kind"] == "service"}
    servers: dict[str, list[str]] = {}
    for row in rows:
        if row["kind"] == "service":
            servers.setdefault(row["topic"], []).append(row["node"])
    flags, taken = (columns.received(c) for c in ("flags", "taken_ns"))
    found = []
    for pair in paired(columns, endpoints, window):
        writer, reader = ends[pair.writer.endpoint], ends[pair.reader.endpoint]
        if pair.writer.kind == "client":
            host = service_host.get(pair.writer.topic, writer.host)
            reader = End(reader.endpoint, reader.node, host, reader.begin_ns, reader.end_ns)
        due = pair.writer.intended_ns
        both = pair.places.steady & (due >= max(writer.begin_ns, reader.begin_ns))
        both &= due < min(writer.end_ns, reader.end_ns)
        found.append(
            Pair(
                pair.writer.topic,
                writer,
                reader,
                due[both],
                pair.writer.call_ns[both],
                pair.taken_ns[both],
                (pair.places.attempted & ~pair.places.failed)[both],
                _again(flags[pair.rows], taken[pair.rows], pair.first),
                tuple(servers.get(pair.writer.topic, ())) if pair.writer.kind == "client" else (),
            )
        )
    return found


def _end(row: Row, window: Window) -> End:
    joins, leaves = row.get("joins_ns"), row.get("leaves_ns")
    return End(
        row["endpoint"],
        row["node"],
        row["host"],
        -np.inf if joins is None else window.begin_ns + joins,
        np.inf if leaves is None else window.begin_ns + leaves,
    )


def _again(flags: np.ndarray, taken_ns: np.ndarray, first: np.ndarray) -> np.ndarray:
    further = (flags & (CORRUPT | LATE | FOREIGN)) == 0
    further[first[first >= 0]] = False
    again_ns: np.ndarray = taken_ns[further]
    return again_ns
