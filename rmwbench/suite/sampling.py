"""What is sampled of a trial beyond both edges of its window; all off unless a suite or `rmwbench
run` asks."""

from pydantic import Field, model_validator

from rmwbench.suite.fault import Fault, Strict


class Sampling(Strict):
    """`series_hz`: a time series of CPU, memory and network, 0 for none. `threads`: CPU and wait of
    each thread. `schedule`: when each thread got and lost a processor; this disturbs what it
    observes, so its trials are *traced* and their latencies not comparable with others.
    `allocations`: every call that takes or gives back memory is counted, which costs time as well:
    such trials are *untimed*. `memory`: each process's PSS with every fifth sample of the series,
    whose reading walks all of its pages. `leftovers`: at the end all processes exit in order, and
    what is still in their hosts' /dev/shm and /tmp is listed."""

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
        """What differs from the default; empty for an ordinary trial."""
        return self.model_dump(exclude_defaults=True)


NOTHING_MORE = Sampling()
