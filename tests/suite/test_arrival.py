"""The number of due messages against a plain enumeration of the times."""

from itertools import count, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from rmwbench.suite.arrival import Arrival

PARSE = TypeAdapter(Arrival).validate_python


@given(st.integers(500, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_periodic_count_is_that_of_the_enumeration(period_ns, phase_ns, begin_ns, length_ns):
    arrival = PARSE({"kind": "periodic", "rate_hz": 1e9 / period_ns, "phase_ns": phase_ns})
    assert arrival.period_ns == period_ns
    times = takewhile(lambda t: t < begin_ns + length_ns, (phase_ns + k * period_ns for k in count()))
    assert arrival.count(begin_ns, begin_ns + length_ns) == sum(t >= begin_ns for t in times)


def test_burst_sends_all_of_its_messages_at_each_period():
    arrival = PARSE({"kind": "burst", "rate_hz": 10, "count": 7})
    assert arrival.count(0, 1_000_000_000) == 70
    assert arrival.wire(0) == {"kind": "burst", "period_ns": 100_000_000, "count": 7, "phase_ns": 0}


def test_trace_counts_what_lies_in_the_span():
    arrival = PARSE({"kind": "trace", "offsets_ns": [0, 5, 5, 9, 20]})
    assert arrival.count(5, 20) == 3


def test_poisson_carries_the_seed_it_is_given():
    arrival = PARSE({"kind": "poisson", "rate_hz": 100.0})
    assert arrival.wire(42) == {"kind": "poisson", "rate_hz": 100.0, "seed": 42}
    assert arrival.count(0, 2_500_000_000) == 250


@pytest.mark.parametrize("rate_hz", [2_000_001, 1e12, 0, -1, float("nan"), float("inf"), 1e-9])
def test_rates_that_the_clock_cannot_hold_are_refused(rate_hz):
    with pytest.raises(ValidationError):
        PARSE({"kind": "periodic", "rate_hz": rate_hz})


def test_the_fastest_rate_is_accepted():
    assert PARSE({"kind": "periodic", "rate_hz": 2_000_000}).period_ns == 500


def test_a_burst_cannot_hide_an_impossible_mean_rate():
    with pytest.raises(ValidationError, match="clock"):
        PARSE({"kind": "burst", "rate_hz": 1_000_000, "count": 3})
