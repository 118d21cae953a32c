"""Verdicts: the false claims that are controlled, and every road to a verdict."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from rmwbench.analysis.compare import Arm, NoRatio, Ratio, Rules, judge, ratio, sign_flip, spread

RULES = Rules(minutes_per_block=1.0)


def arm(name, values, loss=None, **more):
    n = len(values)
    undelivered = {b: (k, 1000) for b, k in enumerate(loss or [0] * n)}
    return Arm(name, dict(enumerate(values)), undelivered, **more)


def campaign(rng, centres, blocks, sd):
    """Arms with a common block effect (the machine's mood) and their own noise; sd is that of a block log-ratio."""
    mood = rng.standard_normal(blocks)
    return [
        arm(f"arm{i}", c * np.exp(0.5 * mood + sd / math.sqrt(2) * rng.standard_normal(blocks)))
        for i, c in enumerate(centres)
    ]


def noisy(centre, sd, seed, blocks=6):
    return list(centre * np.exp(sd * np.random.default_rng(seed).standard_normal(blocks)))


@pytest.mark.parametrize(
    ("workloads", "centres"),
    [
        (1, [1, 1]),  # A/A: the same arm twice
        (1, [1, 1.001, 3, 3, 9, 9, 9]),  # one true best by a hair, many others
        (3, [1, 1, 1, 1, 1, 1, 1]),  # everything equal, three workloads
        (3, [1, 2, 3, 4, 5, 6, 7]),  # a clear order
    ],
)
@pytest.mark.parametrize("sd", [0.1, 0.6])
def test_the_true_best_is_called_worse_in_at_most_one_report_of_twenty(workloads, centres, sd):
    rng = np.random.default_rng(21)
    reports = 300 // workloads
    wrong = 0
    for _ in range(reports):
        verdicts = judge({f"w{w}": campaign(rng, centres, 6, sd) for w in range(workloads)}, RULES)
        best = [f"arm{i}" for i, c in enumerate(centres) if c == min(centres)]
        wrong += any(v[b].verdict == "worse" for v in verdicts.values() for b in best)
    assert wrong <= binom.ppf(0.998, reports, 0.05)


def test_equivalent_is_claimed_wrongly_in_at_most_one_report_of_twenty():
    rng = np.random.default_rng(22)
    wrong = 0
    for _ in range(300):
        verdicts = judge({"w": campaign(rng, [1, 1.0501], 6, 0.03)}, RULES)["w"]
        wrong += verdicts["arm1"].verdict == "equivalent"
    assert wrong <= binom.ppf(0.998, 300, 0.05)


def test_differences_that_the_plan_promises_are_found():
    """A verdict that never comes would control every error."""
    rng = np.random.default_rng(23)
    found = 0
    for _ in range(50):
        verdicts = judge({f"w{w}": campaign(rng, [1, 1.5, 2, 3, 4, 6, 8], 6, 0.1) for w in range(3)}, RULES)
        found += all(v["arm0"].verdict == "best" for v in verdicts.values())
    assert found >= 45


def test_a_clear_order():
    verdicts = judge(
        {"w": [arm("a", noisy(100, 0.05, 1)), arm("b", noisy(200, 0.05, 2)), arm("c", noisy(400, 0.05, 3))]}, RULES
    )["w"]
    assert verdicts["a"].verdict == "best"
    assert verdicts["a"].against == "b"
    assert verdicts["a"].ratio.value == pytest.approx(1 / verdicts["b"].ratio.value)
    assert (verdicts["b"].verdict, verdicts["b"].against) == ("worse", "a")
    assert verdicts["c"].ratio.low > 1


def test_the_shown_interval_agrees_with_the_verdict():
    rng = np.random.default_rng(24)
    for _ in range(200):
        verdicts = judge({"w": campaign(rng, [1, 1.3, 1.6], 6, 0.2)}, RULES)["w"]
        for v in verdicts.values():
            if v.verdict == "worse":
                assert v.ratio.low > 1
            elif v.verdict == "undecided" and v.ratio.value > 1.05:
                assert v.ratio.low <= 1


def test_equivalent_within_the_margin():
    verdicts = judge({"w": [arm("a", noisy(100, 0.005, 1)), arm("b", noisy(101, 0.005, 2))]}, RULES)["w"]
    assert {v.verdict for v in verdicts.values()} == {"equivalent"}


def test_a_difference_within_the_machines_noise_is_not_claimed():
    values = [arm("a", noisy(100, 0.002, 1)), arm("b", noisy(108, 0.002, 2))]
    assert judge({"w": values}, Rules(margin=0.05))["w"]["b"].verdict == "worse"
    assert judge({"w": values}, Rules(margin=0.15))["w"]["b"].verdict == "equivalent"


def test_fewer_blocks_than_the_minimum_decide_nothing():
    verdicts = judge({"w": [arm("a", noisy(100, 0.01, 1, 4)), arm("b", noisy(900, 0.01, 2, 4))]}, RULES)["w"]
    assert verdicts["b"].verdict == verdicts["a"].verdict == "undecided"
    assert "only 4 blocks" in verdicts["b"].reason
    assert verdicts["b"].minutes_to_decide == 5


def test_only_blocks_that_both_arms_completed_are_used():
    a = Arm("a", dict(enumerate(noisy(100, 0.05, 1))))
    b = Arm("b", {k: v for k, v in enumerate(noisy(200, 0.05, 2)) if k != 3})
    assert judge({"w": [a, b]}, RULES)["w"]["b"].ratio.blocks == 5


def test_an_arm_without_trials_has_no_data_and_does_not_stand_in_the_way():
    verdicts = judge({"w": [arm("a", noisy(100, 0.05, 1)), arm("b", noisy(300, 0.05, 2)), Arm("dead", {})]}, RULES)["w"]
    assert verdicts["dead"].verdict == "no data"
    assert verdicts["a"].verdict == "best"


def test_the_floor_is_a_reference_and_beats_nobody():
    verdicts = judge(
        {
            "w": [
                arm("floor", noisy(1, 0.05, 1), floor=True),
                arm("a", noisy(100, 0.05, 2)),
                arm("b", noisy(300, 0.05, 3)),
            ]
        },
        RULES,
    )["w"]
    assert verdicts["floor"].verdict == "reference"
    assert verdicts["a"].verdict == "best"


def test_a_lone_contender_is_not_praised():
    verdict = judge({"w": [arm("a", noisy(100, 0.05, 2))]}, RULES)["w"]["a"]
    assert "nothing to compare" in verdict.reason


def test_a_fast_arm_that_loses_messages_is_worse():
    verdicts = judge(
        {"w": [arm("lossy", noisy(50, 0.05, 1), [80, 95, 70, 88, 101, 90]), arm("sound", noisy(100, 0.05, 2))]}, RULES
    )["w"]
    assert verdicts["lossy"].verdict == "worse"
    assert "8.7 % of its messages" in verdicts["lossy"].reason
    assert "asked to be reliable" in verdicts["lossy"].reason
    assert verdicts["sound"].verdict == "best"


def test_a_single_lost_message_does_not_decide():
    verdicts = judge({"w": [arm("a", noisy(50, 0.05, 1), [0, 0, 1, 0, 0, 0]), arm("b", noisy(100, 0.05, 2))]}, RULES)[
        "w"
    ]
    assert verdicts["a"].verdict == "best"
    assert verdicts["b"].verdict == "worse"


def test_equal_small_counts_are_not_taken_for_certainty():
    """One of 1000 in each block has no variance to see; a t test alone would call it certain."""
    verdicts = judge({"w": [arm("a", noisy(50, 0.05, 1), [1] * 6), arm("b", noisy(100, 0.05, 2))]}, RULES)["w"]
    assert verdicts["a"].verdict == "best"


def test_best_effort_may_lose_within_its_margin():
    arms = [arm("a", noisy(50, 0.05, 1), [5] * 6, reliable=False), arm("b", noisy(100, 0.05, 2), reliable=False)]
    assert judge({"w": arms}, RULES)["w"]["a"].verdict == "best"
    arms = [arm("a", noisy(50, 0.05, 1), [200] * 6, reliable=False), arm("b", noisy(100, 0.05, 2), reliable=False)]
    assert judge({"w": arms}, RULES)["w"]["a"].verdict == "worse"


def test_an_infinite_quantile_has_no_ratio():
    values = noisy(100, 0.05, 1)
    dead = arm("dead", [math.inf] * 6, [900] * 6)
    verdict = judge({"w": [arm("a", values), dead]}, RULES)["w"]["dead"]
    assert verdict.verdict == "worse"
    assert isinstance(verdict.ratio, NoRatio)
    once = judge({"w": [arm("a", values), arm("b", [*noisy(200, 0.01, 2, 5), math.inf])]}, RULES)["w"]["b"]
    assert isinstance(once.ratio, NoRatio)
    assert once.verdict in ("worse", "undecided")


def test_two_dead_arms_are_not_ordered():
    verdicts = judge({"w": [arm(n, [math.inf] * 6, [1000] * 6) for n in "ab"]}, RULES)["w"]
    assert {v.verdict for v in verdicts.values()} == {"undecided"}


def test_undecided_says_how_long_would_decide():
    verdicts = judge({"w": [arm("a", [100, 130, 90, 110, 95, 120]), arm("b", [150, 110, 140, 150, 105, 160])]}, RULES)[
        "w"
    ]
    b = verdicts["b"]
    assert b.verdict == "undecided"
    assert 7 <= b.minutes_to_decide < 200
    assert verdicts["a"].minutes_to_decide == b.minutes_to_decide
    hopeless = judge(
        {"w": [arm("a", [100, 130, 90, 110, 95, 120]), arm("b", [105.1, 136.4, 94.6, 115.2, 100.1, 126.0])]},
        Rules(minutes_per_block=60.0),
    )["w"]["b"]
    assert hopeless.minutes_to_decide is None


def test_the_promised_time_is_about_right():
    """With as many blocks as promised, most campaigns do decide."""
    rng = np.random.default_rng(25)
    promised = [
        v.minutes_to_decide
        for _ in range(40)
        if (v := judge({"w": campaign(rng, [1, 1.5], 6, 0.4)}, RULES)["w"]["arm1"]).verdict == "undecided"
        and v.minutes_to_decide
    ]
    blocks = int(np.median(promised))
    decided = sum(
        judge({"w": campaign(rng, [1, 1.5], blocks, 0.4)}, RULES)["w"]["arm1"].verdict == "worse" for _ in range(60)
    )
    assert decided >= 25


def test_verdicts_do_not_depend_on_the_order_of_arms():
    rng = np.random.default_rng(26)
    arms = campaign(rng, [1, 1.2, 1.5, 4], 6, 0.2)
    assert judge({"w": arms}, RULES)["w"] == judge({"w": arms[::-1]}, RULES)["w"]


def test_more_workloads_make_the_same_evidence_weaker():
    pair = [arm("a", [100, 130, 90, 110, 95, 120]), arm("b", [150, 180, 150, 150, 155, 160])]
    alone = judge({"w": pair}, RULES)["w"]["b"].ratio
    equal = [arm("a", noisy(100, 0.3, 1)), arm("b", noisy(100, 0.3, 2))]
    among = judge({"w": pair, **{f"x{i}": equal for i in range(5)}}, RULES)["w"]["b"].ratio
    assert among.low < alone.low


def test_ratio_needs_common_blocks_and_finite_values():
    assert isinstance(ratio({0: 1.0}, {1: 1.0}), NoRatio)
    found = ratio({0: 2.0, 1: 2.2, 2: 1.8}, {0: 1.0, 1: 1.1, 2: 1.0})
    assert isinstance(found, Ratio)
    assert found.low < found.value < found.high


def test_sign_flip_agrees_with_enumeration_and_is_none_below_ten():
    assert sign_flip(np.ones(9)) is None
    assert sign_flip(np.arange(1.0, 11.0)) == pytest.approx(2 / 2**10)
    rng = np.random.default_rng(27)
    symmetric = sign_flip(rng.standard_normal(18))
    assert 0.05 < symmetric <= 1


def test_spread_is_of_block_ratios_not_of_blocks():
    mood = np.array([1, 10, 100, 3, 30, 300.0])
    assert spread([arm("a", mood), arm("b", 2 * mood)]) == pytest.approx(0, abs=1e-9)
