"""What claims, figures and the questionnaire take of a campaign that was shown, or is under way as
`claims run` looks at it: that is what its ledger judges afterwards."""

from dataclasses import replace

import pytest

from rmwbench.analysis.verdicts.interim import InterimCell
from rmwbench.bundle import Bundle
from rmwbench.published.campaign import RunningCampaign, of_shown
from rmwbench.results import judged_campaign
from rmwbench.results.explain.explain_model import UndoneTrial
from rmwbench.results.show_document import summarise
from tests.report.example_document import example
from tests.support import network_bundle, synthetic_bundle
from tests.support.typed import typed


def failure(block, status="failed", failed_by=None):
    of_block = {"trial": 90 + block, "block": block, "status": status, "failed_by": failed_by}
    return typed(UndoneTrial, of_block)


@pytest.mark.parametrize(
    ("failures", "lost"),
    [
        ([failure(7), failure(6, failed_by="worker"), failure(6)], (6, 7)),
        ([failure(6), failure(0)], (6,)),  # the other was done when it was tried again
        ([failure(6, failed_by="host")], ()),
        ([failure(6, status="void")], ()),
    ],
)
def test_a_block_is_lost_by_an_arms_own_fault_alone(failures, lost):
    shown = example()
    workload = shown.workloads[0]
    first, *others = workload.arms
    first = replace(first, trials=replace(first.trials, failures=tuple(failures)))
    workload = replace(workload, arms=(first, *others))
    campaign = of_shown(replace(shown, workloads=(workload,)))
    assert campaign.workloads[0].arms[0].lost_blocks == lost


def test_the_blocks_that_a_busy_machine_spoilt_are_those_that_no_verdict_uses():
    shown = example()
    workload = replace(shown.workloads[0], machine_bound_blocks=(1, 4))
    (workload_of_claims,) = of_shown(replace(shown, workloads=(workload,))).workloads
    assert all(
        arm.spoilt_blocks == {1, 4} and set(arm.blocks) > {1, 4} for arm in workload_of_claims.arms
    )


def test_values_are_told_by_block_and_topics_stand_with_their_arm():
    shown = example()
    campaign = of_shown(shown, ["a"])
    assert (campaign.claim_ids, campaign.date) == (("a",), shown.campaign.created_utc[:10])
    for workload, other in zip(campaign.workloads, shown.workloads, strict=True):
        for arm, theirs in zip(workload.arms, other.arms, strict=True):
            assert arm.is_floor == (theirs.role == "floor")
            assert arm.metrics == theirs.metrics
            for name, values in theirs.per_trial.items():
                assert arm.per_trial[name] == {one.block: one.value for one in values}


BLOCKS = 6


def test_a_look_is_the_ledgers_campaign_and_reads_each_trial_once(tmp_path, monkeypatch):
    arms = tuple(arm for arm in synthetic_bundle.ARMS if arm.middleware in ("zenoh", "fastdds"))
    path = synthetic_bundle.write(tmp_path / "c", blocks=BLOCKS, arms=arms, workloads=("camera",))
    measured = []
    measure = judged_campaign.measure_trial

    def counted(trial, *more):
        return measured.append(trial.trial) or measure(trial, *more)

    monkeypatch.setattr(judged_campaign, "measure_trial", counted)
    under_way = RunningCampaign(path)
    looks = [under_way.campaign(), under_way.campaign()]
    assert sorted(measured) == [line.trial for line in Bundle(path).trials("done")]
    assert looks == 2 * [of_shown(summarise(Bundle(path)))]


def test_what_a_busy_machine_spoilt_for_verdicts_it_spoilt_for_claims(tmp_path, monkeypatch):
    """One trial of six of one arm was machine-bound, so that no arm uses that block. The other
    workload, in which one arm was machine-bound in four blocks, keeps its blocks."""
    path = network_bundle.write(tmp_path / "c", blocks=6)
    lines = Bundle(path).trials()
    bound = {line.trial for line in lines if line.cell == 4 and line.block == 3}
    bound |= {line.trial for line in lines if line.cell == 2 and line.block < 4}
    add = InterimCell.add
    monkeypatch.setattr(
        InterimCell,
        "add",
        lambda self, trial, *more: add(self, trial, *more[:3], bound=trial.trial in bound),
    )
    seen = of_shown(summarise(Bundle(path)))
    spoilt = {one.workload: {arm.spoilt_blocks for arm in one.arms} for one in seen.workloads}
    assert spoilt == {"range": {frozenset()}, "lossy": {frozenset({3})}}
