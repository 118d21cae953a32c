"""What the predicates can say besides one ratio: products, two metrics, ratios of ratios,
exponents, what differs, so many cells, several tests at once; what makes an answer a proxy; and
what pooled campaigns are worth."""

import dataclasses
import math

import numpy as np
import pytest

from rmwbench.analysis.verdicts.sequential import RESERVE
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.published.claims.amounts import bar_text
from rmwbench.published.claims.claims_file import Claims
from rmwbench.published.claims.derived_suite import LEAST_BLOCKS, MOST_BLOCKS
from rmwbench.published.claims.judging.campaign_answers import CellAnswer, MeasuredAnswer
from rmwbench.published.claims.judging.decision_rules import (
    LOOKS,
    ErrorFamily,
    ErrorShare,
    NeededRun,
    level_of,
)
from rmwbench.published.claims.judging.values import between_half
from rmwbench.published.claims.sentences import in_full, result
from rmwbench.results.model import Fact
from rmwbench.words.numbers import quantity, with_interval
from tests.published.claims.asking import judged, today
from tests.published.claims.test_predicates import (
    BASE,
    FAST,
    SLOW,
    answer_of,
    arm,
    campaign,
    cell_of,
    claims_with,
    metric,
    only_answer,
    renamed,
)

EXPONENT = {
    "right": "b",
    "relation": "within",
    "by": "exponent",
    "sizes": [4, 2],
    "level": 1.0,
    "factor": 1.25,
}


def with_metrics(name, **metrics):
    """Return an arm with several metrics, each by its values."""
    made = {key: arm(name, values) for key, values in metrics.items()}
    first = next(iter(made.values()))
    return dataclasses.replace(
        first,
        metrics={key: side.metrics["m"] for key, side in made.items()},
        per_trial={key: side.per_trial["m"] for key, side in made.items()},
    )


@pytest.mark.parametrize(
    ("left", "answer"),
    [(SLOW, "holds"), ([x * 1.1 for x in FAST], "does not hold"), (FAST[::-1], "does not hold")],
)
def test_two_sides_differ_whichever_is_the_larger(left, answer):
    claims = claims_with(right="b", relation="differs", factor=1.25)
    for a, b in ((left, FAST), (FAST, left)):
        judged = answer_of(claims, arm("rclcpp/a", a), arm("rclcpp/b", b))
        assert judged.answer == answer


def test_a_ratio_of_ratios_divides_each_side_by_its_own():
    """a grows fourfold from n = 1 to n = 10, b twofold."""
    grown = {
        1: {"a": FAST, "b": [3 * v for v in FAST]},
        10: {"a": [2 * v for v in SLOW], "b": [6 * v for v in FAST[::-1]]},
    }
    cells = [
        (
            f"w [n={n}]",
            *(arm(f"rclcpp/{name}", values, factors={"n": n}) for name, values in sides.items()),
        )
        for n, sides in grown.items()
    ]
    claims = claims_with(right="b", relation="greater", factor=1.5, at={"n": 10}, base_at={"n": 1})
    (cell,) = only_answer(claims, campaign(*cells)).cells
    assert cell.answer == "holds" and cell.value == pytest.approx(1.97, rel=0.01)
    assert today(claims, campaign(cells[1])) == [], "without its divisor there is no answer"


@pytest.mark.parametrize(
    ("times", "level", "answer"), [(16, 2, "holds"), (4, 1, "holds"), (4, 2, "does not hold")]
)
def test_growth_is_an_exponent(times, level, answer):
    """Sixteen times as much at four times the size is quadratic."""
    cells = [
        (name, arm("rclcpp/a", [k * v for v in FAST])) for name, k in (("many", times), ("few", 1))
    ]
    test = {"relation": "within", "level": level, "factor": 1.25, "by": "exponent"}
    claims = claims_with(right="a", workload="many", right_workload="few", sizes=[16, 4], **test)
    (cell,) = only_answer(claims, campaign(*cells)).cells
    assert cell.answer == answer and cell.value == pytest.approx(math.log(times) / math.log(4))


