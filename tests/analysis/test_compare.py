"""Verdicts: the false claims that are controlled, and every road to a verdict."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from rmwbench.analysis.verdicts import sequential
from rmwbench.analysis.verdicts.best import judge
from rmwbench.analysis.verdicts.ranking_words import words
from rmwbench.analysis.verdicts.ratio import (
    p_of_ranks,
    p_of_signs,
    ratio,
    sign_flip,
    spread,
)
from rmwbench.analysis.verdicts.verdict import BlockRatio, JudgedArm, NoRatio, Rules
from tests.support.judging import judged

RULES = Rules(minutes_per_block=1.0)


def arm(name, values, loss=None, **more):
    n = len(values)
    undelivered = {b: (k, 1000) for b, k in enumerate(loss or [0] * n)}
    return JudgedArm(name, dict(enumerate(values)), undelivered, **more)


def campaign(rng, centres, blocks, sd):
    """Arms with a common block effect (the machine's state) and their own noise; sd is that of a
    block log-ratio."""
    mood = rng.standard_normal(blocks)
    return [
        arm(f"arm{i}", c * np.exp(0.5 * mood + sd / math.sqrt(2) * rng.standard_normal(blocks)))
        for i, c in enumerate(centres)
    ]


def noisy(centre, sd, seed, blocks=6):
    return list(centre * np.exp(sd * np.random.default_rng(seed).standard_normal(blocks)))


def near(name, centre, sd, seed, blocks=6, lost=None, **more):
    """An arm whose blocks scatter around a value."""
    return arm(name, noisy(centre, sd, seed, blocks), lost, **more)


def test_a_clear_order():
    verdicts = judged([near("a", 100, 0.05, 1), near("b", 200, 0.05, 2), near("c", 400, 0.05, 3)])
    assert verdicts["a"].verdict == "best"
    assert verdicts["a"].against == "b"
    assert verdicts["a"].ratio.value == pytest.approx(1 / verdicts["b"].ratio.value)
    assert (verdicts["b"].verdict, verdicts["b"].against) == ("worse", "a")
    assert verdicts["c"].ratio.low > 1


def test_the_shown_interval_agrees_with_the_verdict():
    rng = np.random.default_rng(24)
    for _ in range(200):
        verdicts = judged(campaign(rng, [1, 1.3, 1.6], 6, 0.2))
        for v in verdicts.values():
            if v.verdict == "worse":
                assert v.ratio.low > 1
            elif v.verdict == "undecided" and v.ratio.value > 1.05:
                assert v.ratio.low <= 1


def test_equivalent_within_the_margin():
    verdicts = judged([near("a", 100, 0.005, 1), near("b", 101, 0.005, 2)])
    assert {v.verdict for v in verdicts.values()} == {"equivalent"}


def test_a_difference_below_the_margin_is_not_claimed():
    values = [near("a", 100, 0.002, 1), near("b", 108, 0.002, 2)]
    assert judged(values, Rules(margin=0.05))["b"].verdict == "worse"
    assert judged(values, Rules(margin=0.15))["b"].verdict == "equivalent"


@pytest.mark.parametrize("noise", [0.09, 0.3, 4.0])
def test_a_calibration_takes_no_verdict_away_and_warns(noise):
    """Calibrated in a bad moment or not at all: the same verdicts."""
    arms = [near("a", 100, 0.002, 1), near("b", 108, 0.002, 2), near("c", 101, 0.002, 3)]
    quiet, warned = judged(arms), judged(arms, Rules(noise=noise))
    assert [v.verdict for v in warned.values()] == [v.verdict for v in quiet.values()]
    assert [v.ratio for v in warned.values()] == [v.ratio for v in quiet.values()]
    assert warned["b"].verdict == "worse"
    assert "the calibration saw identical arms differ by up to" in warned["b"].reason
    assert "calibration" not in quiet["b"].reason


def test_fewer_blocks_than_the_minimum_decide_nothing():
    verdicts = judged([near("a", 100, 0.01, 1, 4), near("b", 900, 0.01, 2, 4)], RULES)
    assert verdicts["b"].verdict == verdicts["a"].verdict == "undecided"
    assert "only 4 blocks" in verdicts["b"].reason
    assert verdicts["b"].minutes_to_decide == 5


def test_only_blocks_that_both_arms_completed_are_used():
    a = JudgedArm("a", dict(enumerate(noisy(100, 0.05, 1))))
    b = JudgedArm("b", {k: v for k, v in enumerate(noisy(200, 0.05, 2)) if k != 3})
    assert judged([a, b])["b"].ratio.blocks == 5


def test_an_arm_without_trials_has_no_data_and_does_not_stand_in_the_way():
    verdicts = judged([near("a", 100, 0.05, 1), near("b", 300, 0.05, 2), JudgedArm("dead", {})])
    assert verdicts["dead"].verdict == "no data"
    assert verdicts["a"].verdict == "best"
    assert verdicts["dead"].reason == "no trial of this arm was completed"
    unread = JudgedArm("unread", {}, busy={0: False}, order=words("pss"))
    assert judged([unread])["unread"].reason == "its completed trials give no memory (PSS)"


def test_the_floor_is_a_reference_and_beats_nobody():
    verdicts = judged(
        [near("floor", 1, 0.05, 1, floor=True), near("a", 100, 0.05, 2), near("b", 300, 0.05, 3)]
    )
    assert verdicts["floor"].verdict == "reference"
    assert verdicts["a"].verdict == "best"


def test_a_fast_arm_that_loses_messages_is_worse():
    verdicts = judged(
        [near("lossy", 50, 0.05, 1, lost=[80, 95, 70, 88, 101, 90]), near("sound", 100, 0.05, 2)]
    )
    assert verdicts["lossy"].verdict == "worse"
    assert "8.7 % of its messages" in verdicts["lossy"].reason
    assert "asked to be reliable" in verdicts["lossy"].reason
    assert verdicts["sound"].verdict == "best"


def test_only_an_arm_that_is_decided_to_lose_more_in_the_whole_report_is_no_rival():
    """`fast` loses messages now and then: among ten arms of a report that decides nothing. Yet
    `slow`, three times slower, was not held against it, and so nothing was said of either."""
    some = [0, 30, 0, 25, 10, 20, 5, 0]

    def workload(seed, lost):
        return [
            near("fast", 1.0, 0.02, seed, 8, lost=lost, reliable=True),
            near("slow", 3.0, 0.02, seed + 50, 8, reliable=True),
        ]

    report = {"w": workload(1, some)} | {f"w{n}": workload(n, None) for n in range(2, 6)}
    verdicts = judge(report, RULES)["w"]
    assert (verdicts["fast"].verdict, verdicts["slow"].verdict) == ("best", "worse")
    many = [100 + x for x in some]
    verdicts = judge(report | {"w": workload(1, many)}, RULES)["w"]
    assert verdicts["fast"].verdict == "worse" and verdicts["slow"].verdict == "best"


@pytest.mark.parametrize(
    ("lost", "reliable", "verdicts"),
    [
        pytest.param([0, 0, 1, 0, 0, 0], True, ("best", "worse"), id="a single message"),
        pytest.param([5] * 6, False, ("best", "worse"), id="best effort within its margin"),
        pytest.param([200] * 6, False, ("worse", "best"), id="best effort beyond it"),
    ],
)
def test_a_faster_arm_may_lose_this_and_no_more(lost, reliable, verdicts):
    fast = near("fast", 50, 0.05, 1, lost=lost, reliable=reliable)
    slow = near("slow", 100, 0.05, 2, reliable=reliable)
    assert tuple(v.verdict for v in judged([fast, slow]).values()) == verdicts


def test_an_infinite_quantile_has_no_ratio():
    values = noisy(100, 0.05, 1)
    dead = arm("dead", [math.inf] * 6, [900] * 6)
    verdict = judged([arm("a", values), dead])["dead"]
    assert verdict.verdict == "worse"
    assert isinstance(verdict.ratio, NoRatio)
    once = judged([arm("a", values), arm("b", [*noisy(200, 0.01, 2, 5), math.inf])])["b"]
    assert isinstance(once.ratio, NoRatio)
    assert once.verdict in ("worse", "undecided")


def test_two_dead_arms_are_not_ordered():
    verdicts = judged([arm(n, [math.inf] * 6, [1000] * 6) for n in "ab"])
    assert {v.verdict for v in verdicts.values()} == {"undecided"}


def timed(name, values, bound=0.0):
    """Of a metric that no message is lost of, so nothing but its order is judged."""
    return JudgedArm(name, dict(enumerate(values)), bounds=dict.fromkeys(range(len(values)), bound))


def test_one_infinite_block_does_not_switch_the_margin_off():
    a = timed("a", [math.inf, *[100.01] * 11])
    b = timed("b", [100.0, math.inf, *[100.0] * 10])
    assert {v.verdict for v in judged([a, b]).values()} == {"undecided"}
    twice = timed("a", [math.inf, *[200.0] * 11])
    assert judged([twice, b])["a"].verdict == "worse"
    assert judged([twice, b], Rules(aa_floor=1.5))["a"].verdict == "undecided"


@pytest.mark.parametrize(
    ("bound", "verdict"), [(0.0, "worse"), (9.0, "worse"), (20.0, "undecided")]
)
def test_a_sign_is_one_only_beyond_what_the_clocks_leave_open(bound, verdict):
    a = timed("a", [math.inf, *[130.0] * 11], bound)
    b = timed("b", [100.0, math.inf, *[100.0] * 10], bound)
    assert judged([a, b])["a"].verdict == verdict
    half = timed("a", [*[math.inf] * 4, *[100.1] * 4], 50.0)
    assert judged([half, timed("b", [100.0] * 8, 50.0)])["a"].verdict == "undecided"


def test_how_far_two_arms_are_apart_is_said_of_the_blocks_that_both_have():
    """Each is infinite in a block that the other has not: the difference was not a number."""
    shared = range(5)
    bounds = dict.fromkeys(range(7), 20_000.0)
    a = JudgedArm("a", dict.fromkeys(shared, 100_000.0) | {5: math.inf}, bounds=bounds)
    b = JudgedArm("b", dict.fromkeys(shared, 110_000.0) | {6: math.inf}, bounds=bounds)
    verdicts = judged([a, b])
    assert "10.0 µs apart; the hosts' clocks are known to ±40.0 µs" in verdicts["b"].reason


@pytest.mark.parametrize("infinite", range(11, 21))
def test_a_worse_record_does_not_protect_an_arm(infinite):
    """In the other blocks both are alike: five of them had kept the arm from any verdict."""
    a = timed("a", [*[math.inf] * infinite, *[100.0] * (20 - infinite)])
    assert judged([a, timed("b", noisy(100, 0.005, 1, 20))])["a"].verdict == "worse"


def test_ties_count_for_nobody_and_the_median_must_be_beyond_the_margin():
    """Within the margin, both infinite, both 0 and without a trial: as if the block were not."""
    inf, nan, one = math.inf, math.nan, np.ones(4)
    assert p_of_signs(np.array([2.0, 2, 2, inf]), one, 0.05) == 1 / 16
    assert p_of_signs(np.array([2.0, 2, inf, 1.04]), one, 0.05) == 1 / 8
    assert p_of_signs(np.array([inf, 0, nan, 2]), np.array([inf, 0, 1, 1]), 0.05) == 1 / 2
    assert p_of_signs(np.array([inf, inf, 1.04, 1.04]), one, 0.05) == 1
    assert p_of_signs(one, one, 0.05) == p_of_signs(one * inf, one * inf, 0.05) == 1


def test_ranks_are_of_what_is_larger_beyond_the_margin_and_the_clocks():
    a, b = np.arange(100.0, 112.0), np.array([math.inf, *np.arange(108.0, 119.0)])
    assert p_of_ranks(b, a, 0.0) < 0.001
    assert p_of_ranks(b, a, 0.08) > 0.2
    assert p_of_ranks(b, a, 0.0, (4.0, 4.0)) > 0.2
    assert p_of_ranks(a, b, 0.0) > 0.99


@pytest.mark.parametrize("infinite", [0.05, 0.3])
@pytest.mark.parametrize("blocks", [6, 8, 13, 20])
def test_equal_arms_with_infinite_blocks_are_told_apart_in_at_most_one_report_of_twenty(
    infinite, blocks
):
    rng, reports, wrong = np.random.default_rng(30), 400, 0
    for _ in range(reports):
        arms = campaign(rng, [1, 1], blocks, 0.3)
        lost = rng.random((2, blocks)) < infinite
        both = [
            timed(a.name, np.where(gone, math.inf, list(a.primary.values())))
            for a, gone in zip(arms, lost, strict=True)
        ]
        wrong += any(v.verdict == "worse" for v in judged(both).values())
    assert wrong <= binom.ppf(0.998, reports, 0.05)


@pytest.mark.parametrize("looks", [(120,), (40, 80, 120)])
def test_the_interval_beside_equivalent_ends_within_the_margin(looks):
    """The leader's too, who may have led at an earlier look or may lead since this one."""
    rng = np.random.default_rng(31)
    reports = [
        sequential.judge({"w": campaign(rng, [1] * 7, 120, 0.12)}, RULES, looks)["w"]
        for _ in range(5)
    ]
    equal = [
        v.ratio for verdicts in reports for v in verdicts.values() if v.verdict == "equivalent"
    ]
    assert len(equal) >= 10
    assert all(ratio.high < 1.05 for ratio in equal)


def test_undecided_says_how_long_would_decide():
    verdicts = judged(
        [arm("a", [100, 130, 90, 110, 95, 120]), arm("b", [150, 110, 140, 150, 105, 160])], RULES
    )
    b = verdicts["b"]
    assert b.verdict == "undecided"
    assert 7 <= b.minutes_to_decide < 200
    assert verdicts["a"].minutes_to_decide == b.minutes_to_decide
    hopeless = judged(
        [
            arm("a", [100, 130, 90, 110, 95, 120]),
            arm("b", [105.1, 136.4, 94.6, 115.2, 100.1, 126.0]),
        ],
        Rules(minutes_per_block=60.0),
    )["b"]
    assert hopeless.minutes_to_decide is None


def test_the_promised_time_is_about_right():
    """With as many blocks as promised, most campaigns do decide."""
    rng = np.random.default_rng(25)
    promised = [
        v.minutes_to_decide
        for _ in range(40)
        if (v := judged(campaign(rng, [1, 1.5], 6, 0.4), RULES)["arm1"]).verdict == "undecided"
        and v.minutes_to_decide
    ]
    blocks = int(np.median(promised))
    decided = sum(
        judged(campaign(rng, [1, 1.5], blocks, 0.4), RULES)["arm1"].verdict == "worse"
        for _ in range(60)
    )
    assert decided >= 25


def test_verdicts_do_not_depend_on_the_order_of_arms():
    rng = np.random.default_rng(26)
    arms = campaign(rng, [1, 1.2, 1.5, 4], 6, 0.2)
    assert judged(arms) == judged(arms[::-1])


def test_more_workloads_make_the_same_evidence_weaker():
    pair = [arm("a", [100, 130, 90, 110, 95, 120]), arm("b", [150, 180, 150, 150, 155, 160])]
    alone = judged(pair, RULES)["b"].ratio
    equal = [near("a", 100, 0.3, 1), near("b", 100, 0.3, 2)]
    among = judge({"w": pair, **{f"x{i}": equal for i in range(5)}}, RULES)["w"]["b"].ratio
    assert among.low < alone.low


def test_ratio_needs_common_blocks_and_finite_values():
    assert ratio({0: 1.0}, {1: 1.0}) == NoRatio(no_data="0 blocks have both, 2 are needed")
    assert ratio({0: 1.0}, {0: 1.0}) == NoRatio(no_data="1 block has both, 2 are needed")
    interval = ratio({0: 2.0, 1: 2.2, 2: 1.8}, {0: 1.0, 1: 1.1, 2: 1.0})
    assert isinstance(interval, BlockRatio)
    assert interval.low < interval.value < interval.high


def test_the_interval_of_a_ratio_is_not_narrower_than_a_coarse_clock_leaves_it():
    """All 2 ms and all 1 ms by a clock of whole milliseconds."""
    interval = ratio(dict.fromkeys(range(5), 2e6), dict.fromkeys(range(5), 1e6))
    assert interval.value == pytest.approx(2) and interval.low < 1.5 and interval.high > 2.5


def test_the_interval_of_a_ratio_holds_what_two_clocks_leave_open():
    i, j = {0: 22.0, 1: 22.1, 2: 21.9}, {0: 20.0, 1: 20.1, 2: 19.9}
    plain = ratio(i, j)
    wide = ratio(i, j, bounds=(dict.fromkeys(i, 1.0), dict.fromkeys(j, 1.0)))
    assert wide.value == plain.value
    assert wide.low == pytest.approx(plain.low * (21 / 22) * (20 / 21), rel=1e-3)
    assert wide.high == pytest.approx(plain.high * (23 / 22) * (20 / 19), rel=1e-3)
    unknown = ratio(i, j, bounds=(dict.fromkeys(i, 30.0), {}))
    assert unknown.low == 0 and math.isfinite(unknown.high)


def test_sign_flip_agrees_with_enumeration_and_is_absent_below_ten():
    assert sign_flip(np.ones(9)) is None
    assert sign_flip(np.arange(1.0, 11.0)) == pytest.approx(2 / 2**10)
    rng = np.random.default_rng(27)
    symmetric = sign_flip(rng.standard_normal(18))
    assert 0.05 < symmetric <= 1


def test_spread_is_of_block_ratios_not_of_blocks():
    mood = np.array([1, 10, 100, 3, 30, 300.0])
    assert spread([arm("a", mood), arm("b", 2 * mood)]) == pytest.approx(0, abs=1e-9)


def test_equal_ratios_of_coarse_values_are_not_certainty():
    """Five blocks of 1 tick against 2 ticks: a t test on them alone has no variance at all."""
    ticks = [arm("a", [10e6] * 5), arm("b", [20e6] * 5), arm("c", [10e6, 20e6, 10e6, 10e6, 20e6])]
    assert judged(ticks)["b"].verdict == "undecided"
    fine = [
        near("a", 10e6, 1e-6, 1, 5),
        near("b", 20e6, 1e-6, 2, 5),
        near("c", 15e6, 0.2, 3, 5),
    ]
    assert judged(fine)["b"].verdict == "worse"


def test_worse_needs_the_interval_beyond_the_floor_and_the_estimate_beyond_the_margin():
    arms = [near("a", 100, 0.01, 1), near("b", 112, 0.01, 2)]
    free = judged(arms)["b"]
    assert free.verdict == "worse"
    assert 1.05 < free.ratio.low < free.ratio.value < free.ratio.high < 1.2
    assert judged(arms, Rules(aa_floor=0.05))["b"].verdict == "worse"
    inside = Rules(aa_floor=(free.ratio.low + free.ratio.value) / 2 - 1)
    assert judged(arms, inside)["b"].verdict == "undecided"
    assert judged(arms, Rules(aa_floor=0.20))["b"].verdict == "undecided"
    assert Rules(margin=0.05, aa_floor=0.2).least() == 0.2


def test_a_report_of_six_thousand_pairs_is_judged_as_its_workloads_are_alone():
    """The matrices of all pairs, against one pair at a time."""
    rng = np.random.default_rng(29)
    arms = campaign(rng, np.linspace(1, 2, 80), 10, 0.1)
    verdicts = judged(arms, RULES)
    for name, verdict in verdicts.items():
        if verdict.verdict == "worse":
            both = {a.name: a.primary for a in arms}
            alone = ratio(both[name], both[verdict.against])
            assert verdict.ratio.value == pytest.approx(alone.value)
            assert verdict.ratio.low < alone.low
    assert {v.verdict for v in verdicts.values()} >= {"worse", "undecided"}


def test_a_primary_value_of_0_is_the_smallest_and_has_no_ratio():
    """A time of 0 is a value that is documented: its arm was left without data."""
    none, some = timed("none", [0.0] * 6), timed("some", [100.0] * 6)
    verdicts = judged([none, some])
    assert verdicts["none"].verdict == "best"
    assert verdicts["some"].verdict == "worse" and verdicts["some"].against == "none"
    assert "in sign: none is 0 in some blocks" in verdicts["some"].reason
    assert verdicts["some"].ratio.no_data == (
        "in 6 of 6 blocks a value is 0 or infinite: that has no ratio"
    )
    assert spread([none, some]) is None
    assert isinstance(ratio(none.primary, some.primary), NoRatio)


def test_a_value_of_0_in_few_blocks_decides_nothing_and_two_that_are_always_0_are_not_apart():
    few = timed("few", [0.0, 100.0, 100.0, 100.0, 100.0, 100.0])
    some = timed("some", [101.0, 99.0, 100.0, 101.0, 99.0, 100.0])
    verdicts = judged([few, some])
    assert {v.verdict for v in verdicts.values()} == {"undecided"}
    assert "few is 0 in some blocks, in too few to decide by sign" in verdicts["some"].reason
    zero = judged([timed("a", [0.0] * 6), timed("b", [0.0] * 6)])
    assert {v.verdict for v in zero.values()} == {"undecided"}


def test_a_0_leaves_the_ratios_of_the_other_arms_as_they_are():
    """Also where an arm with bounds is 0 in a block that another lacks."""
    a, b = timed("a", noisy(100, 0.05, 1)), timed("b", noisy(200, 0.05, 2))
    zero = timed("zero", [0.0, 100.0, 100.0, 100.0, 100.0, 100.0], 1.0)
    alone = judged([a, b], Rules(alpha=0.01))["b"]
    beside = judged([a, b, zero], Rules(alpha=0.01))["b"]
    assert alone.verdict == beside.verdict == "worse"


def test_a_rate_of_0_is_called_0_and_no_infinite_quantile():
    """A rate is judged by its reciprocal, which is infinite there."""
    order = words("achieved_rate")
    live = JudgedArm("live", dict.fromkeys(range(6), 1 / 100.0), order=order)
    never = JudgedArm("never", dict.fromkeys(range(6), math.inf), order=order)
    verdict = judged([live, never])["never"]
    assert verdict.verdict == "worse"
    assert verdict.reason == (
        "behind live in achieved rate in sign: it is 0 in some blocks, and there is no ratio to 0"
    )
    assert verdict.ratio.no_data == "in 6 of 6 blocks a value is 0 or infinite: that has no ratio"
    once = JudgedArm("once", {**live.primary, 3: math.inf}, order=order)
    assert judged([live, once])["once"].reason == (
        "once is 0 in some blocks, in too few to decide by sign"
    )


@pytest.mark.parametrize(
    ("metric", "why"),
    [
        ("response_latency_p50", "messages that did not arrive reach its quantile"),
        ("publish_call_max", "a publish call never returned"),
        ("match_time", "it did not happen before the trial ended"),
    ],
)
def test_an_infinite_value_has_the_reason_of_its_metric(metric, why):
    endless = JudgedArm("endless", dict.fromkeys(range(6), math.inf), order=words(metric))
    other = JudgedArm("other", dict.fromkeys(range(6), 100.0), order=words(metric))
    verdict = judged([endless, other])["endless"]
    assert verdict.verdict == "worse" and verdict.reason.endswith(f"it is infinite, because {why}")
    assert why.replace("its", "the") in verdict.ratio.no_data


def test_delivery_is_judged_before_what_the_arms_are_judged_by():
    lossy = near("lossy", 50, 0.05, 1, lost=[80] * 6, order=words("pss"))
    sound = near("sound", 100, 0.05, 2, order=words("pss"))
    assert judged([lossy, sound])["lossy"].reason.endswith("delivery is judged before memory (PSS)")
