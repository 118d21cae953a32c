"""Ctrl-C and SIGTERM: a trial is given up at once, but writing is finished.

Hence two phases: inside `interruptible()` a signal raises StopSignal, outside it is kept until the
next such phase begins.
"""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignal(BaseException):
    """A signal that ends the campaign; `name` is SIGINT or the like. It is not an Exception, so
    that no handler swallows it."""

    def __init__(self, name: str):
        self.name = name
        super().__init__(name)


class StopSignals:
    """The handlers of signals: a context manager around a campaign, in the main thread."""

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
        """Raise StopSignal as soon as a signal comes, or at once if one came before."""
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