@pytest.mark.parametrize(
    ("cells", "answer"),
    [
        ({"of": 4, "at_least": 2}, "holds"),
        ({"of": 4, "at_least": 3}, "undecided"),  # the fourth was not measured
        ({"of": 3, "at_least": 3}, "does not hold"),
        ({"of": 3, "at_least": 2, "at_most": 2}, "holds"),
        ({"of": 3, "at_most": 1}, "does not hold"),
        ({"of": 4}, "does not hold"),
    ],
)
def test_so_many_cells_hold(cells, answer):
    workloads = [
        (f"w [n={n}]", arm("rclcpp/a", a, factors={"n": n}), arm("rclcpp/b", b, factors={"n": n}))
        for n, (a, b) in enumerate(((FAST, SLOW), (FAST, SLOW), (SLOW, FAST)))
    ]
    assert only_answer(claims_with(right="b", cells=cells), campaign(*workloads)).answer == answer


@pytest.mark.parametrize(("k", "answer"), [(SLOW, "holds"), (FAST, "does not hold")])
def test_a_compound_statement_is_tested_whole(k, answer):
    item = claims_with(right="b").items[0].model_dump(mode="json")
    item["also"] = [item["test"] | {"metric": "k", "relation": "greater"}]
    claims = Claims.model_validate({**BASE, "items": [item]})
    sides = (
        with_metrics("rclcpp/a", m=FAST, k=k),
        with_metrics("rclcpp/b", m=SLOW, k=[x * 1.5 for x in FAST]),
    )
    judged = answer_of(claims, *sides)
    assert judged.answer == answer and [cell.metric for cell in judged.cells] == ["m", "k"]
    without = with_metrics("rclcpp/b", m=SLOW)
    assert answer_of(claims, sides[0], without).answer == "undecided", "half of it is not the whole"


def claims_about(**conditions):
    return Claims.model_validate(
        {**claims_with(right="b").model_dump(mode="json"), "conditions": conditions}
    )


def campaign_on(machine):
    facts = tuple(Fact(name=name, value=value, note=None) for name, value in machine.items())
    sides = (arm("rclcpp/a", FAST), arm("rclcpp/b", SLOW))
    return campaign(("w", *sides), machine="x", facts=facts)


HERE = {"cores": "2 of 2", "virtualization": "hypervisor, docker"}
PHYSICAL = {**HERE, "virtualization": "none"}
ROS = {"rclcpp": ["1.0", "1.1"]}


@pytest.mark.parametrize(
    ("conditions", "machine", "codes"),
    [
        (ROS, HERE, ()),
        ({"rclcpp": ["1.0.1", "2.0"]}, HERE, ("version",)),
        ({}, HERE, ("version",)),
        ({**ROS, "touch": "none"}, HERE, ("touch",)),
        ({**ROS, "touch": "all", "processors": 2, "virtual": True}, HERE, ()),
        ({**ROS, "processors": 4}, HERE, ("machine",)),
        ({**ROS, "virtual": False}, HERE, ("machine",)),
        ({**ROS, "virtual": False}, PHYSICAL, ()),
        ({**ROS, "virtual": True}, PHYSICAL, ("machine",)),
        # one that does not say whether it is virtual is of no class: it was taken for a physical one
        ({**ROS, "virtual": True}, {"cores": "2 of 2"}, ("machine",)),
        ({**ROS, "virtual": False}, {"cores": "2 of 2"}, ("machine",)),
    ],
)
def test_a_proxy_is_computed_from_data(conditions, machine, codes):
    spoken_of = claims_about(**conditions).model_copy(update={"original": {"f/s": {}}})
    answer = only_answer(spoken_of, campaign_on(machine))
    assert answer.proxy_codes == codes and answer.verdict == ("proxy" if codes else "supported")


