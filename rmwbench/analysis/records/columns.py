"""The data of a trial that the analysis receives: its records by column, its endpoints, its window.
They may come from a bundle or from a test."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

Row = Mapping[str, Any]
"""A row of a table of the bundle (docs/formats/bundle.md)."""


class Columns(Protocol):
    """A source of records. Each call returns one column of shape (rows,); null stamps are
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
    """The depth of its history; None where it keeps all, or where the depth is not known."""
    process: str | None = None
    """Its process; None where that is not known, or where the endpoint does not send by a
    schedule."""


@dataclass(frozen=True)
class SteadyWindow:
    """The steady window on the reference clock; a trial without one has None in its place.
    `slack_ns`: how much earlier a host with a clock of its own may have begun the window; a message
    of that time is steady if its record says so. `drain_end_ns`: when readers stopped waiting for
    messages under way."""

    begin_ns: int
    end_ns: int
    slack_ns: int = 0
    drain_end_ns: int | None = None

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.begin_ns

    def holds(self, times_ns: "np.ndarray") -> "np.ndarray":
        """Whether each of these times lies in the window: bool of the same shape."""
        inside: np.ndarray = (times_ns >= self.begin_ns) & (times_ns < self.end_ns)
        return inside


NO_WINDOW = "the trial recorded no steady window"
