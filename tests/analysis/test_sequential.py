"""Looks: where they are, what each may spend, and that a decision stays."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from rmwbench.analysis.verdicts import sequential
from rmwbench.analysis.verdicts.verdict import BlockRatio, JudgedArm, Rules, Verdict
from rmwbench.results.model import document
from tests.support.judging import judged

LOOKS = (5, 8, 12, 20)


def arm(name, values):
    return JudgedArm(name, dict(enumerate(values)), {b: (0, 100) for b in range(len(values))})


def at_look(arms, looks=LOOKS, rules=Rules(), **asked):
    """Arm → its verdict after the looks that there were; `asked` as `sequential.judge` takes it."""
    return sequential.judge({"w": arms}, rules, looks, **asked)["w"]


def noisy(centre, sd, seed, blocks=20):
    return list(centre * np.exp(sd * np.random.default_rng(seed).standard_normal(blocks)))


@pytest.mark.parametrize(
    ("asked", "looks"),
    [
        ((5, 20), LOOKS),
        ((5, 5), (5,)),
        ((5, 6), (6,)),  # two looks at nearly the same blocks would only cost
        ((5, 10), (5, 8, 10)),
        ((5, 100), (5, 8, 12, 18, 27, 41, 62, 100)),
    ],
)
def test_looks_start_at_the_minimum_and_end_at_the_maximum(asked, looks):
    assert sequential.planned_looks(*asked) == looks


@pytest.mark.parametrize("looks", [(5,), LOOKS, (5, 6, 7, 8), sequential.planned_looks(5, 200)])
def test_shares_add_up_to_alpha_and_grow(looks):
    shares = [sequential.alpha_at(looks, n, alpha=0.04) for n in looks]
    assert math.fsum(shares) == pytest.approx(0.04)
    assert all(s > 0 for s in shares)
    if looks == sequential.planned_looks(looks[0], looks[-1]):
        assert shares[-1] == max(shares)  # the last look is the one that promises


@pytest.mark.parametrize("blocks", [3, 5, 7, 8, 19, 20])
def test_where_the_budget_ends_the_rest_is_spent_but_for_a_reserve(blocks):
    passed = math.fsum(sequential.alpha_at(LOOKS, n) for n in LOOKS if n < blocks)
    left = 0.05 - passed
    assert sequential.alpha_at(LOOKS, blocks, ended=True) == pytest.approx(
        left if blocks == LOOKS[-1] else (1 - sequential.RESERVE) * left
    )


def test_no_alpha_decides_nothing_even_where_values_never_vary():
    arms = [arm("a", [1.0] * 7), arm("b", [9.0] * 7)]
    verdicts = judged(arms, Rules(alpha=0.0))
    assert {v.verdict for v in verdicts.values()} == {"undecided"}
    assert verdicts["b"].ratio.low == 0
    assert verdicts["b"].ratio.high == math.inf
    document(verdicts["b"])  # infinite ends must be writable


def test_a_decision_stays_though_later_blocks_disagree():
    slow_at_first = [*noisy(300, 0.02, 2, 5), *noisy(60, 0.5, 3, 15)]
    arms = [arm("a", noisy(100, 0.02, 1)), arm("b", slow_at_first)]
    early = at_look(arms, blocks=5)
    assert (early["b"].verdict, early["a"].verdict) == ("worse", "best")
    late = at_look(arms)
    assert late["b"] == early["b"]  # with the interval of the look that decided it
    assert late["a"].verdict == "best"
    assert judged(arms, Rules(alpha=sequential.alpha_at(LOOKS, 20)))["b"].verdict != "worse"


def test_a_decision_that_a_later_look_makes_again_has_the_ratio_of_all_blocks():
    slow = noisy(300, 0.1, 2)
    arms = [arm("a", [100.0] * 20), arm("b", slow)]
    early, late = at_look(arms, blocks=5)["b"], at_look(arms)["b"]
    assert [(one.verdict, one.ratio.blocks) for one in (early, late)] == [
        ("worse", 5),
        ("worse", 20),
    ]
    assert late.ratio.value == pytest.approx(math.exp(np.mean(np.log(slow))) / 100)
    assert late.ratio.high - late.ratio.low < early.ratio.high - early.ratio.low
    alike = [arm("a", noisy(100, 0.003, 1)), arm("b", noisy(100, 0.003, 2))]
    assert {v.ratio.blocks for v in at_look(alike, blocks=5).values()} == {5}
    assert {v.ratio.blocks for v in at_look(alike).values()} == {20}


def test_the_leader_becomes_best_when_the_others_fall_at_different_looks():
    """b falls early and is unlucky later, c needs the blocks: at no single look both are worse."""
    b = [*noisy(200, 0.03, 2, 5), *noisy(150, 1.2, 3, 15)]
    c = noisy(120, 0.12, 4)
    arms = [arm("a", noisy(100, 0.03, 1)), arm("b", b), arm("c", c)]
    assert at_look(arms, blocks=5)["c"].verdict == "undecided"
    now = judged(arms, Rules(alpha=sequential.alpha_at(LOOKS, 20)))
    assert now["b"].verdict == "undecided"
    verdicts = at_look(arms)
    assert [verdicts[n].verdict for n in "abc"] == ["best", "worse", "worse"]
    assert not sequential.needs_more({"w": verdicts})


def test_equivalent_stays_and_gives_way_to_best_only():
    arms = [arm("a", noisy(100, 0.003, 1)), arm("b", noisy(100, 0.003, 2))]
    early = at_look(arms, blocks=5)
    assert {v.verdict for v in early.values()} == {"equivalent"}
    until_look = [*arms[1].primary.values()][:5]
    drifted = [arms[0], arm("b", until_look + noisy(130, 0.003, 3, 15))]
    assert at_look(drifted)["b"].verdict == "equivalent"


def test_blocks_after_a_look_are_not_seen_by_it():
    rng = np.random.default_rng(5)
    arms = [arm(n, noisy(100 + 20 * k, 0.3, k)) for k, n in enumerate("abc")]
    one = [JudgedArm(a.name, a.primary) for a in arms]
    later = {b: float(rng.random()) for b in range(8, 20)}
    other = [JudgedArm(a.name, a.primary | later) for a in arms]
    assert at_look(one, blocks=8) == at_look(other, blocks=8)


def test_a_block_that_ran_behind_a_look_is_seen_by_the_later_ones_only():
    def with_block_2(value, since=None):
        a, b = noisy(100, 0.1, 1, 12), noisy(120, 0.1, 2, 12)
        b[2] = value
        return [arm("a", a), replace(arm("b", b), since=since or {})]

    late = {2: 6}  # it ran after the look at 5
    one, other = with_block_2(1.0, late), with_block_2(1e6, late)
    assert at_look(one, (5, 12), blocks=5) == at_look(other, (5, 12), blocks=5)
    assert at_look(one, (5, 12))["b"].ratio != at_look(other, (5, 12))["b"].ratio
    never = {2: 13}  # it ran after the last look
    one, other = with_block_2(1.0, never), with_block_2(1e6, never)
    assert at_look(one, (5, 12)) == at_look(other, (5, 12))


def test_the_end_of_the_budget_decides_with_what_is_left():
    arms = [arm("a", noisy(100, 0.1, 1, 7)), arm("b", noisy(125, 0.1, 2, 7))]
    assert at_look(arms)["b"].verdict == "undecided"
    assert at_look(arms, ended=True)["b"].verdict == "worse"


def test_the_time_to_decide_is_that_of_a_look_still_to_come():
    arms = [arm("a", noisy(100, 0.15, 1, 8)), arm("b", noisy(122, 0.15, 2, 8))]
    b = at_look(arms, rules=Rules(minutes_per_block=2.0))["b"]
    assert b.verdict == "undecided"
    assert b.minutes_to_decide in (24.0, 40.0)
    assert "blocks would decide it" in b.reason
    hard = [arm("a", noisy(100, 0.15, 1, 8)), arm("b", noisy(109, 0.15, 2, 8))]
    b = at_look(hard, rules=Rules(minutes_per_block=2.0))["b"]
    assert "longer than this one may become" in b.reason
    assert b.minutes_to_decide > 40


def test_more_is_needed_only_for_what_matters():
    ratio = BlockRatio(1, 0.9, 1.1, 5)
    verdicts = {
        "imu": {"a": Verdict("best", None, ratio, ""), "b": Verdict("worse", "a", ratio, "")},
        "camera": {
            "a": Verdict("undecided", "b", ratio, ""),
            "f": Verdict("reference", None, None, ""),
        },
        "scan": {"a": Verdict("no data", None, None, "")},
    }
    assert sequential.needs_more(verdicts)
    assert not sequential.needs_more({"imu": verdicts["imu"], "scan": verdicts["scan"]})


@pytest.mark.parametrize("endings", [(3,), (5,), (7,), (7, 9), (5, 6, 11, 19), (20,)])
def test_a_resumed_campaign_gets_no_alpha_twice(endings):
    shares = sequential.shares(LOOKS, endings)
    assert sum(shares.values()) == pytest.approx(0.05)
    assert all(share > 0 for share in shares.values())
    assert list(shares) == sorted({*LOOKS, *endings})


def test_a_resumed_campaign_keeps_the_decisions_of_its_end():
    """Decided at the time-out, with almost all of alpha; the little that is left later would not
    decide it again."""
    early = [arm("a", noisy(100, 0.1, 1, 7)), arm("b", noisy(125, 0.1, 2, 7))]
    later = [
        arm(x.name, [*x.primary.values(), *noisy(100, 1.0, seed, 5)])
        for seed, x in enumerate(early, start=3)
    ]
    at_end = at_look(early, blocks=7, ended=True)["b"]
    assert at_end.verdict == "worse"
    resumed = at_look(later, blocks=12, endings=(7,))["b"]
    assert resumed == at_end
    assert at_look(later, blocks=12)["b"].verdict == "undecided", "without memory of the end"


def equal_arms(rng, blocks):
    """Two that share the mood of each block."""
    logs = 0.4 * rng.standard_normal(blocks) + 0.2 * rng.standard_normal((2, blocks))
    return [
        JudgedArm(name, dict(enumerate(np.exp(x).tolist())))
        for name, x in zip("ab", logs, strict=True)
    ]


@pytest.mark.parametrize("cut", [5, 7, 11])
def test_a_fixed_design_that_time_ends_and_that_is_resumed_errs_no_more_than_one_that_ran_through(
    cut,
):
    """Judged at 5 % at both ends, 7.7 % of such campaigns claimed something false in one report or
    the other."""
    rng, campaigns, false = np.random.default_rng(14), 400, 0
    for _ in range(campaigns):
        resumed = at_look(equal_arms(rng, 12), (12,), endings=(cut,))
        false += any(v.verdict == "worse" for v in resumed.values())
    assert false <= binom.ppf(0.999, campaigns, 0.05)
    assert sum(sequential.shares((12,), (cut,)).values()) == pytest.approx(0.05)


def test_false_verdicts_of_a_time_out_and_its_resumed_campaign_together_stay_rare():
    """Without memory of the time-out 7.9 % of such campaigns claimed something false."""
    rng, campaigns, false = np.random.default_rng(13), 400, 0
    for _ in range(campaigns):
        resumed = at_look(equal_arms(rng, 20), endings=(7,))
        # it keeps what the time-out decided
        false += any(v.verdict == "worse" for v in resumed.values())
    assert false <= binom.ppf(0.999, campaigns, 0.05)