@pytest.mark.parametrize(
    ("lengths", "measured", "codes"),
    [
        ((60.0, 60.0), 60.0, ()),
        ((60.0, 6.0), 6.0, ("length",)),
        ((None, 6.0), 6.0, ("length",)),
        ((60.0, None), None, ("length",)),
        ((None, None), None, ("length",)),
    ],
)
def test_a_trial_whose_length_nobody_kept_is_not_as_long_as_the_originals(lengths, measured, codes):
    """Such a trial counted as long enough."""
    claims = claims_about(**ROS).model_copy(update={"lasts_s": {"f/s": 60.0}})
    doc = campaign_on(HERE)
    workloads = [
        dataclasses.replace(doc.workloads[0], workload=name, steady_s=steady_s)
        for name, steady_s in zip("vw", lengths, strict=True)
    ]
    answer = only_answer(claims, dataclasses.replace(doc, workloads=tuple(workloads)))
    assert (answer.length.measured_s, answer.proxy_codes) == (measured, codes)
    assert ("length unknown of 60 s" in result(answer)) == (measured is None)


@pytest.mark.parametrize("relation", ["less", "greater"])
def test_two_sides_that_are_the_same_in_every_block_lie_within_the_margin(relation):
    """They denied either statement, whatever the margin was."""
    sides = arm("rclcpp/a", [5.0] * 6), arm("rclcpp/b", [5.0] * 6)
    cell = cell_of(claims_with(right="b", relation=relation), *sides)
    assert (cell.answer, cell.code) == ("undecided", "within_margin")
    cell = cell_of(claims_with(level=5.0, relation=relation), arm("rclcpp/a", [5.0] * 5))
    assert cell.answer == "does not hold", "a number is not below itself"


def test_growth_from_what_did_not_arrive_is_not_known():
    """An arm whose first level never arrived grew by nothing: 8 ÷ ∞."""
    grown = {
        ("a", 1): [math.inf] * 8,
        ("a", 10): [8.0] * 8,
        ("b", 1): [1.0] * 8,
        ("b", 10): [2.0] * 8,
    }
    cells = [
        (f"w [n={n}]", *(arm(f"rclcpp/{name}", grown[name, n], factors={"n": n}) for name in "ab"))
        for n in (1, 10)
    ]
    claims = claims_with(right="b", at={"n": 10}, base_at={"n": 1})
    (cell,) = only_answer(claims, campaign(*cells)).cells
    assert (cell.answer, cell.code, cell.left_trials) == ("undecided", "no_ratio", ())


def test_a_long_run_is_said_without_an_exponent():
    assert NeededRun(12, 3600.0, None).text() == "12 blocks of 3\u202f600 s"
    assert NeededRun(12, 97.34, None).text() == "12 blocks of 97.3 s"
    assert bar_text(1000.0, "×") == "1\u202f000×"


def test_growth_between_two_sides_that_are_0_has_no_ratio():
    """It was undecided without a reason, from −∞ to ∞."""
    nothing = [0.0] * 6
    cell = cell_of(claims_with(**EXPONENT), arm("rclcpp/a", nothing), arm("rclcpp/b", nothing))
    assert (cell.answer, cell.code, cell.low) == ("undecided", "no_ratio", None)


@pytest.mark.parametrize(
    ("test", "sides"),
    [
        ({"right": "b"}, "rclcpp/a ÷ rclcpp/b"),
        ({"right": "b", "by": "difference", "level": 0.1}, "rclcpp/a − rclcpp/b"),
        (EXPONENT, "rclcpp/a against rclcpp/b"),
        ({"level": 0.9}, "rclcpp/a"),
    ],
)
def test_a_cell_names_its_sides_as_the_value_is_made_of_them(test, sides):
    arms = [
        renamed(arm(f"rclcpp/{name}", [0.1, 0.12, 0.11, 0.1, 0.11]), "undelivered") for name in "ab"
    ]
    claim = judged(claims_with(metric="undelivered", **test), campaign(("w", *arms)))
    lines = [line.text for line in in_full(claim, "", cells=True)]
    assert any(f", {sides} 1" in line or f", {sides} 0" in line for line in lines), lines


