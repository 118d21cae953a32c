"""A publisher that cannot keep up hides nothing: latency counts from the intended time, and what was not sent is in the
ledger.

Message k is due at 2k ms and leaves at 3k ms at the earliest, so it is at least k ms late: exact lower bounds on any
machine. The service latency, which begins at the call, sees nothing of it; that is its use and its trap.
"""

import math

import pytest

from tests.selfproof import proof

pytestmark = pytest.mark.timing

WARMUP, DUE = 50, 350
PERIOD_NS, BLOCK_NS = 2_000_000, 3_000_000
SENDING_NS = 700_000_000 + 150_000_000  # until the end of the schedule and its grace


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return proof.run("overload", tmp_path_factory.mktemp("overload"))


def test_the_wait_before_the_call_is_in_the_response_latency_and_not_in_the_service_latency(campaign):
    campaign.trials("blocking")
    backlog_ns = (WARMUP + (DUE - WARMUP) // 2 - 1) * (BLOCK_NS - PERIOD_NS)
    for trial, latency_ns in campaign.per_trial("response_latency_p50", "blocking").items():
        assert backlog_ns <= latency_ns < 2 * backlog_ns
        assert campaign.per_trial("service_latency_p50", "blocking")[trial] < BLOCK_NS
    assert proof.inside(campaign.metric("response_latency_p50", "blocking"), backlog_ns, below=backlog_ns)


def test_what_was_never_sent_is_infinitely_late_and_counted(campaign):
    for trial in campaign.trials("blocking"):
        never = int((trial.sent.call_ns < 0).sum())
        assert len(trial.sent.seq) == DUE - WARMUP
        assert never >= DUE - math.ceil(SENDING_NS / BLOCK_NS) - 1
        assert campaign.per_trial("never_sent", "blocking")[trial.trial] == never
        undelivered = campaign.per_trial("undelivered", "blocking")[trial.trial]
        assert undelivered == pytest.approx(never / (DUE - WARMUP), rel=proof.DIGITS)
    assert campaign.metric("response_latency_p90", "blocking")["value"] == "inf"
    assert campaign.metric("loss", "blocking")["value"] == 0


def test_offered_and_achieved_rate_differ_as_they_must(campaign):
    campaign.trials("blocking")
    assert campaign.metric("offered_rate", "blocking")["value"] == 500
    achieved = campaign.metric("achieved_rate", "blocking")["value"]
    assert 100 < achieved <= 1e9 / BLOCK_NS + 2
