"""A publisher that cannot keep up hides nothing: latency counts from the intended time, and what
was not sent is in the ledger.

Message k is due at 2k ms and leaves at 3k ms at the earliest, so it is at least k ms late: exact
lower bounds on any machine. The service latency, which begins at the call, sees nothing of it; that
is its use and its trap.
"""

import math

import numpy as np
import pytest

from tests.selfproof import proof

pytestmark = [pytest.mark.timing, pytest.mark.smoke]

WARMUP, DUE = 50, 350
PERIOD_NS, BLOCK_NS = 2_000_000, 3_000_000
SENDING_NS = 700_000_000 + 150_000_000  # until the end of the schedule and its grace


def test_the_wait_before_the_call_is_in_the_response_latency_and_not_in_the_service_latency(
    campaign,
):
    """The backlog is a lower bound on any machine; what the machine adds to it is in the
    records."""
    backlog_ns = (WARMUP + (DUE - WARMUP) // 2 - 1) * (BLOCK_NS - PERIOD_NS)
    response, service = (
        campaign.per_trial(f"{kind}_latency_p50", "blocking") for kind in ("response", "service")
    )
    for trial in campaign.trials("blocking"):
        (reader,) = trial.readers
        never = float("inf")
        taken = np.array([trial.first_taken_ns.get((reader, seq), never) for seq in trial.sent.seq])
        latency_ns = response[trial.trial]
        assert backlog_ns <= latency_ns
        assert latency_ns == pytest.approx(
            proof.quantile(taken - trial.sent.intended_ns, 0.5), rel=proof.DIGITS
        )
        called = trial.sent.call_ns >= 0
        assert service[trial.trial] == pytest.approx(
            proof.quantile((taken - trial.sent.call_ns)[called], 0.5), rel=proof.DIGITS
        )
        assert service[trial.trial] < backlog_ns


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
