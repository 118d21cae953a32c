"""The spans of a trial: warm-up, steady state and drain are measured apart, so each has its own
length."""

from typing import Annotated

from pydantic import AfterValidator, Field

from rmwbench.suite.fault import Fault, Strict


def _finite(seconds: float) -> float:
    if not 0 <= seconds <= 86_400:
        raise Fault("a span is between 0 and 86400 seconds", expected="0 … 86400", actual=seconds)
    return seconds


def _positive(seconds: float) -> float:
    if seconds <= 0:
        raise Fault(
            "the steady state needs a length", expected="more than 0 seconds", actual=seconds
        )
    return _finite(seconds)


Span = Annotated[float, AfterValidator(_finite)]
SteadySpan = Annotated[float, AfterValidator(_positive)]


def to_ns(seconds: float) -> int:
    return round(seconds * 1e9)


DRAIN_MOST_S = 5.0
"""The longest drain of reliable endpoints where the suite names no longer one."""


class Timeline(Strict):
    """Seconds. `grace_s`: how long after the end a late message may still be sent. `drain_s`: how
    long best-effort readers wait for what is on its way; reliable ones wait until everything came
    or nothing comes any more, at most `drain_most_s`. `match_s`: how long discovery may take."""

    warmup_s: Span = 0.5
    steady_s: SteadySpan = 5.0
    drain_s: Span = 0.5
    grace_s: Span = 0.15
    match_s: Span = 5.0

    @property
    def warmup_ns(self) -> int:
        return to_ns(self.warmup_s)

    @property
    def end_ns(self) -> int:
        """End of the schedule, counted from the start of the warm-up."""
        return to_ns(self.warmup_s) + to_ns(self.steady_s)

    @property
    def drain_most_s(self) -> float:
        return max(self.drain_s, DRAIN_MOST_S)

    @property
    def duration_s(self) -> float:
        """Warm-up, steady state and drain: what a trial takes besides its fixed cost."""
        return self.warmup_s + self.steady_s + self.drain_s

    def lasting(self, steady_s: float) -> "Timeline":
        """The same with another steady window."""
        return self.model_copy(update={"steady_s": steady_s})


class TimelineOverride(Strict):
    """What a workload changes of the suite's timeline."""

    warmup_s: Span | None = Field(default=None)
    steady_s: SteadySpan | None = Field(default=None)
    drain_s: Span | None = Field(default=None)
    grace_s: Span | None = Field(default=None)
    match_s: Span | None = Field(default=None)

    def over(self, base: Timeline) -> Timeline:
        return base.model_copy(update=self.model_dump(exclude_none=True))