def test_an_arm_of_no_known_version_is_named_alone():
    sides = arm("rclcpp/a", FAST, version=None), arm("rclcpp/b", SLOW)
    answer = answer_of(claims_with(right="b"), *sides)
    assert answer.arms == ("rclcpp/a", "rclcpp/b 1.0")
    assert answer.cells[0].versions == ("unknown", "1.0")


def test_the_ends_of_a_range_that_read_alike_are_one():
    cells = tuple(CellAnswer("w", "holds", "a", "b", value=value) for value in (1.2001, 1.2003))
    measured = MeasuredAnswer(("c",), "rclcpp", "holds", "supported", ("a",), cells)
    assert measured.seen() == "2 cells; 1.20×"


def test_a_block_without_a_value_of_one_side_keeps_its_number():
    """Later values of that side stood beside the values of other blocks."""
    gap = {block: value for block, value in enumerate(FAST) if block != 1}
    left = dataclasses.replace(arm("rclcpp/a", FAST), per_trial={"m": gap})
    cell = cell_of(claims_with(right="b"), left, arm("rclcpp/b", SLOW))
    assert [block for block, _ in cell.left_trials] == [0, 2, 3, 4, 5]
    assert [block for block, _ in cell.right_trials] == [0, 1, 2, 3, 4, 5]


def test_a_product_of_nothing_and_infinity_has_no_value():
    made = with_metrics("rclcpp/a", m=[math.inf, *FAST[1:]], k=[0.0, *SLOW[1:]])
    cell = cell_of(claims_with(level=900.0, times_metric="k"), made)
    assert (cell.answer, cell.blocks) == ("holds", 5)


def test_a_campaign_that_an_arm_lost_is_in_what_all_of_its_campaigns_say():
    """The five failed trials were left out, and the arm was judged by the campaign beside it."""
    name = "service_latency_p90"
    nothing = {"unit": "ns", "no_data": "no trial of this arm was completed"}

    def pooled(side, known, **more):
        return renamed(arm(side, metric=known, **more), name)

    right = pooled("rclcpp/b", metric(20.0, 19.9, 20.1, count=9000, trials=9))
    lefts = [
        pooled("rclcpp/a", metric(10.0, 9.9, 10.1, count=9000, trials=9)),
        pooled("rclcpp/a", nothing, lost_blocks=tuple(range(5))),
    ]
    claims = claims_with(right="b", metric=name)
    days = [
        campaign(("w", left, right), machine="one", created_utc=f"2026-01-0{day}T00:00:00Z")
        for day, left in enumerate(lefts, 1)
    ]
    (alone,), (both,) = today(claims, days[0]), today(claims, *days)
    assert (alone.answer, both.answer, both.cells[0].code) == ("holds", "undecided", "lost")


def test_a_campaign_for_claims_has_the_blocks_that_decide():
    assert LOOKS[0] == LEAST_BLOCKS == Rules().min_blocks and LOOKS[-1] == MOST_BLOCKS


def test_campaigns_share_one_error():
    """The first campaign has half of 5 %, and each further one half of the share of the one before.
    A campaign that ended before its last look keeps a fifth back for its resumption."""
    kept_back = 1 - RESERVE
    whole = [2 * level_of(blocks).error for blocks in ([12], [3, 12], [3, 3, 12])]
    assert whole[0] <= 0.025 and whole[1:] == pytest.approx([whole[0] / 2, whole[0] / 4])
    ended = [2 * level_of(blocks).error for blocks in ([5], [3, 5], [3, 3, 5])]
    assert ended == pytest.approx([kept_back * 0.025, kept_back * 0.0125, kept_back * 0.00625])
    assert sum(2 * level_of([5] * n).error for n in range(1, 30)) <= 0.05
    assert sum(2 * level_of([n], ErrorShare(earlier=0)).error for n in LOOKS) == pytest.approx(
        0.025
    )
    assert level_of([4], ErrorShare(earlier=0)).error == 0, (
        "before the first look nothing is decided"
    )
    first, second = (level_of([12], ErrorShare(earlier=earlier)).error for earlier in (0, 1))
    assert second == pytest.approx(first / 2)
    assert level_of([5], ErrorShare(divisor=20)).error == pytest.approx(level_of([5]).error / 20)


