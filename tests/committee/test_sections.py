"""A budget dealt out over the sections of an evaluation: never overspent, the important first, none much finer."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmwbench.evaluations.committee.sections import EVALUATIONS, MOST_BLOCKS, Cost, Section, share
from rmwbench.suite.file.load import shipped_suites
from tests.support.command import rmwbench


def cost(name, block_s, least=5, tests=12):
    return Cost(Section(name, name, name), block_s, least, 8, ("a", "b"), tests)


SEVERAL = st.lists(
    st.builds(cost, st.uuids().map(str), st.floats(1, 600), st.integers(5, 8), st.integers(1, 200)),
    max_size=6,
)


@settings(deadline=None, max_examples=40)
@given(SEVERAL, st.floats(0, 20_000))
def test_the_budget_is_never_overspent_and_little_is_left(costs, budget_s):
    shares = share(costs, budget_s)
    spent = math.fsum(one.seconds for one in shares)
    assert spent <= budget_s * (1 + 1e-9)
    assert [one.cost for one in shares] == costs
    for one in shares:
        assert one.blocks == 0 or one.cost.least <= one.blocks <= max(MOST_BLOCKS, one.cost.least)
        if 0 < one.blocks < MOST_BLOCKS:
            assert budget_s - spent < one.cost.block_s * (1 + 1e-6)


def test_the_important_are_the_last_to_be_left_out():
    first, second, third = cost("a", 60), cost("b", 60), cost("c", 10)
    assert [one.blocks > 0 for one in share([first, second, third], 350)] == [True, False, True]
    assert [one.blocks for one in share([first, second, third], 10)] == [0, 0, 0]
    assert share([first], 10)[0].resolves is None


def test_time_goes_to_whoever_tells_apart_the_least():
    """Equal prices, many more tests at once in the second: it needs more blocks for the same resolution."""
    few, many = share([cost("few", 10, tests=2), cost("many", 10, tests=400)], 600)
    assert many.blocks > few.blocks
    assert abs(math.log(many.resolves / few.resolves)) < 0.03


def test_every_section_is_a_suite_that_exists():
    for sections in EVALUATIONS.values():
        assert {one.suite for one in sections} <= set(shipped_suites())
        assert len({one.name for one in sections}) == len(sections)


def test_a_name_that_is_none_is_one_error():
    done = rmwbench("evaluate", "tcs")
    assert done.returncode == 2 and "did you mean `tsc`?" in done.stderr


@pytest.mark.parametrize("budget", ["1m"])
def test_what_does_not_fit_is_named_with_what_it_would_take(budget):
    done = rmwbench("evaluate", "tsc", "--budget", budget, "--json", timeout=300)
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "rmwbench/evaluate-plan" and document["estimated_s"] <= 60
    absent = [one for one in document["sections"] if not one["blocks"]]
    assert absent and all(one["least_s"] > 0 and one["resolvable_ratio"] is None for one in absent)
