"""Which cells are the same arm at several levels of one thing."""

import pytest

from rmwbench.analysis.verdicts.ladders import BETWEEN_WORKLOADS, Rung, ladders, steps


def rung(cell, levels=None, workload="state", arm="a", **definition):
    return Rung(cell, workload, arm, levels or {}, definition)


def endpoint(node, topic="x", kind="subscription", **said):
    return {"node": node, "topic": topic, "kind": kind, "qos": {"depth": 10}} | said


def test_each_level_is_compared_with_the_one_before_and_with_the_first():
    assert steps(2) == [(1, 0)]
    assert steps(4) == [(1, 0), (2, 1), (3, 2), (2, 0), (3, 0)]


def test_a_factor_has_its_levels_in_their_order_at_each_level_of_the_others():
    cells = [(10, "loss"), (1000, "loss"), (100, "loss"), (10, "none"), (100, "none")]
    rungs = [rung(n, {"rate_hz": rate, "network": of}) for n, (rate, of) in enumerate(cells)]
    ladder = {(one.factor, tuple(one.others.values())): one for one in ladders(rungs)}
    assert ladder["rate_hz", ("loss",)].levels == (10, 100, 1000)
    assert ladder["rate_hz", ("loss",)].cells == (0, 2, 1)
    assert ladder["rate_hz", ("none",)].levels == (10, 100)
    assert ladder["network", (100,)].levels == ("loss", "none")
    assert ("network", (1000,)) not in ladder


QUICK = [endpoint("talker", kind="publisher"), endpoint("control"), endpoint("logger")]
SLOW = [*QUICK[:2], endpoint("logger", hold_ns=50)]


def of_workloads(one, other, **definition):
    rungs = [rung(1, workload="one", endpoints=one), rung(2, workload="other", endpoints=other)]
    rungs[1].definition.update(definition)
    return [ladder for ladder in ladders(rungs) if ladder.factor == BETWEEN_WORKLOADS]


def test_two_workloads_that_differ_in_one_node_are_levels():
    (ladder,) = of_workloads(QUICK, SLOW)
    assert (ladder.levels, ladder.cells, ladder.changed) == (("one", "other"), (1, 2), "logger")


def test_two_workloads_that_differ_in_one_key_of_all_are_levels():
    deep = [one | {"qos": {"depth": 1}} for one in QUICK]
    (ladder,) = of_workloads(QUICK, deep)
    assert ladder.changed is None


@pytest.mark.parametrize(
    ("other", "definition"),
    [
        pytest.param(SLOW, {"timeline": {"steady_s": 9}}, id="and in a condition"),
        pytest.param(
            [QUICK[0], endpoint("control", hold_ns=1), endpoint("logger", take="raw")],
            {},
            id="in two nodes",
        ),
        pytest.param(QUICK, {}, id="in nothing"),
        pytest.param(SLOW, {"workload": {"against": "one"}}, id="and names the other itself"),
    ],
)
def test_workloads_that_differ_in_more_or_ask_for_it_themselves_are_none(other, definition):
    assert not of_workloads(QUICK, other, **definition)
