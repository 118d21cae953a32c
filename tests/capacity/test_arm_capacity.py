"""The answer of a search in the axis's unit, and the knee by its formula."""

import math
from types import SimpleNamespace

import pytest

from rmwbench.analysis.capacity.arm_capacity import ArmSearch, LoadPoint, knee
from rmwbench.analysis.stats.estimate import Measured
from rmwbench.campaign.capacity.axis import AXES, levels
from rmwbench.results.capacity.capacity_document import MEDIAN, _knee


def curve(*points):
    return [LoadPoint(load, ns, unstable=ns is None) for load, ns in points]


def test_it_lies_where_the_line_between_two_loads_passes_twice_the_least():
    bend = knee(curve((100, 10.0), (200, 10.0), (400, 40.0)))
    assert (bend.by, bend.base_load, bend.base_ns) == ("latency", 100, 10.0)
    assert bend.load == pytest.approx(200 * 2**0.5)


def test_the_least_is_not_always_at_the_lowest_load():
    bend = knee(curve((10, 90.0), (100, 10.0), (400, 30.0)))
    assert bend.base_load == 100
    assert bend.load == pytest.approx(100 * 4 ** (math.log(2) / math.log(3)))


def test_a_growing_queue_is_a_knee():
    bend = knee(curve((100, 10.0), (200, 11.0), (400, None), (800, None)))
    assert (bend.load, bend.by) == (400, "queue")


@pytest.mark.parametrize("points", [(), ((100, None),), ((100, 10.0),), ((100, 10.0), (200, 12.0))])
def test_where_nothing_bends_there_is_none(points):
    assert knee(curve(*points)) is None


def test_loads_whose_median_message_did_not_arrive_are_no_base():
    assert knee([LoadPoint(100, math.inf), LoadPoint(200, math.inf)]) is None
    bend = knee([LoadPoint(100, math.inf), LoadPoint(200, 10.0), LoadPoint(400, math.inf)])
    assert (bend.load, bend.base_load, bend.by) == (400, 200, "latency")


def test_no_median_at_any_load_is_a_reason_of_its_own():
    infinite = Measured("ns", math.inf, 1.0, math.inf, 10, 3, "")
    levels = [
        SimpleNamespace(level=load, unstable=False, metrics={MEDIAN: infinite}) for load in (1, 2)
    ]
    assert _knee(levels, "hz").no_data == "the median message does not arrive at any level"


class TestArmSearch:
    def _after(self, levels, start, truth, *, whole=False, most=40):
        search = ArmSearch(levels, start, whole=whole)
        while not search.resolved and search.trials < most:
            level = search.next()
            search.record(level, level <= truth)
        return search

    def test_a_sharp_capacity(self):
        all_levels = levels(AXES["rate"], 100.0, 0.05, 1.0, 100_000.0)
        capacity = self._after(all_levels, 100.0, 412).capacity()
        assert capacity.state == "bracketed"
        assert capacity.low <= 412 < capacity.high and capacity.high / capacity.low < 1.06
        assert capacity.low <= capacity.value <= capacity.high

    def test_whole_numbers_end_with_the_last_that_may_hold(self):
        capacity = self._after(tuple(map(float, range(1, 50))), 1.0, 7, whole=True).capacity()
        assert (capacity.low, capacity.value, capacity.high) == (7, 7, 7)

    def test_nothing_failed_and_nothing_held(self):
        above = self._after((1.0, 2.0, 4.0, 8.0), 1.0, 100).capacity()
        assert (above.state, above.low, above.high) == ("at least", 8.0, None)
        below = self._after((1.0, 2.0, 4.0, 8.0), 4.0, 0.5).capacity()
        assert (below.state, below.high, below.value) == ("below", 1.0, None)

    def test_one_trial_claims_no_more_than_it_saw(self):
        search = ArmSearch(tuple(2.0**k for k in range(20)), 16.0)
        assert search.capacity().state == "no data"
        search.record(16.0, True)
        assert search.capacity().state == "at least" and search.capacity().low <= 16.0
