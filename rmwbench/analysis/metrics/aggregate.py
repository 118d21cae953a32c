"""The metrics of an arm, from its trials. Inference is over trials; a percentile for which single
trials are too short is pooled over all of them, with trials as clusters."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rmwbench.analysis.metrics.bring_up import TrialBringUp
from rmwbench.analysis.metrics.chain.chain import Chain
from rmwbench.analysis.metrics.chain.layers import Layers
from rmwbench.analysis.metrics.fates import FateCounts
from rmwbench.analysis.metrics.glossary import GLOSSARY, METRICS, Kind, Metric, MetricScope
from rmwbench.analysis.metrics.latency import Messages
from rmwbench.analysis.metrics.network.network_metrics import TrialNetwork
from rmwbench.analysis.metrics.sample import Sample
from rmwbench.analysis.records.columns import NO_WINDOW
from rmwbench.analysis.records.ledger import Ledger
from rmwbench.analysis.stats import intervals
from rmwbench.analysis.stats.estimate import (
    BEYOND,
    AtLeast,
    Estimate,
    Measured,
    Measures,
    NoData,
    allowed,
    needed,
)
from rmwbench.words.numbers import quantity

NOTHING_SENT = "nothing is sent in this workload"


@dataclass
class MeasuredTrial:
    """The measurements of one done trial. `values`: the metrics that are one number per trial;
    `reasons`: why a metric has no value."""

    trial: int
    block: int
    messages: Messages
    window_ns: int | None
    values: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    fractions: dict[str, tuple[int, int]] = field(default_factory=dict)
    """(events, of) of the metrics of kind `fraction` that the ledger does not have."""
    network: TrialNetwork = field(default_factory=TrialNetwork)
    chain: Chain | None = None
    """Where the time of relayed messages went; None where no message is relayed."""
    layers: Layers | None = None
    """Where the time went by layer, for relayed messages, and for all messages where layers are
    traced."""
    bring_up: TrialBringUp | None = None
    """How the lifecycle nodes of the trial came up; None where it has none."""
    clock_bounds: dict[str, float] = field(default_factory=dict)
    """Sample or metric -> how far its values may be from the truth, in ns, because the clocks of
    two hosts are not known better."""
    topics: "dict[str, MeasuredTrial]" = field(default_factory=dict)
    """Topic -> the measurements of this topic alone; empty where all topics are alike
    (`judged_topics`)."""
    readers: "dict[str, MeasuredTrial]" = field(default_factory=dict)
    """Name of a group of readers -> its measurements, for groups that are judged by themselves in
    another cell and are like the other readers in this one."""

    def take(self, measures: Measures) -> None:
        """Add measures to the trial, each as a reason, a fraction or a value."""
        for name, measure in measures.items():
            if isinstance(measure, str):
                self.reasons[name] = measure
            elif isinstance(measure, tuple):
                self.fractions[name] = measure
            else:
                self.values[name] = measure

    @property
    def rises(self) -> bool:
        """Whether the latency of the trial, or of one of its topics, rises within the window."""
        drifts = (part.messages.drift for part in (self, *self.topics.values()))
        return any(drift is not None and drift.rises for drift in drifts)

    def __post_init__(self) -> None:
        messages, seconds = self.messages, (self.window_ns or 0) / 1e9
        measured = [(m, m.measure) for m in METRICS if m.measure is not None]
        if messages.readers == 0 and messages.scheduled == 0 and messages.ledger == Ledger():
            self.reasons |= dict.fromkeys((m.name for m, _ in measured), NOTHING_SENT)
            return
        for metric, measure in measured:
            value = measure(messages, seconds)
            if value is not None:
                self.values[metric.name] = float(value)
            else:
                no_window = metric.whole_window and seconds <= 0
                self.reasons[metric.name] = NO_WINDOW if no_window else metric.no_data


def fraction_of(name: str, trial: MeasuredTrial) -> tuple[int, int]:
    """(events, of) of a metric of kind `fraction`; (0, 0) where the trial has none."""
    counts = GLOSSARY[name].counts
    return trial.fractions.get(name, (0, 0)) if counts is None else counts(trial.messages.ledger)


@dataclass(frozen=True)
class FateNames:
    """The metrics of the fates of messages that did not arrive, all fractions: lost and late of the
    messages sent, never sent of the messages due."""

    lost: str
    late: str
    never_sent: str

    def __iter__(self) -> Iterator[str]:
        return iter((self.lost, self.late, self.never_sent))


FATES, FATES_OF_CHAIN = (
    FateNames(**{m.fate: m.name for m in METRICS if m.scope is scope and m.fate is not None})
    for scope in (MetricScope.MESSAGES, MetricScope.CHAIN)
)
UNDELIVERED, UNDELIVERED_OF_CHAIN = (
    next(m.name for m in METRICS if m.scope is scope and m.judged_first)
    for scope in (MetricScope.MESSAGES, MetricScope.CHAIN)
)
LOSSES = (UNDELIVERED, *FATES)


def is_of_chain(primary: str) -> bool:
    return primary in GLOSSARY and GLOSSARY[primary].scope is MetricScope.CHAIN


def judged_loss(primary: str) -> str:
    """The metric by which loss is judged before `primary`. For a metric of a chain a message is
    delivered if it reached the end of the chain: every hop before the one that lost a message
    delivered it."""
    return UNDELIVERED_OF_CHAIN if is_of_chain(primary) else UNDELIVERED


def fates_of(primary: str) -> FateNames:
    """The metrics of the fates of the messages that `judged_loss` counts."""
    return FATES_OF_CHAIN if is_of_chain(primary) else FATES


def counts_of(primary: str, trial: MeasuredTrial) -> FateCounts:
    """The fates of the messages by which loss is judged before `primary`."""
    ledger = trial.messages.ledger
    if fates_of(primary) is FATES:
        return FateCounts.of(ledger)
    (lost, _), (late, _), (never_sent, wanted) = (
        fraction_of(name, trial) for name in FATES_OF_CHAIN
    )
    under_way, _ = under_way_of(UNDELIVERED_OF_CHAIN, trial)
    unsent_by = ledger.unsent_by if never_sent else {}
    return FateCounts(wanted, lost, late, never_sent, unsent_by, overdue=late - under_way)


def under_way_of(name: str, trial: MeasuredTrial) -> tuple[int, int]:
    """(messages still under way when the trial ended, all messages that the fraction `name`
    counts): the part of the fraction that is open."""
    if not GLOSSARY[name].without_under_way:
        return 0, 0
    counted = trial.chain if is_of_chain(name) else trial.messages.ledger
    return (0 if counted is None else counted.under_way), fraction_of(name, trial)[1]


def trial_value(entry: Metric, trial: MeasuredTrial) -> float | None:
    """The metric's value in one trial, +inf allowed; None where the trial has none, or where rule 5
    forbids a percentile."""
    if entry.complement:
        rest = trial_value(GLOSSARY[entry.complement], trial)
        return None if rest is None else 1 - rest
    if entry.kind == "quantile":
        sample = trial.messages.samples.get(entry.source)
        return None if sample is None else sample.exact.get(entry.q)
    if entry.kind == "fraction":
        count, total = fraction_of(entry.name, trial)
        return count / total if total else None
    return trial.values.get(entry.name)


def clock_bound(entry: Metric, trial: MeasuredTrial) -> float:
    """How far the value of the metric in the trial may be from the truth, ns; 0 where one clock
    took both stamps."""
    return trial.clock_bounds.get(entry.source or entry.name, 0.0)


def aggregate(entry: Metric, trials: Sequence[MeasuredTrial]) -> Estimate:
    """The value of a metric for an arm, over its done trials."""
    estimate = _aggregate(entry, trials)
    two_clocks = [trial for trial in trials if trial.clock_bounds]
    bound = max((clock_bound(entry, trial) for trial in two_clocks), default=0.0)
    return widened(estimate, bound) if bound else estimate


def widened(estimate: Estimate, bound_ns: float) -> Estimate:
    """An estimate of a time between two clocks that are known to ± `bound_ns`, widened by the
    bound; no data where the estimate does not exceed the bound."""
    bound = f"±{quantity(bound_ns, 'ns')}"
    interval = f"{estimate.interval}; {bound} for the clocks of two hosts"
    if isinstance(estimate, AtLeast):
        at_least = max(0.0, estimate.at_least - bound_ns)
        return replace(estimate, at_least=at_least, interval=interval, clock_bound_ns=bound_ns)
    if not isinstance(estimate, Measured):
        return estimate
    if estimate.value <= bound_ns:
        value = quantity(estimate.value, "ns")
        reason = f"{value} between two hosts whose clocks are known to {bound} only"
        return NoData(estimate.unit, no_data=reason)
    low, high = max(0.0, estimate.low - bound_ns), estimate.high + bound_ns
    return replace(estimate, low=low, high=high, interval=interval, clock_bound_ns=bound_ns)


def _aggregate(entry: Metric, trials: Sequence[MeasuredTrial]) -> Estimate:
    if not trials:
        return NoData(entry.unit, no_data="no trial of this arm was completed")
    if entry.complement:
        rest = _aggregate(GLOSSARY[entry.complement], trials)
        if not isinstance(rest, Measured):
            return rest
        return replace(rest, value=1 - rest.value, low=1 - rest.high, high=1 - rest.low)
    if entry.kind == "quantile":
        return _quantile(entry, trials)
    if entry.kind == "fraction":
        counts, totals = np.array([fraction_of(entry.name, t) for t in trials]).T
        if not totals.sum():
            return _no_data(entry, trials)
        rows = totals > 0
        interval, method = intervals.clustered_fraction(
            counts[rows], totals[rows], items=entry.items
        )
        return Measured(entry.unit, *interval, int(totals.sum()), int(rows.sum()), method)
    with_value = [trial for trial in trials if entry.name in trial.values]
    if not with_value:
        return _no_data(entry, trials)
    values = np.array([trial.values[entry.name] for trial in with_value])
    if entry.counts_arrivals and len(values) > 1 and not values.any():
        return _no_arrivals(entry, with_value)
    if entry.per_message:
        count = sum(trial.messages.arrived_in_window for trial in with_value)
    elif entry.unit == "messages":
        count = sum(trial.messages.ledger.wanted for trial in with_value)
    else:
        count = len(values)
    step = _step(entry, with_value)
    return over_trials(entry.unit, entry.kind, values, count, "values", step=step)


def _no_data(entry: Metric, trials: Sequence[MeasuredTrial]) -> NoData:
    """No data, for the reason of the first trial that has one."""
    reason = next((t.reasons[entry.name] for t in trials if entry.name in t.reasons), None)
    return NoData(entry.unit, no_data=reason or entry.no_data)


def _step(entry: Metric, trials: Sequence[MeasuredTrial]) -> float:
    """By how much one further message changes a metric that counts messages or bytes per second; 0
    for other metrics."""
    if not entry.whole_window or entry.unit not in ("hz", "bytes/s"):
        return 0.0
    windows_s = [t.window_ns / 1e9 for t in trials if t.window_ns]
    message = max(t.messages.longest_bytes for t in trials) if entry.unit == "bytes/s" else 1
    return message / float(np.mean(windows_s)) if windows_s else 0.0


def _no_arrivals(entry: Metric, trials: Sequence[MeasuredTrial]) -> Measured:
    """The upper bound where nothing arrived in any trial: zeros have no spread, and yet a few
    trials do not show that nothing ever arrives. The bound of the count is divided by the mean
    window; for a throughput in bytes each message counts as the longest message."""
    windows_s = [t.window_ns / 1e9 for t in trials if t.window_ns]
    (value, low, high), method = intervals.clustered_count(np.zeros(len(windows_s)))
    high /= float(np.mean(windows_s))
    if entry.unit == "bytes/s":
        high *= max(t.messages.longest_bytes for t in trials) or math.inf
    return Measured(entry.unit, value, low, high, len(windows_s), len(windows_s), method)


def _quantile(entry: Metric, trials: Sequence[MeasuredTrial]) -> Estimate:
    samples = [
        s for t in trials if (s := t.messages.samples.get(entry.source)) is not None and s.count
    ]
    total = sum(s.count for s in samples)
    if not samples:
        return _no_data(entry, trials)
    n = len(samples)
    if all(entry.q in s.exact for s in samples):
        return _quantile_of_trials(entry, samples, total)
    messages = [_every_message(s) for s in samples]
    if allowed(total, entry.q) and n > 1:
        method = f"95 % interval of the {entry.items} pooled, clustered by {n} trials (Woodruff)"
        interval = intervals.pooled_quantile(messages, entry.q)
        return Measured(entry.unit, *interval, total, n, method)
    short = f"p{entry.q * 100:g} needs {needed(entry.q)} {entry.items}, there are {total}"
    deepest = 1 - BEYOND / total
    if deepest < 0.5:
        return NoData(entry.unit, no_data=short)
    # A percentile is not below a lower percentile, so a bound of the deepest percentile that is
    # allowed is a bound of every deeper percentile.
    bound = intervals.quantile_lower_bound(messages, deepest)
    method = f"95 % lower bound of p{deepest * 100:.3g}; {short}"
    return AtLeast(entry.unit, at_least=bound, count=total, trials=n, interval=method)


def _quantile_of_trials(entry: Metric, samples: Sequence[Sample], total: int) -> Measured:
    """The percentile where each trial by itself has enough messages for it."""
    exact = np.array([s.exact[entry.q] for s in samples])
    if len(samples) > 1:
        noun = "medians" if entry.q == 0.5 else f"p{entry.q * 100:g}"
        return over_trials(entry.unit, entry.kind, exact, total, noun)
    value = float(exact[0])
    low, high = intervals.order_statistic(samples[0].at, total, entry.q)
    method = f"95 % binomial interval of one trial, as if {entry.items} were independent"
    return Measured(entry.unit, value, min(low, value), max(high, value), total, 1, method)


def over_trials(
    unit: str, kind: Kind, values: np.ndarray, count: int, noun: str, *, step: float = 0.0
) -> Measured:
    """An estimate from at least one value, one per trial, shape (trials,); `noun` names the values
    in the description of the interval. Equal values show no spread, yet some trials may differ from
    them, as many as `intervals.wrong_trials` says, by one `step`: the resolution of a count, 0 for
    other metrics."""
    n, value = len(values), float(values[0])
    if n == 1:
        interval, method = (value, min(value, 0.0), math.inf), "one trial: no interval"
    elif infinite := int(np.count_nonzero(~np.isfinite(values))):
        interval, coverage = intervals.median_range(values)
        method = (
            f"median and range of {n} trial {noun} ({coverage * 100:.3g} %), {infinite} of them "
            "infinite"
        )
    elif unit == "messages":
        interval, method = intervals.clustered_count(values)
    elif not np.ptp(values):
        share = intervals.wrong_trials(n)
        room = share * step if value else 0.0
        interval = value, max(value - room, min(value, 0.0)), value + room
        method = f"the same in all {n} trials: up to {100 * share:.0f} % of trials may differ"
        method += ", taken to be one message apart" if room else ""
    elif kind != "amount" and (values > 0).all():
        interval = intervals.log_t(values)
        method = f"95 % t interval on the log of {n} trial {noun}"
    else:
        interval = intervals.amount_t(values, unit=unit)
        method = f"95 % t interval of {n} trial {noun}"
    return Measured(unit, *interval, count, n, method)


def _every_message(sample: Sample) -> np.ndarray:
    """The value of every message of a sample, sorted."""
    if sample.weight is None:
        return sample.values
    return np.repeat(sample.values, sample.weight.astype(np.int64))
