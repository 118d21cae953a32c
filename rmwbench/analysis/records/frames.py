"""The frame log of a trial as analysis takes it: numbers by column, and each text column as codes
into its few names.

A row is a frame *and* a destination: a multicast frame to two hosts has two rows with one `index`.
What hosts sent is therefore counted once per index, what was lost once per row.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

CLASSES = ("data", "acknowledgement", "discovery", "resolution", "other")
"""What a frame carries (docs/formats/link.md), most useful first."""

DELIVERED, UNDER_WAY = "delivered", "under_way"
NOT_LOST = (DELIVERED, UNDER_WAY, "multicast_unwanted")
"""Verdicts of frames that the network did not take away, such as a multicast frame that nobody
there wanted."""


@dataclass(frozen=True)
class Names:
    """A text column: `codes` of shape (rows,) into `names`, −1 for null."""

    codes: np.ndarray
    names: tuple[str, ...]

    def among(self, *wanted: str) -> np.ndarray:
        """Whether each row has one of these texts: bool of shape (rows,)."""
        known = np.array([name in wanted for name in self.names] + [False])  # code −1 is the last
        found: np.ndarray = known[self.codes]
        return found

    def where(self, rows: np.ndarray) -> "Names":
        """The rows of a mask."""
        return Names(self.codes[rows], self.names)


@dataclass(frozen=True)
class Frames:
    """Columns of shape (rows,) as docs/formats/bundle.md has them; `ended` is the direction that a
    frame ended in, `interface` that over which it went, both null in an older bundle; `entered`
    marks the first row of each frame that a host sent: copies that the network itself made are not
    sent by a host."""

    index: np.ndarray
    in_ns: np.ndarray
    frame_bytes: np.ndarray
    sender: Names
    receiver: Names
    verdict: Names
    kind: Names
    retransmission: np.ndarray
    ended: Names
    interface: Names
    entered: np.ndarray = field(repr=False)

    def __len__(self) -> int:
        return len(self.index)

    def where(self, rows: np.ndarray) -> "Frames":
        """The rows of a mask."""
        return Frames(
            self.index[rows],
            self.in_ns[rows],
            self.frame_bytes[rows],
            self.sender.where(rows),
            self.receiver.where(rows),
            self.verdict.where(rows),
            self.kind.where(rows),
            self.retransmission[rows],
            self.ended.where(rows),
            self.interface.where(rows),
            self.entered[rows],
        )

    def between(self, begin_ns: float, end_ns: float) -> "Frames":
        """Those that entered the network in [`begin_ns`, `end_ns`)."""
        return self.where((self.in_ns >= begin_ns) & (self.in_ns < end_ns))


def frames_of(columns: Mapping[str, Any]) -> Frames:
    """From the columns of the bundle's `frames`: arrays, and (codes, names) for texts."""
    index = np.asarray(columns["index"])
    own = ~np.asarray(columns["duplicate"], bool)
    entered = np.zeros(len(index), bool)
    rows = np.flatnonzero(own)
    entered[rows[np.unique(index[rows], return_index=True)[1]]] = True

    def text(name: str) -> Names:
        codes, names = columns[name]
        return Names(np.asarray(codes, np.int64), tuple(names))

    return Frames(
        index,
        np.asarray(columns["in_ns"], np.int64),
        np.asarray(columns["frame_bytes"], np.int64),
        text("from_host"),
        text("to_host"),
        text("verdict"),
        text("class"),
        np.asarray(columns["retransmission"], bool),
        text("direction"),
        text("interface"),
        entered,
    )
