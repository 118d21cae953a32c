"""The number of due messages against a plain enumeration of the times."""

from collections import Counter
from itertools import count, takewhile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from rmwbench.suite.workload.arrival import Arrival, fewest
from tests.suite.suite_text import cells_of

PARSE = TypeAdapter(Arrival).validate_python


@given(st.integers(500, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_periodic_count_is_that_of_the_enumeration(period_ns, phase_ns, begin_ns, length_ns):
    arrival = PARSE({"kind": "periodic", "rate_hz": 1e9 / period_ns, "phase_ns": phase_ns})
    assert arrival.period_ns == period_ns
    times = takewhile(
        lambda t: t < begin_ns + length_ns, (phase_ns + k * period_ns for k in count())
    )
    assert arrival.count(begin_ns, begin_ns + length_ns) == sum(t >= begin_ns for t in times)


def test_burst_sends_all_of_its_messages_at_each_period():
    arrival = PARSE({"kind": "burst", "rate_hz": 10, "count": 7})
    assert arrival.count(0, 1_000_000_000) == 70
    wire = arrival.wire(0)
    assert 0 <= wire.pop("phase_ns") < 100_000_000
    assert wire == {"kind": "burst", "period_ns": 100_000_000, "count": 7}


def test_trace_counts_what_lies_in_the_span():
    arrival = PARSE({"kind": "trace", "offsets_ns": [0, 5, 5, 9, 20]})
    assert arrival.count(5, 20) == 3


@pytest.mark.parametrize("rate_hz", [2_000_001, 1e12, 0, -1, float("nan"), float("inf"), 1e-9])
def test_rates_that_the_clock_cannot_hold_are_refused(rate_hz):
    with pytest.raises(ValidationError):
        PARSE({"kind": "periodic", "rate_hz": rate_hz})


def test_a_burst_cannot_hide_an_impossible_mean_rate():
    with pytest.raises(ValidationError, match="clock"):
        PARSE({"kind": "burst", "rate_hz": 1_000_000, "count": 3})


@pytest.mark.parametrize("more", [{"kind": "periodic"}, {"kind": "burst", "count": 3}])
def test_a_phase_is_drawn_from_the_seed_within_the_period_unless_it_is_asked_for(more):
    arrival = PARSE({"rate_hz": 100, **more})
    phases = [arrival.wire(seed)["phase_ns"] for seed in range(400)]
    assert arrival.wire(7) == arrival.wire(7) and len(set(phases)) > 390
    assert all(0 <= phase < 10_000_000 for phase in phases)
    quarters = Counter(phase // 2_500_000 for phase in phases)
    assert min(quarters.values()) > 60  # of 400, expected 100 in each
    fixed = PARSE({"rate_hz": 100, "phase_ns": 0, **more})
    assert {fixed.wire(seed)["phase_ns"] for seed in range(9)} == {0}


def test_a_slow_flow_is_drawn_into_the_first_second_so_that_no_window_misses_it():
    slow = PARSE({"kind": "periodic", "rate_hz": 0.1})
    assert all(slow.wire(seed)["phase_ns"] < 1_000_000_000 for seed in range(100))


@given(st.integers(1_000, 10**8), st.integers(0, 10**6), st.integers(0, 10**9))
def test_no_drawn_phase_sends_more_than_the_plan_has_room_for(period_ns, seed, length_ns):
    drawn = PARSE({"kind": "periodic", "rate_hz": 1e9 / period_ns})
    phase_ns = drawn.wire(seed)["phase_ns"]
    sent = PARSE({"kind": "periodic", "rate_hz": 1e9 / period_ns, "phase_ns": phase_ns}).count(
        0, length_ns
    )
    assert drawn.count(0, length_ns) - 1 <= sent <= drawn.count(0, length_ns)


def periodic(**more):
    return PARSE({"kind": "periodic", "rate_hz": 30, **more})


def test_jitter_is_a_normal_distribution_around_the_period_and_keeps_the_order():
    arrival = periodic(jitter_ms=2)
    wire = arrival.with_jitter(arrival.wire(7), 3000, 7)
    assert wire["kind"] == "trace" and wire["period_ns"] == arrival.period_ns
    times = np.array(wire["offsets_ns"])
    assert len(times) == 3002 and np.all(np.diff(times) >= 0) and times[0] >= 0
    off = times - wire["phase_ns"] - np.arange(3002) * arrival.period_ns
    assert abs(off.mean()) < 0.15e6 and off.std() == pytest.approx(2e6, rel=0.05)


def test_of_messages_with_jitter_one_at_each_end_may_be_outside():
    second = 1_000_000_000
    assert fewest(periodic(jitter_ms=2, phase_ns=0), 0, second) == 29
    assert fewest(periodic(jitter_ms=2), 0, second) == fewest(periodic(), 0, second) - 2


def test_more_jitter_than_a_quarter_of_the_period_is_refused():
    with pytest.raises(ValidationError, match="not periodic"):
        periodic(jitter_ms=9)


def test_flows_of_a_node_that_name_their_phases_are_early_or_late_together():
    nodes = """[{name: camera, publishers: [
      {topic: image, arrival: {kind: periodic, rate_hz: 30, phase_ns: 0, jitter_ms: 2}},
      {topic: info, arrival: {kind: periodic, rate_hz: 30, phase_ns: 50000, jitter_ms: 2}},
      {topic: other, arrival: {kind: periodic, rate_hz: 30, jitter_ms: 2}}]},
      {name: reader, subscriptions: [{topic: image}, {topic: info}, {topic: other}]}]"""
    (cell,) = cells_of(f"message: Bytes(64), nodes: {nodes}")
    image, info, other = (
        one.wire(cell.arm, 5)["arrival"]["offsets_ns"] for one in cell.endpoints[:3]
    )
    pairs = zip(image[1:], info[1:], strict=False)
    assert {later - earlier for earlier, later in pairs} == {50_000}
    apart = [one - its for its, one in zip(image, other, strict=False)]
    assert np.std(apart) > 1e6
    (again,) = cells_of(f"message: Bytes(64), nodes: {nodes}")
    assert again.endpoints[0].wire(cell.arm, 5)["arrival"]["offsets_ns"] == image
