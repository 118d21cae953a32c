"""Two clocks by simulation: whatever the ways take and however the clocks drift, the truth lies
within the bound."""

import numpy as np
import pytest

from rmwbench.analysis.records.clocks import Clock, Exchange, OffsetReading, fit, intersect
from rmwbench.analysis.records.ledger import ABSENT

AHEAD_NS = 1_000_000_000_000
BEGIN_NS = 7_654_321_000_000_000
SECOND = 1_000_000_000


class Truth:
    """The other clock: ahead by AHEAD_NS at BEGIN_NS, gaining `drift` (a function of seconds gives
    it in s/s)."""

    def __init__(self, drift):
        # every 10 ms
        self.gained = np.concatenate(
            [[0.0], np.cumsum([drift(s / 100) * 1e7 for s in range(3000)])]
        )

    def offset_ns(self, t_ns):
        return AHEAD_NS + np.interp(
            (np.asarray(t_ns) - BEGIN_NS) / 1e7, np.arange(3001), self.gained
        )

    def exchange(self, t_ns, out_ns, held_ns, back_ns):
        read_ns, sent_ns = t_ns + out_ns, t_ns + out_ns + held_ns
        stamps = [int(x + self.offset_ns(x)) for x in (read_ns, sent_ns)]
        return Exchange(int(t_ns), *stamps, int(sent_ns + back_ns) + 1)


WAYS = {
    # (out, back) in ns of n exchanges
    "even": lambda rng, n: (rng.exponential(8_000, n) + 5_000, rng.exponential(8_000, n) + 5_000),
    "slow back": lambda rng, n: (
        rng.exponential(2_000, n) + 4_000,
        rng.exponential(60_000, n) + 90_000,
    ),
    "slow out": lambda rng, n: (rng.gamma(2, 50_000, n) + 200_000, np.full(n, 3_000)),
    "bursts": lambda rng, n: (
        6_000 + 5e6 * (rng.random(n) < 0.4),
        9_000 + 9e6 * (rng.random(n) < 0.4),
    ),
    "radio": lambda rng, n: (abs(rng.normal(1e7, 2e6, n)), abs(rng.normal(1e7, 2e6, n))),
}
DRIFTS = {
    "none": lambda s: 0.0,
    "+100 ppm": lambda s: 1e-4,
    "-100 ppm": lambda s: -1e-4,
    "warming up": lambda s: 3e-5 + 1e-7 * min(s, 20) / 20,
    "slewed half-way": lambda s: 1e-5 if s < 10 else 5e-4,
    "steered back and forth": lambda s: 4e-4 if int(s) % 4 < 2 else -4e-4,
}


def readings_of(truth, ways, rng, at_s=(0.5, 2.0, 6.0, 10.0, 14.0, 18.0)):
    readings, naive = [], []
    for at in at_s:
        starts = BEGIN_NS + at * SECOND + np.cumsum(rng.uniform(30_000, 200_000, 16))
        out, back = ways(rng, 16)
        exchanges = [
            truth.exchange(t, o, rng.integers(500, 4_000), b)
            for t, o, b in zip(starts, out, back, strict=True)
        ]
        readings.append(intersect(exchanges))
        naive += [
            ((e.received_ns - e.asked_ns) + (e.sent_ns - e.answered_ns)) / 2 for e in exchanges
        ]
    return readings, naive


@pytest.mark.parametrize("ways", WAYS)
@pytest.mark.parametrize("drift", DRIFTS)
def test_the_truth_is_always_within_the_bound(ways, drift):
    truth = Truth(DRIFTS[drift])
    t = (
        BEGIN_NS
        + np.linspace(0, 20, 201).astype(np.int64) * SECOND // 1
        + np.arange(201) * 1_000_003 % SECOND
    )
    for seed in range(25):
        readings, _ = readings_of(truth, WAYS[ways], np.random.default_rng(seed))
        clock = fit(readings)
        stamps = t + truth.offset_ns(t).astype(np.int64)
        wrong = np.abs((clock.to_reference(stamps) - t).astype(float))
        # The clock runs on between the reading of its offset and the moment it is asked about: one
        # ns of rounding.
        assert (wrong <= clock.bound(t) + 2).all(), (seed, wrong.max(), clock.bound(t).max())


