"""The arrival process of a publisher's messages: open loop by default, so that a slow middleware
does not lower the load.

Each kind has its form in the worker protocol and the count of messages that are due in a span,
since the record capacity, the percentiles that a trial allows and the plan's duration follow from
it.
"""

import math
from random import Random
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from rmwbench.suite.fault import Fault, ListOf, Strict
from rmwbench.suite.seed import derive_seed

MAX_RATE_HZ = 2_000_000
MIN_PERIOD_NS = 500
"""About ten clock reads of 25 ns with their stamps: with a shorter period the schedule would
measure itself."""

MAX_TRACE_MESSAGES = 50_000
"""Each cell of a campaign stores all times of its traces."""


def _holdable(rate_hz: float) -> float:
    if not math.isfinite(rate_hz) or rate_hz <= 0:
        raise Fault("this rate is not positive", expected="more than 0 Hz", actual=rate_hz)
    if rate_hz > MAX_RATE_HZ:
        raise Fault(
            f"the clock cannot hold {rate_hz:g} Hz",
            expected=f"at most {MAX_RATE_HZ} Hz, a period of {MIN_PERIOD_NS} ns",
            actual=f"{rate_hz:g} Hz, a period of {1e9 / rate_hz:.3g} ns",
            fix="to send as fast as possible use `arrival: {kind: saturation, limit: N}`",
        )
    if rate_hz < 1e-3:
        raise Fault(
            "this rate is too low for a workload",
            expected="at least 0.001 Hz",
            actual=f"{rate_hz:g} Hz",
        )
    return rate_hz


RateHz = Annotated[float, AfterValidator(_holdable)]

Offset = Annotated[int, Field(ge=0, le=3 * 86_400 * 10**9)]
"""A time in ns from the start of the warm-up, up to the end of the longest trial."""


