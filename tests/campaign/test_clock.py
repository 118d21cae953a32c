"""A worker that stamps with another clock makes its trial void, whichever way it is off; one with ours never does."""

import pytest

from rmwbench.campaign.clock import strange_clocks
from rmwbench.campaign.judge import void_reasons
from tests.campaign.cells import outcome as made


def asked(*times_ns, between=(1_000_000, 3_000_000)):
    outcome = made()
    outcome.collecting_ns = between
    outcome.collected = {
        f"process{n}": {"usage": [{"at": "steady_end", "time_ns": 5}, {"at": "now", "time_ns": time_ns}]}
        for n, time_ns in enumerate(times_ns)
    }
    return outcome


@pytest.mark.parametrize("time_ns", [1_000_000, 2_000_000, 3_000_000])
def test_our_clock_lies_between_asking_and_having_the_answer(time_ns):
    assert list(strange_clocks(asked(time_ns))) == []


@pytest.mark.parametrize(("time_ns", "text"), [(3_500_000, "0.500 ms ahead of"), (-1_000_000, "2.000 ms behind")])
def test_another_clock_is_named_with_the_least_it_is_off(time_ns, text):
    (reason,) = strange_clocks(asked(2_000_000, time_ns))
    assert reason.startswith("clock: process process1") and text in reason
    assert any(reason == other for other in void_reasons(asked(2_000_000, time_ns), []))


def test_a_trial_that_never_came_to_collect_is_not_judged():
    assert list(strange_clocks(asked(between=None))) == []
