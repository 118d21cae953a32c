"""Trials in which endpoints did not find each other, beside those in which they did."""

from types import SimpleNamespace

from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.results.workload.workload_arm import ArmReport


def told(*lines):
    trials = [
        TrialLine(trial=n, cell=1, block=n, status=status, cause=cause)
        for n, (status, cause) in enumerate(lines, start=1)
    ]
    return list(ArmReport._unmatched(SimpleNamespace(lines=trials)))


def test_no_match_is_a_share_of_trials_with_its_interval_and_no_loss():
    matched, lost = ("done", None), ("failed", "no match")
    assert told(*[matched] * 5, lost) == [
        "no match in 1 of 6 trials: 17 % [0.42 %–64 %]; its latencies are of the trials that matched"
    ]
    # what failed otherwise, or was void, says nothing about whether they would have matched
    assert "of 2 trials" in told(matched, lost, ("failed", None), ("void", "machine"))[0]
    assert not told(matched, matched) and not told(lost, lost)
