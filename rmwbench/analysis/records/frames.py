"""The frame log of a trial for the analysis, with each text column as codes into its few names, and
the counts that replace the log where it had no room for all frames.

A row is a frame *and* a destination: a multicast frame to two hosts has two rows with one `index`.
So the frames that hosts sent count once per index, lost frames once per row.

A flood of frames is a result, so its counts over the steady window stay right, by link, direction,
class and verdict; a metric that needs single frames then has no data. The counts are rows of the
bundle's `counters`, role `machine`, at `window`, with the link's name as process
(docs/formats/bundle.md). This module writes and reads them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rmwbench.analysis.records.columns import Row

CLASSES = ("data", "acknowledgement", "discovery", "resolution", "other")
"""What a frame carries (docs/formats/link.md), most useful first."""

DELIVERED, UNDER_WAY, UNWANTED = "delivered", "under_way", "multicast_unwanted"
NOT_LOST = (DELIVERED, UNDER_WAY, UNWANTED)
"""Verdicts of frames that the network did not lose, such as a multicast frame that its receiver had
not asked for."""


@dataclass(frozen=True)
class TextColumn:
    """A text column: `codes` of shape (rows,) into `names`, −1 for null."""

    codes: np.ndarray
    names: tuple[str, ...]

    def among(self, *wanted: str) -> np.ndarray:
        """Whether each row has one of these texts: bool of shape (rows,)."""
        is_wanted = np.array([*(name in wanted for name in self.names), False])  # −1 is the last
        among: np.ndarray = is_wanted[self.codes]
        return among

    def where(self, rows: np.ndarray) -> "TextColumn":
        """The rows of a mask."""
        return TextColumn(self.codes[rows], self.names)


@dataclass(frozen=True)
class Frames:
    """The frame log, as columns of shape (rows,) as in docs/formats/bundle.md. `ended` is the
    direction in which a frame ended, `interface` the interface over which it went, both null in an
    older bundle; `entered` marks the first row of each frame that a host sent: the network's own
    copies are not sent by a host."""

    index: np.ndarray
    in_ns: np.ndarray
    frame_bytes: np.ndarray
    sender: TextColumn
    receiver: TextColumn
    verdict: TextColumn
    kind: TextColumn
    retransmission: np.ndarray
    ended: TextColumn
    interface: TextColumn
    entered: np.ndarray = field(repr=False)

    def __len__(self) -> int:
        return len(self.index)

    def where(self, rows: np.ndarray) -> "Frames":
        """The rows of a mask."""
        columns: dict[str, Any] = {
            name: column.where(rows) if isinstance(column, TextColumn) else column[rows]
            for name, column in vars(self).items()
        }
        return Frames(**columns)

    def without(self, hosts: Iterable[str]) -> "Frames":
        """The frames without those that these hosts sent, such as the hosts of cross traffic; copies
        that went on to these hosts have no destination, and are unwanted there."""
        excluded = tuple(hosts)
        if not excluded:
            return self
        frames = self.where(~self.sender.among(*excluded))
        to_them, verdict = frames.receiver.among(*excluded), frames.verdict
        codes = np.where(to_them, len(verdict.names), verdict.codes)
        return replace(
            frames,
            receiver=TextColumn(
                np.where(to_them, -1, frames.receiver.codes), frames.receiver.names
            ),
            verdict=TextColumn(codes, (*verdict.names, UNWANTED)),
        )


def frames_of(columns: Mapping[str, Any]) -> Frames:
    """The frame log from the columns of the bundle's `frames`: arrays, and (codes, names) for
    texts."""
    index = np.asarray(columns["index"])
    own = ~np.asarray(columns["duplicate"], bool)
    entered = np.zeros(len(index), bool)
    rows = np.flatnonzero(own)
    entered[rows[np.unique(index[rows], return_index=True)[1]]] = True

    def text(name: str) -> TextColumn:
        codes, names = columns[name]
        return TextColumn(np.asarray(codes, np.int64), tuple(names))

    return Frames(
        index=index,
        in_ns=np.asarray(columns["in_ns"], np.int64),
        frame_bytes=np.asarray(columns["frame_bytes"], np.int64),
        sender=text("from_host"),
        receiver=text("to_host"),
        verdict=text("verdict"),
        kind=text("class"),
        retransmission=np.asarray(columns["retransmission"], bool),
        ended=text("direction"),
        interface=text("interface"),
        entered=entered,
    )


UNLOGGED = "frames.unlogged"
NO_SINGLE_FRAMES = "the log had no room for every frame, so only counts of frames are known"
ENTERED, ENDED, CROSSED = "frames.entered", "frames.ended", "frames.crossed"
TO_ALL = "to_all"
STEADY_PERIOD = 1
"""The number of the period that is the steady window in the link's document: period 0 is before
it."""
_ENTERED = {
    "frames": ("frames", "count"),
    "bytes": ("bytes", "bytes"),
    "retransmitted_frames": ("repeated", "count"),
    "retransmitted_bytes": ("repeated_bytes", "bytes"),
}
"""Name in the document → name of the counter, with its unit."""


@dataclass(frozen=True)
class EnteredFrames:
    """The number of frames of a class that a host sent, each once, and of those sent again."""

    frames: int = 0
    bytes: int = 0
    repeated: int = 0
    repeated_bytes: int = 0


@dataclass(frozen=True)
class FrameCounts:
    """`entered`: (link, class) → the frames that its host sent. `ended`: (link, `up` or `down`,
    verdict, class, whether it was multicast that got no further than its sender's link) → frames,
    copies included. `crossed`: (link, way) → bytes that took its time, and bytes that it let
    through."""

    unlogged: int
    entered: dict[tuple[str, str], EnteredFrames] = field(default_factory=dict)
    ended: dict[tuple[str, str, str, str, bool], int] = field(default_factory=dict)
    crossed: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    def without(self, hosts: Iterable[str]) -> "FrameCounts":
        """The counts without the links of these hosts, such as those of cross traffic."""
        excluded = set(hosts)
        return FrameCounts(
            self.unlogged,
            {key: of for key, of in self.entered.items() if host_of(key[0]) not in excluded},
            {key: of for key, of in self.ended.items() if host_of(key[0]) not in excluded},
            {key: of for key, of in self.crossed.items() if host_of(key[0]) not in excluded},
        )


def host_of(link: str) -> str:
    """The host of a link: a link has the name of its host, or, in a network beside, of host and
    interface."""
    return link.partition(" ")[0]


def network_of(link: str) -> str:
    """The interface that the links of one network share; empty for `eth0`."""
    return link.partition(" ")[2]


def counter_rows(periods: Row, unlogged: int) -> Iterator[dict[str, Any]]:
    """The steady window of a link's document (`periods` of docs/formats/link.md) as rows of
    `counters`."""

    def row(process: str, counter: str, unit: str, value: int) -> dict[str, Any]:
        fields = {"process": process, "role": "machine", "endpoint": None, "counter": counter}
        return fields | {"unit": unit, "at": "window", "value": float(value)}

    yield row("machine", UNLOGGED, "count", unlogged)
    for entry in periods["entered"]:
        if entry["period"] == STEADY_PERIOD:
            for name, (word, unit) in _ENTERED.items():
                counter = f"{ENTERED}.{entry['class']}.{word}"
                yield row(entry["link"], counter, unit, entry[name])
    for entry in periods["ended"]:
        if entry["period"] == STEADY_PERIOD:
            parts = [ENDED, entry["way"], entry["verdict"], entry["class"]]
            counter = ".".join([*parts, *([TO_ALL] if entry["to_all"] else [])])
            yield row(entry["link"], counter, "count", entry["frames"])
    for entry in periods["crossed"]:
        if entry["period"] == STEADY_PERIOD:
            for name in ("sent", "carried"):
                counter = f"{CROSSED}.{entry['way']}.{name}"
                yield row(entry["link"], counter, "bytes", entry[f"{name}_bytes"])


def counts_of(counters: Iterable[Row]) -> FrameCounts | None:
    """The counts from the rows of a trial's `counters`; None where the log had room for every
    frame."""
    unlogged = 0
    entered: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    ended: dict[tuple[str, str, str, str, bool], int] = {}
    crossed: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for row in counters:
        counter, link = str(row["counter"]), row["process"]
        if not counter.startswith("frames.") or row["value"] is None:
            continue
        value, parts = int(row["value"]), counter.split(".")[2:]
        if counter == UNLOGGED:
            unlogged = value
        elif counter.startswith(ENTERED):
            entered[link, parts[0]][parts[1]] = value
        elif counter.startswith(ENDED):
            ended[link, parts[0], parts[1], parts[2], TO_ALL in parts] = value
        elif counter.startswith(CROSSED):
            crossed[link, parts[0]][parts[1]] = value
    if not unlogged:
        return None
    return FrameCounts(
        unlogged,
        {key: EnteredFrames(**of) for key, of in entered.items()},
        ended,
        {key: (of.get("sent", 0), of.get("carried", 0)) for key, of in crossed.items()},
    )