def test_the_mean_of_the_exchanges_is_outside_of_the_bound_that_holds_the_truth():
    """So the test above can fail: what it is good for."""
    truth = Truth(DRIFTS["none"])
    readings, naive = readings_of(truth, WAYS["slow back"], np.random.default_rng(1))
    clock, t = fit(readings), BEGIN_NS + 10 * SECOND
    told = AHEAD_NS + t - int(clock.to_reference(np.array([AHEAD_NS + t]))[0])
    assert abs(np.mean(naive) - AHEAD_NS) > clock.bound([t])[0] >= abs(told - AHEAD_NS)


def test_drift_is_found_and_not_taken_for_a_constant():
    truth = Truth(DRIFTS["+100 ppm"])
    readings, _ = readings_of(truth, WAYS["even"], np.random.default_rng(2))
    clock = fit(readings)
    drift = np.ptp(clock.offset_ns) / np.ptp(clock.t_ns)
    assert drift == pytest.approx(1e-4, rel=0.05)
    constant = Clock(readings, (readings[0].t_ns,), (readings[0].offset_ns,), clock.corners)
    t = BEGIN_NS + 18 * SECOND
    stamp = np.array([t + int(truth.offset_ns(t))])
    off_ns, tracked_ns = (abs(int(one.to_reference(stamp)[0]) - t) for one in (constant, clock))
    assert off_ns > 1_000_000 > 50 * tracked_ns


def test_more_exchanges_bound_tighter_than_the_shortest_alone():
    """A fast way out in one and a fast way back in another say more than either."""
    truth = Truth(DRIFTS["none"])
    exchanges = [
        truth.exchange(BEGIN_NS, 2_000, 1_000, 40_000),
        truth.exchange(BEGIN_NS + 100_000, 45_000, 1_000, 1_000),
    ]
    together = intersect(exchanges)
    assert together.bound_ns < 3_000 < 20_000 < min(intersect([e]).bound_ns for e in exchanges)
    assert abs(together.offset_ns - AHEAD_NS) <= together.bound_ns


def test_a_time_goes_there_and_back():
    readings, _ = readings_of(Truth(DRIFTS["-100 ppm"]), WAYS["even"], np.random.default_rng(3))
    clock = fit(readings)
    for t in range(BEGIN_NS, BEGIN_NS + 20 * SECOND, SECOND // 3):
        assert abs(int(clock.to_reference(np.array([clock.from_reference(t)]))[0]) - t) <= 1


def test_absent_stays_absent_and_the_reference_itself_is_exact():
    same = fit([OffsetReading(BEGIN_NS, 0, 0)])
    stamps = np.array([ABSENT, 5, BEGIN_NS])
    assert same.exact and (same.to_reference(stamps) == stamps).all()
    assert not same.bound([0, BEGIN_NS]).any()
    other = fit([OffsetReading(BEGIN_NS, AHEAD_NS, 10)])
    assert other.to_reference(stamps).tolist() == [ABSENT, 5 - AHEAD_NS, BEGIN_NS - AHEAD_NS]
    assert not other.exact


def test_one_reading_is_worth_less_the_farther_away():
    clock = fit([OffsetReading(BEGIN_NS, AHEAD_NS, 10_000)])
    near, far = clock.bound([BEGIN_NS, BEGIN_NS + 10 * SECOND])
    assert near == pytest.approx(10_000, abs=2) and far == pytest.approx(10_010_000, rel=0.01)


def test_a_stepped_clock_is_not_a_clock():
    with pytest.raises(ValueError, match="stepped"):
        fit(
            [OffsetReading(BEGIN_NS, 0, 1_000), OffsetReading(BEGIN_NS + SECOND, 50_000_000, 1_000)]
        )
    with pytest.raises(ValueError, match="contradict"):
        intersect([Exchange(0, 1_000, 1_000, 2_000), Exchange(3_000, 900_000, 900_000, 5_000)])
