"""A serial queue that is served more slowly than it is filled has no latency: the answer says where
its ramp begins and ends, gives no factor, and a longer window finds that it grows on."""

import pytest

from rmwbench.results.answer import facts
from tests.support.shown import shown_of

pytestmark = pytest.mark.traffic

PERIOD_S, SERVE_S, WINDOW_S = 1 / 30, 0.045, 0.7


def test_the_ramp_is_told_with_what_was_injected(campaign):
    campaign.trials("queue", at_least=5)
    drift = campaign.arm("queue")["drift"]
    grown_s = (SERVE_S / PERIOD_S - 1) * WINDOW_S
    assert campaign.arm("calm")["drift"] is None
    # from the middle of the first fifth to the middle of the last
    assert drift["end_ns"] - drift["begin_ns"] == pytest.approx(0.8 * grown_s * 1e9, rel=0.25)
    assert drift["trials"] == drift["of"] == 5


def test_a_longer_window_finds_that_it_grows_on_and_is_in_no_metric(campaign):
    campaign.trials("queue", at_least=5)
    settling = campaign.arm("queue")["settling"]
    assert settling["rises"] and settling["window_s"] == pytest.approx(16 * WINDOW_S, rel=0.01)
    assert not campaign.arm("queue")["trials"]["failures"]
    assert campaign.arm("calm")["settling"] is None
    lines = [line for line in campaign.bundle.trials() if line.status == "settling"]
    counted = {value["trial"] for value in campaign.arm("queue")["per_trial"]["loss"]}
    assert lines and not counted & {line.trial for line in lines}


def test_the_sentence_gives_no_factor(campaign):
    campaign.trials("queue", at_least=5)
    (workload,) = shown_of(campaign.document).workloads
    workload_facts = facts.of_workload(workload)
    assert [type(fact) for fact in workload_facts] == [facts.Best, facts.NotStationary]
    assert workload_facts[1].arms == ("queue",) and workload_facts[1].slower
