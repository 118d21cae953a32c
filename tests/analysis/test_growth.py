"""Growth exponents: the truth is found, and what does not allow one gives none."""

import numpy as np
import pytest

from rmwbench.analysis.stats.growth import Growth, growth, sizes_of, words
from rmwbench.results.workload.factor_levels import graph_of

SIZES = (2, 10, 40)


def values(exponent, blocks=6, noise=0.05, seed=1):
    rng = np.random.default_rng(seed)
    return {
        n: {b: 3.0 * n**exponent * np.exp(rng.normal(0, noise)) for b in range(blocks)}
        for n in SIZES
    }


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_the_interval_holds_the_truth_in_19_of_20_campaigns(exponent):
    fits = [growth(values(exponent, seed=seed)) for seed in range(200)]
    held = np.mean([one.low <= exponent <= one.high for one in fits])
    assert 0.9 <= held <= 0.99
    assert abs(np.mean([one.exponent for one in fits]) - exponent) < 0.02


def test_two_sizes_or_a_block_without_all_sizes_give_none():
    assert growth({n: v for n, v in values(1.0).items() if n != 40}) is None
    few = values(1.0, blocks=3)
    del few[40][2]
    assert growth(few) is None


def test_zero_and_infinity_have_no_logarithm():
    for bad in (0.0, np.inf):
        broken = values(1.0)
        broken[10][3] = bad
        assert growth(broken) is None


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (-1.2, -0.8, "falls as the number of nodes grows"),
        (-0.1, 0.1, "hardly grows with the number of nodes"),
        (1.9, 2.1, "grows with the square of the number of nodes, or nearly"),
        (2.8, 3.2, "grows faster than the square of the number of nodes"),
        (1.6, 4.0, "grows faster than the number of nodes"),
        (0.3, 0.8, "grows more slowly than the number of nodes"),
        (-0.6, 0.9, "grows more slowly than the number of nodes, if at all"),
        (0.9, 1.1, "grows about with the number of nodes"),
        (0.1, 1.2, "how it grows with the number of nodes is not decided"),
        (0.93, 3.1, "how it grows with the number of nodes is not decided"),
        (-1.9, 1.4, "how it grows with the number of nodes is not decided"),
    ],
)
def test_the_words_say_no_more_than_the_interval(low, high, text):
    assert words(Growth((low + high) / 2, low, high, 5, SIZES)) == text


def test_sizes_in_different_numbers_of_processes_have_no_line():
    """What pairs of processes cost, 1, 6 and 6, would be a growth of 0.61 with nodes."""
    mixed = {"a": (2, 2), "b": (10, 4), "c": (40, 4)}
    assert sizes_of(list(mixed), mixed) == {"b": 10, "c": 40}
    by_nodes = {
        nodes: dict.fromkeys(range(6), 6.0) for nodes in sizes_of(list(mixed), mixed).values()
    }
    assert growth(by_nodes) is None
    shared = {"a": (4, 4), "b": (10, 4), "c": (40, 4)}
    assert sizes_of(list(shared), shared) == {"a": 4, "b": 10, "c": 40}
    alone = {"a": (2, 2), "b": (4, 4), "c": (8, 8)}
    assert sizes_of(list(alone), alone) == {"a": 2, "b": 4, "c": 8}


@pytest.mark.parametrize("nodes", [5, 20])
def test_of_a_bring_up_the_managers_process_is_not_counted(nodes):
    names = [f"n{n}" for n in range(nodes)]
    processes = [{"nodes": [name]} for name in names] + [{"nodes": ["manager"]}]
    endpoints = [{"joins_s": 0.5}]
    assert graph_of(
        {"bring_up": {"nodes": names}, "processes": processes, "endpoints": endpoints}
    ) == (nodes, nodes)
    assert graph_of({"processes": processes, "endpoints": endpoints}) is None
    assert graph_of({"processes": processes}) == (nodes + 1, nodes + 1)