def test_campaigns_that_differ_widen_what_they_say_together():
    values, level = np.array([1.0, 1.1, 0.9, 2.0, 2.1, 1.9]), level_of([3, 3])
    assert between_half(values, [0] * 6, level) == 0, "one campaign"
    assert between_half(values, list(range(6)), level) == 0, "no campaign has two blocks"
    alike = np.array([1.0, 1.1, 0.9, 1.05, 1.0, 0.95])
    assert between_half(alike, [0, 0, 0, 1, 1, 1], level) < 1e-9
    # Birge's ratio is √(1.5 ÷ 0.01): both means lie in the interval.
    assert between_half(values, [0, 0, 0, 1, 1, 1], level) > 0.5


def measured_twice(first, second, **test):
    """Return the only answer of two campaigns of a machine: each is given by the values of the arms
    a and b, or of a."""
    campaigns = []
    for day, sides in enumerate((first, second)):
        arms = [arm(f"rclcpp/{name}", values) for name, values in sides.items()]
        begun = f"2026-01-0{day + 1}T00:00:00Z"
        campaigns.append(campaign(("w", *arms), machine="one", created_utc=begun))
    (told,) = today(claims_with(**test), *campaigns)
    return told


def test_the_scatter_between_campaigns_counts_once():
    """Ratios of 1.6328 in all blocks of one campaign and of 1.6322 in those of another were 1.63
    [0.65–4.08]: the distance between the two was in the scatter of all blocks, and again in the
    factor that multiplied it."""
    of_b = [10.0, 11.0, 12.0, 13.0, 14.0]
    told = measured_twice(
        *(
            {"a": [ratio * x * (1 + e) for x, e in zip(of_b, NOISE, strict=True)], "b": of_b}
            for ratio in (1.6328, 1.6322)
        ),
        right="b",
        relation="greater",
    )
    (cell,) = told.cells
    assert told.answer == "holds" and cell.low > 1.63 and cell.high < 1.64


NOISE = [0.0, 1e-5, -1e-5, 2e-5, -2e-5]


@pytest.mark.parametrize(
    ("left", "right", "answer", "code"),
    [
        # a sign test on the blocks that have a ratio
        ([0.0, 1.0, 1.0, 0.0, 1.0, 2.0, 1.0, 1.0, 1.0], [0.0, 9.0, 9.0, 0.0, 9.0, 9.0, 9.0, 9.0, 9.0], "holds", None),
        ([math.inf, *FAST], [math.inf, *SLOW], "holds", None),
        ([0.0] * 5 + FAST[:4], [0.0] * 5 + SLOW[:4], "undecided", "no_ratio"),
    ],
)  # fmt: skip
def test_a_block_without_a_ratio_is_left_out_as_long_as_half_have_one(left, right, answer, code):
    """One such block made the whole cell undecidable."""
    judged = answer_of(claims_with(right="b"), arm("rclcpp/a", left), arm("rclcpp/b", right))
    assert (judged.answer, judged.cells[0].code) == (answer, code)


