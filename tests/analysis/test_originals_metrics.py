"""Metrics that published evaluations print and verdicts do not rest on: the mean of what arrived, and what was sent."""

import numpy as np
import pytest

from rmwbench.analysis.metrics.aggregate import Trial, aggregate
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.latency import Messages
from rmwbench.analysis.metrics.sample import KEEP, make_sample
from rmwbench.analysis.records.ledger import Ledger
from rmwbench.analysis.stats.metric import NoData


def trial(latencies, *, publishes=3, scheduled=4):
    messages = Messages(samples={"service_latency": make_sample([np.array(latencies, float)])})
    messages.publishes, messages.scheduled, messages.readers = publishes, scheduled, 1
    messages.ledger = Ledger()
    return Trial(1, 0, messages, 2_000_000_000)


def test_the_mean_is_of_the_messages_that_arrived():
    found = trial([10.0, 30.0, np.inf])
    assert found.values["service_latency_mean"] == 20.0
    none = aggregate(GLOSSARY["service_latency_mean"], [trial([np.inf])])
    assert isinstance(none, NoData) and none.reason == "no message arrived"


def test_the_mean_of_many_messages_is_that_of_their_bins():
    values = np.random.default_rng(1).lognormal(10, 1, KEEP * 2)
    sample = make_sample([values])
    assert sample.weight is not None and sample.mean_of_arrived == pytest.approx(values.mean(), rel=0.004)


def test_what_was_sent_is_not_what_the_schedule_wanted():
    found = trial([1.0, 2.0], publishes=3, scheduled=4)
    assert (found.values["sent_rate"], found.values["offered_rate"]) == (1.5, 2.0)
