"""Which cells a claim needs, and the suite that is derived from them: exactly those, and valid."""

import functools

import pytest

from rmwbench.published.claims.derived_suite import (
    LEAST_BLOCKS,
    MOST_BLOCKS,
    Need,
    Refusal,
    derived_suite_text,
    find_need,
    longer_steady_s,
    place_of,
)
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse, plain
from rmwbench.suite.file.suite_files import find, read
from tests.published.claims.asking import one_claim
from tests.published.claims.shipped import FILES
from tests.published.claims.test_predicates import BASE

SUITE = """
suite: s
title: t
arms:
  - {name: rclcpp/a, middleware: rclcpp/rmw_a}
  - {name: a, middleware: zenoh, against: b}
  - {name: b, middleware: cyclonedds}
  - {name: other, middleware: fastdds}
workloads:
  - {name: w, message: Bytes(100), rate_hz: 100, timeline: {steady_s: 9.0, warmup_s: 0.4}}
  - {name: v, message: Bytes(100), rate_hz: 30}
factors: {subscribers: [1, 2, 3], reliability: [best_effort, reliable]}
exclude: [{subscribers: 3, reliability: reliable}]
short: {factors: {subscribers: [1, 3]}, timeline: {steady_s: 1.0}}
"""
NATIVE = {"a": "native", "b": "native", "other": "native"}
SIDES = {"a": ["rclcpp/a", "a"], "b": ["rclcpp/b", "b"], "c": ["nowhere"]}


def claims_with(**test):
    usual = {"suite": "s", "metric": "service_latency_p50", "left": "a", "relation": "less"}
    return one_claim({**BASE, "sides": SIDES}, {**usual, **test})


@functools.cache
def tree():
    return plain(SUITE, where="s.yaml")


def need(layers=NATIVE, barred=lambda _: None, **test):
    claims = claims_with(**test)
    return find_need(claims, claims.items[0], tree(), layers, barred)


def places(of_claim):
    return {(p.workload, *dict(p.levels).values(), p.arm) for p in of_claim.places}


def test_both_sides_at_the_levels_that_are_fixed():
    both = need(right="b", workload="w", at={"subscribers": 2, "reliability": "reliable"})
    assert both.layer == "native"
    assert places(both) == {("w", 2, "reliable", "a"), ("w", 2, "reliable", "b")}


def test_a_scaling_claim_needs_two_cells_of_one_arm():
    of_claim = need(
        right="a",
        workload="w",
        at={"reliability": "reliable"},
        left_at={"subscribers": 2},
        right_at={"subscribers": 1},
    )
    assert places(of_claim) == {("w", 2, "reliable", "a"), ("w", 1, "reliable", "a")}


def test_the_claims_own_layer_where_both_sides_are_ready_there():
    both = {**NATIVE, "rclcpp/a": "rclcpp"}
    assert need(both, right="b", workload="w").layer == "native", "b is not there at rclcpp"
    assert need(both, level=1.0, workload="w").layer == "rclcpp"
    assert need(both, right="b", workload="w", across_layers=True).layer == "rclcpp"


def test_what_cannot_run_says_why():
    unready = need(left="c", level=1.0)
    assert unready == Refusal("no arm is ready here for c", unready=True)
    barred = need(level=1.0, workload="w", barred=lambda place: f"{place.arm} cannot")
    assert barred == Refusal("native: a cannot")
    excluded = need(level=1.0, at={"subscribers": 3, "reliability": "reliable"})
    assert "leaves these cells out" in excluded.reason and not excluded.unready


def test_a_percentile_gets_the_messages_that_it_needs():
    of_claim = need(
        right="b",
        workload="v",
        at={"subscribers": 1, "reliability": "reliable"},
        metric="service_latency_p90",
    )
    made = cells(parse(derived_suite_text(tree(), of_claim.places, "s"), where="derived"))

    def longer_of(**test):
        (claim,) = claims_with(**test).items
        return longer_steady_s(made, dict.fromkeys(of_claim.places, claim.tests), error=0.005)

    assert longer_of(metric="service_latency_p50", right="b") == {}
    assert longer_of(metric="loss", right="b", by="difference", level=0.05) == {}
    more = longer_of(metric="service_latency_p99", right="b")
    again = cells(parse(derived_suite_text(tree(), of_claim.places, "s", more), where="derived"))
    assert all(LEAST_BLOCKS * cell.steady_messages >= 1000 for cell in again)
    each = longer_of(metric="service_latency_p99", right="b", base_at={"subscribers": 1})
    assert each["v"] > 4 * more["v"], "each block has a value of its own"
    none_lost = longer_of(metric="loss", level=0.01)
    again = cells(
        parse(derived_suite_text(tree(), of_claim.places, "s", none_lost), where="derived")
    )
    assert all(MOST_BLOCKS * cell.steady_messages >= 4600 for cell in again)
    assert longer_of(metric="loss", level=1e-5) == {}, "no trial of an hour"


@functools.cache
def shipped(suite):
    return plain(read(find(suite)), where=suite)


@functools.cache
def needs(name):
    """Return (suite, what the claim needs) by the claim's id, as if everything were ready."""
    by_claim = {}
    for claim in FILES[name].items:
        if claim.test is not None:
            tree = shipped(claim.test.suite)
            layers = {
                arm["name"]: "rclcpp" if "rclcpp" in arm["middleware"] else "native"
                for arm in tree["arms"]
            }
            by_claim[claim.id] = (
                claim.test.suite,
                find_need(FILES[name], claim, tree, layers, lambda _: None),
            )
    return by_claim


@pytest.mark.parametrize("name", FILES)
def test_every_shipped_claim_can_be_asked_where_everything_is_ready(name):
    for claim, (_, of_claim) in needs(name).items():
        assert isinstance(of_claim, Need), (claim, of_claim)
        of = next(one for one in FILES[name].items if one.id == claim)
        sides = ((4 if test.base_at else 2, test.cells) for test in of.tests)
        whole = sum(each * (several.of if several else 2) for each, several in sides)
        assert len(of_claim.places) <= whole, f"{claim} needs more cells than its tests are of"


def test_derived_shipped_suites_are_valid_and_exact():
    by_suite: dict[str, set] = {}
    for name in FILES:
        for suite, of_claim in needs(name).values():
            by_suite.setdefault(suite, set()).update(of_claim.places)
    for suite, wanted in by_suite.items():
        made = cells(
            parse(
                derived_suite_text(shipped(suite), wanted, suite),
                where=suite,
                directory=find(suite).parent,
            )
        )
        assert {place_of(cell) for cell in made} == wanted
