"""What the analysis is given of a trial: its records by column, its endpoints, its window. Where
they come from (a bundle, a test) is not our business."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

Row = Mapping[str, Any]
"""A row of a table of the bundle (docs/formats/bundle.md)."""


class Columns(Protocol):
    """Where the records come from. Each call returns one column of shape (rows,); null stamps are
    `ABSENT`."""

    def sent(self, column: str) -> "np.ndarray": ...

    def received(self, column: str) -> "np.ndarray": ...


@dataclass(frozen=True)
class EndpointRow:
    """An endpoint of the trial, as the bundle's `endpoints` has it: publisher, subscription, client
    or service."""

    endpoint: int
    kind: str
    topic: str
    reliable: bool = False
    """Whether it was granted reliable delivery."""
    depth: int | None = None
    """The depth of its history; None for one that keeps all, or is not known."""
    process: str | None = None
    """Its process; None where it is not known, or it sends by no schedule."""


@dataclass(frozen=True)
class SteadyWindow:
    """The steady window on the reference clock; a trial that did not say has None in its place.
    `slack_ns`: how far a host with a clock of its own may have begun it from here; up to that its
    messages are steady as they say themselves. `drain_end_ns`: when readers had stopped waiting for
    what was on its way."""

    begin_ns: int
    end_ns: int
    slack_ns: int = 0
    drain_end_ns: int | None = None

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.begin_ns

    def holds(self, times_ns: "np.ndarray") -> "np.ndarray":
        """Whether each of these times lies in it: bool of the same shape."""
        inside: np.ndarray = (times_ns >= self.begin_ns) & (times_ns < self.end_ns)
        return inside


NO_WINDOW = "the trial recorded no steady window"
