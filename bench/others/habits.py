"""The same records, evaluated as others evaluate theirs: what each habit of a published tool would
have said of a trial, beside our ledger.

Which tool has which habit, and where that was read: docs/other-tools.md. A habit that needs more
than records (an untouched payload, a path that is assumed, a clock that is not described) cannot be
shown here.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.others.errors import Reading
from rmwbench.analysis.metrics.latency import paired
from rmwbench.analysis.records.columns import Columns, Endpoint, Window
from rmwbench.analysis.records.ledger import ABSENT, FOREIGN
from rmwbench.analysis.stats.quantile import allowed, rank

SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Flow:
    """The steady messages of one writer as one reader got them. By message: `intended_ns`,
    `call_ns`, `taken_ns` (`ABSENT` where it did not arrive), shape (n,). By arrival, further copies
    included, in order of time: `arrived_seq`, `arrived_ns`, shape (m,)."""

    intended_ns: np.ndarray
    call_ns: np.ndarray
    taken_ns: np.ndarray
    arrived_seq: np.ndarray
    arrived_ns: np.ndarray
    begin_ns: int
    end_ns: int

    @property
    def arrived(self) -> np.ndarray:
        return self.taken_ns != ABSENT

    @property
    def response_ns(self) -> np.ndarray:
        """Of every message; +inf where it did not arrive."""
        return np.where(self.arrived, (self.taken_ns - self.intended_ns).astype(float), np.inf)

    @property
    def service_ns(self) -> np.ndarray:
        """From the publish call, of what arrived, in order of the call."""
        return (self.taken_ns - self.call_ns)[self.arrived].astype(float)

    @property
    def seconds_ns(self) -> list[np.ndarray]:
        """Service latencies by the second in which they arrived, as a tool that wakes once a second
        has them."""
        taken = self.taken_ns[self.arrived]
        row = (taken - self.begin_ns) // SECOND_NS
        return [self.service_ns[row == second] for second in np.unique(row)]


def flow(columns: Columns, endpoints: Sequence[Endpoint], window: Window | None) -> Flow | None:
    """The first pair of writer and reader of a trial; None without a pair or a window. Raises
    ValueError where the records contradict their format."""
    pairs = paired(columns, endpoints, window)
    if not pairs or window is None:
        return None
    pair = pairs[0]
    steady = pair.writer.places.steady
    seq, taken = columns.received("seq")[pair.rows], columns.received("taken_ns")[pair.rows]
    known = (columns.received("flags")[pair.rows] & FOREIGN) == 0
    place = seq.astype(np.int64) - pair.writer.places.first_seq
    known &= (place >= 0) & (place < len(steady))
    known[known] &= steady[place[known]]
    order = np.argsort(taken[known], kind="stable")
    return Flow(
        pair.writer.intended_ns[steady],
        pair.writer.call_ns[steady],
        pair.taken_ns[steady],
        seq[known][order].astype(np.int64),
        taken[known][order],
        window.begin_ns,
        window.end_ns,
    )


def quantile(values: np.ndarray, q: float) -> float | None:
    """The order statistic of the analysis; None where the values are too few for it (rule 5 of the
    design)."""
    if not allowed(len(values), q):
        return None
    return float(np.sort(values)[rank(len(values), q)])


def printed_quantile(values: np.ndarray, q: float) -> float | None:
    """As a tool prints it, from however few."""
    return float(np.sort(values)[rank(len(values), q)]) if len(values) else None


def from_the_call(flow: Flow) -> Reading:
    return Reading(
        "latency p99",
        "ns",
        printed_quantile(flow.service_ns, 0.99),
        quantile(flow.response_ns, 0.99),
    )


def of_means(flow: Flow) -> Reading:
    """The 95 % quantile of one-second means."""
    says = printed_quantile(np.array([second.mean() for second in flow.seconds_ns]), 0.95)
    return Reading("latency p95", "ns", says, quantile(flow.response_ns, 0.95))


def mean_of_quantiles(flow: Flow) -> Reading:
    p99s = [printed_quantile(second, 0.99) for second in flow.seconds_ns]
    return Reading(
        "latency p99",
        "ns",
        float(np.mean(p99s)) if p99s else None,
        quantile(flow.response_ns, 0.99),
    )


def between_first_and_last(flow: Flow) -> Reading:
    """Loss as the gaps between arrivals: what is missing before the first and after the last is
    not."""
    seq = np.unique(flow.arrived_seq)
    says = int(seq[-1] - seq[0] + 1 - len(seq)) if len(seq) else 0
    return Reading("messages lost", "messages", says, _lost(flow))


def fresh_gaps(flow: Flow) -> Reading:
    """Loss as every jump ahead of the expected number, which then follows what came, back too."""
    seq = flow.arrived_seq
    jumps = np.diff(seq) - 1
    return Reading("messages lost", "messages", int(jumps[jumps > 0].sum()), _lost(flow))


def unsigned_gaps(flow: Flow) -> Reading:
    """Loss as the sum of seq − expected in 32 bits without sign."""
    jumps = (np.diff(flow.arrived_seq) - 1) % 2**32
    return Reading("messages lost", "messages", int(jumps.sum()), _lost(flow))


def survivors(flow: Flow) -> Reading:
    """Quantiles of what arrived: a lost message has no latency and so does not count."""
    response = flow.response_ns
    says = printed_quantile(response[np.isfinite(response)], 0.99)
    return Reading("latency p99", "ns", says, quantile(response, 0.99))


def too_late_removed(flow: Flow) -> Reading:
    """Messages later than their period, or than 50 ms, are counted as too late and taken out of the
    mean."""
    response = flow.response_ns
    known = response[np.isfinite(response)]
    period = float(np.median(np.diff(flow.intended_ns))) if len(flow.intended_ns) > 1 else math.inf
    kept = known[known <= min(period, 50e6)]
    says = float(kept.mean()) if len(kept) else None
    return Reading(
        "mean latency of what arrived", "ns", says, float(known.mean()) if len(known) else None
    )


def fence_posts(flow: Flow) -> Reading:
    """Messages divided by the time between the first and the last of them."""
    n = len(flow.arrived_ns)
    span_s = float(flow.arrived_ns[-1] - flow.arrived_ns[0]) / SECOND_NS if n > 1 else 0.0
    return Reading("rate", "1/s", n / span_s if span_s else None, _rate(flow))


def mean_of_rates(flow: Flow) -> Reading:
    """The mean of 1 / (time since the last message)."""
    gaps = np.diff(flow.arrived_ns)
    gaps = gaps[gaps > 0]
    return Reading(
        "rate", "1/s", float(np.mean(SECOND_NS / gaps)) if len(gaps) else None, _rate(flow)
    )


def overflowing(flow: Flow) -> Reading:
    """Standard deviation of the worst second from Σx² − (Σx)²/n with (Σx)² in signed 64 bits; a
    negative variance has no root, so no data."""
    worst = max(flow.seconds_ns, key=lambda second: float(second.sum()), default=np.empty(0))
    n = len(worst)
    if n < 2:
        return Reading("standard deviation of the worst second", "ns", None, None)
    whole = [int(value) for value in worst]
    square = sum(whole) ** 2
    wrapped = (square + 2**63) % 2**64 - 2**63
    variance = (sum(value * value for value in whole) - wrapped / n) / (n - 1)
    says = math.sqrt(variance) if variance >= 0 else None
    return Reading(
        "standard deviation of the worst second", "ns", says, float(np.std(worst, ddof=1))
    )


def deep_quantile(flow: Flow) -> Reading:
    """The 99.99 % quantile of however many messages there are: mostly their maximum."""
    says = printed_quantile(flow.service_ns, 0.9999)
    return Reading("latency p99.99", "ns", says, quantile(flow.response_ns, 0.9999))


def _lost(flow: Flow) -> int:
    return int(np.count_nonzero(~flow.arrived))


def _rate(flow: Flow) -> float:
    """Arrivals within the window by its length, once per message."""
    inside = (flow.taken_ns >= flow.begin_ns) & (flow.taken_ns < flow.end_ns)
    return int(np.count_nonzero(inside)) / ((flow.end_ns - flow.begin_ns) / SECOND_NS)


@dataclass(frozen=True)
class Habit:
    """`shown_by`: scenarios of ddsperf.py, one without faults and those with the fault that the
    habit hides."""

    name: str
    seen_in: str
    reading: Callable[[Flow], Reading]
    shown_by: tuple[str, ...]


HABITS = (
    Habit(
        "stamp when it is sent, not when it was due",
        "all robotics tools that we read",
        from_the_call,
        ("clean", "stall"),
    ),
    Habit("p95 of one-second means", "buildfarm_perf_tests", of_means, ("clean", "stall")),
    Habit(
        "mean of one-second p99s", "ddsperf, by its reader", mean_of_quantiles, ("clean", "stall")
    ),
    Habit(
        "loss between first and last arrival",
        "performance_test",
        between_first_and_last,
        ("clean", "gaps"),
    ),
    Habit("loss as fresh gaps", "Fast DDS ThroughputTest", fresh_gaps, ("clean", "swapped")),
    Habit("loss in unsigned 32 bits", "ddsperf", unsigned_gaps, ("clean", "twice", "swapped")),
    Habit("quantiles of survivors", "ddsperf", survivors, ("clean", "gaps")),
    Habit("too late is taken out", "ros2-performance", too_late_removed, ("clean", "stall")),
    Habit("n / (last − first)", "NVIDIA's benchmark", fence_posts, ("clean", "gaps")),
    Habit("mean of rates", "Fast DDS statistics, by its reader", mean_of_rates, ("clean", "stall")),
    Habit("variance in 64 bits", "performance_test", overflowing, ("clean", "overrun")),
    Habit("deep quantile of few", "RTI Perftest", deep_quantile, ("clean",)),
)


def seconds_as_samples(flows: Sequence[Flow]) -> tuple[int, int] | None:
    """How many trials' 95 % interval of the mean latency, made of their one-second means as if they
    were independent samples, holds the mean over all trials: (that many, of how many); None where
    there is nothing to compare."""
    from scipy.stats import t

    means, held = [], 0
    rows = [np.array([second.mean() for second in flow.seconds_ns]) for flow in flows]
    rows = [row for row in rows if len(row) >= 2]
    if len(rows) < 2:
        return None
    means = [float(row.mean()) for row in rows]
    for row, mean in zip(rows, means, strict=True):
        half = float(t.ppf(0.975, len(row) - 1)) * float(row.std(ddof=1)) / math.sqrt(len(row))
        # Without its own part: a trial that is its own yardstick always agrees with itself.
        others = (sum(means) - mean) / (len(means) - 1)
        held += abs(mean - others) <= half
    return held, len(rows)
