"""Readers that come late, leave early or filter: the messages that they may expect, and the earlier
messages that they were given.

A volatile reader may expect the messages that are due from its match until it leaves; earlier
messages are not lost for it. A transient-local reader may also expect the last messages that its
writers had sent when it was matched, as many as its history and the writer's hold. These are its
history; they are counted separately, since their latency is not that of the middleware. Messages
that are sent between the creation of a reader and its match push the oldest out of the history, so
the history is counted at the match and not at the creation. A reader with a content filter expects
the messages that pass it; the others are filtered, not lost."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rmwbench.analysis.records.columns import Columns, EndpointRow, Row, SteadyWindow
from rmwbench.analysis.records.ledger import is_sound
from rmwbench.codes import FAILED


@dataclass(frozen=True)
class ReaderLife:
    """When a reader expects messages, in the workers' clock: those intended in [`begin_ns`,
    `end_ns`). `created_ns` is None where the reader was never created; `history`: how many earlier
    messages of each writer it may expect."""

    begin_ns: float = -np.inf
    end_ns: float = np.inf
    created_ns: int | None = None
    history: float = 0
    percent: int = 100
    """For a content filter `percent < N` (docs/formats/worker-protocol.md): how many messages in a
    hundred pass."""

    def expects(self, seq: np.ndarray, intended_ns: np.ndarray) -> np.ndarray:
        """Whether the reader expects each message of a writer: bool of shape (n,)."""
        within_life = (intended_ns >= self.begin_ns) & (intended_ns < self.end_ns)
        expected: np.ndarray = within_life & self.passes(seq)
        return expected

    def passes(self, seq: np.ndarray) -> np.ndarray:
        """Whether each message passes the reader's content filter: bool of shape (n,)."""
        return np.ones(len(seq), bool) if self.percent >= 100 else passes(seq, self.percent)

    def within(self, window: SteadyWindow) -> SteadyWindow:
        """The part of a window in which the reader is there; its length is 0 where it is not
        there."""
        begin = max(window.begin_ns, min(self.begin_ns, window.end_ns))
        return SteadyWindow(int(begin), int(max(begin, min(window.end_ns, self.end_ns))))


def passes(seq: np.ndarray, percent: int) -> np.ndarray:
    """Which sequence numbers pass the portable filter `percent < N`, as in every worker."""
    low_bits = np.uint64(0xFFFFFFFF)
    scattered = (seq.astype(np.uint64) & low_bits) * np.uint64(2654435761) & low_bits
    return (scattered * np.uint64(100) >> np.uint64(32)) < np.uint64(percent)


def lives(
    rows: Sequence[Row], events: Iterable[Row], window: SteadyWindow | None
) -> dict[int, ReaderLife]:
    """Endpoint -> its life, for endpoints that join, leave or filter. `rows` are the bundle's
    `endpoints`."""
    if window is None:
        return {}
    special = [
        row
        for row in rows
        if row.get("joins_ns") is not None
        or row.get("leaves_ns") is not None
        or "content_filter" in (row["asked"] or "")
    ]
    if not special:
        return {}
    at: dict[tuple[str, int], int] = {}
    for row in events:
        if row["endpoint"] is not None and row["time_ns"] is not None:
            at.setdefault((row["event"], row["endpoint"]), row["time_ns"])
    lives = {}
    for row in special:
        number, joins, leaves = row["endpoint"], row.get("joins_ns"), row.get("leaves_ns")
        end = np.inf if leaves is None else window.begin_ns + leaves
        qos = json.loads(row["asked"] or "{}").get("qos", {})
        if joins is None:
            lives[number] = ReaderLife(end_ns=end, percent=_percent(qos))
            continue
        created = at.get(("created", number))
        begin = at.get(("matched", number), created or window.begin_ns + joins)
        lives[number] = ReaderLife(begin, end, created, _history(qos), _percent(qos))
    return lives


def _percent(qos: Row) -> int:
    words = str(qos.get("content_filter") or "").split()
    return int(words[2]) if words[:2] == ["percent", "<"] and len(words) == 3 else 100


def _history(qos: Row) -> float:
    if qos.get("durability") != "transient_local":
        return 0
    return np.inf if qos.get("history") == "keep_all" else qos.get("depth", 1)


def history(
    columns: Columns, endpoints: Sequence[EndpointRow], lives: Mapping[int, ReaderLife]
) -> dict[str, float]:
    """The metrics of all late readers with a history: `history_wanted` and `history_delivered`, in
    messages, and `history_time`, from a reader's creation until it has the last message of its
    history, ns, +inf where a message is missing. Empty without such a reader."""
    wanted = delivered = 0
    slowest = 0.0
    late = {
        number: life
        for number, life in lives.items()
        if life.history and life.created_ns is not None
    }
    readers = [e for e in endpoints if e.endpoint in late and e.kind == "subscription"]
    if not readers:
        return {}
    sent_by, sent_seq, call, how = (
        columns.sent(c) for c in ("endpoint", "seq", "call_ns", "flags")
    )
    published = (call > 0) & ((how & FAILED) == 0)
    reader, writer, seq, taken, flags = (
        columns.received(c) for c in ("endpoint", "writer", "seq", "taken_ns", "flags")
    )
    sound = is_sound(flags)
    for late_reader in readers:
        life = late[late_reader.endpoint]
        for source in _history_keepers(late_reader, life, endpoints, lives):
            before = np.sort(
                sent_seq[(sent_by == source.endpoint) & published & (call < life.begin_ns)]
            )
            depth = life.history if source.depth is None else min(life.history, source.depth)
            due = before if np.isinf(depth) else before[-int(depth) :]
            due = due[life.passes(due)]
            of_pair = (reader == late_reader.endpoint) & (writer == source.endpoint)
            delivered_rows = sound & of_pair & np.isin(seq, due)
            wanted += len(due)
            came, copy_of = np.unique(seq[delivered_rows], return_inverse=True)
            delivered += len(came)
            if len(due):
                # the first copy of a message counts
                first_ns = np.full(len(came), np.iinfo(np.int64).max)
                np.minimum.at(first_ns, copy_of, taken[delivered_rows])
                whole = len(came) == len(due)
                slowest = max(slowest, float(first_ns.max() - life.created_ns) if whole else np.inf)
    values: dict[str, float] = {"history_wanted": wanted, "history_delivered": delivered}
    return values | ({"history_time": slowest} if wanted else {})


def _history_keepers(
    reader: EndpointRow,
    life: ReaderLife,
    endpoints: Iterable[EndpointRow],
    lives: Mapping[int, ReaderLife],
) -> list[EndpointRow]:
    """The publishers of the reader's topic that were still there when it was matched: the history
    of a writer ends with the writer."""
    return [
        publisher
        for publisher in endpoints
        if publisher.kind == "publisher"
        and publisher.topic == reader.topic
        and (publisher.endpoint not in lives or lives[publisher.endpoint].end_ns > life.begin_ns)
    ]
