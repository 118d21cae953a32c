"""A chain over hosts with clocks of their own: the errors of the clocks in between cancel, so that
only the first and the last host count, and a chain that comes back is exact."""

import pytest

from rmwbench.analysis.metrics.chain.chain import Chain, ChainPart, Chains
from rmwbench.analysis.metrics.trial_metrics import chain_bounds, measure_trial, with_clock_bounds
from rmwbench.analysis.records.clocks import trial_clocks
from rmwbench.analysis.records.columns import SteadyWindow
from tests.analysis.test_one_clock import LATENCY_NS, a_trial

WINDOW = SteadyWindow(10**9, 2 * 10**9)
BOUNDS = {"robot": 0, "base": 30_000, "station": 5_000}


def known(*hosts):
    readings = [
        {
            "host": host,
            "t_ns": at,
            "offset_ns": 1_000_000 if BOUNDS[host] else 0,
            "bound_ns": BOUNDS[host],
        }
        for host in hosts
        for at in (WINDOW.begin_ns, WINDOW.end_ns)
    ]
    rows = [{"endpoint": at, "host": host, "process": f"p{at}"} for at, host in enumerate(hosts)]
    return trial_clocks(readings, rows)


def chain():
    """0 → 1 → 2."""
    parts = [
        ChainPart("transport", hop, "", 1, 0, {}, None, links=((hop - 1, hop),)) for hop in (1, 2)
    ]
    return Chain(1, (3, 3), 1, 1, 0, 0, tuple(parts))


def bounds(clocks):
    chains = Chains(ends=((0, 2),), chain=with_clock_bounds(clocks, chain(), WINDOW))
    return chain_bounds(clocks, chains, WINDOW)


def test_the_ends_of_a_chain_bound_it_and_not_what_lies_between():
    # 0 robot → 1 base → 2 robot: twice through a clock that is known to 30 µs.
    back = bounds(known("robot", "base", "robot"))
    assert not back.keys() & {"end_to_end_latency", "chain_transport", "hop_relay"}
    assert back["hop_transport"] >= 30_000
    # … → 2 station: what counts is the station's clock, which is known to 5 µs.
    there = bounds(known("robot", "base", "station"))
    whole = there["end_to_end_latency"]
    assert 5_000 <= whole == there["chain_transport"] < 30_000 <= there["hop_transport"]
    assert not bounds(known("robot", "robot", "robot"))


def test_a_transport_within_one_host_has_none_of_the_bound_of_the_one_between_hosts():
    within, between = with_clock_bounds(known("robot", "robot", "base"), chain(), WINDOW).parts
    assert within.clock_bound_ns == 0 and between.clock_bound_ns >= 30_000


def test_a_call_that_comes_back_is_exact_however_the_other_clock_runs():
    trial = measure_trial(a_trial())
    assert "end_to_end_latency" not in trial.clock_bounds
    assert trial.clock_bounds["hop_transport"] > 0
    sample = trial.messages.samples["end_to_end_latency"]
    assert sample.exact[0.5] == pytest.approx(2 * LATENCY_NS + 30_000, rel=1e-3)
    kinds = [part.kind for part in trial.chain.parts]
    assert kinds == ["source", "transport", "relay", "transport"]
    assert trial.chain.parts[2].quantiles[0.5] == pytest.approx(30_000, rel=1e-3)
