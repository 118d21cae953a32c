"""The window begins when nothing of the barrier is under way any more: with a queue before the
reader, a probe that is left over would make the window's first messages late by what it takes."""

import pytest

pytestmark = pytest.mark.traffic

INJECTED_NS = 500_000_000
"""The latency of a message that finds the queue empty: 200 ms of service and 300 ms of the law."""


def test_the_first_message_of_the_window_has_the_injected_latency(campaign):
    for trial in campaign.trials("queue"):
        (reader,) = trial.readers
        first = trial.first_taken_ns[reader, 0] - trial.sent.call_ns[0]
        later = [
            trial.first_taken_ns[reader, int(seq)] - call_ns
            for seq, call_ns in zip(trial.sent.seq[1:], trial.sent.call_ns[1:], strict=True)
        ]
        assert first >= INJECTED_NS
        # as long as its successors, which found the queue empty, but for what the machine adds
        assert first - trial.own["lateness_max_ns"] < min(later) + 20_000_000
        events = campaign.bundle.rows("events", trial.trial)
        assert not [row for row in events if row["event"] == "flag" and "probes" in row["text"]]
        assert len([row for row in events if row["event"] == "first_message"]) == 1
