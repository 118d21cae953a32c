"""Claims by the difference of two fractions: known cases, coverage, what two sides without any loss
decide, and what a campaign under way makes of it."""

import numpy as np
import pytest

from rmwbench.analysis.stats.intervals import clopper_pearson
from rmwbench.errors import UserError
from rmwbench.published.claims.claim_campaigns import ClaimCells, ClaimStopping
from rmwbench.published.claims.claims_file import load
from rmwbench.published.claims.judging.values import difference
from rmwbench.published.claims.sentences import result_and_experiment
from tests.published.claims.asking import judged
from tests.published.claims.test_predicates import (
    arm,
    campaign,
    cell_of,
    claims_with,
    metric,
    only_answer,
    renamed,
)

NONE = (0.0, 0.0, 0.03)


def by_block(*values):
    return np.array(values, float)


def test_three_blocks_by_students_t():
    """Differences 0.1, 0.2, 0.3: mean 0.2, standard error 0.1 ÷ √3, t of two degrees of freedom
    4.3027."""
    value, low, high = difference(
        by_block(0.2, 0.4, 0.5),
        by_block(0.1, 0.2, 0.2),
        (0.37, 0.2, 0.6),
        (0.17, 0.1, 0.3),
        level=0.025,
    )
    assert value == pytest.approx(0.2)
    assert (low, high) == pytest.approx(
        (0.2 - 4.3027 * 0.1 / 3**0.5, 0.2 + 4.3027 * 0.1 / 3**0.5), abs=1e-4
    )


def test_only_common_blocks_are_compared():
    def lossy(name, trials, value):
        lost = metric(value, 0, 1, unit="fraction", count=100, trials=len(trials))
        return renamed(arm(name, trials, metric=lost), "loss")

    sides = lossy("rclcpp/a", [0.1, 0.2, 0.9], 0.4), lossy("rclcpp/b", [0.1, 0.1], 0.1)
    cell = cell_of(five_points(), *sides)
    assert (cell.value, cell.blocks) == (pytest.approx(0.05), 2)


def test_two_sides_that_lost_nothing_differ_by_no_more_than_either_bound():
    assert difference(by_block(0, 0, 0), by_block(0, 0, 0), NONE, (0.0, 0.0, 0.05)) == (
        0.0,
        -0.05,
        0.03,
    )


def test_a_side_that_lost_nothing_adds_its_bound_to_the_others_spread():
    lossy = (0.2, 0.1, 0.3)
    value, low, high = difference(by_block(0.1, 0.2, 0.3), by_block(0, 0, 0), lossy, NONE)
    half = 4.3027 * 0.1 / 3**0.5
    assert (value, low, high) == pytest.approx((0.2, 0.2 - half - 0.03, 0.2 + half), abs=1e-4)
    assert difference(by_block(0, 0, 0), by_block(0.1, 0.2, 0.3), NONE, lossy) == pytest.approx(
        (-value, -high, -low)
    )


def test_trials_that_go_wrong_as_a_whole_are_in_the_bounds_of_a_side_that_shows_none():
    nothing, unseen = by_block(0, 0, 0), 0.4
    assert difference(nothing, nothing, NONE, NONE, unseen=unseen) == (0.0, -unseen, unseen)
    # One lost message says no more about trials than none.
    one_loss = by_block(0.001, 0, 0)
    value, low, high = difference(
        one_loss, nothing, (one_loss.mean(), 0.0, 0.002), NONE, unseen=unseen
    )
    assert high == pytest.approx(value + unseen * (1 - value))
    assert low == pytest.approx(value - unseen)
    # A side whose trials all lost everything may have some that do not.
    assert difference(by_block(1, 1, 1), nothing, (1.0, 0.97, 1.0), NONE, unseen=unseen)[
        1
    ] == pytest.approx(0.2)
    # Where one was seen the spread of the trials holds it.
    seen, plain = by_block(1.0, 0, 0), (1 / 3, 0.0, 0.9)
    with_it, without = (difference(seen, nothing, plain, NONE, unseen=u) for u in (unseen, 0.0))
    assert with_it[2] == without[2]


