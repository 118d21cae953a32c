"""Ctrl-C and SIGTERM: a trial is given up at once, what is being written is finished.

Hence two phases: inside `interruptible()` a signal raises Stopped, outside it is remembered until
the next such phase begins.
"""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignal(BaseException):
    """A signal asked for the end of the campaign; `name` is SIGINT or the like. No Exception, so
    that nothing swallows it."""

    def __init__(self, name: str):
        self.name = name
        super().__init__(name)


class StopSignals:
    """Use as a context manager around a campaign, in the main thread."""

    def __init__(self) -> None:
        self.signal_name: str | None = None
        self._interruptible = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> "StopSignals":
        for number in SIGNALS:
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Raises Stopped as soon as a signal comes, or at once where one came before."""
        self._interruptible = True
        try:
            if self.signal_name:
                raise StopSignal(self.signal_name)
            yield
        finally:
            self._interruptible = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.signal_name = signal.Signals(number).name
        if self._interruptible:
            # a second signal must not interrupt the cleaning up of the first
            self._interruptible = False
            raise StopSignal(self.signal_name)
