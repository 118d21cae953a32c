"""Due times computed a second time, against what the Rust schedule's own tests say and against
arithmetic."""

import itertools
import statistics

import pytest

from rmwbench.campaign.record.due_times import due_offsets_ns, never_sent_due_ns, scheduled_messages


def first(how_many: int, /, **arrival) -> list[int]:
    return list(itertools.islice(due_offsets_ns(arrival), how_many))


def test_arrivals_are_what_they_say():
    assert first(3, kind="periodic", period_ns=10, phase_ns=3) == [3, 13, 23]
    assert first(5, kind="burst", period_ns=10, count=2, phase_ns=0) == [0, 0, 10, 10, 20]
    assert first(5, kind="trace", offsets_ns=[1, 5]) == [1, 5]
    assert first(5, kind="relay") == [] and first(5, kind="saturation", limit=9) == []


def test_poisson_has_its_rate_and_its_seed():
    drawn = first(20_000, kind="poisson", rate_hz=1000.0, seed=7)
    assert drawn == sorted(drawn)
    assert drawn[-1] / len(drawn) == pytest.approx(1e6, rel=0.03)
    gaps = [b - a for a, b in itertools.pairwise(drawn)]
    # of an exponential law the standard deviation is the mean
    assert statistics.pstdev(gaps) == pytest.approx(statistics.mean(gaps), rel=0.05)
    again, other = (first(10, kind="poisson", rate_hz=1000.0, seed=seed) for seed in (7, 8))
    assert again == drawn[:10] != other


def test_a_schedule_has_what_is_due_before_its_end():
    assert scheduled_messages({"kind": "periodic", "period_ns": 10, "phase_ns": 3}, 23) == 2
    assert scheduled_messages({"kind": "burst", "period_ns": 10, "count": 2}, 20) == 4
    assert scheduled_messages({"kind": "relay"}, 10**9) == 0


def test_what_was_never_sent_continues_after_the_attempts():
    assert never_sent_due_ns({"kind": "periodic", "period_ns": 10}, 1000, 3, 2) == [1030, 1040]
    assert never_sent_due_ns({"kind": "trace", "offsets_ns": [0, 7, 9]}, 100, 2, 5) == [109]
    assert never_sent_due_ns({"kind": "saturation", "limit": 9}, 100, 2, 5) == []
