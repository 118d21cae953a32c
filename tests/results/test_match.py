"""Which cells of two selections are compared: those of which each side has one."""

import json

import pytest

from rmwbench.results.compare.match import match, name
from rmwbench.results.selection import Selection, value_of


def cell(number, workload="camera", arm="zenoh", **factors):
    return {"cell": number, "workload": workload, "arm": arm, "factors": json.dumps(factors)}


def matched(a, b):
    matches, alone = match(*(Selection("", None, side) for side in (a, b)))
    pairs = [(one.a["cell"], one.b["cell"]) for one in matches]
    return pairs, [(one.cell, one.reason, one.counts) for one in alone]


def test_cells_of_equal_workload_levels_and_arm_are_compared():
    sizes = [cell(0, size=1), cell(1, size=2)]
    assert matched(sizes, sizes[::-1]) == ([(0, 0), (1, 1)], [])
    pairs, alone = matched(sizes, sizes[1:])
    assert (pairs, alone) == ([(1, 1)], [("camera [size=1], zenoh (A)", "B has no size 1", True)])
    assert matched(sizes[1:], sizes)[1] == [
        ("camera [size=1], zenoh (B)", "A has no size 1", False)
    ]


def test_a_switch_is_selected_as_its_comparison_is_named():
    """`camera [batching=true]` could be selected by `batching=True` only."""
    both = [cell(0, batching=False), cell(1, batching=True)]
    assert [value_of(one, "batching") for one in both] == ["false", "true"]
    assert [name(one) for one in both] == [
        "camera [batching=false], zenoh",
        "camera [batching=true], zenoh",
    ]


@pytest.mark.parametrize(("in_a", "in_b"), [(2, 1), (1, 2), (2, 2)])
def test_of_several_cells_that_are_the_same_none_is_compared_and_none_is_said_to_be_absent(
    in_a, in_b
):
    pairs, alone = matched([cell(n) for n in range(in_a)], [cell(n) for n in range(in_b)])
    reason = f"{in_a} cells of A and {in_b} of B are alike: select one of each"
    of_a, of_b = ("camera, zenoh (A)", reason, True), ("camera, zenoh (B)", reason, False)
    assert (pairs, alone) == ([], [of_a] * in_a + [of_b] * in_b)
