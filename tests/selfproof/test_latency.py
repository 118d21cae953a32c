"""Injected latency comes back: each message's, each trial's percentiles, and the reported
intervals.

The machine adds to a latency and never takes from it. So the truth of a percentile is a span: from
the injected draws alone to the draws and the lateness that the worker (delivery) and the records
(publisher) count, whose mean bounds what it can do to a percentile (`proof.latest`). The span is 1
µs wide on an idle machine and widens with the load, so these tests raise no false alarm, and an
error of the pipeline as large as the lateness itself is caught.
"""

import numpy as np
import pytest

from tests.selfproof import proof

pytestmark = [pytest.mark.timing, pytest.mark.smoke]

LAWS = ["constant", "normal", "heavy tail"]
STAMP_GAP_NS = 200_000
"""Between the harness's stamp and the worker's own lie a few hundred nanoseconds; a processor that
is taken away just there adds some milliseconds to one message of 300."""


def draws(campaign, arm, trial, workload="stream"):
    return np.array(
        [fate["latency_ns"] for fate in campaign.truth(arm, trial.sent, workload)], float
    )


def taken(trial):
    (reader,) = trial.readers
    return np.array([trial.first_taken_ns[reader, seq] for seq in trial.sent.seq])


def test_every_trial_was_good_and_complete(campaign):
    assert campaign.document["campaign"]["finished"]
    assert campaign.document["campaign"]["blocks_complete"] >= 5
    for arm in ["plain", *LAWS]:
        assert {len(trial.sent.seq) for trial in campaign.trials(arm)} == {300}
        for metric in ("loss", "never_sent"):
            assert campaign.metric(metric, arm)["value"] == 0


@pytest.mark.parametrize("arm", LAWS)
def test_no_message_is_earlier_than_its_own_draw_and_later_only_by_what_the_worker_counted(
    campaign, arm
):
    for trial in campaign.trials(arm):
        drawn = draws(campaign, arm, trial)
        beyond_ns = taken(trial) - trial.sent.call_ns - drawn
        assert beyond_ns.min() >= 0
        assert trial.own["steady_injected_latency_sum_ns"] == drawn.sum()
        uncounted_ns = beyond_ns.mean() - trial.own["lateness_sum_ns"] / len(drawn)
        assert 0 <= uncounted_ns < STAMP_GAP_NS


@pytest.mark.parametrize("arm", LAWS)
@pytest.mark.parametrize("q", [0.5, 0.9])
@pytest.mark.parametrize("kind", ["service", "response"])
def test_percentiles_and_their_intervals_hold_the_injected_truth(campaign, arm, kind, q):
    metric = f"{kind}_latency_p{q * 100:.0f}"
    values, spans = campaign.per_trial(metric, arm), []
    for trial in campaign.trials(arm, at_least=2):
        drawn = draws(campaign, arm, trial)
        since_ns = trial.sent.call_ns if kind == "service" else trial.sent.intended_ns
        recorded = taken(trial) - since_ns
        assert values[trial.trial] == pytest.approx(proof.quantile(recorded, q), rel=proof.DIGITS)
        least, most = proof.quantile(drawn, q), proof.latest(drawn, (recorded - drawn).mean(), q)
        assert least * (1 - proof.DIGITS) <= values[trial.trial] <= most * (1 + proof.DIGITS)
        spans.append((least, most))
    truth, latest = (float(np.exp(np.log(ends).mean())) for ends in zip(*spans, strict=True))
    machine_ns = latest - truth
    assert proof.inside(campaign.metric(metric, arm), truth, below=machine_ns)


@pytest.mark.parametrize("arm", ["normal", "heavy tail"])
def test_a_percentile_pooled_over_trials_holds_the_injected_truth(campaign, arm):
    """60 messages per trial are too few for a p90 of each; the interval over all then is another
    method."""
    trials = campaign.trials(arm, "sparse", at_least=2)
    metric = campaign.metric("response_latency_p90", arm, "sparse")
    assert "pooled" in metric["interval"] and metric["count"] == 60 * len(trials)
    drawn = np.concatenate([draws(campaign, arm, trial, "sparse") for trial in trials])
    recorded = np.concatenate([taken(trial) - trial.sent.intended_ns for trial in trials])
    assert metric["value"] == pytest.approx(proof.quantile(recorded, 0.9), rel=proof.DIGITS)
    truth, latest = proof.quantile(drawn, 0.9), proof.latest(drawn, (recorded - drawn).mean(), 0.9)
    assert truth * (1 - proof.DIGITS) <= metric["value"] <= latest * (1 + proof.DIGITS)
    assert proof.inside(metric, truth, below=latest - truth)


def test_slow_arms_are_found_slower_and_by_how_much(campaign):
    """3 ms against some 30 µs: if that is not decided, nothing is."""
    p50 = {arm: campaign.per_block("response_latency_p50", arm) for arm in ("plain", *LAWS)}
    if len(set.intersection(*map(set, p50.values()))) < 5:
        pytest.skip("the machine took so many trials that nothing can be decided")
    assert campaign.arm("plain")["verdict"]["verdict"] == "best"
    for arm in LAWS:
        verdict = campaign.arm(arm)["verdict"]
        assert (verdict["verdict"], verdict["against"]) == ("worse", "plain")
        ratios = [
            p50[arm][block] / p50["plain"][block] for block in p50[arm].keys() & p50["plain"].keys()
        ]
        assert verdict["ratio"]["value"] == pytest.approx(np.exp(np.log(ratios).mean()), rel=1e-4)
