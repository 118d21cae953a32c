"""A/A: what the show document says of each pair, and what a second run makes of a difference."""

import math

import pytest

from rmwbench.campaign.calibrate import aa, grid

PAIRS = grid.aa_pairs(["zenoh"], quick=True)


def document(verdicts=("undecided", "undecided"), ratio=1.1, blocks=5, failures=()):
    """Arms A and B of zenoh in both workloads; in each block B took `ratio` times as long as A."""
    workloads = []
    for workload in PAIRS:
        arms = []
        for arm, verdict, factor in zip(workload.arms, verdicts, (1.0, ratio), strict=True):
            values = [
                {"trial": b, "block": b, "value": 1e5 * (b + 1) * factor} for b in range(blocks)
            ]
            arms.append(
                {
                    "arm": arm.name,
                    "verdict": {"verdict": verdict, "reason": "1.1× the other"},
                    "per_trial": {"response_latency_p50": values},
                    "trials": {"failures": list(failures)},
                }
            )
        workloads.append(
            {"workload": workload.name, "primary_metric": "response_latency_p50", "arms": arms}
        )
    return {"workloads": workloads}


def test_ratios_are_taken_block_by_block():
    small, large = aa.judge(document(ratio=1.1), PAIRS)
    assert (small.middleware, small.size, large.size) == ("zenoh", "small", "large")
    assert small.outcome == aa.CLEAN
    assert small.logs == pytest.approx([math.log(1.1)] * 5)
    assert aa.floors([small, large], 5)["all"] == pytest.approx(
        math.expm1(2.228 * math.log(1.1) / 5**0.5), rel=0.2
    )


def test_a_verdict_that_sees_a_difference_is_one():
    assert {pair.outcome for pair in aa.judge(document(("best", "worse")), PAIRS)} == {aa.DIFFERENT}


def test_too_few_blocks_tell_nothing():
    pair = aa.judge(document(("undecided", "no data"), blocks=3), PAIRS)[0]
    assert (pair.outcome, pair.reason) == (aa.UNKNOWN, "3 blocks have both, 5 are needed")
    failures = [{"reason": "worker talker: died\nmore"}]
    assert (
        "worker talker: died"
        in aa.judge(document(("no data", "no data"), 1, 2, failures), PAIRS)[0].reason
    )
    assert aa.judge({"workloads": []}, PAIRS)[0].outcome == aa.UNKNOWN


def test_only_what_is_found_twice_counts():
    first, clean = aa.judge(document(("best", "worse")), PAIRS), aa.judge(document(), PAIRS)
    assert [pair.outcome for pair in aa.confirm(first, first)] == [aa.DIFFERENT] * 2
    again = aa.confirm(first, clean)
    assert [pair.outcome for pair in again] == [aa.CLEAN] * 2
    assert again[0].first == "1.1× the other" and len(again[0].logs) == 10
    # What was not run again keeps its finding.
    assert [pair.outcome for pair in aa.confirm(first, clean[:1])] == [aa.CLEAN, aa.DIFFERENT]


def test_each_arm_has_a_floor_of_its_own_and_a_noisy_one_leaves_the_others_alone():
    small, large = (pair.answer() for pair in aa.judge(document(ratio=1.1), PAIRS))
    own = small.floor
    assert own.low < own.value < own.high and own == large.floor
    assert own.value == pytest.approx(math.expm1(2.571 * math.log(1.1) / 5**0.5), rel=0.01)
    quiet = aa.judge(document(ratio=1.01), PAIRS)[0]
    assert quiet.floor.high < own.value
    assert aa.judge(document(blocks=1), PAIRS)[0].floor is None
