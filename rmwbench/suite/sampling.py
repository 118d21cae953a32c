"""What is sampled of a trial beyond both edges of its window; all off unless a suite or `rmwbench run` asks."""

from pydantic import Field

from rmwbench.suite.fault import Strict


class Sampling(Strict):
    """`series_hz`: a time series of CPU, memory and network, 0 for none. `threads`: CPU and wait of each thread.
    `schedule`: when each thread got and lost a processor; this disturbs what it observes, so its trials are *traced*
    and their latencies not comparable with others. `allocations`: every call that takes or gives back memory is
    counted, which costs time as well: such trials are *untimed*. `memory_hz`: a time series of each process's memory
    (PSS), whose reading walks all of its pages."""

    series_hz: float = Field(default=0.0, ge=0.0, le=100.0)
    threads: bool = False
    schedule: bool = False
    allocations: bool = False
    memory_hz: float = Field(default=0.0, ge=0.0, le=10.0)

    @property
    def traced(self) -> bool:
        return self.schedule

    def definition(self) -> dict[str, float | bool]:
        """What differs from the default; empty for an ordinary trial."""
        return self.model_dump(exclude_defaults=True)


NOTHING_MORE = Sampling()
