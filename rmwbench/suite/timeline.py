"""The spans of a trial (warm-up, steady state and drain), and the optional samples of its
window."""

from typing import Annotated

from pydantic import Field, model_validator

from rmwbench.suite.fault import Fault, Strict, in_range

SPAN = in_range("a span is between 0 and 86400 seconds", 0, 86_400)
Span = Annotated[float, SPAN]
SteadySpan = Annotated[float, Field(gt=0), SPAN]


def to_ns(seconds: float) -> int:
    return round(seconds * 1e9)


DRAIN_MOST_S = 5.0
"""The longest drain of reliable endpoints, unless the suite's is longer."""


class Timeline(Strict):
    """Spans in seconds. `grace_s`: a late message may be sent for so long after the end. `drain_s`:
    best-effort readers wait for so long for messages under way; reliable ones wait until all
    arrived or no more arrive, at most `drain_most_s`. `match_s`: the longest discovery."""

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
        """The end of the schedule, counted from the start of the warm-up."""
        return to_ns(self.warmup_s) + to_ns(self.steady_s)

    @property
    def drain_most_s(self) -> float:
        return max(self.drain_s, DRAIN_MOST_S)

    @property
    def duration_s(self) -> float:
        """The duration of warm-up, steady state and drain; a trial also has a fixed cost."""
        return self.warmup_s + self.steady_s + self.drain_s

    def lasting(self, steady_s: float) -> "Timeline":
        """The timeline with another steady window."""
        return self.model_copy(update={"steady_s": steady_s})

    def over(self, base: "Timeline") -> "Timeline":
        """The suite's timeline `base` with the spans that this one, a workload's, was given."""
        return base.model_copy(update=self.set_values())


class Sampling(Strict):
    """Samples besides those at both edges of the window, by default none. `series_hz`: a time
    series of CPU, memory and network. `threads`: CPU time and wait of each thread. `schedule`: the
    times at which each thread got and lost a processor; this disturbs the trial, which is then
    *traced* and whose latencies are not comparable with others. `allocations`: counts of calls that
    allocate or free memory, which costs time as well: such trials are *untimed*. `memory`: each
    process's PSS with every fifth sample of the series; reading it walks all pages. `leftovers`: at
    the end all processes exit in order, and the files left in /dev/shm and /tmp of their hosts are
    listed."""

    series_hz: float = Field(default=0.0, ge=0.0, le=100.0)
    threads: bool = False
    schedule: bool = False
    allocations: bool = False
    memory: bool = False
    leftovers: bool = False

    @model_validator(mode="after")
    def _memory_has_a_series(self) -> "Sampling":
        if self.memory and not self.series_hz:
            raise Fault(
                "memory is read with every fifth sample of a series, and there is no series",
                expected="`series_hz` beside `memory`: 5 reads memory once a second",
                actual="memory: true",
                at=("memory",),
            )
        return self

    @property
    def traced(self) -> bool:
        return self.schedule

    def definition(self) -> dict[str, float | bool]:
        """The values that differ from the defaults; empty for an ordinary trial."""
        return self.model_dump(exclude_defaults=True)


NOTHING_MORE = Sampling()
