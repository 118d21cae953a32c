"""Growing, stationary and disturbed queues, made by hand: which are called unstable, and by how
much they grow."""

import numpy as np
import pytest

from rmwbench.analysis.metrics.stability import stability
from rmwbench.analysis.records.columns import EndpointRow, SteadyWindow
from rmwbench.analysis.records.ledger import ABSENT
from tests.support.columns import Columns

ENDPOINTS = [EndpointRow(1, "publisher", "t"), EndpointRow(2, "subscription", "t")]
WARMUP_S, WINDOW_S = 0.2, 1.0
WINDOW = SteadyWindow(int(WARMUP_S * 1e9), int((WARMUP_S + WINDOW_S) * 1e9))


def records(due, call, arrival, readers=(2,)):
    """Return the records of a writer and its readers from due, call and arrival times in seconds
    (NaN: never)."""
    n, known = len(due), ~np.isnan(arrival)
    ns = lambda s: np.where(np.isnan(s), ABSENT, np.nan_to_num(s) * 1e9).astype(np.int64)  # noqa: E731
    sent = {
        "endpoint": np.full(n, 1),
        "seq": np.arange(10, 10 + n, dtype=np.uint64),
        "intended_ns": ns(due),
        "call_ns": ns(call),
    }
    m = int(known.sum()) * len(readers)
    received = {
        "endpoint": np.repeat(readers, known.sum()),
        "writer": np.full(m, 1),
        "seq": np.tile(sent["seq"][known], len(readers)),
        "taken_ns": np.tile(ns(arrival)[known], len(readers)),
        "flags": np.zeros(m, np.uint32),
    }
    return Columns(sent, received)


def due_s(rate_hz, until_s=WARMUP_S + WINDOW_S):
    return np.arange(round(rate_hz * until_s)) / rate_hz


def served(due, service_s):
    """Arrival times behind one server with a constant service time."""
    finish, out = 0.0, []
    for at in due:
        finish = max(finish, at) + service_s
        out.append(finish)
    return np.array(out)


def judged(due, call, arrival, endpoints=ENDPOINTS, readers=(2,)):
    return stability(records(due, call, arrival, readers), endpoints, WINDOW)


@pytest.mark.parametrize("rate_hz, capacity_hz", [(1000, 900), (1000, 960), (200, 150), (40, 30)])
def test_a_queue_grows_by_the_difference_of_the_rates(rate_hz, capacity_hz):
    due = due_s(rate_hz)
    s = judged(due, due, served(due, 1 / capacity_hz))
    assert s.unstable and s.growth_hz == pytest.approx(rate_hz - capacity_hz, rel=0.2)
    assert s.publisher_growth_hz == 0 and "the queue grew by" in s.text
    assert "publisher" not in s.text


@pytest.mark.parametrize("latency_s", [0.0001, 0.05, 0.8])
def test_slow_but_stationary_is_stable_however_slow(latency_s):
    due = due_s(500, 3.0) - 1.5  # it has been running for long
    s = judged(due, due, due + latency_s)
    assert not s.unstable and s.text == ""


def test_what_was_never_sent_is_unstable_by_itself():
    due = due_s(1000)
    call = np.where(due < 1.19, due, np.nan)
    s = judged(due, call, call + 0.0001)
    assert s.unstable and s.never_sent == 10 and "10 of 1000 messages were never sent" in s.text


@pytest.mark.parametrize("at_s", [0.0, 0.3, 0.7, 1.0, 1.15])
def test_one_stall_is_not_a_trend(at_s):
    due = due_s(1000)
    arrival = np.maximum(due + 0.0002, np.where((due >= at_s) & (due < at_s + 0.1), at_s + 0.1, 0))
    assert not judged(due, due, arrival).unstable


def test_losses_queue_nowhere():
    due = due_s(1000)
    arrival = np.where(np.arange(len(due)) % 3 == 0, np.nan, due + 0.0002)
    assert not judged(due, due, arrival).unstable


def test_random_latencies_are_seldom_called_a_trend():
    rng = np.random.default_rng(5)
    due = due_s(1000)
    wrong = sum(
        judged(due, due, due + rng.exponential(0.01, len(due))).unstable for _ in range(200)
    )
    assert wrong <= 2


def test_every_reader_queues_for_itself():
    due = due_s(1000)
    endpoints = [*ENDPOINTS, EndpointRow(3, "subscription", "t")]
    one = judged(due, due, served(due, 1 / 900))
    two = judged(due, due, served(due, 1 / 900), endpoints, (2, 3))
    assert two.growth_hz == pytest.approx(2 * one.growth_hz) and two.due == 2 * one.due


def test_nothing_at_all_is_stable_and_counts_nothing():
    empty = np.array([])
    s = judged(empty, empty, empty)
    assert not s.unstable and s.due == 0
    assert not stability(records(empty, empty, empty), ENDPOINTS, None).unstable
