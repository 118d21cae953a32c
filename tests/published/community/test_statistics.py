"""Survival and ordinal statistics against textbooks, enumeration, scipy, and their own promises in
simulation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmwbench.published.community.github.survival import cumulative_incidence, kaplan_meier
from rmwbench.published.community.ordinal import cliffs_delta, holm, mann_whitney, median
from rmwbench.published.importers.formats.github_csv import kaplan_meier as importers_curve

TIMES = st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=40)


@given(TIMES)
@settings(max_examples=60, deadline=None)
def test_the_curve_is_the_importers(items):
    times, happened = np.array([t for t, _ in items], float), np.array([h for _, h in items])
    curve = kaplan_meier(times, happened)
    assert np.allclose(
        list(zip(curve.time, curve.share, strict=True)) or [],
        importers_curve(times, happened) or [],
    )
    assert np.all(curve.low <= curve.share + 1e-12) and np.all(curve.share <= curve.high + 1e-12)
    value, low, high = curve.median()
    assert low <= value <= high


def test_no_items_and_no_events():
    assert kaplan_meier([], []).median() == (math.inf, math.inf, math.inf)
    curve = kaplan_meier([1.0, 2.0], [False, False])
    assert curve.at(5) == (1.0, 1.0, 1.0) and curve.happened == 0
    all_at_once = kaplan_meier([3.0] * 4, [True] * 4)
    assert all_at_once.median()[0] == 3.0 and all_at_once.at(3)[0] == 0.0


def test_the_median_interval_holds_the_median_as_often_as_it_says():
    random = np.random.default_rng(2)
    held = 0
    for _ in range(300):
        event, censored = random.exponential(1, 50), random.exponential(2, 50)
        _, low, high = kaplan_meier(np.minimum(event, censored), event <= censored).median()
        held += low <= math.log(2) <= high
    assert 0.90 <= held / 300 <= 0.995


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), min_size=1, max_size=30))
@settings(max_examples=60, deadline=None)
def test_competing_ends_and_the_curve_fill_one(items):
    times, causes = [t for t, _ in items], [c for _, c in items]
    time, share = cumulative_incidence(times, causes)
    curve = kaplan_meier(times, [c > 0 for c in causes])
    assert np.allclose(share.sum(axis=0) + curve.share, 1.0)
    assert np.array_equal(time, curve.time)


def exact_p(a, b):
    """Return the exact p by trying every way to divide the answers."""
    values = [level for level, n in enumerate(np.add(a, b)) for _ in range(n)]
    ranks = [sum(v < x for v in values) + (sum(v == x for v in values) + 1) / 2 for x in values]
    m, expected = sum(a), sum(a) * (len(values) + 1) / 2
    mine = sum(
        level_rank * n
        for level_rank, n in zip(_rank_of_levels(values, ranks, len(a)), a, strict=True)
    )
    sums = [
        sum(ranks[i] for i in chosen) for chosen in itertools.combinations(range(len(values)), m)
    ]
    return sum(abs(s - expected) >= abs(mine - expected) - 1e-9 for s in sums) / len(sums)


def _rank_of_levels(values, ranks, levels):
    of = dict(zip(values, ranks, strict=True))
    return [of.get(level, 0) for level in range(levels)]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1, 2, 3, 0, 0], [0, 0, 1, 4, 2]),
        ([3, 0, 2], [1, 1, 4]),
        ([2, 2], [2, 2]),
        ([0, 5, 0, 1], [1, 0, 2, 0]),
    ],
)
def test_the_exact_test_is_the_enumeration(a, b):
    p, method = mann_whitney(a, b)
    assert p == pytest.approx(exact_p(a, b)) and "exact" in method
    assert mann_whitney(b, a)[0] == pytest.approx(p)


def test_the_normal_test_is_scipys():
    from scipy.stats import mannwhitneyu

    a, b = [1, 4, 6, 10, 9], [2, 12, 15, 20, 8]
    spread = [[level for level, n in enumerate(c) for _ in range(n)] for c in (a, b)]
    p, method = mann_whitney(a, b)
    assert p == pytest.approx(mannwhitneyu(*spread, method="asymptotic").pvalue, rel=1e-12)
    assert "normal" in method


@pytest.mark.parametrize(("a", "b"), [([0, 0], [1, 2]), ([3, 0], [4, 0]), ([0, 0], [0, 0])])
def test_no_test_without_two_groups_or_a_difference(a, b):
    assert mann_whitney(a, b) is None


def test_cliffs_delta_counts_pairs():
    a, b = [2, 1, 0], [1, 1, 3]
    x, y = ([level for level, n in enumerate(c) for _ in range(n)] for c in (a, b))
    pairs = [np.sign(i - j) for i in x for j in y]
    delta, low, high = cliffs_delta(a, b)
    assert delta == pytest.approx(np.mean(pairs)) and -1 <= low < delta < high <= 1
    back = cliffs_delta(b, a)
    assert back == pytest.approx((-delta, -high, -low))
    assert cliffs_delta([5, 0], [0, 5])[0] == -1 and cliffs_delta([5, 0], [0, 5])[2] > -1
    with pytest.raises(ValueError, match="two answers"):
        cliffs_delta([1, 0], [0, 5])


def test_cliffs_interval_holds_the_truth_as_often_as_it_says():
    random = np.random.default_rng(3)
    p, q = np.array([0.1, 0.2, 0.3, 0.3, 0.1]), np.array([0.05, 0.15, 0.2, 0.35, 0.25])
    truth = float(p @ np.sign(np.subtract.outer(np.arange(5), np.arange(5))) @ q)
    held = 0
    for _ in range(500):
        _, low, high = cliffs_delta(random.multinomial(30, p), random.multinomial(57, q))
        held += low <= truth <= high
    assert 0.92 <= held / 500 <= 0.98


def test_the_median_of_answers():
    assert median([0, 0, 1, 4, 2])[0] == 3
    assert median([0, 3]) == (1, 0, 1)  # three answers bound nothing
    assert median([0, 0, 60, 0, 0]) == (2, 2, 2)
    with pytest.raises(ValueError, match="no answers"):
        median([0, 0, 0])


def test_holm_raises_a_false_alarm_in_few_surveys():
    random = np.random.default_rng(5)
    p = np.array([0.1, 0.2, 0.3, 0.3, 0.1])
    alarms = 0
    for _ in range(100):
        tests = [
            mann_whitney(random.multinomial(30, p), random.multinomial(57, p)) for _ in range(19)
        ]
        alarms += min(holm([t[0] for t in tests])) < 0.05
    assert alarms <= 12
