"""The answer about relayed messages and layers, over the trials of an arm."""

from dataclasses import replace

import pytest

from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.metrics.chain.chain import Chain, ChainPart
from rmwbench.analysis.metrics.chain.layers import Layers
from rmwbench.analysis.metrics.latency import Messages
from rmwbench.results.workload import chain_answer

MANY = 1000
UNTRACED = Layers({"take": 100.0, "remainder": 900.0}, 1000.0, False, MANY)
TRACED = Layers({"take: rmw": 100.0, "remainder": 900.0}, 1000.0, True, MANY)


def trials(**parts):
    return [MeasuredTrial(n, n, Messages(), 10**9, **parts) for n in range(3)]


def test_a_transport_within_one_host_is_not_widened_by_the_clocks_of_two_hosts():
    took_ns = {0.5: 20_000.0, 0.95: 20_000.0}
    within = ChainPart("transport", 1, "camera → filter", MANY, 0, took_ns, 20_000.0)
    between = replace(within, hop=2, name="filter → control", clock_bound_ns=60_000.0)
    measured = trials(chain=Chain(1, (3, 3), MANY, MANY, 0, 0, (within, between)))
    for trial in measured:
        trial.clock_bounds["hop_transport"] = 60_000.0
    first, second = chain_answer.chain(measured).parts
    assert [estimate.value for estimate in (first.typical, first.p50, first.p95)] == [20_000] * 3
    assert first.typical.clock_bound_ns is None
    assert "±60.0 µs" in second.typical.no_data


@pytest.mark.parametrize(("layers", "names"), [(UNTRACED, ["take"]), (TRACED, ["take: rmw"])])
def test_times_and_shares_of_layers_are_of_the_same_trials(layers, names):
    measured = trials(layers=UNTRACED)
    measured[0] = replace(measured[0], layers=layers)
    rows = chain_answer.layers(measured)
    assert [row.category for row in rows] == [*names, "remainder"]
    assert sum(row.time.value for row in rows) == pytest.approx(1000)
    assert sum(row.share for row in rows) == pytest.approx(1)


def test_a_take_without_a_moment_of_its_own_is_no_layer_of_0_ns():
    spent_ns = {"publish to notify": 1000.0, "take": 0.0, "remainder": 0.0}
    rows = chain_answer.layers(trials(layers=Layers(spent_ns, 1000.0, False, MANY)))
    assert [row.category for row in rows] == ["publish to notify", "remainder"]


def test_an_arm_without_layers_has_no_answer_about_them():
    assert chain_answer.layers(trials()) is None and chain_answer.chain(trials()) is None