def _due(begin_ns: int, end_ns: int, period_ns: int, phase_ns: int) -> int:
    """The number of times `phase + k · period`, k ≥ 0, in [begin, end)."""
    before_begin, before_end = (
        max(0, -((phase_ns - time_ns) // period_ns)) for time_ns in (begin_ns, end_ns)
    )
    return before_end - before_begin


MOST_JITTER = 0.25
MOST_PHASE_NS = 1_000_000_000
"""The longest drawn phase: it keeps slow flows apart, and none of them misses its window."""


def _phase_ns(phase_ns: int | None, period_ns: int, seed: int) -> int:
    """The given phase, or one drawn from the trial's seed, uniform within the period."""
    if phase_ns is not None:
        return phase_ns
    return derive_seed(seed, "phase") % min(period_ns, MOST_PHASE_NS)


class Periodic(Strict):
    """Message k is due at `phase_ns + k / rate_hz`. Without `phase_ns` the phase is drawn for each
    flow and trial, the same for all arms of a block: flows that fire in the same instant are a
    special case, and a phase that never changes could favour one arm in every trial. `count` is
    then the count with phase 0, the largest from the start of the warm-up; `fewest` holds for any
    phase.

    `jitter_ms` is the standard deviation by which each message is early or late: a normal
    distribution, cut off at half a period and drawn from the trial's seed. Flows of one node with
    given phases are early or late together, as an image and its camera_info are. Workers then get a
    trace with its period."""

    kind: Literal["periodic"]
    rate_hz: RateHz
    phase_ns: Offset | None = None
    jitter_ms: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _in_order(self) -> "Periodic":
        most_ms = MOST_JITTER * self.period_ns / 1e6
        if self.jitter_ms is not None and self.jitter_ms > most_ms:
            raise Fault(
                "with so much jitter messages are not periodic",
                expected=f"at most a quarter of the period, {most_ms:.3g} ms",
                actual=f"{self.jitter_ms:g} ms",
                fix="`arrival: {kind: poisson, rate_hz: …}` has no period",
                at=("jitter_ms",),
            )
        return self

    @property
    def period_ns(self) -> int:
        return round(1e9 / self.rate_hz)

    def count(self, begin_ns: int, end_ns: int) -> int:
        return _due(begin_ns, end_ns, self.period_ns, self.phase_ns or 0)

    def wire(self, seed: int) -> dict[str, Any]:
        phase_ns = _phase_ns(self.phase_ns, self.period_ns, seed)
        return {"kind": self.kind, "period_ns": self.period_ns, "phase_ns": phase_ns}

    def with_jitter(self, wire: dict[str, Any], messages: int, seed: int) -> dict[str, Any]:
        """The result of `wire` with jitter: the times of that many messages, and of two more, which
        the jitter may move into the window."""
        random, half = Random(seed), self.period_ns // 2 - 1
        sd_ns = 1e6 * (self.jitter_ms or 0.0)
        offsets_ns = [
            max(0, wire["phase_ns"] + number * self.period_ns + early_or_late)
            for number in range(messages + 2)
            for early_or_late in [max(-half, min(half, round(random.gauss(0.0, sd_ns))))]
        ]
        return wire | {"kind": "trace", "offsets_ns": offsets_ns}


class Poisson(Strict):
    """Independent arrivals. The seed is the trial's, so that all arms of a block get the same
    times."""

    kind: Literal["poisson"]
    rate_hz: RateHz

    def count(self, begin_ns: int, end_ns: int) -> int:
        """The expected number, rounded down."""
        return math.floor(self.rate_hz * (end_ns - begin_ns) / 1e9)

    def wire(self, seed: int) -> dict[str, Any]:
        return {"kind": self.kind, "rate_hz": self.rate_hz, "seed": seed}


class Burst(Strict):
    """`count` messages back to back, `rate_hz` times per second, with a phase as in Periodic."""

    kind: Literal["burst"]
    rate_hz: RateHz
    messages: int = Field(alias="count", ge=1)
    phase_ns: Offset | None = None

    @model_validator(mode="after")
    def _mean_rate_holdable(self) -> "Burst":
        mean_rate_hz = self.rate_hz * self.messages
        if mean_rate_hz > MAX_RATE_HZ:
            raise Fault(
                f"the clock cannot hold {mean_rate_hz:g} messages per second",
                expected=f"rate_hz × count of at most {MAX_RATE_HZ}",
                actual=f"{self.rate_hz:g} Hz × {self.messages}",
                at=("count",),
            )
        return self

    @property
    def period_ns(self) -> int:
        return round(1e9 / self.rate_hz)

    def count(self, begin_ns: int, end_ns: int) -> int:
        return _due(begin_ns, end_ns, self.period_ns, self.phase_ns or 0) * self.messages

    def wire(self, seed: int) -> dict[str, Any]:
        phase_ns = _phase_ns(self.phase_ns, self.period_ns, seed)
        return {
            "kind": self.kind,
            "period_ns": self.period_ns,
            "count": self.messages,
            "phase_ns": phase_ns,
        }


class TraceArrival(Strict):
    """Recorded times, counted from the start of the warm-up, which are not repeated."""

    kind: Literal["trace"]
    offsets_ns: ListOf[Offset]

    @model_validator(mode="after")
    def _ascending(self) -> "TraceArrival":
        if not self.offsets_ns:
            raise Fault(
                "a trace without times sends nothing",
                expected="at least one offset",
                actual="an empty list",
                at=("offsets_ns",),
            )
        if len(self.offsets_ns) > MAX_TRACE_MESSAGES:
            raise Fault(
                "the trace is too long",
                expected=f"at most {MAX_TRACE_MESSAGES} offsets",
                actual=len(self.offsets_ns),
                at=("offsets_ns",),
            )
        for index, (before, after) in enumerate(
            zip((0, *self.offsets_ns), self.offsets_ns, strict=False)
        ):
            if after < before:
                raise Fault(
                    "the times of a trace do not ascend",
                    expected=f"at least {before}",
                    actual=after,
                    at=("offsets_ns", index),
                )
        return self

    def count(self, begin_ns: int, end_ns: int) -> int:
        return sum(begin_ns <= offset_ns < end_ns for offset_ns in self.offsets_ns)

    def wire(self, seed: int) -> dict[str, Any]:
        return {"kind": self.kind, "offsets_ns": list(self.offsets_ns)}


class Saturation(Strict):
    """At most `limit` messages back to back: a throughput mode, whose latencies are queueing times
    and not response times."""

    kind: Literal["saturation"]
    limit: int = Field(ge=1, le=100_000_000)

    def count(self, begin_ns: int, end_ns: int) -> int:
        """An upper bound: the middleware, not the plan, determines the count in a span."""
        return self.limit

    def wire(self, seed: int) -> dict[str, Any]:
        return {"kind": self.kind, "limit": self.limit}


class Relay(Strict):
    """The node publishes each message that its subscription on topic `from` received, in the
    callback; the count is that topic's."""

    kind: Literal["relay"]
    source: str = Field(alias="from")


SELDOM = 1e-5
"""The share of phases that `fewest` ignores: 60 Hz has 60 messages in 1 s although 60 periods of
whole nanoseconds are 20 ns longer."""


def fewest(arrival: Any, begin_ns: int, end_ns: int) -> int:
    """The number of messages that are due in [begin, end) with any drawn phase and jitter, on which
    percentiles may rest."""
    jitters = isinstance(arrival, Periodic) and arrival.jitter_ms is not None
    moved_out = 2 if jitters else 0  # one at each end
    if not isinstance(arrival, Periodic | Burst) or arrival.phase_ns is not None:
        return max(0, arrival.count(begin_ns, end_ns) - moved_out)
    period_ns = arrival.period_ns
    # With a growing phase the last message leaves the span at `out_ns`; later another one enters it.
    out_ns, later_ns = end_ns % period_ns, (begin_ns - end_ns) % period_ns
    falls_out = out_ns < min(period_ns, MOST_PHASE_NS) and later_ns > SELDOM * period_ns
    phases = (0, out_ns) if falls_out else (0,)
    count = min(_due(begin_ns, end_ns, period_ns, phase_ns) for phase_ns in phases)
    return max(0, count - moved_out) * (arrival.messages if isinstance(arrival, Burst) else 1)


Arrival = Annotated[
    Periodic | Poisson | Burst | TraceArrival | Saturation | Relay, Field(discriminator="kind")
]
