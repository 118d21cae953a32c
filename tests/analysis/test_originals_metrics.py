"""Metrics that published evaluations print and verdicts do not rest on: the mean of what arrived,
and what was sent."""

import math

import numpy as np
import pytest

from rmwbench.analysis.metrics.aggregate import MeasuredTrial, aggregate
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.latency import Messages, measure
from rmwbench.analysis.metrics.sample import KEEP, make_sample
from rmwbench.analysis.records.columns import SteadyWindow
from rmwbench.analysis.records.ledger import ABSENT, Ledger
from rmwbench.analysis.stats.estimate import NoData
from tests.support.columns import PAIR, Columns, received_columns, sent_columns


def trial(latencies, *, calls=3, scheduled=4):
    messages = Messages(samples={"service_latency": make_sample([np.array(latencies, float)])})
    messages.calls_in_window, messages.scheduled, messages.readers = calls, scheduled, 1
    messages.ledger = Ledger()
    return MeasuredTrial(1, 0, messages, 2_000_000_000)


def test_the_mean_is_of_the_messages_that_arrived():
    measured = trial([10.0, 30.0, np.inf])
    assert measured.values["service_latency_mean"] == 20.0
    none = aggregate(GLOSSARY["service_latency_mean"], [trial([np.inf])])
    assert isinstance(none, NoData) and none.no_data == "no message arrived"


def test_the_mean_of_many_messages_is_that_of_their_bins():
    values = np.random.default_rng(1).lognormal(10, 1, KEEP * 2)
    sample = make_sample([values])
    assert sample.weight is not None
    assert sample.mean_of_arrived == pytest.approx(values.mean(), rel=0.004)


def test_what_was_sent_is_not_what_the_schedule_wanted():
    measured = trial([1.0, 2.0], calls=3, scheduled=4)
    assert (measured.values["sent_rate"], measured.values["offered_rate"]) == (1.5, 2.0)


def test_calls_after_the_window_are_in_no_rate_of_it():
    """100 Hz are wanted, a call takes 16.8 ms, and late messages may be sent for 0.15 s after the
    window of 1 s."""
    begin_ns, n = 10**11, 100
    due = begin_ns + np.arange(n) * 10_000_000
    call = begin_ns + np.arange(n) * 16_800_000
    called = call < begin_ns + 1_150_000_000
    sent = sent_columns(
        due,
        call_ns=np.where(called, call, ABSENT),
        return_ns=np.where(called, call + 1, ABSENT),
    )
    nothing = received_columns(np.empty(0), np.empty(0, np.int64))
    window = SteadyWindow(begin_ns, begin_ns + 10**9)
    messages = measure(Columns(sent, nothing), PAIR, window)
    assert MeasuredTrial(1, 0, messages, 10**9).values["sent_rate"] == 60 == math.ceil(1 / 0.0168)
