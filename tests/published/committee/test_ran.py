"""Which conditions of a section ran, beside those that did not."""

from types import SimpleNamespace

import pytest

from rmwbench.published.committee.report_parts import ReportCondition, _not_run, which_ran


def condition(workload, **levels):
    return ReportCondition(workload, {name.replace("__", "."): x for name, x in levels.items()})


def stream(loss):
    return condition("stream", message="Array1k", network__rate_mbps=54, network__loss=loss)


def chain(relays, rate_hz):
    return condition("pipeline", relays=relays, rate_hz=rate_hz)


def whole(rate_hz):
    return condition("whole", rate_hz=rate_hz)


@pytest.mark.parametrize(
    ("ran", "not_run", "told"),
    [
        ([stream(0.0)], [], ""),
        ([], [stream(0.1)], ""),
        ([stream(0.0)], [stream(0.1), stream(0.2)], "network.loss=0.0; 0.1 and 0.2 were not run"),
        (
            [stream(0.0), stream(0.2)],
            [stream(0.1)],
            "network.loss=0.0 and network.loss=0.2; 0.1 was not run",
        ),
        (
            [condition("nodes_2")],
            [condition("nodes_4"), condition("nodes_8"), condition("air")],
            "nodes_2; nodes_4, nodes_8 and air were not run",
        ),
        (
            [chain(1, 20)],
            [chain(5, 20), chain(1, 100), chain(5, 100)],
            "relays=1 rate_hz=20; 3 more were not run",
        ),
        (
            [condition("topics", graph__topics=1)],
            [condition("small", graph__topics=1), condition("topics", graph__topics=10)],
            "topics graph.topics=1; 2 more were not run",
        ),
        (
            [whole(30)],
            [whole(rate_hz) for rate_hz in range(40, 100, 10)],
            "rate_hz=30; 40, 50, 60 and 3 others were not run",
        ),
    ],
)
def test_what_tells_conditions_apart_is_named(ran, not_run, told):
    assert which_ran(ran, not_run) == told


@pytest.mark.parametrize("text", [None, "suite: [", "suite: x\nworkloads: []\n"])
def test_a_suite_that_cannot_be_read_any_more_leaves_the_names_of_what_did_not_run(text):
    plan = SimpleNamespace(not_run=SimpleNamespace(comparisons=("a [x=1]",)))
    request = {"suite_file": "/nowhere/x.yaml", "seed": 0}
    about = SimpleNamespace(plan=plan, suite=SimpleNamespace(text=text), request=request)
    assert _not_run(SimpleNamespace(campaign=about)) == (ReportCondition("a [x=1]", {}),)
