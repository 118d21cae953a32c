"""What claims, figures and the questionnaire take of a campaign that was shown."""

from dataclasses import replace

import pytest

from rmwbench.published.campaign import of_shown
from rmwbench.results.explain.explain_model import UndoneTrial
from tests.report.example_document import example
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