@pytest.mark.parametrize(
    ("values", "relation", "answer"),
    [
        ([0.0, 0.0, 0.0, 9.2, 0.0], "less", "does not hold"),
        ([0.0, 0.0, 0.0, 0.07, 0.0], "less", "does not hold"),
        ([0.0, 0.0, 0.0, 0.07, 0.0], "greater", "holds"),
        ([0.0, 0.0, 0.0, 0.0, 0.0], "greater", "undecided"),
        ([0.0, 9.0, 0.0, 0.0], "greater", "undecided"),  # four blocks decide nothing
    ],
)
def test_whether_anything_comes_is_decided_by_one_block(values, relation, answer):
    level = 0.6 if relation == "less" else 0
    claims = claims_with(level=level, relation=relation, existence=True)
    value = {"unit": "hz", "value": max(values), "low": 0.0, "high": 9.9, "trials": len(values)}
    together = answer_of(claims, arm("rclcpp/a", metric=value)).answer
    assert together == answer, "of all trials together, too"
    assert answer_of(claims, arm("rclcpp/a", values)).answer == answer
    with pytest.raises(ValueError, match="existence"):
        claims_with(right="b", existence=True)


def test_a_shipped_summary_says_that_it_keeps_no_such_metric():
    """The metric was said to be missing in the campaign, which had it."""
    doc = campaign(("w", arm("rclcpp/a", FAST)))
    claims = claims_with(level=9.0, metric="rss")
    assert "the campaign has no memory (RSS)" in only_answer(claims, doc).cells[0].reason
    shipped = dataclasses.replace(doc, shipped=True)
    assert (
        "the shipped summary keeps no memory (RSS)" in only_answer(claims, shipped).cells[0].reason
    )


@pytest.mark.parametrize(
    ("test", "wrong"),
    [({"relation": "less"}, "does not hold"), ({"cells": {"of": 20, "at_least": 1}}, "holds")],
)
def test_many_cells_do_not_decide_a_statement_by_chance(test, wrong):
    """The truth of all 20 cells lies on the bar, and one of them is enough: with a whole 2.5 % in
    each cell, one of six such statements was decided."""
    rng, decided, sessions = np.random.default_rng(5), 0, 150
    claims = claims_with(level=10.0, **test)
    for _ in range(sessions):
        cells = [
            (str(n), arm("rclcpp/a", list(10 * np.exp(rng.normal(0, 0.1, 5))))) for n in range(20)
        ]
        decided += only_answer(claims, campaign(*cells)).answer == wrong
    assert decided <= 0.05 * sessions


def test_every_further_test_of_a_statement_is_one_more_that_may_refute_it():
    test = claims_with(level=10.0).items[0].test
    assert ErrorFamily(5, tests=3).divisor("does not hold", test) == 15
    assert ErrorFamily(5, tests=3).divisor("holds", test) == 1


@pytest.mark.parametrize(
    ("value", "unit", "measured", "bar"),
    [
        (630_000, "ns", "630 µs", "630 µs"),
        (999_600, "ns", "1.00 ms", "1 ms"),
        (2e9, "bytes/s", "2.00 GB/s", "2 GB/s"),
        (0.001, "fraction", "0.1 %", "0.1 %"),
        (0.05, "points", "5.00 points", "5 points"),
        (-0.03, "points", "−3.00 points", "-3 points"),
        (0.5, "count", "0.500", "0.5"),
        (2.0, "×", "2.00×", "2×"),
        (0.0, "×", "0×", "0×"),
    ],
)
def test_a_measured_value_and_a_bar(value, unit, measured, bar):
    assert (quantity(value, unit), bar_text(value, unit)) == (measured, bar)


@pytest.mark.parametrize(
    ("value", "low", "high", "unit", "text"),
    [
        (999_600, 900_000, 1_100_000, "ns", "1.00 ms [0.900–1.10]"),
        (2.52, 1.24, math.inf, "×", "2.52× [1.24–∞]"),
        (0.0, 0.0, 630_000, "ns", "0 µs [0–630]"),
        (0.0, -0.026, 0.026, "points", "0 points [−2.60 to 2.60]"),
        (None, 3.0, math.inf, "×", "–× [3.00–∞]"),
    ],
)
def test_an_interval_has_the_unit_of_its_value(value, low, high, unit, text):
    assert with_interval(value, low, high, unit) == text