def test_a_difference_of_fractions_stays_between_minus_one_and_one():
    assert difference(by_block(1.0, 0.2), by_block(0, 0), (0.6, 0.1, 1.0), NONE)[1:] == (-1.0, 1.0)


def lossless(name, frames, trials=12, **more):
    """Return trials without any loss, with `frames` in all, in bursts of ten at most."""
    high = clopper_pearson(0, frames / 10)[1]
    none = metric(0, 0, high, unit="fraction", count=frames, trials=trials)
    return renamed(arm(name, [0.0] * trials, metric=none, **more), "loss")


def five_points(relation="greater", level=0.05, **more):
    return claims_with(
        metric="loss", right="b", by="difference", relation=relation, level=level, **more
    )


@pytest.mark.parametrize(
    ("frames", "relation", "level", "answer"),
    [
        (1116, "greater", 0.35, "does not hold"),
        (1116, "greater", 0.05, "undecided"),
        (1116, "less", -0.35, "does not hold"),
        (1116, "less", 0.35, "holds"),
        (1116, "greater", 0.0, "undecided"),
    ],
)
def test_no_loss_on_either_side_decides_as_far_as_its_bounds_reach(frames, relation, level, answer):
    """Twelve trials lost nothing: three in ten may still go wrong as a whole (1 − 0.0139^(1/12) =
    0.30), however many messages they had."""
    doc = campaign(("w", lossless("rclcpp/a", frames), lossless("rclcpp/b", frames)))
    assert only_answer(five_points(relation, level), doc).answer == answer


def test_what_was_seen_is_told_in_points():
    doc = campaign(("w", lossless("rclcpp/a", 1116), lossless("rclcpp/b", 1116)))
    assert only_answer(five_points(), doc).seen() == "0 points [−30.0 to 30.0]"
    assert result_and_experiment(judged(five_points())).endswith("loss of a > b + 5 points")


def test_times_have_no_difference_as_fractions_have():
    claims = claims_with(
        right="b", by="difference", relation="greater", level=0.05, metric="longest_stall"
    )
    sides = [renamed(arm(name, [1.0, 2.0]), "longest_stall") for name in ("rclcpp/a", "rclcpp/b")]
    cell = cell_of(claims, *sides)
    assert cell.answer == "no data"
    assert cell.reason == "longest_stall is not a fraction, and only fractions have a difference"


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("left: a, relation: less, right: b, by: difference", "actual: right: b$"),
        ("left: a, relation: less, level: 0.05, by: difference", "actual: level: 0.05$"),
        ("left: a, relation: less, right: b, level: 0.05, by: difference, factor: 2", "factor: 2"),
        ("left: a, relation: within, right: b, level: 0.05, by: difference", "within"),
        ("left: a, relation: less, right: b, level: 0.05", "both"),
    ],
)
def test_a_difference_needs_a_side_and_a_level(tmp_path, test, words):
    file = tmp_path / "claims.yaml"
    file.write_text(
        "claims: s\ntitle: t\npublished: '2020'\ntext: x\nlayer: native\nsides: {a: [a], b: [b]}\n"
        "items:\n"
        "  - {id: o, heading: h, says: x, kind: opinion}\n"
        "  - {id: c, heading: h, says: x, kind: ratio, published: {verdict: supported, why: y},"
        f" test: {{suite: s, metric: loss, {test}}}}}\n"
    )
    with pytest.raises(UserError, match=words) as caught:
        load(file)
    assert "claims.yaml:9" in str(caught.value)


@pytest.mark.parametrize(
    ("level", "given_up"), [(0.99, False), (0.5, False), (0.05, True), (0.0, True)]
)
def test_two_zeros_are_given_up_only_where_the_last_block_would_not_decide(level, given_up):
    """Five blocks without any loss leave 0.6 open, twelve 0.3."""
    claims = five_points(level=level, workload="w")
    doc = campaign(("w", lossless("rclcpp/a", 1116, 5), lossless("rclcpp/b", 1116, 5)))
    hold = ClaimStopping([ClaimCells(claims, claims.items[0], frozenset({1}))], lambda: doc, 1000.0)
    hold(5, 1.0, {1: 1.0})
    assert ("c" in hold.given_up) == given_up
    assert ("c" in hold.decided) == (level == 0.99)
