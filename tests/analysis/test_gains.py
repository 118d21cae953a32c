"""Planned ratios: what tuning does. All of a report are one family, so false claims stay rare."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.verdicts.gains import judge, planned
from rmwbench.analysis.verdicts.verdict import Rules

LATENCY = GLOSSARY["response_latency_p50"]


def pair(rng, ratio=1.0, blocks=6, sd=0.2):
    mood = 0.4 * rng.standard_normal(blocks)
    a, b = (np.exp(14 + mood + sd * rng.standard_normal(blocks)) for _ in range(2))
    return planned(LATENCY, dict(enumerate((a * ratio).tolist())), dict(enumerate(b.tolist())))


@pytest.mark.long
@pytest.mark.parametrize("blocks", [5, 10])
def test_without_any_effect_few_reports_have_a_claim(blocks):
    """Nine pairs as in `quick`. Each at 95 % for itself: 36 % of reports."""
    rng, reports = np.random.default_rng(blocks), 300
    false = alone = 0
    for _ in range(reports):
        asked = [pair(rng, blocks=blocks) for _ in range(9)]
        false += any(g.answer in ("worse", "better") for g in judge(asked, Rules()))
        single = [judge([p], Rules())[0].answer for p in asked]
        alone += any(answer in ("worse", "better") for answer in single)
    assert false <= binom.ppf(0.999, reports, 0.05)
    assert alone > 0.25 * reports


def test_a_clear_effect_is_found_and_below_the_margin_it_is_the_same():
    rng = np.random.default_rng(1)
    asked = [pair(rng, 0.5, 8, 0.05), pair(rng, 2.0, 8, 0.05), pair(rng, 1.01, 8, 0.005)]
    answers = [g.answer for g in judge(asked, Rules())]
    assert answers == ["better", "worse", "equivalent"]


def test_the_look_decides_how_much_may_be_claimed():
    asked = [pair(np.random.default_rng(3), 1.5, 6, 0.1)]
    assert judge(asked, Rules())[0].answer == "worse"
    early = judge(asked, Rules(alpha=0.0))[0]
    assert early.answer == "undecided"
    assert early.low < early.value < early.high


@pytest.mark.parametrize(
    ("a", "bound", "answer"),
    [
        (22.0, 0.0, "worse"),
        (22.0, 0.5, "worse"),
        (22.0, 1.5, "undecided"),  # the truth may be 20.5 against 21.5
        (22.0, 30.0, "undecided"),
        (18.0, 1.5, "undecided"),
        (20.1, 0.0, "equivalent"),
        (20.1, 1.5, "undecided"),
    ],
)
def test_no_number_of_blocks_averages_out_what_two_clocks_leave_open(a, bound, answer):
    rng = np.random.default_rng(6)
    sides = [
        dict(enumerate((centre * np.exp(0.002 * rng.standard_normal(6))).tolist()))
        for centre in (a, 20.0)
    ]
    bounds = tuple(dict.fromkeys(range(6), bound) for _ in sides)
    gain = judge([planned(LATENCY, *sides, bounds)], Rules())[0]
    assert gain.answer == answer
    truths = (a - bound) / (20 + bound), (a + bound) / max(20 - bound, 1e-9)
    assert gain.low <= max(truths[0], 0) * 1.01 and truths[1] / 1.01 <= gain.high


def test_failed_blocks_leave_no_ratio_and_no_claim():
    asked = pair(np.random.default_rng(4), 0.5, 6, 0.05)
    gain = judge([planned(LATENCY, {**asked.left, 2: math.inf}, asked.right)], Rules())[0]
    assert gain.answer == "undecided"
    assert gain.value is None and gain.no_data
    assert judge([planned(LATENCY, {0: 1.0}, {0: 1.0})], Rules())[0].answer == "undecided"


def test_equal_ratios_of_coarse_values_are_not_certainty():
    """Two ticks against three in each of five blocks: as in verdicts."""
    ticks = planned(
        GLOSSARY["cpu_per_message"], dict.fromkeys(range(5), 0.03), dict.fromkeys(range(5), 0.02)
    )
    gain = judge([ticks], Rules())[0]
    assert gain.answer == "undecided"
    assert gain.low < 1 < gain.high


def test_a_rate_that_was_0_in_a_block_is_not_called_infinite():
    rates = dict.fromkeys(range(6), 12.0)
    asked = planned(GLOSSARY["achieved_rate"], {**rates, 5: 0.0}, rates)
    assert judge([asked], Rules())[0].no_data == (
        "in 1 of 6 blocks a value is 0 or infinite: that has no ratio"
    )
