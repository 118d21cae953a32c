"""Trials of one arm -> its metrics. Inference is over trials; percentiles that a single trial is
too short for are pooled, with trials as clusters.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rmwbench.analysis.metrics import cpu_by_second
from rmwbench.analysis.metrics.bring_up import BringUp
from rmwbench.analysis.metrics.chain.chain import Chain
from rmwbench.analysis.metrics.chain.layers import Layers
from rmwbench.analysis.metrics.fates import Counts
from rmwbench.analysis.metrics.glossary import Entry
from rmwbench.analysis.metrics.latency import Messages
from rmwbench.analysis.metrics.network import delivery
from rmwbench.analysis.metrics.network.network import Network
from rmwbench.analysis.metrics.periods import PUBLISHER, STEMS, SUBSCRIPTION
from rmwbench.analysis.metrics.sample import Sample
from rmwbench.analysis.records.ledger import Ledger
from rmwbench.analysis.stats import intervals
from rmwbench.analysis.stats.metric import AtLeast, Measured, Metric, NoData
from rmwbench.analysis.stats.quantile import BEYOND, allowed, needed

_WHY_NO_PERIOD = {
    PUBLISHER: "no publisher made two calls within the steady window",
    SUBSCRIPTION: "no subscription got two messages within the steady window",
}


@dataclass
class Trial:
    """One done trial, measured. `values` holds the metrics that are one number per trial, `reasons`
    why others are absent.
    """

    trial: int
    block: int
    messages: Messages
    window_ns: int | None
    values: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    fractions: dict[str, tuple[int, int]] = field(default_factory=dict)
    """(events, of) of the metrics of kind `fraction` that are not from the ledger."""
    network: Network = field(default_factory=Network)
    chain: Chain | None = None
    """Where the time of relayed messages went; None where none is relayed."""
    layers: Layers | None = None
    """The same by layer: of relayed messages, and of all where layers are traced."""
    bring_up: BringUp | None = None
    """How its lifecycle nodes came up; None where it has none."""
    clock_bounds: dict[str, float] = field(default_factory=dict)
    """Sample or metric -> how far its values may be from the truth, because two hosts' clocks are
    not known better; ns.
    """
    topics: "dict[str, Trial]" = field(default_factory=dict)
    """Topic -> the same trial measured of that topic alone; empty where all topics are alike
    (`topics.judged_topics`).
    """

    @property
    def rises(self) -> bool:
        """Whether its latency, or that of one of its topics, rises within the window."""
        drifts = (one.messages.drift for one in (self, *self.topics.values()))
        return any(drift is not None and drift.rises for drift in drifts)

    def __post_init__(self) -> None:
        m, seconds = self.messages, (self.window_ns or 0) / 1e9
        if m.readers == 0 and m.scheduled == 0 and m.ledger == Ledger():
            self.reasons |= dict.fromkeys(OF_MESSAGES, "nothing is sent in this workload")
            return
        no_window = "the trial recorded no steady window"
        for name, amount in (
            ("offered_rate", m.scheduled),
            ("sent_rate", m.calls_in_window),
            ("achieved_rate", m.arrived_in_window),
            ("achieved_throughput", m.bytes_in_window),
        ):
            if seconds > 0:
                self.values[name] = amount / seconds
            else:
                self.reasons[name] = no_window
        if m.longest_stall_ns is not None:
            self.values["longest_stall"] = m.longest_stall_ns
        else:
            self.reasons["longest_stall"] = no_window if seconds <= 0 else "the trial has no reader"
        for stem, why in _WHY_NO_PERIOD.items():
            if stem in m.longest_period_ns:
                self.values[f"{stem}_longest"] = m.longest_period_ns[stem]
            else:
                self.reasons[f"{stem}_longest"] = no_window if seconds <= 0 else why
        if m.undelivered_in_a_row is not None:
            self.values["undelivered_in_a_row"] = float(m.undelivered_in_a_row)
        else:
            self.reasons["undelivered_in_a_row"] = "the trial has no reader"
        service = m.samples.get("service_latency")
        mean = service.mean_of_arrived if service is not None else None
        if mean is not None:
            self.values["service_latency_mean"] = mean
        else:
            self.reasons["service_latency_mean"] = "no message arrived"
        calls = m.samples.get("publish_call")
        if calls is not None and calls.count:
            self.values["publish_call_max"] = float(calls.values[-1])
        else:
            self.reasons["publish_call_max"] = "no publish call was made"
        ledger = m.ledger
        for name, count in (
            ("under_way", ledger.under_way),
            ("lost_start", ledger.lost_start),
            ("lost_middle", ledger.lost_middle),
            ("lost_end", ledger.lost_end),
            ("late", ledger.late),
            ("corrupt", ledger.corrupt_copies),
            ("duplicates", ledger.duplicates),
            ("reordered", ledger.reordered),
            ("foreign", ledger.foreign),
            ("never_sent", m.never_sent),
            ("publish_failures", m.failed_calls),
        ):
            self.values[name] = float(count)


def fraction_of(name: str, trial: Trial) -> tuple[int, int]:
    """(events, of) for the metrics of kind `fraction`; of 0 where the trial has none."""
    if name not in LOSSES:
        return trial.fractions.get(name, (0, 0))
    ledger = trial.messages.ledger
    return {
        "undelivered": (ledger.undelivered, ledger.wanted),
        "loss": (ledger.gone, ledger.published),
        "late_share": (ledger.behind, ledger.published),
        "never_sent_share": (ledger.unsent, ledger.wanted),
    }[name]


@dataclass(frozen=True)
class FateNames:
    """The metric of each fate of what did not arrive, all fractions: lost and late of what was
    sent, never sent of what was due."""

    lost: str
    late: str
    never_sent: str

    def __iter__(self) -> Iterator[str]:
        return iter((self.lost, self.late, self.never_sent))


FATES = FateNames("loss", "late_share", "never_sent_share")
FATES_OF_CHAIN = FateNames(
    "end_to_end_loss", "end_to_end_late_share", "end_to_end_never_sent_share"
)
UNDELIVERED = "undelivered"
LOSSES = (UNDELIVERED, *FATES)
OF_LEDGER = ("loss", "undelivered", *delivery.SPLIT)
"""Fractions of what went from a writer to a reader: the ledger counts what was under way. For those
of late nodes alone that is an upper bound, since others may have had messages under way, too."""
OF_CHAIN = ("end_to_end_loss", "end_to_end_undelivered")
WITHOUT_UNDER_WAY = (*OF_LEDGER, *OF_CHAIN)
"""Fractions that messages under way are not in. Whether they would have arrived is not known, so a
limit on such a fraction is met only where they are within it, too."""


def judged_loss(primary: str) -> str:
    """The metric by which loss is judged before `primary`. Of a chain only those messages count
    that reached its end: what a late hop lost was delivered by all before it."""
    return "end_to_end_undelivered" if primary.startswith("end_to_end_") else "undelivered"


def fates_of(primary: str) -> FateNames:
    """What became of those that `judged_loss` counts, and of those that were late."""
    return FATES_OF_CHAIN if primary.startswith("end_to_end_") else FATES


def counts_of(primary: str, trial: Trial) -> Counts:
    """What became of the messages by which loss is judged before `primary`."""
    ledger = trial.messages.ledger
    if fates_of(primary) is FATES:
        return Counts.of(ledger)
    (lost, _), (late, _), (never_sent, wanted) = (
        fraction_of(name, trial) for name in FATES_OF_CHAIN
    )
    return Counts(wanted, lost, late, never_sent, ledger.unsent_by if never_sent else {})


def under_way_of(name: str, trial: Trial) -> tuple[int, int]:
    """(messages that were still under way when the trial ended, of): what the fraction `name`
    leaves open."""
    if name not in WITHOUT_UNDER_WAY:
        return 0, 0
    counted = trial.messages.ledger if name in OF_LEDGER else trial.chain
    return (0 if counted is None else counted.under_way), fraction_of(name, trial)[1]


def trial_value(entry: Entry, trial: Trial) -> float | None:
    """The metric's value in one trial, +inf allowed; None where the trial has none (for percentiles
    also where rule 5 forbids it).
    """
    if entry.kind == "quantile":
        sample = trial.messages.samples.get(entry.source)
        return None if sample is None else sample.exact.get(entry.q)
    if entry.kind == "fraction":
        count, total = fraction_of(entry.name, trial)
        return count / total if total else None
    return trial.values.get(entry.name)


def clock_bound(entry: Entry, trial: Trial) -> float:
    """Of the metric in that trial, ns; 0 where one clock took both stamps."""
    return trial.clock_bounds.get(entry.source or entry.name, 0.0)


def aggregate(entry: Entry, trials: Sequence[Trial]) -> Metric:
    """The metric of an arm over its done trials."""
    found = _aggregate(entry, trials)
    two_clocks = [trial for trial in trials if trial.clock_bounds]
    bound = max((clock_bound(entry, trial) for trial in two_clocks), default=0.0)
    return widened(found, bound) if bound else found


def widened(found: Metric, bound_ns: float) -> Metric:
    """A time between two clocks that are known to ± `bound_ns`; refused where it is not larger than
    that."""
    clocks = f"±{bound_ns / 1e3:.3g} µs for the clocks of two hosts"
    if isinstance(found, AtLeast):
        return replace(
            found,
            at_least=max(0.0, found.at_least - bound_ns),
            interval=f"{found.interval}; {clocks}",
            clock_bound_ns=bound_ns,
        )
    if not isinstance(found, Measured):
        return found
    if found.value <= bound_ns:
        value = f"{found.value / 1e3:.3g} µs"
        return NoData(
            found.unit,
            no_data=f"{value} between two hosts whose clocks are known to ±{bound_ns / 1e3:.3g} µs only",
        )
    low, high = max(0.0, found.low - bound_ns), found.high + bound_ns
    return replace(
        found,
        low=low,
        high=high,
        interval=f"{found.interval}; {clocks}",
        clock_bound_ns=bound_ns,
    )


def _aggregate(entry: Entry, trials: Sequence[Trial]) -> Metric:
    if not trials:
        return NoData(entry.unit, no_data="no trial of this arm was completed")
    if entry.kind == "quantile":
        return _quantile(entry, trials)
    if entry.kind == "fraction":
        counts, totals = (
            np.array(x) for x in zip(*(fraction_of(entry.name, t) for t in trials), strict=True)
        )
        if not totals.sum():
            reason = next((t.reasons[entry.name] for t in trials if entry.name in t.reasons), None)
            return NoData(
                entry.unit,
                no_data=reason or _NOTHING.get(entry.name, "nothing to count in any trial"),
            )
        kept = totals > 0
        (value, low, high), method = intervals.clustered_fraction(counts[kept], totals[kept])
        return Measured(entry.unit, value, low, high, int(totals.sum()), int(kept.sum()), method)
    values = np.array([v for t in trials if (v := t.values.get(entry.name)) is not None])
    if not len(values):
        reasons = [t.reasons[entry.name] for t in trials if entry.name in t.reasons]
        return NoData(entry.unit, no_data=reasons[0] if reasons else "not recorded")
    if (
        entry.name in ("achieved_rate", "achieved_throughput")
        and len(values) > 1
        and not values.any()
    ):
        return _no_arrivals(entry, trials)
    if "per_message" in entry.name:
        count = sum(t.messages.arrived_in_window for t in trials)
    elif entry.unit == "messages":
        count = sum(t.messages.ledger.wanted for t in trials)
    else:
        count = len(values)
    return over_trials(entry, values, count, "values")


def _no_arrivals(entry: Entry, trials: Sequence[Trial]) -> Measured:
    """Nothing arrived in any trial: zeros have no spread, and yet a few trials cannot say that
    nothing ever does. The bound of the count, over the mean window; of a throughput as so many of
    the longest messages."""
    windows_s = [t.window_ns / 1e9 for t in trials if t.window_ns]
    (value, low, high), method = intervals.clustered_count(np.zeros(len(windows_s)))
    high /= float(np.mean(windows_s))
    if entry.name == "achieved_throughput":
        high *= max(t.messages.longest_bytes for t in trials)
    return Measured(entry.unit, value, low, high, len(windows_s), len(windows_s), method)


OF_MESSAGES = (
    *(
        "offered_rate",
        "sent_rate",
        "achieved_rate",
        "achieved_throughput",
        "longest_stall",
        "undelivered_in_a_row",
        "publish_call_max",
    ),
    *(f"{stem}_longest" for stem in _WHY_NO_PERIOD),
    "service_latency_mean",
    *(
        "under_way",
        "lost_start",
        "lost_middle",
        "lost_end",
        "late",
        "corrupt",
        "duplicates",
        "reordered",
        "foreign",
    ),
    *("never_sent", "publish_failures"),
)
"""Metrics of a trial that counts of messages are behind: where none is sent there is nothing that
could be 0."""

_NOTHING = {
    "loss": "no publish call succeeded",
    "late_share": "no publish call succeeded",
    "undelivered": "no message was wanted from any reader",
    "never_sent_share": "no message was wanted from any reader",
}


_COUNTED = {cpu_by_second.NAME: "seconds", **dict.fromkeys(STEMS, "periods")}


def _quantile(entry: Entry, trials: Sequence[Trial]) -> Metric:
    samples = [
        s for t in trials if (s := t.messages.samples.get(entry.source)) is not None and s.count
    ]
    total = sum(s.count for s in samples)
    counted = _COUNTED.get(entry.source, "messages")
    if not samples:
        own = next((t.reasons[entry.name] for t in trials if entry.name in t.reasons), None)
        return NoData(
            entry.unit, no_data=own or _WHY_NONE.get(entry.source, "no message to measure")
        )
    if all(entry.q in s.exact for s in samples):
        if len(samples) == 1:
            exact = samples[0].exact[entry.q]
            low, high = intervals.order_statistic(samples[0].at, total, entry.q)
            return Measured(
                entry.unit,
                exact,
                min(low, exact),
                max(high, exact),
                total,
                1,
                f"95 % binomial interval of one trial, as if {counted} were independent",
            )
        return over_trials(
            entry,
            np.array([s.exact[entry.q] for s in samples]),
            total,
            "medians" if entry.q == 0.5 else f"p{entry.q * 100:g}",
        )
    wholes = [_whole(s) for s in samples]
    if allowed(total, entry.q) and len(samples) > 1:
        value, low, high = intervals.pooled_quantile(wholes, entry.q)
        return Measured(
            entry.unit,
            value,
            low,
            high,
            total,
            len(samples),
            f"95 % interval of the {counted} pooled, clustered by {len(samples)} trials (Woodruff)",
        )
    short = f"p{entry.q * 100:g} needs {needed(entry.q)} {counted}, there are {total}"
    deepest = 1 - BEYOND / total
    if deepest < 0.5:
        return NoData(entry.unit, no_data=short)
    # A percentile is not below a lower one: bounding the deepest that is allowed bounds all that
    # are not.
    bound = intervals.quantile_lower_bound(wholes, deepest)
    return AtLeast(
        entry.unit,
        at_least=bound,
        count=total,
        trials=len(samples),
        interval=f"95 % lower bound of p{deepest * 100:.3g}; {short}",
    )


_WHY_NONE = {
    **_WHY_NO_PERIOD,
    "endpoint_match": "the trial recorded no creation of an endpoint",
    "consumed_latency": "the consumer's reading was not stamped",
    "request_leg": "the workload has no service",
    "reply_leg": "the workload has no service, or it replied to nothing",
}


def over_trials(entry: Entry, values: np.ndarray, count: int, what: str) -> Metric:
    """From one value per trial, shape (trials,), at least one; `what` names them in the interval's
    description."""
    n = len(values)
    infinite = int(np.count_nonzero(~np.isfinite(values)))
    if n == 1:
        value = float(values[0])
        return Measured(
            entry.unit, value, min(value, 0.0), math.inf, count, 1, "one trial: no interval"
        )
    if infinite:
        (value, low, high), coverage = intervals.median_range(values)
        return Measured(
            entry.unit,
            value,
            low,
            high,
            count,
            n,
            f"median and range of {n} trial {what} ({coverage * 100:.3g} %), {infinite} of them "
            "infinite",
        )
    if entry.unit == "messages":
        (value, low, high), method = intervals.clustered_count(values)
        return Measured(entry.unit, value, low, high, count, n, method)
    if entry.kind != "amount" and (values > 0).all():
        return Measured(
            entry.unit,
            *intervals.log_t(values),
            count,
            n,
            f"95 % t interval on the log of {n} trial {what}",
        )
    return Measured(
        entry.unit,
        *intervals.plain_t(values, least=0.0 if (values >= 0).all() else -math.inf),
        count,
        n,
        f"95 % t interval of {n} trial {what}",
    )


def _whole(sample: Sample) -> np.ndarray:
    return (
        sample.values
        if sample.weight is None
        else np.repeat(sample.values, sample.weight.astype(np.int64))
    )
